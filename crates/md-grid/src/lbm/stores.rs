//! Stores to the second of two grids: through the caches or past them, whichever is faster on this
//! machine.
//!
//! A store through the caches first reads its line from memory, a third of the total traffic of two
//! grids. A store past them needs whole lines, and only few can be in flight at once. Which is
//! faster depends on the CPU and on other users of the memory: on one core of Intel family 6 model
//! 167 it is past the caches, on one of model 207 through them. Whether software prefetch helps
//! also differs: on Zen 3 the sweep is 1.2 times as fast without it. All variants give identical
//! bits, so the first steps try them in turn, and the fastest one is kept.

/// Way of writing populations that a sweep does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stores {
    /// Through the caches, which first read the line; this line and those of the other grid are
    /// prefetched.
    Ordinary,
    /// Through the caches, without prefetching.
    Unfetched,
    /// Past the caches.
    PastCaches,
}

impl Stores {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Ordinary, Self::Unfetched, Self::PastCaches];

    /// Returns the name in summary.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Unfetched => "unfetched",
            Self::PastCaches => "past-caches",
        }
    }
}

/// Total bytes of the grids above which they may be written past the caches. Grids of 64 x 64 x 64
/// nodes take equal time either way; smaller ones are faster in the caches.
const BEYOND_CACHES: usize = 80 << 20;

const KINDS: usize = Stores::ALL.len();

/// Number of steps of each kind in a trial.
const TURNS: usize = 3;

/// Choice of the stores over the steps.
#[derive(Debug, Clone, Copy)]
pub(super) enum StoresChoice {
    /// The choice has been made.
    Made(Stores),
    /// Steps try the variants in turn.
    Trial {
        /// Number of steps so far.
        steps: usize,
        /// Shortest time of a step with each of [`Stores::ALL`].
        least_s: [f64; KINDS],
    },
}

impl StoresChoice {
    /// Returns the choice `given`, or a trial if the total bytes of the grids are large.
    pub(super) fn new(given: Option<Stores>, bytes: usize) -> Self {
        match given {
            Some(stores) => Self::Made(stores),
            None if cfg!(feature = "mpi") && bytes > BEYOND_CACHES => {
                Self::Trial { steps: 0, least_s: [f64::INFINITY; KINDS] }
            }
            None => Self::Made(Stores::Ordinary),
        }
    }

    /// Returns the stores of the next step.
    pub(super) fn next(&self) -> Stores {
        match *self {
            Self::Made(stores) => stores,
            Self::Trial { steps, .. } => Stores::ALL[steps % KINDS],
        }
    }

    /// Records the time of the sweeps of the step with the stores of [`Self::next`]. The first
    /// steps of each grid are not counted, since the operating system then allocates its pages.
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

    /// Returns the choice after steps with these times, each kind in turn.
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
