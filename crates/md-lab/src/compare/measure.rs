//! One sample of one strategy: the exchange alone, and some steps.

use std::time::Instant;

use md_comm::monitor::Heartbeat;
use md_comm::{CommError, World};
use md_engine::{Phase, Timings};

use super::comparison::StepPhases;

/// Exchanges before the clock starts.
pub const WARM_UP: usize = 5;
/// Exchanges by which their number per sample is chosen.
pub const TRIAL: usize = 10;
/// What a sample of exchanges should take.
const SAMPLE_S: f64 = 0.02;
/// Bounds on the number of exchanges per sample.
const EXCHANGES: [f64; 2] = [10.0, 20_000.0];

/// One sample, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// One exchange, of the slowest rank.
    pub exchange_s: f64,
    /// One step, of the slowest rank.
    pub step_s: f64,
    /// Its phases, mean over ranks.
    pub phases: StepPhases,
    /// Share of its steps that rebuilt, 0 to 1.
    pub rebuilt_share: f64,
    /// Messages of one exchange, mean over ranks.
    pub messages: f64,
    /// Bytes of one exchange, mean over ranks.
    pub bytes: f64,
}

impl Sample {
    /// Of the seconds of an exchange, the messages and bytes that this rank has sent in it, and so many steps. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn of(
        world: &dyn World,
        exchange_s: f64,
        mut sent: [f64; 2],
        (timings, steps): (&Timings, u64),
    ) -> Result<Self, CommError> {
        world.sum(&mut sent)?;
        let [messages, bytes] = sent.map(|sum| sum / world.ranks() as f64);
        let step_s = timings.phase(Phase::Total).seconds.max / steps as f64;
        // All ranks rebuild together, and a rebuild makes the border once.
        let rebuilt_share = timings.phase(Phase::Border).calls as f64 / steps as f64;
        let phases = Phase::ALL.map(|phase| timings.phase(phase).seconds.avg / steps as f64);
        Ok(Self { exchange_s, step_s, phases, rebuilt_share, messages, bytes })
    }
}

/// So many that they take about `SAMPLE_S`.
pub fn exchanges_of_a_sample(exchange_s: f64) -> usize {
    let [least, most] = EXCHANGES;
    (SAMPLE_S / exchange_s.max(f64::MIN_POSITIVE)).clamp(least, most) as usize
}

/// Seconds per exchange of the slowest rank, the same number on all. *Collective.*
///
/// # Errors
/// Communication.
pub fn time_exchanges<E: From<CommError>>(
    world: &dyn World,
    heartbeat: &Heartbeat,
    exchanges: usize,
    mut exchange: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    (0..WARM_UP).try_for_each(|_| exchange())?;
    world.barrier()?;
    let begun = Instant::now();
    for _ in 0..exchanges {
        exchange()?;
        heartbeat.beat();
    }
    let mut slowest = [begun.elapsed().as_secs_f64()];
    world.max(&mut slowest)?;
    Ok(slowest[0] / exchanges as f64)
}
