//! What benchmarks with calls of MPI's own have in common.

use md_comm::mpi::{PlainMemory, PlainSpec, PlainWindow};
use md_comm::{Asserts, Rank, World};

use super::Stage;
use super::line::Content;
use crate::compare::Problem;

/// Window memory of so many bytes that the library chooses, without promises.
pub(super) fn allocated(bytes: usize) -> PlainSpec {
    PlainSpec { memory: PlainMemory::Allocated, windows: 1, bytes, asserts: Asserts::Off }
}

/// Works with windows whose contents are then as `right` says: who it is, whose bytes; a rank whose bytes are wrong makes an error on all. What has
/// failed is left as it is. *Collective.*
pub(super) fn verified<T>(
    stage: &Stage,
    spec: PlainSpec,
    work: impl FnOnce(&mut PlainWindow) -> Result<T, Problem>,
    right: impl FnOnce(&PlainWindow, &[u8]) -> Result<bool, Problem>,
) -> Result<T, Problem> {
    let mpi = stage.transports.mpi();
    let mpi = mpi.ok_or_else(|| Problem::unavailable("it takes calls of MPI's own".to_owned()))?;
    let mut window = PlainWindow::open(mpi, spec)?;
    let result = work(&mut window).and_then(|result| {
        let own = window.with_own(0, |own| own.to_vec())?;
        let mut is_wrong = [f64::from(u8::from(!right(&window, &own)?))];
        stage.world.max(&mut is_wrong)?;
        if is_wrong[0] == 0.0 {
            Ok(result)
        } else {
            Err(Problem::wrong("a window has wrong bytes".to_owned()))
        }
    });
    if result.is_err() {
        std::mem::forget(window);
        return result;
    }
    window.finalise()?;
    result
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
