//! Checks of particles: their positions and velocities, ids and species, and the walls.

use md_core::grid::axis;
use md_core::{Boundary, Dimension, Domain, ImageCounts, Particle};

use super::FirstOfAll;
use crate::error::{Attribute, EngineError, ParticleFault};
use crate::wall::SolidWall;

/// Distance from the box, in box lengths, at which wrapping loses half of a coordinate's digits.
const FARTHEST_BOXES: f64 = 1e6;

/// Returns the fault of a particle's position, if any.
pub(super) fn fault(
    particle: &Particle,
    first: Option<FirstOfAll>,
    domain: &Domain,
) -> Option<ParticleFault> {
    let fault = (0..3).find_map(|dim| position_fault(particle.position[dim], dim, domain));
    let problem =
        fault.or_else(|| plane_fault(particle, first?, domain)).or_else(|| image_fault(particle, domain))?;
    Some(ParticleFault { id: particle.id, attribute: Attribute::Position, problem })
}

/// Returns the fault of a velocity that is used unchanged, if any.
pub(super) fn velocity_fault(
    &Particle { id, velocity, .. }: &Particle,
    domain: &Domain,
) -> Option<ParticleFault> {
    /// Squares of larger velocities, times a mass, may overflow. Velocities at the highest accepted
    /// temperature are about as large.
    const FASTEST: f64 = 1e140;
    let infinite = (0..3).find(|&dim| !velocity[dim].is_finite());
    let too_fast = (0..3).find(|&dim| velocity[dim].abs() > FASTEST).map(|dim| {
        format!("v_{} is {:?}, beyond {FASTEST:e}: its square is hardly a number", axis(dim), velocity[dim])
    });
    let across = (domain.dimension == Dimension::Two && velocity[2] != 0.0)
        .then(|| format!("v_z is {:?}, but in 2D nothing moves in z: it must be 0", velocity[2]));
    let problem = infinite
        .map(|dim| format!("v_{} is {:?}, not a number", axis(dim), velocity[dim]))
        .or(too_fast)
        .or(across)?;
    Some(ParticleFault { id, attribute: Attribute::Velocity, problem })
}

/// Checks that ids are distinct numbers from 1 and that species exist.
pub(super) fn check_numbers(particles: &[Particle], species: usize) -> Result<(), EngineError> {
    check_ids(particles)?;
    particles.iter().try_for_each(|particle| check_species(particle, species))
}

fn check_ids(particles: &[Particle]) -> Result<(), EngineError> {
    let mut ids: Vec<u64> = particles.iter().map(|particle| particle.id).collect();
    ids.sort_unstable();
    if ids.first() == Some(&0) || ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(EngineError::Config("ids of particles are not different numbers from 1".to_owned()));
    }
    Ok(())
}

fn check_species(&Particle { id, species: own, .. }: &Particle, species: usize) -> Result<(), EngineError> {
    if (own as usize) < species {
        return Ok(());
    }
    Err(EngineError::Config(format!("particle {id} is of species {own} of {species}, counted from 0")))
}

/// Returns the fault of a coordinate, if any.
fn position_fault(x: f64, dim: usize, domain: &Domain) -> Option<String> {
    let (low, high, name) = (domain.origin[dim], domain.upper(dim), axis(dim));
    let is_inside = (low..=high).contains(&x);
    if !x.is_finite() {
        return Some(format!("{name} is {x:?}, not a number"));
    }
    if dim >= domain.dimension.count() {
        let text =
            || format!("{name} is {x:?}, outside the layer from {low:?} to {high:?} of a 2D simulation");
        return (!is_inside).then(text);
    }
    match domain.boundary[dim] {
        Boundary::Reflecting if !is_inside => {
            let wall = if x < low { low } else { high };
            Some(format!("{name} is {x:?}, behind the reflecting wall at {name} = {wall:?}"))
        }
        Boundary::Periodic if (x - low).abs() > FARTHEST_BOXES * domain.lengths[dim] => Some(format!(
            "{name} is {x:?}, more than {FARTHEST_BOXES:e} box lengths away: brought back into the box it would lose its digits"
        )),
        Boundary::Reflecting | Boundary::Periodic => None,
    }
}

/// Returns a fault if the image counts of a particle, after wrapping, are outside the range that
/// can be stored.
fn image_fault(&Particle { position, images, .. }: &Particle, domain: &Domain) -> Option<String> {
    let (_, counts) = domain.wrap_counting(position, images);
    let dim = (0..3).find(|&dim| !ImageCounts::RANGE.contains(&counts.0[dim]))?;
    let (first, last) = ImageCounts::RANGE.into_inner();
    Some(format!(
        "its image count along {} is {}: counts are from {first} to {last}",
        axis(dim),
        counts.0[dim]
    ))
}

/// Returns a fault if a particle of a 2D simulation has another z than the first one.
fn plane_fault(particle: &Particle, first: FirstOfAll, domain: &Domain) -> Option<String> {
    let ([_, _, z], FirstOfAll { id, z: plane }) = (particle.position, first);
    (domain.dimension == Dimension::Two && z != plane)
        .then(|| format!("z is {z:?}, but {plane:?} of particle {id}: in 2D all particles lie in one plane"))
}

/// Checks that coordinates have enough digits for distances within the cutoff.
pub(crate) fn check_digits(domain: &Domain, cutoff: f64) -> Result<(), EngineError> {
    /// With this limit, a coordinate is exact to 1e-7 cutoffs.
    const MOST_CUTOFFS: f64 = 1e9;
    let reach = |dim: usize| domain.origin[dim].abs().max(domain.upper(dim).abs());
    match (0..domain.dimension.count()).find(|&dim| reach(dim) > MOST_CUTOFFS * cutoff) {
        None => Ok(()),
        Some(dim) => Err(EngineError::BoxTooLarge(format!(
            "the box reaches to {0} = {1:?}, beyond {MOST_CUTOFFS:e} cutoffs of {cutoff:?}: coordinates there have too few \
             digits",
            axis(dim),
            reach(dim)
        ))),
    }
}

/// Checks that solid walls are at reflecting faces and that their parameters are positive and
/// finite.
pub(super) fn check_walls(walls: &[SolidWall], domain: &Domain) -> Result<(), EngineError> {
    for &SolidWall { axis: dim, epsilon, sigma, cutoff, .. } in walls {
        if dim >= domain.dimension.count() || domain.is_periodic(dim) {
            let what =
                format!("a solid wall stands across {}, where the box has no reflecting faces", axis(dim));
            return Err(EngineError::Config(what));
        }
        let numbers = [epsilon, sigma, cutoff];
        if !numbers.iter().all(|number| *number > 0.0 && number.is_finite()) {
            let what = format!("epsilon, sigma and cutoff of a wall are {numbers:?}, not positive numbers");
            return Err(EngineError::Config(what));
        }
    }
    Ok(())
}

/// Checks that the shares of the lattice sites are between 0 and 1 and add up to 1.
pub(super) fn check_shares(shares: &[f64]) -> Result<(), EngineError> {
    const ROUNDING: f64 = 1e-9;
    let is_part = |share: &f64| (0.0..=1.0 + ROUNDING).contains(share);
    if shares.iter().all(is_part) && (shares.iter().sum::<f64>() - 1.0).abs() <= ROUNDING {
        return Ok(());
    }
    Err(EngineError::Config(format!("the shares {shares:?} are no parts of 1")))
}
