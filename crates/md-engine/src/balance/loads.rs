//! Loads of all cells of the box, which every rank has.

use md_comm::{CommError, Reduction, World};
use md_core::partition::CellLoads;

use crate::collective::expect_room;
use crate::error::EngineError;

/// Returns a table of zeros for all cells.
pub(crate) fn words(cells: usize) -> Result<Vec<u64>, EngineError> {
    let mut words = Vec::new();
    expect_room(&mut words, cells, "a table of all cells")?;
    words.resize(cells, 0);
    Ok(words)
}

/// Checks that all ranks have computed the same owners of all cells, which the library of another
/// machine might have computed differently. *Collective.*
pub(crate) fn agree(owners: &[usize], world: &dyn World) -> Result<(), EngineError> {
    /// Constants of the FNV-1a hash.
    const PRIME: u64 = 0x0100_0000_01b3;
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    let hash = owners.iter().fold(BASIS, |hash, &owner| (hash ^ owner as u64).wrapping_mul(PRIME));
    let mut words = [hash, !hash];
    world.reduce(&mut words, Reduction::Highest)?;
    if words == [hash, !hash] {
        return Ok(());
    }
    let what =
        "the ranks have computed different divisions of the work; are all machines and programs alike?";
    Err(CommError::Misuse { context: "balance", what: what.to_owned() }.into())
}

/// Returns the number of particles whose cells change rank.
pub(crate) fn particles_moved(loads: &CellLoads, from: &[usize], to: &[usize]) -> f64 {
    let changed = from.iter().zip(to).zip(&loads.particles).filter(|((from, to), _)| from != to);
    changed.map(|(_, count)| count).sum()
}
