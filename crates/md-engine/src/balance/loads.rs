//! Particles and work of all cells of the box, on every rank: counted by the owners and summed.

use md_comm::{CommError, Reduction, World};
use md_core::Shell;
use md_core::partition::CellLoads;

use crate::config::Config;
use crate::division::Division;
use crate::error::EngineError;
use crate::setup::Setup;
use crate::start::initial;

/// Returns the loads that follow from the particle counts at the start. *Collective.*
pub(crate) fn at_start(setup: &Setup, shell: Shell, world: &dyn World) -> Result<CellLoads, EngineError> {
    let Division { grid, .. } = &setup.division;
    // Velocities are omitted: they are drawn after the particles have reached their ranks.
    let still = Setup { config: Config { temperature: None, ..setup.config.clone() }, ..setup.clone() };
    let particles = initial::particles(&still, world)?;
    let mut counts = words(grid.len())?;
    for index in 0..particles.owned() {
        counts[grid.linear(grid.cell_of(particles.position_of(index)))] += 1;
    }
    world.reduce(&mut counts, Reduction::Sum)?;
    let counts = counts.into_iter().map(|count| count as f64).collect();
    Ok(CellLoads::of_counts(grid, counts, shell))
}

/// Returns a table of zeros for all cells.
pub(super) fn words(cells: usize) -> Result<Vec<u64>, EngineError> {
    let mut words = Vec::new();
    crate::collective::expect_room(&mut words, cells, "a table of all cells")?;
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
pub(super) fn particles_moved(loads: &CellLoads, from: &[usize], to: &[usize]) -> f64 {
    let changed = from.iter().zip(to).zip(&loads.particles).filter(|((from, to), _)| from != to);
    changed.map(|(_, count)| count).sum()
}
