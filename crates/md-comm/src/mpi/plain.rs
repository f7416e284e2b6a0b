//! Windows without a protocol, to measure the time of the library's own calls: a transport consists
//! of these calls and some rules.
//!
//! Safety: every access is checked against the size of the window and the epoch this rank is in,
//! and a rank accesses its own part only in [`PlainWindow::with_own`], between two barriers, while
//! no rank has an epoch. If several ranks write to one place at a time, the result is the data of
//! one of them or a mixture.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::MpiWorld;
use super::ffi::{self, Memory, Place, Request, Vector, Window};
use crate::spin_wait::SpinWait;
use crate::{ALIGNMENT, Asserts, CommError, Rank, World};

const CONTEXT: &str = "a plain window";
/// Number of the origin buffer of puts.
const OUT: usize = 0;
/// Number of the buffer of gets.
const IN: usize = 1;

/// Copies as much of `from` as `to` has room for, with streaming stores if the CPU has them.
pub fn copy_streaming(from: &[u8], to: &mut [u8]) {
    ffi::copy_streaming(from, to);
}

/// Description of a window, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainSpec {
    /// Kind of memory.
    pub memory: PlainMemory,
    /// Number of MPI windows.
    pub windows: usize,
    /// Bytes of every rank in each window.
    pub bytes: usize,
    /// Whether assertions are passed to the library.
    pub asserts: Asserts,
}

/// Kind of a window's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainMemory {
    /// Memory that the library chooses.
    Allocated,
    /// Memory to which all ranks of a node can store.
    Shared,
}

/// A place in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The rank whose part it is.
    pub rank: Rank,
    /// Number of the MPI window.
    pub window: usize,
    /// Bytes from its beginning.
    pub offset: usize,
}

impl At {
    /// Returns the beginning of a rank's first window.
    pub fn start_of(rank: Rank) -> Self {
        Self { rank, window: 0, offset: 0 }
    }
}

/// Numbers of eight bytes at equal distances. See [`PlainWindow::put_strided`].
#[derive(Debug)]
pub struct Strided(Vector);

impl Strided {
    /// Describes `numbers` numbers, the first of every `stride`.
    ///
    /// # Errors
    /// [`CommError::Mpi`] if either is zero, or too large for MPI.
    pub fn new(numbers: usize, stride: usize) -> Result<Self, CommError> {
        Vector::new(numbers, stride).map(Self)
    }
}

/// The ranks that this rank may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Epoch {
    Nobody,
    /// All ranks, until the next fence.
    Fenced,
    /// All ranks, passively.
    All,
    /// One rank, which is locked.
    One(Rank),
}

/// MPI windows over all ranks, and one word per rank as a flag.
#[derive(Debug)]
pub struct PlainWindow {
    world: MpiWorld,
    window: Window,
    spec: PlainSpec,
    epoch: Epoch,
}

