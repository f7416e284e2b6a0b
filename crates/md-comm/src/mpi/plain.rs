//! Windows without a protocol, to measure what the library's own calls take: a transport is these
//! calls and some rules on top.
//!
//! What makes them safe: every access is checked against the size of the window and the epoch this
//! rank is in, and a rank looks at its own part only in [`PlainWindow::with_own`], between two
//! barriers, while no rank has an epoch. What several ranks write to one place at a time is one of
//! them or a mixture.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::MpiWorld;
use super::ffi::{self, Memory, Place, Request, Vector, Window};
use crate::spin_wait::SpinWait;
use crate::{ALIGNMENT, Asserts, CommError, Rank, World};

const CONTEXT: &str = "a plain window";
/// Where puts are from.
const OUT: usize = 0;
/// Where gets go.
const IN: usize = 1;

/// Copies as much of `from` as `to` has room for with streaming stores, where the CPU has any.
pub fn copy_streaming(from: &[u8], to: &mut [u8]) {
    ffi::copy_streaming(from, to);
}

/// What a window shall be, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainSpec {
    /// Whose memory it is.
    pub memory: PlainMemory,
    /// Number of MPI windows.
    pub windows: usize,
    /// Bytes of every rank in each of them.
    pub bytes: usize,
    /// Whether the library is told what it may rely on.
    pub asserts: Asserts,
}

/// Where a window's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainMemory {
    /// Where the library chooses.
    Allocated,
    /// Where all ranks of a node can store.
    Shared,
}

/// A place in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Whose part.
    pub rank: Rank,
    /// Number of the MPI window.
    pub window: usize,
    /// Bytes from its beginning.
    pub offset: usize,
}

impl At {
    /// The beginning of a rank's first window.
    pub fn start_of(rank: Rank) -> Self {
        Self { rank, window: 0, offset: 0 }
    }
}

/// Numbers of eight bytes at equal distances. See [`PlainWindow::put_strided`].
#[derive(Debug)]
pub struct Strided(Vector);

impl Strided {
    /// So many numbers, the first of every `stride`.
    ///
    /// # Errors
    /// [`CommError::Mpi`] if one of both is zero, or more than MPI counts.
    pub fn new(numbers: usize, stride: usize) -> Result<Self, CommError> {
        Vector::new(numbers, stride).map(Self)
    }
}

/// Whom this rank may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Epoch {
    Nobody,
    /// Until the next fence.
    Fenced,
    /// Everybody, passively.
    All,
    /// A rank that is locked.
    One(Rank),
}

/// MPI windows over all ranks, and one word per rank that tells news.
#[derive(Debug)]
pub struct PlainWindow {
    world: MpiWorld,
    window: Window,
    spec: PlainSpec,
    epoch: Epoch,
}

