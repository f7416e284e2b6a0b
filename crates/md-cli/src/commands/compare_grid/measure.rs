//! One strategy on a problem: whether its bits are right, and how long its exchange and its steps take.

use std::convert::Infallible;
use std::time::Instant;

use md_comm::World;
use md_comm::monitor::Heartbeat;
use md_engine::{Phase, Timings};
use md_grid::stencil::{self, Problem};
use md_grid::{Application, GridError, application};
use md_lab::compare::comparison::StepPhases;
use md_lab::trace::TracedWorld;

use crate::output::grid::GridContext;

/// Exchanges before the clock starts.
const WARM_UP: usize = 3;
/// Exchanges by which their number per sample is chosen.
const TRIAL: usize = 5;
/// What a sample of exchanges should take.
const SAMPLE_S: f64 = 0.05;
/// Bounds on the number of exchanges per sample.
const EXCHANGES: [f64; 2] = [10.0, 20_000.0];

/// One sample, the same on all ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    /// One exchange, of the slowest rank.
    pub exchange_s: f64,
    /// One step, of the slowest rank.
    pub step_s: f64,
    /// Its phases, mean over ranks.
    pub phases: StepPhases,
    /// Messages of one exchange, mean over ranks.
    pub messages: f64,
    /// Bytes of one exchange, mean over ranks.
    pub bytes: f64,
}

/// What is measured.
#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    pub world: &'s dyn World,
    pub problem: &'s Problem,
    pub heartbeat: &'s Heartbeat,
}

impl Subject<'_> {
    /// Works on an application in its initial state. *Collective.*
    fn with<T>(
        self,
        work: impl FnOnce(&mut dyn Application) -> Result<T, GridError>,
    ) -> Result<T, GridError> {
        let mut app = stencil::open(self.world, self.problem)?;
        self.heartbeat.beat();
        match work(&mut *app) {
            Ok(result) => {
                app.finalise()?;
                self.heartbeat.beat();
                Ok(result)
            }
            Err(error) => {
                // Taking back what is under way may take long, and the job will be ended from outside.
                std::mem::forget(app);
                Err(error)
            }
        }
    }

    /// A number that stands for the bits of all values after some steps, the same on all ranks. *Collective.*
    pub(super) fn fingerprint(self, steps: u64) -> Result<u64, GridError> {
        self.with(|app| {
            for _ in 0..steps {
                app.step()?;
                self.heartbeat.beat();
            }
            application::fingerprint(app, self.world, &self.problem.decomposition)
        })
    }

    /// Exchanges that make a sample, the same number on all ranks. *Collective.*
    pub(super) fn calibrate(self) -> Result<usize, GridError> {
        let exchange_s = self.with(|app| self.time_exchanges(app, TRIAL))?;
        let [least, most] = EXCHANGES;
        Ok((SAMPLE_S / exchange_s.max(f64::MIN_POSITIVE)).clamp(least, most) as usize)
    }

    /// One sample. *Collective.*
    pub(super) fn sample(self, exchanges: usize, steps: u64) -> Result<Sample, GridError> {
        let world = self.world;
        self.with(|app| {
            let before = app.traffic();
            let exchange_s = self.time_exchanges(app, exchanges)?;
            let after = app.traffic();
            let played = (exchanges + WARM_UP) as f64;
            let sent = [after.messages - before.messages, after.bytes - before.bytes];
            let mut sent = sent.map(|count| count as f64 / played);
            world.sum(&mut sent)?;
            let [messages, bytes] = sent.map(|sum| sum / world.ranks() as f64);
            world.barrier()?;
            app.clock().restart();
            for _ in 0..steps {
                app.step()?;
                self.heartbeat.beat();
            }
            let timings = Timings::reduce(&application::timing(app, steps, after), world)?;
            let phases = Phase::ALL.map(|phase| timings.phase(phase).seconds.avg / steps as f64);
            let step_s = timings.phase(Phase::Total).seconds.max / steps as f64;
            Ok(Sample { exchange_s, step_s, phases, messages, bytes })
        })
    }

    /// The timeline of so many steps of a rank with room for so many events; the parts of its file, on rank 0. *Collective.*
    pub(super) fn record(
        self,
        events: usize,
        steps: u64,
        context: &GridContext,
    ) -> Result<Vec<Vec<u8>>, GridError> {
        let traced = TracedWorld::new(self.world, events)?;
        Subject { world: &traced, ..self }.with(|app| {
            traced.start(|observer| app.clock().observe(observer))?;
            for _ in 0..steps {
                app.step()?;
                self.heartbeat.beat();
            }
            traced.stop()?;
            let mut parts = Vec::new();
            let Ok(_) = traced.write(context, |part| {
                parts.push(part.to_vec());
                Ok::<_, Infallible>(())
            })?;
            Ok(parts)
        })
    }

    /// Seconds per exchange of the slowest rank. *Collective.*
    fn time_exchanges(self, app: &mut dyn Application, exchanges: usize) -> Result<f64, GridError> {
        (0..WARM_UP).try_for_each(|_| app.exchange())?;
        self.world.barrier()?;
        let begun = Instant::now();
        for _ in 0..exchanges {
            app.exchange()?;
            self.heartbeat.beat();
        }
        let mut slowest = [begun.elapsed().as_secs_f64()];
        self.world.max(&mut slowest)?;
        Ok(slowest[0] / exchanges as f64)
    }
}
