//! One file that all ranks write.

use std::io;
use std::path::{Path, PathBuf};

use super::{Check, Flaws};
use crate::{CommError, World};

pub(super) const CHECKS: &[Check] = &[
    Check::new("bytes of all ranks come to their places in one file", places),
    Check::new("each rank learns that a file is not there", missing),
];

/// Bytes of a rank's part: more than one page, and not a whole number of pages.
const PART: usize = 10_007;

/// Returns on all ranks a name that rank 0 chose and that no other process uses. *Collective.*
fn name(world: &dyn World) -> Result<PathBuf, CommError> {
    let own = format!("md-shared-file-{}-{:p}", std::process::id(), std::ptr::from_ref(world));
    let mut name = if world.rank() == 0 { own.into_bytes() } else { Vec::new() };
    world.broadcast(0, &mut name)?;
    Ok(std::env::temp_dir().join(String::from_utf8_lossy(&name).as_ref()))
}

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

fn places(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let path = name(world)?;
    if world.rank() == 0 {
        note(flaws, &std::fs::write(&path, []));
    }
    world.barrier()?;
    note(flaws, &write(world, &path));
    world.barrier()?;
    if world.rank() == 0 {
        let found = std::fs::read(&path).unwrap_or_default();
        let expected: Vec<u8> = (0..world.ranks() * PART).map(byte).collect();
        flaws.expect(found == expected, || format!("{} bytes, or others than were written", found.len()));
        note(flaws, &std::fs::remove_file(&path));
    }
    world.barrier()
}

/// Writes every rank's part in two pieces, the second one first. *Collective.*
fn write(world: &dyn World, path: &Path) -> io::Result<()> {
    let file = world.open_file(path)?;
    let first = world.rank() * PART;
    let part: Vec<u8> = (first..first + PART).map(byte).collect();
    let (begin, end) = part.split_at(PART / 3);
    file.write_at(end, (first + begin.len()) as u64)?;
    file.sync()?;
    file.write_at(begin, first as u64)?;
    file.close()
}

fn missing(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let path = name(world)?;
    let said = world.open_file(&path).map(drop).map_err(|error| error.kind());
    flaws.expect(said == Err(io::ErrorKind::NotFound), || format!("{said:?}"));
    world.barrier()
}

fn note(flaws: &Flaws, done: &io::Result<()>) {
    flaws.expect(done.is_ok(), || format!("{done:?}"));
}
