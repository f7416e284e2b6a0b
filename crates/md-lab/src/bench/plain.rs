//! What benchmarks with calls of MPI's own have in common.

use md_comm::mpi::{PlainMemory, PlainSpec, PlainWindow};
use md_comm::{Asserts, CommError, Rank, World};

use super::Stage;
use super::line::Content;
use crate::sampling::sample_in_turn;
use crate::{Problem, in_words};

/// Window memory of so many bytes that the library chooses, without promises.
pub(super) fn allocated(bytes: usize) -> PlainSpec {
    PlainSpec { memory: PlainMemory::Allocated, windows: 1, bytes, asserts: Asserts::Off }
}

/// Windows for a benchmark.
#[derive(Clone, Copy)]
pub(super) struct Windows {
    pub(super) spec: PlainSpec,
    /// What does where there is no room for that many bytes.
    pub(super) least_bytes: usize,
    /// Bytes at the beginning that are looked at in the end.
    pub(super) seen: usize,
}

impl From<PlainSpec> for Windows {
    fn from(spec: PlainSpec) -> Self {
        Self { spec, least_bytes: spec.bytes, seen: spec.bytes }
    }
}

/// Works with windows, whose contents are then looked at: `right` gets this rank's, and says whether they are what they have to be. If they are not on one
/// rank, that is an error on all. What has failed is left as it is. *Collective.*
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

/// When ranks may access each other's windows.
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

/// Ways to fill windows, which are then all as `right` says.
pub(super) struct Ways<'w> {
    pub(super) count: usize,
    pub(super) epochs: Epochs,
    /// Fills the memory that puts are from.
    pub(super) prepare: &'w dyn Fn(&mut PlainWindow) -> Result<(), Problem>,
    /// One way, once.
    pub(super) once: &'w dyn Fn(&mut PlainWindow, usize) -> Result<(), Problem>,
    /// Of this rank's windows.
    pub(super) right: &'w dyn Fn(&[Vec<u8>]) -> bool,
}

impl Ways<'_> {
    /// Samples them in turn; then each fills empty windows. *Collective.*
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

/// *Collective.*
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

/// Whether memory, which all ranks look for before they make a window, was not there.
fn is_about_room(error: &CommError) -> bool {
    matches!(error, CommError::OutOfMemory { .. } | CommError::OutOfSharedMemory { .. })
}

/// On all ranks. *Collective.*
fn expect(stage: &Stage, is_right: bool) -> Result<(), Problem> {
    let mut is_wrong = [f64::from(u8::from(!is_right))];
    stage.world.max(&mut is_wrong)?;
    if is_wrong[0] == 0.0 { Ok(()) } else { Err(Problem::wrong("a window has wrong bytes")) }
}

/// What a rank writes.
pub(super) fn content(from: Rank) -> Content {
    Content { number: 1, from, channel: 0 }
}

/// Fills the memory that puts are from.
pub(super) fn fill(window: &mut PlainWindow, world: &dyn World, bytes: usize) -> Result<(), Problem> {
    content(world.rank()).fill(window.origin(bytes)?);
    Ok(())
}
