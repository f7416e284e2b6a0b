//! Strategies on particles: the frozen halo alone, and ordinary steps.

use std::rc::Rc;

use md_comm::World;
use md_core::Evaluation;
use md_core::rebuild::RebuildPolicy;
use md_core::words::counted;
use md_engine::clock::PhaseObserver;
use md_engine::{NeighborReport, Phase, Setup, Simulation, Timings};
use serde::Serialize;

use super::comparison::{HALO_PHASES, MeasurementContext, RowContext};
use super::measure::{Exchanged, Place, Running};
use crate::{Problem, ROOT, RunContext, Strategy};

impl RowContext for RunContext {
    const KEYS: &'static [&'static str] = &Strategy::KEYS;
    const BEFORE: &'static str = "backend,shell,exchange,partition,ranks,atoms";
    const SENT: &'static str = "messages,bytes";
    const PHASES: &'static [Phase] = &HALO_PHASES;
    const AFTER: &'static [&'static str] =
        &["grid", "threads", "precision", "steps", "seed", "mpi_library", "host", "version"];

    fn before(&self) -> impl Serialize {
        (self.strategy, self.ranks, self.atoms)
    }

    fn after(&self) -> impl Serialize {
        let Self { grid, threads, precision, steps, seed, mpi_library, host, version, .. } = self;
        (grid, threads, precision, steps, seed, mpi_library, host, version)
    }

    fn extent(&self) -> String {
        counted(self.atoms, "atom")
    }

    fn job(&self) -> MeasurementContext<'_> {
        MeasurementContext { ranks: self.ranks, steps: self.steps, host: &self.host }
    }
}

/// A running simulation.
pub struct ParticlesAtWork<'s> {
    /// The simulation.
    pub simulation: Simulation<'s>,
    /// Receives the report on the neighbour lists of a sample; on rank 0.
    look_at: &'s dyn Fn(&NeighborReport),
}

impl<'s> ParticlesAtWork<'s> {
    /// Creates the simulation in its initial state. *Collective.*
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn new(
        world: &'s dyn World,
        setup: &'s Setup,
        look_at: &'s dyn Fn(&NeighborReport),
    ) -> Result<Self, Problem> {
        Ok(Self { simulation: Simulation::new(world, setup)?, look_at })
    }
}

impl Running for ParticlesAtWork<'_> {
    fn time_exchanges(&mut self, place: Place, count: usize) -> Result<Exchanged, Problem> {
        let mut frozen = self.simulation.freeze()?;
        let sent = frozen.traffic();
        Ok(Exchanged::of(place.time(count, || frozen.exchange())?, sent, 1))
    }

    fn start_measuring(&mut self) -> Result<(), Problem> {
        Ok(self.simulation.start_measuring()?)
    }

    fn step(&mut self) -> Result<(), Problem> {
        self.simulation.step(Evaluation::ForcesOnly)?;
        Ok(())
    }

    fn timings(&mut self, place: Place, _: u64) -> Result<Timings, Problem> {
        Ok(Timings::reduce(&self.simulation.timing()?, place.world)?)
    }

    fn look_back(&mut self, place: Place) -> Result<(), Problem> {
        let Self { simulation, look_at } = self;
        // Whether kept neighbour lists were still valid is checked only at a step that computes the
        // energy.
        if matches!(simulation.setup().config.neighbor.rebuild, RebuildPolicy::Every(2..)) {
            simulation.step(Evaluation::WithEnergyAndVirial)?;
        }
        if place.world.rank() == ROOT {
            look_at(&simulation.neighbor_report());
        }
        Ok(())
    }

    fn observe(&mut self, observer: Rc<dyn PhaseObserver>) {
        self.simulation.observe_phases(observer);
    }

    fn finalise(self) -> Result<(), Problem> {
        Ok(self.simulation.finalise()?)
    }
}
