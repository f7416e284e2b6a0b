//! Direct summation, O(N^2): the reference that every other method is tested against.
//!
//! Plain scalar loops over all particles and ghosts of the rank; neither cells nor spans decide which pairs are near.
//! What the shell decides is only who counts a pair: with returned forces the owner of the two cells' anchor, without
//! both sides.

use super::{PairSums, System};
use crate::grid::Cell;
use crate::halo::Region;
use crate::particles::Particles;
use crate::shell::ForceReturn;

/// Adds the forces of all pairs; all of them are boundary work, the inner region is empty.
pub(super) fn add_forces(system: System, particles: &mut Particles, region: Region) -> PairSums {
    let mut sums = PairSums::default();
    if region == Region::Inner {
        return sums;
    }
    let cells = cells_of_particles(system, particles.len());
    let ghosts = particles.ghost_start()..particles.len();
    let present: Vec<usize> = (0..particles.owned()).chain(ghosts).collect();
    for (position, &i) in present.iter().enumerate() {
        for &j in &present[position + 1..] {
            if let Some(count) = count(system, particles, (i, cells[i]), (j, cells[j])) {
                add_pair(system, particles, i, j, count, &mut sums);
            }
        }
    }
    sums
}

/// Whether this rank computes the pair; i comes before j in memory.
fn count(system: System, particles: &Particles, i: (usize, Cell), j: (usize, Cell)) -> Option<Count> {
    let is_owned = |index| index < particles.owned();
    match system.plan.shell.force_return() {
        ForceReturn::None if is_owned(j.0) => Some(Count::Once),
        ForceReturn::None => is_owned(i.0).then_some(Count::HalfHere),
        ForceReturn::Needed => {
            let anchor = system.plan.slot_of(system.plan.shell.anchor_of(i.1, j.1))?;
            ((anchor as usize) < system.plan.owned.len()).then_some(Count::Once)
        }
    }
}

/// The cell of every particle at the last rebuild, in extended coordinates.
fn cells_of_particles(system: System, len: usize) -> Vec<Cell> {
    let mut cells = vec![[0; 3]; len];
    for slot in 0..system.plan.slots() {
        cells[system.cells.range(slot)].fill(system.plan.cell_at(slot));
    }
    cells
}

#[derive(Clone, Copy, PartialEq)]
enum Count {
    /// Both particles get their force here.
    Once,
    /// The partner's owner computes the pair as well.
    HalfHere,
}

fn add_pair(
    system: System,
    particles: &mut Particles,
    i: usize,
    j: usize,
    count: Count,
    sums: &mut PairSums,
) {
    let (a, b) = (particles.position_of(i), particles.position_of(j));
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    sums.computed_pairs += 1.0;
    let cutoff = system.potential.cutoff();
    if r2 >= cutoff * cutoff {
        return;
    }
    let term = system.potential.term(particles.species[i] as usize, particles.species[j] as usize, r2);
    for (column, d) in particles.force.iter_mut().zip(d) {
        column[i] += term.force_over_r * d;
        if count == Count::Once {
            column[j] -= term.force_over_r * d;
        }
    }
    let weight = if count == Count::Once { 1.0 } else { 0.5 };
    sums.energy += weight * term.energy;
    sums.virial += weight * term.force_over_r * r2;
    sums.useful_pairs += weight;
}
