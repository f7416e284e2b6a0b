//! Wall time of a run by phase.

use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};

macro_rules! phases {
    ($($phase:ident = $name:literal,)+) => {
        /// Phases of a step, in their order.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the names are the rows of timing.csv, described in docs/reference/outputs.md")]
        pub enum Phase {
            $($phase,)+
        }

        impl Phase {
            /// All phases, in the order of a step.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$phase),+];

            /// Name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$phase => $name,)+
                }
            }
        }
    };
}

phases! {
    Integrate = "integrate",
    Migrate = "migrate",
    Border = "border",
    Neighbor = "neighbor",
    HaloPack = "halo_pack",
    HaloTransfer = "halo_transfer",
    HaloWait = "halo_wait",
    HaloHidden = "halo_hidden",
    HaloUnpack = "halo_unpack",
    Force = "force",
    ForceReturn = "force_return",
    Reduce = "reduce",
    Output = "output",
    Other = "other",
    Total = "total",
}

/// Calls and seconds of one phase on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct PhaseTime {
    /// Number of times the phase was entered.
    pub calls: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Observer of phases, for timelines. Phases may be nested.
pub trait PhaseObserver {
    /// Called at the end of a phase that began at `begun` and took `lasted`.
    fn phase(&self, phase: Phase, begun: Instant, lasted: Duration);
}

/// Adds up wall time per phase on one rank.
#[derive(Clone)]
pub struct PhaseClock {
    times: [PhaseTime; Phase::ALL.len()],
    started: Instant,
    observer: Option<Rc<dyn PhaseObserver>>,
}

impl fmt::Debug for PhaseClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhaseClock").field("times", &self.times).finish_non_exhaustive()
    }
}

impl Default for PhaseClock {
    fn default() -> Self {
        Self { times: Default::default(), started: Instant::now(), observer: None }
    }
}

impl PhaseClock {
    /// Clears all times; called at the start of the step loop.
    pub fn restart(&mut self) {
        *self = Self { observer: self.observer.take(), ..Self::default() };
    }

    /// Sets the observer of all phases from now on.
    pub fn observe(&mut self, observer: Rc<dyn PhaseObserver>) {
        self.observer = Some(observer);
    }

    /// Runs `work` and books its time on `phase`. Must not be nested: the time would be counted
    /// twice.
    #[inline]
    pub fn time<R>(&mut self, phase: Phase, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.book_since(phase, start);
        result
    }

    /// Books the time since `begun`, less the time booked on other phases since then; `claimed_s`
    /// is [`Self::claimed_s`] at `begun`.
    pub(crate) fn book_rest(&mut self, phase: Phase, begun: Instant, claimed_s: f64) {
        let others = Duration::try_from_secs_f64(self.claimed_s() - claimed_s).unwrap_or_default();
        self.book_without(phase, begun, others);
    }

    /// Returns the seconds booked on a phase so far.
    pub(crate) fn seconds(&self, phase: Phase) -> f64 {
        self.times[phase as usize].seconds
    }

    /// Returns the seconds booked so far, without the hidden halo time, which overlaps with other
    /// phases.
    pub(crate) fn claimed_s(&self) -> f64 {
        let all: f64 = self.times.iter().map(|time| time.seconds).sum();
        all - self.times[Phase::HaloHidden as usize].seconds
    }

    /// Books the time since `begun` on `phase`.
    #[inline]
    pub fn book_since(&mut self, phase: Phase, begun: Instant) {
        self.book_without(phase, begun, Duration::ZERO);
    }

    #[inline]
    fn book_without(&mut self, phase: Phase, begun: Instant, others: Duration) {
        let lasted = begun.elapsed();
        let time = &mut self.times[phase as usize];
        time.calls += 1;
        time.seconds += lasted.saturating_sub(others).as_secs_f64();
        if let Some(observer) = &self.observer {
            observer.phase(phase, begun, lasted);
        }
    }

    /// Returns the times so far; `total` is the time since the restart over `steps` steps, `other`
    /// the time not booked on any phase.
    pub fn times(&self, steps: u64) -> [PhaseTime; Phase::ALL.len()] {
        let total = self.started.elapsed().as_secs_f64();
        let mut times = self.times;
        times[Phase::Total as usize] = PhaseTime { calls: steps, seconds: total };
        times[Phase::Other as usize] =
            PhaseTime { calls: steps, seconds: (total - self.claimed_s()).max(0.0) };
        times
    }
}
