//! Direct summation, O(N^2): the reference that every other method is tested against.
//!
//! Plain scalar loops over all particles and ghosts of the rank; neither cells nor spans decide which pairs are near.
//! What the shell decides is only who counts a pair with a ghost: with returned forces it is the side whose cell comes
//! first in storage order, without it is both sides.

use super::{PairSums, System};
use crate::grid::{Cell, storage_order};
use crate::halo::Region;
use crate::particles::Particles;
use crate::potential::PairPotential;
use crate::shell::ForceReturn;

/// Adds the forces of all pairs; all of them are boundary work, the inner region is empty.
pub(super) fn add_forces(system: System, particles: &mut Particles, region: Region) -> PairSums {
    let mut sums = PairSums::default();
    if region == Region::Inner {
        return sums;
    }
    let ghosts = particles.ghost_start()..particles.len();
    let cells = storage_cells(system, particles.len());
    for i in 0..particles.owned() {
        for j in i + 1..particles.owned() {
            add_pair(system, particles, i, j, Count::Once, &mut sums);
        }
        for j in ghosts.clone() {
            match system.plan.force_return {
                ForceReturn::None => add_pair(system, particles, i, j, Count::HalfHere, &mut sums),
                ForceReturn::Needed if cells[i] < cells[j] => {
                    add_pair(system, particles, i, j, Count::Once, &mut sums);
                }
                ForceReturn::Needed => (),
            }
        }
    }
    sums
}

/// The cell of every particle at the last rebuild, as a key in storage order.
fn storage_cells(system: System, len: usize) -> Vec<Cell> {
    let mut keys = vec![[0; 3]; len];
    for slot in 0..system.plan.slots() {
        keys[system.cells.range(slot)].fill(storage_order(&system.plan.cell_at(slot)));
    }
    keys
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
