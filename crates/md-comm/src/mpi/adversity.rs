//! Deliberately bad circumstances, for tests: a protocol that is right only by luck must not pass.

use std::cell::RefCell;
use std::time::Duration;

use crate::Rank;
use crate::conformance::Random;
use crate::mpi::ffi::RANKS_PER_FLUSH;

/// Longest pause between two actions of a protocol.
const LONGEST_PAUSE_US: usize = 200;
/// One pause in this number of places is a sleep; the others are over at once.
const PLACES_PER_SLEEP: usize = 4;

/// Difficulties that the contexts of a world meet beside their work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Adversity {
    /// None.
    #[default]
    None,
    /// One-sided contexts pause at random between ticket, put, flush, flag, get and credit, and
    /// overwrite each buffer or piece of a ring after it has been read, so that an early write or a
    /// late read is detected. (A buffer that receivers get from belongs to its sender, which packs
    /// the next message over it.) Buffers in shared memory are written with cached stores in one
    /// exchange and streaming stores in the next.
    Rough,
    /// Like `Rough`, but `shm` and `rma-notify` are made wrong: the flag is raised before the data
    /// have arrived. Shows that the conformance suite finds it.
    FlagFirst,
    /// The last rank gets no window from the library. Shows that the others do not wait for it.
    NoWindow,
}

impl Adversity {
    /// Returns whether this rank gets no window.
    pub(super) fn refuses_window(self, rank: Rank, ranks: usize) -> bool {
        self == Self::NoWindow && rank + 1 == ranks
    }

    /// Returns [`RANKS_PER_FLUSH`], or 0 for a separate flush of each rank that needs one, which
    /// otherwise happens only in runs on very many ranks.
    pub(super) fn ranks_per_flush(self) -> usize {
        match self {
            Self::None | Self::NoWindow => RANKS_PER_FLUSH,
            Self::Rough | Self::FlagFirst => 0,
        }
    }
}

/// The difficulties of one context.
#[derive(Debug)]
pub(super) struct Jitter {
    adversity: Adversity,
    random: Option<RefCell<Random>>,
    /// Offset and length of what was read in this exchange; recorded only under adversity.
    read: Vec<(usize, usize)>,
}

impl Jitter {
    /// Creates the difficulties of a context. `rank` and `context` make its pauses differ from
    /// those of other contexts.
    pub(super) fn new(adversity: Adversity, rank: Rank, context: u64) -> Self {
        let rough = match adversity {
            Adversity::Rough | Adversity::FlagFirst => true,
            Adversity::None | Adversity::NoWindow => false,
        };
        let random = rough.then(|| RefCell::new(Random::keyed(&[rank as u64, context])));
        Self { adversity, random, read: Vec::new() }
    }

    /// Returns whether the messages of this exchange are streamed into shared memory, or `None` if
    /// the faster way is to be used.
    pub(super) fn forces_streaming(&self, sequence: u64) -> Option<bool> {
        match self.adversity {
            Adversity::None | Adversity::NoWindow => None,
            Adversity::Rough => Some(sequence.is_multiple_of(2)),
            // With the flag raised first, the buffer is packed afterwards.
            Adversity::FlagFirst => Some(false),
        }
    }

    /// Pauses at random in a place where the other ranks may get far ahead.
    pub(super) fn pause(&self) {
        if let Some(random) = &self.random
            && random.borrow_mut().below(PLACES_PER_SLEEP) == 0
        {
            sleep(random);
        }
    }

    /// Pauses in a place where the other ranks are sure to get far ahead.
    pub(super) fn linger(&self) {
        self.random.iter().for_each(sleep);
    }

    /// Records bytes of the own part that were handed out.
    pub(super) fn note_read(&mut self, offset: usize, length: usize) {
        if self.random.is_some() {
            self.read.push((offset, length));
        }
    }

    /// Returns the recorded bytes, one record at a time, when they are no longer read.
    pub(super) fn take_read(&mut self) -> Option<(usize, usize)> {
        self.read.pop()
    }
}

fn sleep(random: &RefCell<Random>) {
    let pause_us = random.borrow_mut().below(LONGEST_PAUSE_US);
    std::thread::sleep(Duration::from_micros(pause_us as u64));
}
