//! Part of a checkpoint that is the same on all ranks, as words.

use md_core::SimdLevel;
use md_core::rebuild::RebuildHistory;

use crate::balance::BalanceReport;
use crate::motion::barostat::BoxReport;
use crate::report::{EnergyReport, NeighborReport};

/// Upper limit of step counts: no run makes more steps, and counts can grow from here without
/// overflow.
pub(super) const MOST_STEPS: u64 = u64::MAX / 2;

/// Part of a checkpoint that is the same on all ranks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shared {
    pub(crate) step: u64,
    /// \[time\].
    pub(crate) time: f64,
    pub(crate) timestep: f64,
    /// Time of step 0, had all steps been made with this time step.
    pub(crate) time_at_start: f64,
    pub(crate) origin: [f64; 3],
    pub(crate) lengths: [f64; 3],
    pub(crate) lengths_at_rebuild: [f64; 3],
    pub(crate) simd: SimdLevel,
    pub(crate) history: RebuildHistory,
    pub(crate) neighborhood: NeighborReport,
    pub(crate) energy: EnergyReport,
    pub(crate) box_changes: BoxReport,
    /// Energy absorbed by the thermostats of earlier stages, and work done by the barostat,
    /// \[energy\].
    pub(crate) reservoirs: [f64; 2],
    /// Words of the division, and the history of the balancing.
    pub(crate) division: Vec<u64>,
    pub(crate) balance: BalanceReport,
    pub(crate) memory: Vec<f64>,
}

impl Shared {
    pub(crate) fn words(&self) -> Vec<u64> {
        let RebuildHistory { steps_since, known, growth, steps_ahead, falling } = self.history;
        let mut words = vec![self.step, level_number(self.simd), steps_since, falling];
        let numbers = [self.time, self.timestep, self.time_at_start, known, steps_ahead].into_iter();
        let numbers = numbers.chain(growth).chain(self.origin).chain(self.lengths);
        let numbers = numbers.chain(self.lengths_at_rebuild).chain(self.reservoirs);
        words.extend(numbers.map(f64::to_bits));
        words.extend(self.neighborhood.words());
        words.extend(self.energy.words());
        words.extend([self.box_changes.changes, self.box_changes.limited]);
        for part in [&self.division, &self.balance.words()] {
            words.push(part.len() as u64);
            words.extend(part);
        }
        words.extend(self.memory.iter().map(|number| number.to_bits()));
        words
    }

    /// Returns `None` if these are not the words of a state.
    pub(crate) fn from_words(words: &[u64]) -> Option<Self> {
        let (&[step, level, steps_since, falling], words) = words.split_first_chunk()?;
        let (numbers, words) = words.split_first_chunk::<18>()?;
        let numbers = numbers.map(f64::from_bits);
        let [time, timestep, time_at_start, known, steps_ahead, g0, g1, numbers @ ..] = numbers;
        let [ox, oy, oz, lx, ly, lz, rx, ry, rz, earlier, work] = numbers;
        let (neighborhood, words) = words.split_first_chunk()?;
        let (energy, words) = words.split_first_chunk()?;
        let (&[changes, limited], words) = words.split_first_chunk()?;
        let (division, words) = counted(words)?;
        let (balance, memory) = counted(words)?;
        Some(Self {
            step,
            time,
            timestep,
            time_at_start,
            origin: [ox, oy, oz],
            lengths: [lx, ly, lz],
            lengths_at_rebuild: [rx, ry, rz],
            simd: *SimdLevel::ALL.get(usize::try_from(level).ok()?)?,
            history: RebuildHistory { steps_since, known, growth: [g0, g1], steps_ahead, falling },
            neighborhood: NeighborReport::from_words(*neighborhood),
            energy: EnergyReport::from_words(*energy),
            box_changes: BoxReport { changes, limited },
            reservoirs: [earlier, work],
            division: division.to_vec(),
            balance: BalanceReport::from_words(balance)?,
            memory: memory.iter().copied().map(f64::from_bits).collect(),
        })
    }

    /// Returns whether a run can have been in this state.
    pub(super) fn is_sound(&self) -> bool {
        let Self { time, timestep, time_at_start, origin, reservoirs, memory, .. } = self;
        let RebuildHistory { steps_since, falling, steps_ahead, .. } = self.history;
        let lengths = [self.lengths, self.lengths_at_rebuild].concat();
        let numbers =
            [time, timestep, time_at_start, &steps_ahead].into_iter().chain(origin).chain(reservoirs);
        let NeighborReport { rebuilds, dangerous_rebuilds, dangerous_checks, .. } = self.neighborhood;
        let counts = [self.step, steps_since, falling, rebuilds, dangerous_rebuilds, dangerous_checks];
        let BoxReport { changes, limited } = self.box_changes;
        numbers.chain(&lengths).all(|number| number.is_finite())
            && lengths.iter().all(|&length| length > 0.0)
            // FIRE begins with an infinite force.
            && !memory.iter().any(|number| number.is_nan())
            && limited <= changes
            && counts.into_iter().chain([self.energy.looks, changes]).all(|count| count <= MOST_STEPS)
    }

    /// Returns the time of step 0 extrapolated from here with another time step.
    pub(crate) fn time_at_start(&self, timestep: f64) -> f64 {
        if timestep == self.timestep { self.time_at_start } else { self.time - self.step as f64 * timestep }
    }
}

/// Splits words that begin with a count: returns the counted words and the rest.
fn counted(words: &[u64]) -> Option<(&[u64], &[u64])> {
    let (&count, words) = words.split_first()?;
    words.split_at_checked(usize::try_from(count).ok()?)
}

fn level_number(level: SimdLevel) -> u64 {
    SimdLevel::ALL.iter().position(|&other| other == level).unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_words_are_read_back() {
        let neighborhood =
            NeighborReport { first_dangerous_step: Some(0), rebuilds: 7, ..Default::default() };
        let shared = Shared {
            step: 73,
            time: 0.365,
            timestep: 0.005,
            time_at_start: 0.0,
            origin: [0.0, -1.0, 2.0],
            lengths: [3.0; 3],
            lengths_at_rebuild: [2.0, 3.0, 4.0],
            simd: SimdLevel::Avx2,
            history: RebuildHistory {
                steps_since: 3,
                known: 0.1,
                growth: [0.0, f64::INFINITY],
                steps_ahead: 5.5,
                falling: 2,
            },
            neighborhood,
            energy: EnergyReport::from_words([1, 2, 3, 4, 5, 6, 7, 8, 9]),
            box_changes: BoxReport { changes: 9, limited: 4 },
            reservoirs: [1.5, -2.0],
            division: vec![7, 8, 9],
            balance: BalanceReport { checks: 1, imbalance_first: Some(1.5), ..Default::default() },
            memory: vec![0.5, -0.0],
        };
        let words = shared.words();
        assert_eq!(Shared::from_words(&words), Some(shared));
        assert!((0..words.len() - 2).all(|length| Shared::from_words(&words[..length]).is_none()));
    }

    #[test]
    fn time_goes_on_with_another_time_step() {
        let words = vec![0; 64];
        let mut shared = Shared::from_words(&words).unwrap();
        (shared.step, shared.time, shared.timestep) = (100, 0.5, 0.005);
        assert_eq!(shared.time_at_start(0.005), 0.0);
        assert_eq!(shared.time_at_start(0.001) + 101.0 * 0.001, 0.501);
    }
}
