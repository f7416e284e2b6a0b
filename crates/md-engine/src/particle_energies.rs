//! Energies of single particles: half of each of their pairs, as LAMMPS's `compute pe/atom` has them.

use std::time::Instant;

use md_core::potential::PairPotential;
use md_core::{Field, force::Newton, force::Pair};

use crate::checks::expect_room;
use crate::clock::Phase;
use crate::error::EngineError;
use crate::interaction::ForceContext;

const FORCES: &[Field] = &[Field::FORCE];

/// Energies of this rank's particles, in their order, without tail correction. *Collective.*
///
/// What ghosts get travels to their owners in the place of forces, for which an exchange is open already; the forces stay as they are.
///
/// # Errors
/// Communication; no memory.
pub(crate) fn particle_energies(
    potential: &dyn PairPotential,
    context: &mut ForceContext,
) -> Result<Vec<f64>, EngineError> {
    context.gather(&[Field::POSITION])?;
    let begun = Instant::now();
    let (owned, all) = (context.particles.owned(), context.particles.len());
    let (mut energies, mut forces) = (Vec::new(), [const { Vec::new() }; 3]);
    expect_room(&mut energies, all, "the energies of this rank's particles")?;
    energies.resize(all, 0.0);
    for (kept, column) in forces.iter_mut().zip(&context.particles.force) {
        expect_room(kept, owned, "the forces on this rank's particles")?;
        kept.extend_from_slice(&column[..owned]);
    }
    let ForceContext { particles, cells, pairs, threads, .. } = context;
    pairs.visit(cells, particles, potential.cutoff(), |Pair { i, j, r2, newton, .. }| {
        let [a, b] = [i, j].map(|index| particles.species[index] as usize);
        let half = 0.5 * potential.term(a, b, r2).energy;
        energies[i] += half;
        if newton == Newton::On {
            energies[j] += half;
        }
    });
    particles.clear_ghost_forces(threads);
    particles.force[0][..all].copy_from_slice(&energies);
    context.clock.book_since(Phase::Output, begun);
    context.scatter_add(FORCES)?;
    energies.truncate(owned);
    energies.copy_from_slice(&context.particles.force[0][..owned]);
    for (kept, column) in forces.iter().zip(&mut context.particles.force) {
        column[..owned].copy_from_slice(kept);
    }
    Ok(energies)
}
