//! Where the time of a run goes, phase by phase.

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};

macro_rules! phases {
    ($($phase:ident = $name:literal,)+) => {
        /// Where the time of a step goes, in the order of a step.
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
    Output = "output",
    Other = "other",
    Total = "total",
}

/// Calls and seconds of one phase on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct PhaseTime {
    /// How often the phase was entered.
    pub calls: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Adds up wall time per phase on one rank.
#[derive(Debug, Clone)]
pub struct PhaseClock {
    times: [PhaseTime; Phase::ALL.len()],
    started: Instant,
}

impl Default for PhaseClock {
    fn default() -> Self {
        Self { times: Default::default(), started: Instant::now() }
    }
}

impl PhaseClock {
    /// Forgets everything: the start of the step loop.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// Does `work` and books its time on `phase`. Not to be nested: the time would be counted twice.
    #[inline]
    pub fn time<R>(&mut self, phase: Phase, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.book(phase, start.elapsed());
        result
    }

    /// Books the time since `begun`, without what other phases have claimed beyond [`Self::claimed_s`] of then.
    pub(crate) fn book_rest(&mut self, phase: Phase, begun: Instant, claimed_s: f64) {
        let others = Duration::try_from_secs_f64(self.claimed_s() - claimed_s).unwrap_or_default();
        self.book(phase, begun.elapsed().saturating_sub(others));
    }

    /// Seconds booked so far. What is hidden behind other phases is no time of its own.
    pub(crate) fn claimed_s(&self) -> f64 {
        let all: f64 = self.times.iter().map(|time| time.seconds).sum();
        all - self.times[Phase::HaloHidden as usize].seconds
    }

    /// Books a time measured elsewhere.
    #[inline]
    pub fn book(&mut self, phase: Phase, duration: Duration) {
        let time = &mut self.times[phase as usize];
        time.calls += 1;
        time.seconds += duration.as_secs_f64();
    }

    /// The times so far; `total` is the time since the restart over `steps` steps, `other` what no phase has claimed.
    pub fn times(&self, steps: u64) -> [PhaseTime; Phase::ALL.len()] {
        let total = self.started.elapsed().as_secs_f64();
        let mut times = self.times;
        times[Phase::Total as usize] = PhaseTime { calls: steps, seconds: total };
        times[Phase::Other as usize] =
            PhaseTime { calls: steps, seconds: (total - self.claimed_s()).max(0.0) };
        times
    }
}
