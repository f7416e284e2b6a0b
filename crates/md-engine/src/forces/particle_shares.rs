//! Contributions of pairs to single particles: half to each of the two, as in LAMMPS's
//! `compute pe/atom` and `compute stress/atom`.

use std::time::Instant;

use md_core::potential::{PairPotential, PairTerm};
use md_core::{Particles, force::Newton, force::Pair};

use super::context::{FORCES, ForceContext, POSITIONS};
use crate::clock::Phase;
use crate::collective::expect_room;
use crate::error::EngineError;

/// Returns the energy of a pair.
pub(crate) fn energy(_: &Pair, term: PairTerm) -> [f64; 1] {
    [term.energy]
}

/// Returns the diagonal of the virial of a pair.
pub(crate) fn virial(pair: &Pair, term: PairTerm) -> [f64; 3] {
    pair.distance.map(|along| term.force_over_r * along * along)
}

/// Returns half of the sum over all pairs of each of this rank's particles, in their order, for up
/// to three quantities of a pair of a pair potential. *Collective.*
///
/// # Errors
/// Communication; no memory.
pub(crate) fn pair_shares<const N: usize>(
    potential: &dyn PairPotential,
    context: &mut ForceContext,
    of_pair: fn(&Pair, PairTerm) -> [f64; N],
) -> Result<[Vec<f64>; N], EngineError> {
    context.gather(POSITIONS)?;
    particle_shares(context, potential.cutoff(), |particles, pair| {
        let [a, b] = [pair.i, pair.j].map(|index| particles.species[index] as usize);
        of_pair(pair, potential.term(a, b, pair.r2))
    })
}

/// Returns the sums of [`pair_shares`] for quantities of any pairs within a cutoff. Ghosts must
/// have what `of_pair` reads. *Collective.*
///
/// The contributions to ghosts are sent to their owners in place of forces, for which an exchange
/// is already open; the forces do not change.
///
/// # Errors
/// Communication; no memory.
pub(crate) fn particle_shares<const N: usize>(
    context: &mut ForceContext,
    cutoff: f64,
    of_pair: impl Fn(&Particles, &Pair) -> [f64; N],
) -> Result<[Vec<f64>; N], EngineError> {
    const { assert!(N <= 3, "as many as forces have components") };
    let begun = Instant::now();
    let (owned, all) = (context.particles.owned(), context.particles.len());
    let mut shares = [const { Vec::new() }; N];
    for share in &mut shares {
        expect_room(share, all, "what pairs give to this rank's particles")?;
        share.resize(all, 0.0);
    }
    let forces = own_forces(context.particles)?;
    let ForceContext { particles, cells, pairs, threads, .. } = context;
    pairs.visit(cells, particles, cutoff, |pair| add_halves(&mut shares, &pair, of_pair(particles, &pair)));
    particles.clear_ghost_forces(threads);
    for (column, share) in particles.force.iter_mut().zip(&shares) {
        column[..all].copy_from_slice(share);
    }
    context.clock.book_since(Phase::Output, begun);
    context.scatter_add(FORCES)?;
    for (share, column) in shares.iter_mut().zip(&context.particles.force) {
        share.truncate(owned);
        share.copy_from_slice(&column[..owned]);
    }
    for (kept, column) in forces.iter().zip(&mut context.particles.force) {
        column[..owned].copy_from_slice(kept);
    }
    Ok(shares)
}

/// Adds half of the values of a pair to its first particle, and to its second unless that one's
/// owner computes the pair again.
fn add_halves<const N: usize>(shares: &mut [Vec<f64>; N], pair: &Pair, values: [f64; N]) {
    for (share, value) in shares.iter_mut().zip(values) {
        share[pair.i] += 0.5 * value;
        if pair.newton == Newton::On {
            share[pair.j] += 0.5 * value;
        }
    }
}

/// Returns copies of the forces on this rank's particles.
fn own_forces(particles: &Particles) -> Result<[Vec<f64>; 3], EngineError> {
    let (owned, mut forces) = (particles.owned(), [const { Vec::new() }; 3]);
    for (kept, column) in forces.iter_mut().zip(&particles.force) {
        expect_room(kept, owned, "the forces on this rank's particles")?;
        kept.extend_from_slice(&column[..owned]);
    }
    Ok(forces)
}

/// Returns the sums of what several forces give to each particle, or `None` if one of them does not
/// know its part, or if there are none.
///
/// # Errors
/// The first error of a part.
pub(crate) fn total_by_particle<const N: usize>(
    mut parts: impl Iterator<Item = Result<Option<[Vec<f64>; N]>, EngineError>>,
) -> Result<Option<[Vec<f64>; N]>, EngineError> {
    let Some(mut total) = parts.next().transpose()?.flatten() else { return Ok(None) };
    for part in parts {
        let Some(part) = part? else { return Ok(None) };
        for (all, own) in total.iter_mut().flatten().zip(part.iter().flatten()) {
            *all += own;
        }
    }
    Ok(Some(total))
}
