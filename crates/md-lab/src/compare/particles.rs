//! Strategies on particles: the forces of the reference, the frozen halo alone, and some steps.

use std::convert::Infallible;

use md_comm::monitor::Heartbeat;
use md_comm::{Traffic, World};
use md_core::Evaluation;
use md_core::rebuild::RebuildPolicy;
use md_core::words::counted;
use md_engine::{EngineError, NeighborReport, ParticleRow, Phase, RowVector, Setup, Simulation, Timings};
use serde::Serialize;

use super::comparison::{HALO_PHASES, Job, RowContext};
use super::measure::{Sample, TRIAL, exchanges_of_a_sample, time_exchanges};
use super::outcome::Problem;
use super::reference::Reference;
use super::trials::{Ground, Prepared, Subject};
use crate::trace::TracedWorld;
use crate::{ROOT, RunContext, Strategy, Variant};

/// What strategies become on the configuration of particles that is compared.
pub trait Plan {
    /// Everything that a strategy needs.
    ///
    /// # Errors
    /// Why there is none.
    fn prepare(&self, variant: &Variant) -> Result<Prepared<Setup, RunContext>, Problem>;

    /// What makes the row of a strategy stand alone for which there is no set-up.
    fn context(&self, strategy: Strategy) -> RunContext;

    /// Takes note of how the neighbourhood has held in a sample; on rank 0.
    fn look_at(&self, report: &NeighborReport);

    /// Where timelines are wanted: events that each rank keeps; the same on all ranks.
    fn timeline_events(&self) -> Option<usize> {
        None
    }

    /// Takes the next part of a strategy's timeline, on rank 0.
    fn take_timeline(&self, _variant: &Variant, _part: &[u8]) {}
}

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

    fn job(&self) -> Job<'_> {
        Job { ranks: self.ranks, steps: self.steps, host: &self.host }
    }
}

/// Particles, and the forces that every strategy must give.
pub struct Particles<'c> {
    /// What strategies become.
    pub plan: &'c dyn Plan,
    /// The forces.
    pub reference: Reference,
}

impl Ground for Particles<'_> {
    type Setup = Setup;
    type Context = RunContext;
    type Seen = Vec<ParticleRow>;

    fn prepare(&self, variant: &Variant) -> Result<Prepared<Setup, RunContext>, Problem> {
        self.plan.prepare(variant)
    }

    fn context(&self, variant: &Variant) -> RunContext {
        RunContext { atoms: self.reference.atoms(), ..self.plan.context(variant.strategy) }
    }

    fn look(&self, subject: Subject<Setup>) -> Result<Vec<ParticleRow>, Problem> {
        let setup = &subject.setup.displaced(self.reference.diameter());
        let rows = Subject { setup, ..subject }.simulate(|simulation| {
            simulation.recompute_from_fresh_halo()?;
            simulation.rows(RowVector::Force)
        });
        Ok(rows?)
    }

    fn judge(
        &self,
        agreement: &dyn World,
        heartbeat: &Heartbeat,
        seen: &Vec<ParticleRow>,
    ) -> Result<Result<(), String>, EngineError> {
        self.reference.check(agreement, heartbeat, seen)
    }

    fn calibrate(&self, subject: Subject<Setup>) -> Result<usize, Problem> {
        let Subject { world, heartbeat, .. } = subject;
        let exchange_s = subject.simulate(|simulation| {
            let mut frozen = simulation.freeze()?;
            time_exchanges(world, heartbeat, TRIAL, || frozen.exchange())
        })?;
        Ok(exchanges_of_a_sample(exchange_s))
    }

    fn sample(&self, subject: Subject<Setup>, exchanges: usize, steps: u64) -> Result<Sample, Problem> {
        let is_first = subject.world.rank() == ROOT;
        let (sample, neighborhood) = sample(subject, exchanges, steps)?;
        if is_first {
            self.plan.look_at(&neighborhood);
        }
        Ok(sample)
    }

    fn record(&self, subject: Subject<Setup>, variant: &Variant, steps: u64) -> Result<(), Problem> {
        let (plan, Subject { heartbeat, .. }) = (self.plan, subject);
        let Some(events) = plan.timeline_events() else { return Ok(()) };
        let (atoms, grid) = (subject.setup.atoms(), subject.setup.grid_text());
        let context = RunContext { atoms, grid, ..plan.context(variant.strategy) };
        let world = &TracedWorld::new(subject.world, events)?;
        let recorded = Subject { world, ..subject }.simulate(|simulation| {
            world.start(|observer| simulation.observe_phases(observer))?;
            time_steps(simulation, world, steps, heartbeat)?;
            world.stop()?;
            let Ok(_) = world.write(&context, |part| {
                heartbeat.beat();
                plan.take_timeline(variant, part);
                Ok::<_, Infallible>(())
            })?;
            Ok(())
        });
        Ok(recorded?)
    }
}

impl Subject<'_, Setup> {
    /// Works on a simulation in its initial state. *Collective.*
    fn simulate<T>(
        self,
        work: impl FnOnce(&mut Simulation) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut simulation = Simulation::new(self.world, self.setup)?;
        self.heartbeat.beat();
        let result = work(&mut simulation);
        self.heartbeat.beat();
        match result {
            Ok(result) => {
                simulation.finalise()?;
                Ok(result)
            }
            Err(error) => {
                // Taking back what is under way may take long, and the job will be ended from outside.
                std::mem::forget(simulation);
                Err(error)
            }
        }
    }
}

/// One sample, from the initial state, and how the neighbourhood has held. *Collective.*
fn sample(
    subject: Subject<Setup>,
    exchanges: usize,
    steps: u64,
) -> Result<(Sample, NeighborReport), EngineError> {
    let Subject { world, setup, heartbeat } = subject;
    let (exchange_s, sent, timings, neighborhood) = subject.simulate(|simulation| {
        let mut frozen = simulation.freeze()?;
        let Traffic { messages, bytes } = frozen.traffic();
        let exchange_s = time_exchanges(world, heartbeat, exchanges, || frozen.exchange())?;
        let timings = time_steps(simulation, world, steps, heartbeat)?;
        // Of a neighbourhood that was kept, only a step that computes the energy finds out whether it still held.
        if matches!(setup.config.neighbor.rebuild, RebuildPolicy::Every(2..)) {
            simulation.step(Evaluation::WithEnergyAndVirial)?;
        }
        Ok((exchange_s, [messages as f64, bytes as f64], timings, simulation.neighbor_report()))
    })?;
    Ok((Sample::of(world, exchange_s, sent, (&timings, steps))?, neighborhood))
}

/// Ordinary steps, timed phase by phase, on all ranks. *Collective.*
fn time_steps(
    simulation: &mut Simulation,
    world: &dyn World,
    steps: u64,
    heartbeat: &Heartbeat,
) -> Result<Timings, EngineError> {
    world.barrier()?;
    simulation.start_measuring()?;
    for _ in 0..steps {
        simulation.step(Evaluation::ForcesOnly)?;
        heartbeat.beat();
    }
    Timings::reduce(&simulation.timing()?, world)
}
