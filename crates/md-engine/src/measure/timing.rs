//! Timings of the step loop, for each rank and reduced over all.

use bytemuck::{Pod, Zeroable};
use md_comm::{Rank, World};

use crate::clock::{Phase, PhaseTime};
use crate::error::EngineError;

/// Phases in which a rank works by itself; their sum shows how the work is divided.
const WORK: [Phase; 3] = [Phase::Integrate, Phase::Neighbor, Phase::Force];

/// Measurements of one rank over the step loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct RankTiming {
    /// Times of the phases, indexed by `Phase as usize`.
    pub phases: [PhaseTime; Phase::ALL.len()],
    /// Number of messages sent.
    pub messages: u64,
    /// Payload bytes sent.
    pub bytes: u64,
    /// Owned particles at the end.
    pub owned: u64,
    /// Ghost particles at the end.
    pub ghosts: u64,
    /// Fraction of the inner pairs that is computed while forces are sent to their owners, at the
    /// end.
    pub second_share: f64,
}

impl RankTiming {
    /// Returns the seconds in which the rank worked by itself.
    pub fn work_s(&self) -> f64 {
        WORK.iter().map(|&phase| self.phases[phase as usize].seconds).sum()
    }

    /// Returns the measurements of all ranks on `root`, in their order; nothing elsewhere.
    /// *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn gather(&self, root: Rank, world: &dyn World) -> Result<Vec<Self>, EngineError> {
        let all = world.gather(root, bytemuck::bytes_of(self))?;
        Ok(all.iter().flat_map(|bytes| bytemuck::pod_collect_to_vec::<_, Self>(bytes)).collect())
    }
}

/// Smallest, average and largest value over the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Average, clamped between `min` and `max` because rounding could put it outside.
    pub avg: f64,
    /// Largest.
    pub max: f64,
}

/// Calls and seconds of one phase over the ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PhaseSpread {
    /// Number of times the phase was entered: maximum over the ranks, nearly always the same on
    /// all.
    pub calls: u64,
    /// Wall time in seconds.
    pub seconds: Spread,
}

/// Measurements over the step loop, reduced; the same on all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timings {
    /// Times of the phases, indexed by `Phase as usize`.
    pub phases: [PhaseSpread; Phase::ALL.len()],
    /// Spread of [`RankTiming::work_s`].
    pub work_s: Spread,
    /// Owned particles at the end.
    pub owned: Spread,
    /// Owned particles of the rank that worked longest.
    pub owned_by_slowest: f64,
    /// Ghost particles at the end.
    pub ghosts: Spread,
    /// Fraction of the inner pairs that is computed while forces are sent to their owners, at the
    /// end.
    pub second_share: Spread,
    /// Messages sent by all ranks.
    pub messages: u64,
    /// Payload bytes sent by all ranks.
    pub bytes: u64,
}

impl Timings {
    /// Reduces the measurements of all ranks. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn reduce(own: &RankTiming, world: &dyn World) -> Result<Self, EngineError> {
        const PHASES: usize = Phase::ALL.len();
        let mut values = own.phases.map(|phase| phase.seconds).to_vec();
        values.extend([own.work_s(), own.owned as f64, own.ghosts as f64, own.second_share]);
        let count = values.len();
        // The smallest value is the negative of the largest negated value.
        let mut largest: Vec<f64> = values.iter().copied().chain(values.iter().map(|value| -value)).collect();
        largest.extend(own.phases.map(|phase| phase.calls as f64));
        world.max(&mut largest)?;
        let mut sums = values;
        sums.extend([own.messages as f64, own.bytes as f64]);
        world.sum(&mut sums)?;
        let spread = |index: usize| {
            let (min, max) = (-largest[count + index], largest[index]);
            Spread { min, avg: (sums[index] / world.ranks() as f64).max(min).min(max), max }
        };
        let phase =
            |index: usize| PhaseSpread { calls: largest[2 * count + index] as u64, seconds: spread(index) };
        let [work_s, owned, ghosts, second_share] = [0, 1, 2, 3].map(|index| spread(PHASES + index));
        let is_slowest = own.work_s() >= work_s.max;
        let mut owned_by_slowest = [if is_slowest { own.owned as f64 } else { 0.0 }];
        world.max(&mut owned_by_slowest)?;
        Ok(Self {
            phases: std::array::from_fn(phase),
            work_s,
            owned,
            owned_by_slowest: owned_by_slowest[0],
            ghosts,
            second_share,
            messages: sums[count] as u64,
            bytes: sums[count + 1] as u64,
        })
    }

    /// Returns calls and seconds of a phase.
    pub fn phase(&self, phase: Phase) -> PhaseSpread {
        self.phases[phase as usize]
    }
}
