//! Direct summation, O(N^2): the reference for the tests of all other methods.
//!
//! It uses scalar loops over all particles and ghosts of the rank; neither cells nor spans decide
//! which pairs are near. The shell only decides which rank counts a pair: with returned forces, the
//! owner of the anchor of the two cells, otherwise both sides.

use super::{Newton, PairSums, Region, System};
use crate::force::PairPotential;
use crate::grid::Cell;
use crate::particles::Particles;
use crate::shell::ForceReturn;
use crate::tensor::SymmetricTensor;
use std::ops::Range;

/// Consecutive particles in memory that were in one cell at the last rebuild.
struct Run {
    /// The cell in extended coordinates.
    cell: Cell,
    particles: Range<usize>,
}

/// Adds the forces of all pairs. All of them are boundary work; the other regions are empty.
pub(super) fn add_forces(system: System, particles: &mut Particles, region: Region) -> PairSums {
    if region != Region::Boundary {
        return PairSums::default();
    }
    let (runs, owned, cutoff) = (runs(system, particles), particles.owned(), system.potential.cutoff());
    let mut sweep =
        Sweep { potential: system.potential, cutoff2: cutoff * cutoff, particles, sums: PairSums::default() };
    for (number, first) in runs.iter().enumerate() {
        let with = |second: &Run| Some((second.particles.clone(), newton(system, owned, first, second)?));
        let partners: Vec<(Range<usize>, Newton)> = runs[number..].iter().filter_map(with).collect();
        for i in first.particles.clone() {
            for (partners, newton) in &partners {
                sweep.add_pairs(i, partners.start.max(i + 1)..partners.end, *newton);
            }
        }
    }
    sweep.sums
}

/// Returns whether this rank computes the pairs of two runs, the first of which comes first in
/// memory, and which particles get forces.
fn newton(system: System, owned: usize, first: &Run, second: &Run) -> Option<Newton> {
    let is_owned = |run: &Run| run.particles.start < owned;
    match system.pairs.shell().force_return() {
        ForceReturn::None if is_owned(second) => Some(Newton::On),
        ForceReturn::None => is_owned(first).then_some(Newton::Off),
        ForceReturn::Needed => {
            let anchor = system.plan.local_cell(system.pairs.shell().anchor_of(first.cell, second.cell))?;
            ((anchor as usize) < system.plan.owned.len()).then_some(Newton::On)
        }
    }
}

/// Returns the runs of all particles and ghosts.
fn runs(system: System, particles: &Particles) -> Vec<Run> {
    let mut cells = vec![[0; 3]; particles.len()];
    for cell in 0..system.plan.cell_count() {
        cells[system.cells.range(cell)].fill(system.plan.cell_at(cell));
    }
    let mut runs = Vec::new();
    for range in [0..particles.owned(), particles.ghost_start()..particles.len()] {
        let mut start = range.start;
        for cells in cells[range].chunk_by(|a, b| a == b) {
            runs.push(Run { cell: cells[0], particles: start..start + cells.len() });
            start += cells.len();
        }
    }
    runs
}

struct Sweep<'a> {
    potential: &'a dyn PairPotential,
    cutoff2: f64,
    particles: &'a mut Particles,
    sums: PairSums,
}

impl Sweep<'_> {
    /// Adds the forces of a particle's pairs.
    fn add_pairs(&mut self, i: usize, partners: Range<usize>, newton: Newton) {
        let Particles { position: [x, y, z], force, species, .. } = &mut *self.particles;
        self.sums.computed_pairs += partners.len() as f64;
        for j in partners {
            let d = [x[i] - x[j], y[i] - y[j], z[i] - z[j]];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 >= self.cutoff2 {
                continue;
            }
            let term = self.potential.term(species[i] as usize, species[j] as usize, r2);
            for (column, d) in force.iter_mut().zip(d) {
                column[i] += term.force_over_r * d;
                if newton == Newton::On {
                    column[j] -= term.force_over_r * d;
                }
            }
            let weight = newton.weight();
            self.sums.energy += weight * term.energy;
            self.sums.virial += SymmetricTensor::product(d, d) * (weight * term.force_over_r);
            self.sums.useful_pairs += weight;
        }
    }
}
