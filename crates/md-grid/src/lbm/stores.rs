//! How the second of two grids is written: into the caches or past them, whichever is faster here.
//!
//! A store into the caches has its line read from memory before, a third of all that two grids move; one past them needs whole lines, and
//! few of them can be under way at once. Which is faster differs from CPU to CPU and with what else uses the memory: on one core of Intel family 6
//! model 167 past the caches, on one of model 207 into them. Whether lines are better asked for in time or left to the CPU to foresee differs too: on Zen 3
//! the sweep is 1.2 times as fast without. All give the same bits, so the first steps take turns, and the fastest way stays.

/// How populations are written that a sweep does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Into the caches, which read the line before; that and those of the other grid are asked for in time.
    Ordinary,
    /// The same, but no line is asked for.
    Unfetched,
    /// Past the caches.
    PastCaches,
}

impl Stores {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ordinary, Self::Unfetched, Self::PastCaches];

    /// In summary.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Unfetched => "unfetched",
            Self::PastCaches => "past-caches",
        }
    }
}

/// Grids that take so many bytes together may be written past the caches: those of 64 x 64 x 64 nodes take the same time either way,
/// smaller ones less in the caches.
const BEYOND_CACHES: usize = 80 << 20;

const KINDS: usize = Stores::ALL.len();

/// Steps of each kind in a trial.
const TURNS: usize = 3;

/// The choice, from step to step.
#[derive(Debug, Clone, Copy)]
pub(super) enum StoresChoice {
    /// Made.
    Made(Stores),
    /// Steps take turns.
    Trial {
        /// So far.
        steps: usize,
        /// The least of a step with each of [`Stores::ALL`].
        least_s: [f64; KINDS],
    },
}

impl StoresChoice {
    /// As `given`, or of grids that have so many bytes together.
    pub(super) fn new(given: Option<Stores>, bytes: usize) -> Self {
        match given {
            Some(stores) => Self::Made(stores),
            None if cfg!(feature = "mpi") && bytes > BEYOND_CACHES => {
                Self::Trial { steps: 0, least_s: [f64::INFINITY; KINDS] }
            }
            None => Self::Made(Stores::Ordinary),
        }
    }

    /// Of the next step.
    pub(super) fn next(&self) -> Stores {
        match *self {
            Self::Made(stores) => stores,
            Self::Trial { steps, .. } => Stores::ALL[steps % KINDS],
        }
    }

    /// The sweeps of the step that [`Self::next`] was asked for took so long. Of each grid the first step does not count: the system gives
    /// it its pages then.
    pub(super) fn took(&mut self, seconds: f64) {
        let Self::Trial { steps, least_s } = self else { return };
        if *steps >= KINDS {
            let least_s = &mut least_s[*steps % KINDS];
            *least_s = least_s.min(seconds);
        }
        *steps += 1;
        if *steps == KINDS * (1 + TURNS) {
            let fastest =
                Stores::ALL.into_iter().zip(*least_s).min_by(|(_, one), (_, other)| one.total_cmp(other));
            *self = Self::Made(fastest.map_or(Stores::Ordinary, |(stores, _)| stores));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was chosen when steps took so long, each kind in turn.
    fn chosen(times_s: [f64; 12]) -> Stores {
        let mut choice = StoresChoice::new(None, usize::MAX);
        for (step, seconds) in times_s.into_iter().enumerate() {
            let turn = Stores::ALL[step % 3];
            assert_eq!(choice.next(), turn, "step {step}");
            choice.took(seconds);
        }
        choice.took(0.0);
        choice.next()
    }

    #[test]
    #[cfg_attr(not(feature = "mpi"), ignore = "there is one way only")]
    fn the_fastest_way_stays_whatever_the_first_steps_took() {
        assert_eq!(chosen([0.1, 0.1, 9.0, 3.0, 3.0, 2.0, 2.5, 5.0, 4.0, 3.0, 2.1, 4.0]), Stores::PastCaches);
        assert_eq!(chosen([9.0, 9.0, 0.1, 3.0, 3.0, 4.0, 2.5, 3.0, 4.0, 9.0, 9.0, 2.6]), Stores::Ordinary);
        assert_eq!(chosen([9.0, 9.0, 0.1, 3.0, 3.0, 4.0, 2.5, 2.4, 4.0, 9.0, 9.0, 2.6]), Stores::Unfetched);
    }

    #[test]
    fn small_grids_and_given_ways_are_not_tried() {
        assert_eq!(StoresChoice::new(None, 1 << 20).next(), Stores::Ordinary);
        let mut given = StoresChoice::new(Some(Stores::PastCaches), usize::MAX);
        given.took(1.0);
        assert_eq!(given.next(), Stores::PastCaches);
    }
}
