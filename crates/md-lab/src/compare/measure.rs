//! One sample of one strategy: the exchange alone, and some steps.

use std::time::Instant;

use md_comm::monitor::Heartbeat;
use md_comm::{Traffic, World};
use md_core::Evaluation;
use md_core::rebuild::RebuildPolicy;
use md_engine::{EngineError, FrozenHalo, NeighborReport, Phase, Setup, Simulation, Timings};

use super::comparison::StepPhases;

/// Exchanges before the clock starts.
const WARM_UP: usize = 5;
/// Exchanges by which their number per sample is chosen.
const TRIAL: usize = 10;
/// What a sample of exchanges should take.
const SAMPLE_S: f64 = 0.02;
/// Bounds on the number of exchanges per sample.
const EXCHANGES: [f64; 2] = [50.0, 20_000.0];

/// What is measured of a strategy.
#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    /// Its own world.
    pub(super) world: &'s dyn World,
    /// Everything that does not change.
    pub(super) setup: &'s Setup,
}

impl Subject<'_> {
    /// Works on a simulation in its initial state. *Collective.*
    ///
    /// # Errors
    /// See [`EngineError`].
    pub(super) fn simulate<T>(
        self,
        heartbeat: &Heartbeat,
        work: impl FnOnce(&mut Simulation) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut simulation = Simulation::new(self.world, self.setup)?;
        heartbeat.beat();
        let result = work(&mut simulation);
        heartbeat.beat();
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

/// One sample, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// One exchange, of the slowest rank.
    pub(super) exchange_s: f64,
    /// One step, of the slowest rank.
    pub(super) step_s: f64,
    /// Its phases, mean over ranks.
    pub(super) phases: StepPhases,
    /// Share of its steps that rebuilt, 0 to 1.
    pub(super) rebuilt_share: f64,
    /// Messages of one exchange, mean over ranks.
    pub(super) messages: f64,
    /// Bytes of one exchange, mean over ranks.
    pub(super) bytes: f64,
    /// How the neighbourhood has held.
    pub(super) neighborhood: NeighborReport,
}

/// Exchanges per sample so that one takes about [`SAMPLE_S`], the same number on all ranks. *Collective.*
///
/// # Errors
/// See [`EngineError`].
pub(super) fn calibrate(subject: Subject, heartbeat: &Heartbeat) -> Result<usize, EngineError> {
    let exchange_s = subject.simulate(heartbeat, |simulation| {
        time_exchanges(&mut simulation.freeze()?, subject.world, TRIAL, heartbeat)
    })?;
    let [least, most] = EXCHANGES;
    Ok((SAMPLE_S / exchange_s.max(f64::MIN_POSITIVE)).clamp(least, most) as usize)
}

/// Measures one sample, from the initial state. *Collective.*
///
/// # Errors
/// See [`EngineError`].
pub(super) fn sample(
    subject: Subject,
    exchanges: usize,
    steps: u64,
    heartbeat: &Heartbeat,
) -> Result<Sample, EngineError> {
    let world = subject.world;
    let (exchange_s, mut sent, timings, neighborhood) = subject.simulate(heartbeat, |simulation| {
        let mut frozen = simulation.freeze()?;
        let Traffic { messages, bytes } = frozen.traffic();
        let exchange_s = time_exchanges(&mut frozen, world, exchanges, heartbeat)?;
        let timings = time_steps(simulation, world, steps, heartbeat)?;
        // Of a neighbourhood that was kept, only a step that computes the energy finds out whether it still held.
        if matches!(subject.setup.config.neighbor.rebuild, RebuildPolicy::Every(2..)) {
            simulation.step(Evaluation::WithEnergyAndVirial)?;
        }
        Ok((exchange_s, [messages as f64, bytes as f64], timings, simulation.neighbor_report()))
    })?;
    world.sum(&mut sent)?;
    let [messages, bytes] = sent.map(|sum| sum / world.ranks() as f64);
    let step_s = timings.phase(Phase::Total).seconds.max / steps as f64;
    // All ranks rebuild together, and a rebuild makes the border once.
    let rebuilt_share = timings.phase(Phase::Border).calls as f64 / steps as f64;
    let phases = Phase::ALL.map(|phase| timings.phase(phase).seconds.avg / steps as f64);
    Ok(Sample { exchange_s, step_s, phases, rebuilt_share, messages, bytes, neighborhood })
}

/// Seconds per exchange of the slowest rank. *Collective.*
fn time_exchanges(
    frozen: &mut FrozenHalo,
    world: &dyn World,
    exchanges: usize,
    heartbeat: &Heartbeat,
) -> Result<f64, EngineError> {
    (0..WARM_UP).try_for_each(|_| frozen.exchange())?;
    world.barrier()?;
    let begun = Instant::now();
    for _ in 0..exchanges {
        frozen.exchange()?;
        heartbeat.beat();
    }
    let mut slowest = [begun.elapsed().as_secs_f64()];
    world.max(&mut slowest)?;
    Ok(slowest[0] / exchanges as f64)
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
