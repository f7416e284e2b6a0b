//! Code shared by the benchmarks of MPI's own calls.

use md_comm::mpi::{PlainMemory, PlainSpec, PlainWindow};
use md_comm::{Asserts, CommError, Rank, World};

use super::Stage;
use super::line::Content;
use crate::sampling::sample_in_turn;
use crate::{Problem, in_words};

/// Returns a window of `bytes` bytes that the library allocates, without asserts.
pub(super) fn allocated(bytes: usize) -> PlainSpec {
    PlainSpec { memory: PlainMemory::Allocated, windows: 1, bytes, asserts: Asserts::Off }
}

/// Windows of a benchmark.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) spec: PlainSpec,
    /// Bytes that suffice if there is no room for `spec.bytes`.
    pub(super) least_bytes: usize,
    /// Bytes at the beginning that are verified at the end.
    pub(super) seen: usize,
}

impl From<PlainSpec> for Windows {
    fn from(spec: PlainSpec) -> Self {
        Self { spec, least_bytes: spec.bytes, seen: spec.bytes }
    }
}

/// Works with windows and verifies them afterwards: `right` takes this rank's bytes and returns
/// whether they are correct. Wrong contents on one rank are an error on all. Windows that have
/// failed are left open. *Collective.*
pub(super) fn verified<T>(
    stage: &Stage,
    windows: impl Into<Windows>,
    work: impl FnOnce(&mut PlainWindow) -> Result<T, Problem>,
    right: impl FnOnce(&PlainWindow, &[u8]) -> Result<bool, Problem>,
) -> Result<T, Problem> {
    let windows = windows.into();
    with_windows(stage, windows, |window| {
        let result = work(window)?;
        let own = window.with_own(0, |own| own[..windows.seen].to_vec())?;
        let is_right = right(window, &own)?;
        expect(stage, is_right)?;
        Ok(result)
    })
}

/// Epochs in which ranks may access each other's windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Epochs {
    Locked,
    Fenced,
}

impl Epochs {
    fn begin(self, window: &mut PlainWindow) -> Result<(), CommError> {
        if self == Self::Locked { window.lock_all() } else { window.fence() }
    }

    fn end(self, window: &mut PlainWindow) -> Result<(), CommError> {
        if self == Self::Locked { window.unlock_all() } else { window.last_fence() }
    }
}

/// Ways to fill windows, all with the contents that `right` accepts.
pub(super) struct Ways<'w> {
    pub(super) count: usize,
    pub(super) epochs: Epochs,
    /// Fills the memory that puts read from.
    pub(super) prepare: &'w dyn Fn(&mut PlainWindow) -> Result<(), Problem>,
    /// Fills the windows once in the given way.
    pub(super) once: &'w dyn Fn(&mut PlainWindow, usize) -> Result<(), Problem>,
    /// Returns whether this rank's windows are correct.
    pub(super) right: &'w dyn Fn(&[Vec<u8>]) -> bool,
}

impl Ways<'_> {
    /// Samples the ways in turn; then verifies that each way fills empty windows. *Collective.*
    pub(super) fn sample(&self, stage: &Stage, spec: PlainSpec) -> Result<Vec<Vec<f64>>, Problem> {
        let Self { count, epochs, prepare, once, right } = *self;
        with_windows(stage, spec.into(), |window| {
            prepare(window)?;
            epochs.begin(window)?;
            let samples_s = sample_in_turn(stage.world, count, stage.effort, |way, iterations| {
                (0..iterations).try_for_each(|_| once(window, way))
            })?;
            epochs.end(window)?;
            for way in 0..count {
                (0..spec.windows).try_for_each(|number| window.with_own(number, |own| own.fill(0)))?;
                prepare(window)?;
                epochs.begin(window)?;
                once(window, way)?;
                epochs.end(window)?;
                let own = |number| window.with_own(number, |own| own.to_vec());
                expect(stage, right(&(0..spec.windows).map(own).collect::<Result<Vec<_>, _>>()?))?;
            }
            Ok(samples_s)
        })
    }
}

/// Opens the windows, works with them and closes them. *Collective.*
fn with_windows<T>(
    stage: &Stage,
    Windows { spec, least_bytes, .. }: Windows,
    work: impl FnOnce(&mut PlainWindow) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let mpi = stage.transports.mpi();
    let mpi = mpi.ok_or_else(|| Problem::unavailable("it takes calls of MPI's own"))?;
    let opened = match PlainWindow::open(mpi, spec) {
        Err(error) if least_bytes < spec.bytes && is_about_room(&error) => {
            PlainWindow::open(mpi, PlainSpec { bytes: least_bytes, ..spec })
        }
        opened => opened,
    };
    let mut window = opened.map_err(|error| match is_about_room(&error) {
        true => Problem::unavailable(format!(
            "there is no room for its windows of {}",
            in_words(least_bytes as f64)
        )),
        false => error.into(),
    })?;
    let result = work(&mut window);
    if result.is_err() {
        std::mem::forget(window);
        return result;
    }
    window.finalise()?;
    result
}

/// Returns whether the error is a lack of memory, which all ranks check for before they create a
/// window.
fn is_about_room(error: &CommError) -> bool {
    matches!(error, CommError::OutOfMemory { .. } | CommError::OutOfSharedMemory { .. })
}

/// Returns an error on all ranks if the contents are wrong on any. *Collective.*
fn expect(stage: &Stage, is_right: bool) -> Result<(), Problem> {
    let mut is_wrong = [f64::from(u8::from(!is_right))];
    stage.world.max(&mut is_wrong)?;
    if is_wrong[0] == 0.0 { Ok(()) } else { Err(Problem::wrong("a window has wrong bytes")) }
}

/// Returns the content that a rank writes.
pub(super) fn content(from: Rank) -> Content {
    Content { number: 1, from, channel: 0 }
}

/// Fills the memory that puts read from.
pub(super) fn fill(window: &mut PlainWindow, world: &dyn World, bytes: usize) -> Result<(), Problem> {
    content(world.rank()).fill(window.origin(bytes)?);
    Ok(())
}
