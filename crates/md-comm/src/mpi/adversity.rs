//! Bad circumstances on purpose, for tests: a protocol that is right only by luck must not pass.

use std::cell::RefCell;
use std::time::Duration;

use crate::Rank;
use crate::conformance::Random;
use crate::mpi::ffi::RANKS_PER_FLUSH;

/// Longest pause between two actions of a protocol.
const LONGEST_PAUSE_US: usize = 200;
/// One pause in so many places is a sleep; the others are over at once.
const PLACES_PER_SLEEP: usize = 4;

/// What the contexts of a world have to bear beside their work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Adversity {
    /// Nothing.
    #[default]
    None,
    /// One-sided contexts pause at random between ticket, put, flush, flag, get and credit, and
    /// overwrite each buffer or piece of a ring after it has been read, so that whoever writes too
    /// early or reads too late is seen. (A buffer that receivers get from is its sender's, who
    /// packs the next message over it.) Buffers in shared memory are written one way in one
    /// exchange and the other way in the next.
    Rough,
    /// The same with `shm` and `rma-notify` made wrong: the flag is raised before the data have
    /// come. For showing that the conformance suite finds it.
    FlagFirst,
    /// The last rank gets no window from the library. For showing that the others do not wait for
    /// it.
    NoWindow,
}

impl Adversity {
    /// Whether this rank gets no window.
    pub(super) fn refuses_window(self, rank: Rank, ranks: usize) -> bool {
        self == Self::NoWindow && rank + 1 == ranks
    }

    /// [`RANKS_PER_FLUSH`], or 0 for a flush of each rank that needs one, as only runs on very many
    /// ranks have.
    pub(super) fn ranks_per_flush(self) -> usize {
        match self {
            Self::None | Self::NoWindow => RANKS_PER_FLUSH,
            Self::Rough | Self::FlagFirst => 0,
        }
    }
}

/// What one context bears.
#[derive(Debug)]
pub(super) struct Jitter {
    adversity: Adversity,
    random: Option<RefCell<Random>>,
    /// Offset and length of what was read in this exchange; noted only under adversity.
    read: Vec<(usize, usize)>,
}

impl Jitter {
    /// `rank` and `context` tell one context's pauses from those of others.
    pub(super) fn new(adversity: Adversity, rank: Rank, context: u64) -> Self {
        let rough = match adversity {
            Adversity::Rough | Adversity::FlagFirst => true,
            Adversity::None | Adversity::NoWindow => false,
        };
        let random = rough.then(|| RefCell::new(Random::keyed(&[rank as u64, context])));
        Self { adversity, random, read: Vec::new() }
    }

    /// Whether the messages of this exchange are streamed into shared memory, if that is not left
    /// to what is faster.
    pub(super) fn forces_streaming(&self, sequence: u64) -> Option<bool> {
        match self.adversity {
            Adversity::None | Adversity::NoWindow => None,
            Adversity::Rough => Some(sequence.is_multiple_of(2)),
            // Who raises the flag first packs into the buffer afterwards.
            Adversity::FlagFirst => Some(false),
        }
    }

    /// A place where the other ranks may get far ahead.
    pub(super) fn pause(&self) {
        if let Some(random) = &self.random
            && random.borrow_mut().below(PLACES_PER_SLEEP) == 0
        {
            sleep(random);
        }
    }

    /// A place where they surely do.
    pub(super) fn linger(&self) {
        self.random.iter().for_each(sleep);
    }

    /// Bytes of the own part that were handed out.
    pub(super) fn note_read(&mut self, offset: usize, length: usize) {
        if self.random.is_some() {
            self.read.push((offset, length));
        }
    }

    /// The same, one by one, when they are not looked at any more.
    pub(super) fn take_read(&mut self) -> Option<(usize, usize)> {
        self.read.pop()
    }
}

fn sleep(random: &RefCell<Random>) {
    let pause_us = random.borrow_mut().below(LONGEST_PAUSE_US);
    std::thread::sleep(Duration::from_micros(pause_us as u64));
}