impl PlainWindow {
    /// Makes the windows, full of zeros; [`rma_component`](crate::World::rma_component) of the
    /// world then tells what moves their data. *Collective.*
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`] and [`CommError::OutOfSharedMemory`], before the library is
    /// asked; [`CommError::Unavailable`] if the library makes none on one of the ranks.
    pub fn open(on: &MpiWorld, spec: PlainSpec) -> Result<Self, CommError> {
        let world = on.duplicate()?;
        let PlainSpec { memory, windows, bytes, asserts } = spec;
        let memory = match memory {
            PlainMemory::Allocated => Memory::Allocated,
            PlainMemory::Shared => Memory::Shared,
        };
        let (extent, limit) = (word_of(bytes) + ALIGNMENT, world.inner().limit());
        let request = Request { memory, windows, extent, origins: 2, words: 1, asserts, limit };
        let inner = world.inner();
        let window = inner.make_window(&inner.communicator, request)?;
        let window = window.map_err(|reason| CommError::Unavailable { backend: "windows", reason })?;
        on.inner().note_component(&window)?;
        Ok(Self { world, window, spec, epoch: Epoch::Nobody })
    }

    /// Bytes of each window.
    pub fn bytes(&self) -> usize {
        self.spec.bytes
    }

    /// The memory that puts are from, with so many bytes.
    ///
    /// # Errors
    /// [`CommError::Mpi`] while a put is under way.
    pub fn origin(&mut self, bytes: usize) -> Result<&mut [u8], CommError> {
        self.window.origin_mut(OUT, bytes)
    }

    /// What the last get has brought.
    ///
    /// # Errors
    /// [`CommError::Mpi`] while it is under way.
    pub fn got(&self) -> Result<&[u8], CommError> {
        self.window.origin(IN)
    }

    /// Begins access to all ranks (`MPI_Win_lock_all`).
    ///
    /// # Errors
    /// [`CommError::Misuse`] inside an epoch; [`CommError::Mpi`].
    pub fn lock_all(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::Nobody, Epoch::All)?;
        self.window.lock_all()
    }

    /// Ends it; everything has arrived.
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn unlock_all(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::All, Epoch::Nobody)?;
        self.window.unlock_all()
    }

    /// Begins access to one rank, exclusively (`MPI_Win_lock`).
    ///
    /// # Errors
    /// As [`Self::lock_all`]; with [`Asserts::On`], which says that there are no such locks.
    pub fn lock(&mut self, rank: Rank) -> Result<(), CommError> {
        if self.spec.asserts == Asserts::On {
            return Err(misuse("an exclusive lock beside promised shared ones".to_owned()));
        }
        self.turn(Epoch::Nobody, Epoch::One(rank))?;
        self.window.lock(rank)
    }

    /// Ends it; everything has arrived.
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn unlock(&mut self, rank: Rank) -> Result<(), CommError> {
        self.turn(Epoch::One(rank), Epoch::Nobody)?;
        self.window.unlock(rank)
    }

    /// Ends the epoch of all ranks and begins the next one. *Collective.*
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn fence(&mut self) -> Result<(), CommError> {
        if self.epoch != Epoch::Fenced {
            self.turn(Epoch::Nobody, Epoch::Fenced)?;
        }
        self.window.fence(&[])
    }

    /// Ends the epoch of all ranks and begins none. *Collective.*
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn last_fence(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::Fenced, Epoch::Nobody)?;
        self.window.last_fence()
    }

    /// Puts bytes of the origin; they have arrived after a flush or the epoch.
    ///
    /// # Errors
    /// [`CommError::Misuse`] outside of the window or of an epoch; [`CommError::Mpi`].
    pub fn put(&mut self, piece: Range<usize>, to: At) -> Result<(), CommError> {
        let place = self.place(to, piece.len())?;
        self.window.put(OUT, piece, place)
    }

    /// The same with numbers of the origin that lie apart; they arrive without gaps.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn put_strided(&mut self, numbers: &Strided, to: At) -> Result<(), CommError> {
        let place = self.place(to, numbers.0.bytes())?;
        self.window.put_vector(OUT, &numbers.0, place)
    }

    /// Gets bytes, which are there after a flush or the epoch; one get at a time.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn get(&mut self, bytes: usize, from: At) -> Result<(), CommError> {
        self.get_many(bytes, 1, from)
    }

    /// The same with so many calls for as many bytes each, one behind the other in both memories.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn get_many(&mut self, bytes: usize, calls: usize, from: At) -> Result<(), CommError> {
        let place = self.place(from, bytes.saturating_mul(calls))?;
        self.window.get_many(IN, bytes, calls, place)
    }

    /// Stores bytes of the origin past the caches, where memory is shared.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn store(&mut self, piece: Range<usize>, to: At) -> Result<(), CommError> {
        let place = self.place(to, piece.len())?;
        self.window.stream(OUT, piece, place)
    }

    /// All that is under way has arrived; inside [`Self::lock_all`].
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn flush(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::All, Epoch::All)?;
        self.window.flush()
    }

    /// Sets a rank's word; one at a time until a flush.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub fn raise(&mut self, rank: Rank, value: u64) -> Result<(), CommError> {
        let Place { member, .. } = self.place(At::start_of(rank), 0)?;
        self.window.replace(0, value, Place { member, offset: word_of(self.spec.bytes) })
    }

    /// Waits until this rank's word has a value.
    ///
    /// # Errors
    /// [`CommError::Timeout`] if it never has; [`CommError::Mpi`].
    pub fn wait_for(&self, value: u64) -> Result<(), CommError> {
        let word = self.window.own_word(word_of(self.spec.bytes))?;
        let inner = self.world.inner();
        let mut wait = SpinWait::new(inner.watchdog());
        while word.load(Ordering::Acquire) != value {
            inner.drive_progress()?;
            wait.pause().map_err(|expired| CommError::Timeout {
                context: CONTEXT,
                rank: inner.rank,
                waited_s: expired.waited_s,
                awaited: "a word of another rank".to_owned(),
            })?;
        }
        Ok(())
    }

    /// Looks at this rank's part of a window, or fills it, while no rank has an epoch.
    /// *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] inside an epoch or without such a window; [`CommError::Mpi`],
    /// [`CommError::Timeout`].
    pub fn with_own<T>(&mut self, window: usize, look: impl FnOnce(&mut [u8]) -> T) -> Result<T, CommError> {
        let Place { offset, .. } = self.outside(At { rank: 0, window, offset: 0 })?;
        let is_right = self.turn(Epoch::Nobody, Epoch::Nobody);
        // After a failure some rank may be anywhere: there is no further access.
        self.epoch = Epoch::One(Rank::MAX);
        is_right?;
        self.world.barrier()?;
        self.window.hold_all()?;
        self.window.sync()?;
        self.window.unlock_all()?;
        let looked = look(self.window.own_buffer(offset, self.spec.bytes)?);
        self.world.barrier()?;
        self.epoch = Epoch::Nobody;
        Ok(looked)
    }

    /// Ends the windows, outside of any epoch. *Collective.*
    ///
    /// # Errors
    /// As [`Self::lock_all`].
    pub fn finalise(mut self) -> Result<(), CommError> {
        self.turn(Epoch::Nobody, Epoch::Nobody)?;
        self.world.barrier()?;
        self.window.free()
    }

    fn turn(&mut self, from: Epoch, to: Epoch) -> Result<(), CommError> {
        if self.epoch != from {
            return Err(misuse(format!("{:?} may be accessed, not {from:?}", self.epoch)));
        }
        self.epoch = to;
        Ok(())
    }

    /// Of an access that this epoch allows.
    fn place(&self, at: At, bytes: usize) -> Result<Place, CommError> {
        let is_allowed = match self.epoch {
            Epoch::Nobody => false,
            Epoch::Fenced | Epoch::All => true,
            Epoch::One(rank) => rank == at.rank,
        };
        if !is_allowed {
            return Err(misuse(format!("rank {} is accessed, but {:?} may be", at.rank, self.epoch)));
        }
        if at.offset.checked_add(bytes).is_none_or(|end| end > self.spec.bytes) {
            return Err(misuse(format!("{bytes} bytes at {} of {} bytes", at.offset, self.spec.bytes)));
        }
        self.outside(at)
    }

    fn outside(&self, At { rank, window, offset }: At) -> Result<Place, CommError> {
        if window >= self.spec.windows {
            return Err(misuse(format!("window {window} of {}", self.spec.windows)));
        }
        Ok(Place { member: rank, offset: window * (word_of(self.spec.bytes) + ALIGNMENT) + offset })
    }
}

/// Where a window's word is, behind its bytes.
fn word_of(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

fn misuse(what: String) -> CommError {
    CommError::Misuse { context: CONTEXT, what }
}