impl PlainWindow {
    /// Makes the windows, full of zeros. [`rma_component`](crate::Platform::rma_component) of the
    /// world then returns the component that moves their data. *Collective.*
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`] and [`CommError::OutOfSharedMemory`], before the library is
    /// called; [`CommError::Unavailable`] if the library makes no window on one of the ranks.
    pub fn open(on: &MpiWorld, spec: PlainSpec) -> Result<Self, CommError> {
        let world = on.duplicate()?;
        let PlainSpec { memory, windows, bytes, asserts } = spec;
        let memory = match memory {
            PlainMemory::Allocated => Memory::Allocated,
            PlainMemory::Shared => Memory::Shared,
        };
        let (extent, limit) = (word_of(bytes) + ALIGNMENT, world.state().limit());
        let request = Request { memory, windows, extent, origins: 2, words: 1, asserts, limit };
        let state = world.state();
        let window = state.make_window(&state.communicator, request)?;
        let window = window.map_err(|reason| CommError::Unavailable { backend: "windows", reason })?;
        on.state().note_component(&window)?;
        Ok(Self { world, window, spec, epoch: Epoch::Nobody })
    }

    /// Returns the bytes of each window.
    pub fn bytes(&self) -> usize {
        self.spec.bytes
    }

    /// Returns the memory that puts are from, with this number of bytes.
    ///
    /// # Errors
    /// [`CommError::Mpi`] while a put is under way.
    pub fn origin(&mut self, bytes: usize) -> Result<&mut [u8], CommError> {
        self.window.origin_mut(OUT, bytes)
    }

    /// Returns what the last get has brought.
    ///
    /// # Errors
    /// [`CommError::Mpi`] while the get is under way.
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

    /// Ends the access that [`Self::lock_all`] began; everything has arrived.
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does.
    pub fn unlock_all(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::All, Epoch::Nobody)?;
        self.window.unlock_all()
    }

    /// Begins access to one rank, exclusively (`MPI_Win_lock`).
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does; also with [`Asserts::On`], which asserts that there are no
    /// such locks.
    pub fn lock(&mut self, rank: Rank) -> Result<(), CommError> {
        if self.spec.asserts == Asserts::On {
            return Err(misuse("an exclusive lock beside promised shared ones".to_owned()));
        }
        self.turn(Epoch::Nobody, Epoch::One(rank))?;
        self.window.lock(rank)
    }

    /// Ends the access that `lock` began; everything has arrived.
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does.
    pub fn unlock(&mut self, rank: Rank) -> Result<(), CommError> {
        self.turn(Epoch::One(rank), Epoch::Nobody)?;
        self.window.unlock(rank)
    }

    /// Ends the epoch of all ranks and begins the next one. *Collective.*
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does.
    pub fn fence(&mut self) -> Result<(), CommError> {
        if self.epoch != Epoch::Fenced {
            self.turn(Epoch::Nobody, Epoch::Fenced)?;
        }
        self.window.fence(&[])
    }

    /// Ends the epoch of all ranks and begins none. *Collective.*
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does.
    pub fn last_fence(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::Fenced, Epoch::Nobody)?;
        self.window.last_fence()
    }

    /// Puts bytes of the origin; they have arrived after a flush or the epoch.
    ///
    /// # Errors
    /// [`CommError::Misuse`] outside the window or outside an epoch; [`CommError::Mpi`].
    pub fn put(&mut self, piece: Range<usize>, to: At) -> Result<(), CommError> {
        let place = self.place(to, piece.len())?;
        self.window.put(OUT, piece, place)
    }

    /// Puts numbers of the origin that lie apart; they arrive without gaps.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub fn put_strided(&mut self, numbers: &Strided, to: At) -> Result<(), CommError> {
        let place = self.place(to, numbers.0.bytes())?;
        self.window.put_vector(OUT, &numbers.0, place)
    }

    /// Gets bytes, which have arrived after a flush or the epoch; one get at a time.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub fn get(&mut self, bytes: usize, from: At) -> Result<(), CommError> {
        self.get_many(bytes, 1, from)
    }

    /// Makes `calls` gets of `bytes` bytes each, at consecutive places in both memories.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub fn get_many(&mut self, bytes: usize, calls: usize, from: At) -> Result<(), CommError> {
        let place = self.place(from, bytes.saturating_mul(calls))?;
        self.window.get_many(IN, bytes, calls, place)
    }

    /// Stores bytes of the origin past the caches, if memory is shared.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub fn store(&mut self, piece: Range<usize>, to: At) -> Result<(), CommError> {
        let place = self.place(to, piece.len())?;
        self.window.stream(OUT, piece, place)
    }

    /// Completes all that is under way; inside [`Self::lock_all`].
    ///
    /// # Errors
    /// Fails as [`Self::lock_all`] does.
    pub fn flush(&mut self) -> Result<(), CommError> {
        self.turn(Epoch::All, Epoch::All)?;
        self.window.flush()
    }

    /// Sets a rank's word; only once until a flush.
    ///
    /// # Errors
    /// Fails as [`Self::put`] does.
    pub fn raise(&mut self, rank: Rank, value: u64) -> Result<(), CommError> {
        let Place { member, .. } = self.place(At::start_of(rank), 0)?;
        self.window.replace(0, value, Place { member, offset: word_of(self.spec.bytes) })
    }

    /// Waits until this rank's word has a value.
    ///
    /// # Errors
    /// [`CommError::Timeout`] if it never has this value; [`CommError::Mpi`].
    pub fn wait_for(&self, value: u64) -> Result<(), CommError> {
        let word = self.window.own_word(word_of(self.spec.bytes))?;
        let state = self.world.state();
        let mut wait = SpinWait::new(state.watchdog());
        while word.load(Ordering::Acquire) != value {
            state.drive_progress()?;
            wait.pause().map_err(|expired| CommError::Timeout {
                context: CONTEXT,
                rank: state.rank,
                waited_s: expired.waited_s,
                awaited: "a word of another rank".to_owned(),
            })?;
        }
        Ok(())
    }

    /// Reads or fills this rank's part of a window, while no rank has an epoch. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Misuse`] inside an epoch or without such a window; [`CommError::Mpi`],
    /// [`CommError::Timeout`].
    pub fn with_own<T>(&mut self, window: usize, look: impl FnOnce(&mut [u8]) -> T) -> Result<T, CommError> {
        let Place { offset, .. } = self.outside(At { rank: 0, window, offset: 0 })?;
        let is_right = self.turn(Epoch::Nobody, Epoch::Nobody);
        // After a failure the state of the other ranks is unknown: no further access is allowed.
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
    /// Fails as [`Self::lock_all`] does.
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

    /// Returns the place of an access that this epoch allows.
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

/// Returns the offset of a window's word, behind its bytes.
fn word_of(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT)
}

fn misuse(what: String) -> CommError {
    CommError::Misuse { context: CONTEXT, what }
}
