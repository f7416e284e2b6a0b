//! One sample of one strategy: the exchange alone, and some steps.

use std::rc::Rc;
use std::time::Instant;

use md_comm::monitor::Heartbeat;
use md_comm::{CommError, Traffic, World};
use md_engine::clock::PhaseObserver;
use md_engine::{Phase, Timings};

use super::comparison::StepPhases;
use crate::Problem;

/// Exchanges before the clock starts.
pub const WARM_UP: usize = 5;
/// Exchanges of the trial that sets the number per sample.
const TRIAL: usize = 10;
/// Intended duration of a sample of exchanges.
const SAMPLE_S: f64 = 0.02;
/// Bounds on the number of exchanges per sample.
const EXCHANGES: [f64; 2] = [10.0, 20_000.0];

/// One sample, identical on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    /// Time of one exchange, of the slowest rank.
    pub(super) exchange_s: f64,
    /// Time of one step, of the slowest rank.
    pub(super) step_s: f64,
    /// Time of its phases, mean over ranks.
    pub(super) phases: StepPhases,
    /// Share of the steps that rebuilt, 0 to 1.
    pub(super) rebuilt_share: f64,
    /// Messages of one exchange, mean over ranks.
    pub(super) messages: f64,
    /// Bytes of one exchange, mean over ranks.
    pub(super) bytes: f64,
}

/// World and heartbeat of a strategy.
#[derive(Clone, Copy)]
pub struct Place<'s> {
    /// World of the strategy.
    pub world: &'s dyn World,
    /// Heartbeat that shows that the work goes on.
    pub heartbeat: &'s Heartbeat,
}

/// A running strategy: a simulation, or an application on a grid. All methods that can fail are
/// *collective*.
///
/// # Errors
/// All methods return the reason for the failure.
#[expect(clippy::missing_errors_doc, reason = "the trait says it of all methods")]
pub trait Running {
    /// Makes exchanges of the halo alone, timed by [`Place::time`].
    fn time_exchanges(&mut self, place: Place, count: usize) -> Result<Exchanged, Problem>;

    /// Discards the times so far.
    fn start_measuring(&mut self) -> Result<(), Problem>;

    /// Makes an ordinary step.
    fn step(&mut self) -> Result<(), Problem>;

    /// Completes the last of `steps` steps since measuring was started; returns their times,
    /// reduced over the ranks.
    fn timings(&mut self, place: Place, steps: u64) -> Result<Timings, Problem>;

    /// Checks after the timing what the steps have not checked.
    fn look_back(&mut self, _: Place) -> Result<(), Problem> {
        Ok(())
    }

    /// Calls this observer at each phase from now on.
    fn observe(&mut self, observer: Rc<dyn PhaseObserver>);

    /// Closes the contexts.
    fn finalise(self) -> Result<(), Problem>;
}

/// Result of exchanges alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exchanged {
    /// Seconds of one exchange, of the slowest rank.
    pub seconds: f64,
    /// Messages that this rank sends in one exchange.
    pub messages: f64,
    /// Bytes that this rank sends in one exchange.
    pub bytes: f64,
}

impl Exchanged {
    /// Returns the result from the seconds of one exchange and this rank's traffic in `exchanges`
    /// exchanges.
    pub fn of(seconds: f64, Traffic { messages, bytes }: Traffic, exchanges: usize) -> Self {
        let [messages, bytes] = [messages, bytes].map(|count| count as f64 / exchanges as f64);
        Self { seconds, messages, bytes }
    }
}

impl Place<'_> {
    /// Returns the seconds per exchange of the slowest rank, on all ranks; [`WARM_UP`] untimed
    /// exchanges precede. *Collective.*
    ///
    /// # Errors
    /// Errors of the exchange, and failed communication.
    pub fn time<E: From<CommError>>(
        self,
        count: usize,
        mut exchange: impl FnMut() -> Result<(), E>,
    ) -> Result<f64, E> {
        (0..WARM_UP).try_for_each(|_| exchange())?;
        self.world.barrier()?;
        let begun = Instant::now();
        for _ in 0..count {
            exchange()?;
            self.heartbeat.beat();
        }
        let mut slowest = [begun.elapsed().as_secs_f64()];
        self.world.max(&mut slowest)?;
        Ok(slowest[0] / count as f64)
    }

    /// Makes ordinary steps, timed phase by phase. *Collective.*
    pub(super) fn time_steps(self, running: &mut impl Running, steps: u64) -> Result<Timings, Problem> {
        self.world.barrier()?;
        running.start_measuring()?;
        self.make_steps(running, steps)?;
        running.timings(self, steps)
    }

    /// Makes ordinary steps. *Collective.*
    ///
    /// # Errors
    /// The reason for the failure of a step.
    pub fn make_steps(self, running: &mut impl Running, steps: u64) -> Result<(), Problem> {
        for _ in 0..steps {
            running.step()?;
            self.heartbeat.beat();
        }
        Ok(())
    }

    /// Returns the number of exchanges that take about `SAMPLE_S`, equal on all ranks.
    /// *Collective.*
    pub(super) fn calibrate(self, running: &mut impl Running) -> Result<usize, Problem> {
        let [least, most] = EXCHANGES;
        let exchange_s = running.time_exchanges(self, TRIAL)?.seconds;
        Ok((SAMPLE_S / exchange_s.max(f64::MIN_POSITIVE)).clamp(least, most) as usize)
    }

    /// Takes one sample of `exchanges` exchanges and `steps` steps. *Collective.*
    pub(super) fn sample(
        self,
        running: &mut impl Running,
        exchanges: usize,
        steps: u64,
    ) -> Result<Sample, Problem> {
        let Exchanged { seconds: exchange_s, messages, bytes } = running.time_exchanges(self, exchanges)?;
        let mut sent = [messages, bytes];
        self.world.sum(&mut sent)?;
        let [messages, bytes] = sent.map(|sum| sum / self.world.ranks() as f64);
        let timings = self.time_steps(running, steps)?;
        running.look_back(self)?;
        let step_s = timings.phase(Phase::Total).seconds.max / steps as f64;
        let phases = Phase::ALL.map(|phase| timings.phase(phase).seconds.avg / steps as f64);
        // All ranks rebuild together, and a rebuild makes the border once.
        let rebuilt_share = timings.phase(Phase::Border).calls as f64 / steps as f64;
        Ok(Sample { exchange_s, step_s, phases, rebuilt_share, messages, bytes })
    }
}
