//! What a simulation shows: timings, rows of particles, its state and reports.

use std::rc::Rc;

use md_comm::{Choice, Traffic};
use md_core::{Domain, Particles};

use super::{FIRST_RANK, Simulation};
use crate::clock::PhaseObserver;
use crate::collective::expect_room;
use crate::division::halo::total;
use crate::error::EngineError;
use crate::measure::RankTiming;
use crate::motion::barostat::BoxReport;
use crate::report::{EnergyReport, NeighborReport, ParticleRow, RowVector};
use crate::setup::Setup;
use crate::state::State;

impl Simulation<'_> {
    /// Returns this rank's timings since [`Self::start_measuring`]; [`crate::Timings::reduce`]
    /// combines those of all ranks.
    ///
    /// # Errors
    /// Communication.
    pub fn timing(&mut self) -> Result<RankTiming, EngineError> {
        self.complete_step()?;
        let Traffic { messages, bytes } =
            total([self.decomposition.halo.traffic(), self.accounts.traffic_closed]);
        Ok(RankTiming {
            phases: self.clock.times(self.state.step - self.accounts.measured_from),
            messages: messages - self.accounts.traffic_before.messages,
            bytes: bytes - self.accounts.traffic_before.bytes,
            owned: self.state.particles.owned() as u64,
            ghosts: self.state.particles.ghosts() as u64,
            second_share: self.decomposition.pairs.second_share(),
        })
    }

    /// Returns all particles on rank 0, by id; on other ranks, an empty list. *Collective.*
    ///
    /// # Errors
    /// Communication; no memory for the rows.
    pub fn gather_rows(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, EngineError> {
        let mine = self.rows(vector)?;
        let all = self.world.gather(FIRST_RANK, bytemuck::cast_slice(&mine))?;
        drop(mine);
        let count = all.iter().map(|bytes| bytes.len() / size_of::<ParticleRow>()).sum();
        let mut rows = Vec::<ParticleRow>::new();
        expect_room(&mut rows, count, "the rows of all particles")?;
        // The bytes of each rank are freed before those of the next are copied.
        for bytes in all {
            rows.extend(
                bytes.chunks_exact(size_of::<ParticleRow>()).map(bytemuck::pod_read_unaligned::<ParticleRow>),
            );
        }
        rows.sort_unstable_by_key(|row| row.id);
        Ok(rows)
    }

    /// Returns the rows of this rank's particles.
    ///
    /// # Errors
    /// Errors of the integrator; no memory for the rows.
    pub fn rows(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, EngineError> {
        self.complete_step()?;
        let State { particles, domain, .. } = &self.state;
        let mut rows = Vec::new();
        expect_room(&mut rows, particles.owned(), "the rows of this rank's particles")?;
        rows.extend((0..particles.owned()).map(|index| row(particles, index, vector, domain)));
        Ok(rows)
    }

    /// Returns the choices of contexts that select their transport themselves.
    pub fn choices(&self) -> Vec<Choice> {
        self.decomposition.halo.choices()
    }

    /// Returns the state of this rank. Velocities are half a step behind unless an observer has
    /// requested them.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the setup of the simulation, with the present integrator and box.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the number of particles of the whole system.
    pub fn atoms(&self) -> u64 {
        self.setup.atoms()
    }

    /// Returns the time step, \[time\].
    pub fn timestep(&self) -> f64 {
        self.setup.config.timestep
    }

    /// Returns statistics of rebuilds so far.
    pub fn neighbor_report(&self) -> NeighborReport {
        self.accounts.rebuilds
    }

    /// Returns the skin of the pruned lists that this rank uses between rebuilds, if it uses any,
    /// \[length\]. Whether it does depends on measured times; results do not.
    pub fn inner_skin(&self) -> Option<f64> {
        self.forces.inner_skin()
    }

    /// Returns statistics of the energy conservation so far.
    pub fn energy_report(&self) -> EnergyReport {
        self.accounts.energy
    }

    /// Returns the number of times a barostat has changed the box.
    pub fn box_report(&self) -> BoxReport {
        self.accounts.box_changes
    }

    /// Sets the observer of all phases of this rank from now on.
    pub fn observe_phases(&mut self, observer: Rc<dyn PhaseObserver>) {
        self.clock.observe(observer);
    }

    /// Starts the measured part of a run: clears the times and traffic of the set-up. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn start_measuring(&mut self) -> Result<(), EngineError> {
        self.complete_step()?;
        self.accounts.measured_from = self.state.step;
        self.accounts.traffic_before = self.decomposition.halo.traffic();
        self.accounts.traffic_closed = Traffic::default();
        self.clock.restart();
        Ok(())
    }
}

fn row(particles: &Particles, index: usize, vector: RowVector, domain: &Domain) -> ParticleRow {
    let (position, images) = domain.wrap_counting(particles.position_of(index), particles.images_of(index));
    let vector = match vector {
        RowVector::Velocity => particles.get(index).velocity,
        RowVector::Force => particles.force_of(index),
    };
    ParticleRow {
        id: particles.id[index],
        kind: particles.species[index] as u32 + 1,
        images,
        position,
        vector,
    }
}
