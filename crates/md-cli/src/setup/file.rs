//! Conversion of the particles of a file for the engine, and checks against the scenario.

use std::borrow::Cow;
use std::sync::Arc;

use md_core::{Boundary, ImageCounts, Particle};
use md_engine::{Attribute, Config, FirstOfAll, ParticleFault, ParticleSource, Share};
use md_files::input::{InputError, InputParticles, Problem};
use md_scenario::failure::RunError;
use md_scenario::{InputFormat, Scenario, ScenarioError, ScenarioSource, name_of};

use super::DEFAULT_MASS;
use super::inputs::Inputs;

/// Returns particles and masses. The particles are made once: `scenario` differs from that of the
/// inputs at most in the division of work.
///
/// # Errors
/// Masses or boundaries that contradict those of the scenario.
pub(super) fn particles(
    inputs: &Inputs,
    scenario: &Scenario,
    file: &InputParticles,
) -> Result<(ParticleSource, Vec<f64>), RunError> {
    let source = &inputs.source;
    check_boundary(source, scenario, file)?;
    let masses = masses(source, scenario, file)?;
    let particles = match inputs.list.get().cloned() {
        Some(particles) => particles,
        None => inputs.list.get_or_init(|| list(scenario, file, &masses)).clone(),
    };
    let copies = copies(scenario);
    let lengths = [0, 1, 2].map(|dim| f64::from(copies[dim]) * file.lengths[dim]);
    let share = file.share.map(|share| Share {
        atoms: share.atoms.saturating_mul(number(copies)),
        first: FirstOfAll { id: copied_id(share.first.id, 0, number(copies)), ..share.first },
    });
    let origin = file.origin;
    Ok((ParticleSource::List { origin, lengths, particles, share }, masses))
}

fn list(scenario: &Scenario, file: &InputParticles, masses: &[f64]) -> Arc<[Particle]> {
    // With a temperature, velocities are drawn.
    let velocities = match scenario.system.temperature {
        Some(_) => None,
        None => velocities(file, masses),
    };
    let is_periodic = periodic_axes(scenario);
    let images =
        |index: usize| [0, 1, 2].map(|dim| if is_periodic[dim] { file.images[index].0[dim] } else { 0 });
    let particle = |index: usize| Particle {
        id: file.ids[index],
        species: file.types[index] - 1,
        position: file.positions[index],
        velocity: velocities.as_ref().map_or([0.0; 3], |velocities| velocities[index]),
        images: ImageCounts(images(index)),
    };
    let (copies, number) = (copies(scenario), number(copies(scenario)));
    let places = || {
        let [nx, ny, nz] = copies;
        (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])))
    };
    let copied = |particle: Particle| {
        places().zip(0..).map(move |(place, copy)| {
            // Number of file boxes from the original position to the unwrapped position of the
            // copy.
            let boxes = |dim: usize| i64::from(particle.images.0[dim]) + i64::from(place[dim]);
            let inside = |dim: usize| boxes(dim).rem_euclid(copies[dim].into()) as f64 * file.lengths[dim];
            Particle {
                id: copied_id(particle.id, copy, number),
                position: [0, 1, 2].map(|dim| particle.position[dim] + inside(dim)),
                images: ImageCounts([0, 1, 2].map(|dim| boxes(dim).div_euclid(copies[dim].into()) as i32)),
                ..particle
            }
        })
    };
    (0..file.ids.len()).map(particle).flat_map(copied).collect()
}

/// Returns along which axes particles re-enter on the other side.
pub(crate) fn periodic_axes(scenario: &Scenario) -> [bool; 3] {
    let dimensions = usize::from(scenario.simulation.dimension);
    [0, 1, 2].map(|dim| dim < dimensions && scenario.system.boundary[dim] == Boundary::Periodic)
}

/// Returns the numbers of copies of the file's box along x, y and z.
fn copies(scenario: &Scenario) -> [u32; 3] {
    scenario.system.file.as_ref().and_then(|file| file.replicate).unwrap_or([1; 3])
}

/// Returns the number of particles of all ranks, all copies included.
pub(super) fn copied(scenario: &Scenario, file: &InputParticles) -> u64 {
    let atoms = file.share.map_or(file.ids.len() as u64, |share| share.atoms);
    number(copies(scenario)).saturating_mul(atoms)
}

fn number(copies: [u32; 3]) -> u64 {
    copies.into_iter().map(u64::from).fold(1, u64::saturating_mul)
}

/// Returns the id of a copy. Copies of a particle have consecutive ids, which need no information
/// about other particles. Ids of that many copies stay below 2^64.
fn copied_id(id: u64, copy: u64, copies: u64) -> u64 {
    id.saturating_sub(1).wrapping_mul(copies).wrapping_add(copy + 1)
}

/// Checks that file or scenario gives the velocities of the particles.
///
/// # Errors
/// Neither file nor scenario gives them.
pub(super) fn check_velocities(inputs: &Inputs) -> Result<(), RunError> {
    let Inputs { scenario, particles, .. } = inputs;
    let missing = particles.as_ref().is_some_and(|file| !file.has_velocities());
    let Some(file) = scenario.system.file.as_ref().filter(|_| missing) else { return Ok(()) };
    if scenario.system.temperature.is_some() {
        return Ok(());
    }
    let what = match file.format {
        InputFormat::LammpsData => "section `Velocities`",
        InputFormat::Extxyz => "column `velo` or `momenta`",
        InputFormat::Lammpstrj => "columns `vx vy vz`",
        InputFormat::Netcdf => "variable `velocities`",
        InputFormat::Xtc => "`system.temperature`",
    };
    let expected = match file.format {
        InputFormat::Xtc => "XTC has no velocities; 0 is for particles at rest".to_owned(),
        _ => "give it, or `system.temperature` in the scenario, 0 for particles at rest".to_owned(),
    };
    let problem = Problem::Missing { what: what.to_owned(), expected };
    Err(InputError { file: file_name(inputs), line: None, problem }.into())
}

/// Checks that positions and velocities of the particles are valid.
///
/// # Errors
/// The fault in the first faulty line of the file.
pub(super) fn check_particles(inputs: &Inputs, config: &Config) -> Result<(), InputError> {
    let Some(file) = &inputs.particles else { return Ok(()) };
    let copies = number(copies(&inputs.scenario));
    let of_file =
        |fault: ParticleFault| ParticleFault { id: fault.id.saturating_sub(1) / copies + 1, ..fault };
    let located = |fault: ParticleFault| {
        let lines = file.lines.get(file.ids.binary_search(&fault.id).ok()?)?;
        Some(match fault.attribute {
            Attribute::Position => (lines.position, fault),
            Attribute::Velocity => (lines.velocity, fault),
        })
    };
    let faults =
        config.particle_faults().map(of_file).chain(contradictions(file, config)).filter_map(located);
    faults.min_by_key(|(line, _)| *line).map_or(Ok(()), |(line, ParticleFault { id, problem, .. })| {
        let problem = Problem::Particle { id, problem };
        // Binary files have no lines.
        Err(InputError {
            file: file_name(inputs),
            line: Some(line as usize).filter(|&line| line > 0),
            problem,
        })
    })
}

fn file_name(inputs: &Inputs) -> String {
    inputs.particle_file().unwrap_or_default().display().to_string()
}

/// Checks that the periodic faces given by the file are those of the scenario.
fn check_boundary(
    source: &ScenarioSource,
    scenario: &Scenario,
    file: &InputParticles,
) -> Result<(), ScenarioError> {
    let Some(periodic) = file.periodic else { return Ok(()) };
    let boundary = scenario.system.boundary;
    let of_file = |dim: usize| if periodic[dim] { Boundary::Periodic } else { Boundary::Reflecting };
    if (0..usize::from(scenario.simulation.dimension)).all(|dim| boundary[dim] == of_file(dim)) {
        return Ok(());
    }
    let flags = periodic.map(|flag| if flag { "T" } else { "F" }).join(" ");
    let list = |names: [Boundary; 3]| names.map(|name| format!("\"{}\"", name_of(name))).join(", ");
    let message =
        format!("`pbc=\"{flags}\"` of the file contradicts `system.boundary = [{}]`", list(boundary));
    let help = format!("set `system.boundary = [{}]`, or change `pbc`", list([0, 1, 2].map(of_file)));
    Err(ScenarioError::at(source, "system.boundary", message, help))
}

/// Returns the masses of the scenario, or of the file where it has some; 1 where neither gives one.
/// A mass given in both places must agree.
fn masses(
    source: &ScenarioSource,
    scenario: &Scenario,
    file: &InputParticles,
) -> Result<Vec<f64>, ScenarioError> {
    let species = scenario.species.len();
    let types = (file.largest_type as usize).max(file.masses.len());
    if types > species {
        let message = format!("the file has {types} atom types, the scenario {species} species");
        let help = "give one [[species]] per atom type, in order";
        return Err(ScenarioError::at(source, "species", message, help));
    }
    let is_drawn = scenario.system.temperature.is_some();
    let moves_by_momentum = !is_drawn && file.velocities.is_none() && file.momenta.is_some();
    let choose = |index: usize| {
        let (own, in_file) = (scenario.species[index].mass, file.masses.get(index).copied().flatten());
        let key = format!("species[{index}].mass");
        match (own, in_file) {
            (Some(mass), Some(in_file)) if mass != in_file => {
                let message =
                    format!("mass {mass} of species {} contradicts {in_file} in the file", index + 1);
                Err(ScenarioError::at(source, &key, message, "remove one of the two"))
            }
            (None, None) if moves_by_momentum => {
                let message = format!("the file has momenta, but no mass of species {}", index + 1);
                let help = "give `mass` of the species, or a column `masses:R:1`";
                Err(ScenarioError::at(source, &key, message, help))
            }
            (own, in_file) => Ok(in_file.or(own).unwrap_or(DEFAULT_MASS)),
        }
    };
    (0..species).map(choose).collect()
}

/// Returns the velocities of the file, or those computed from its momenta.
fn velocities<'f>(file: &'f InputParticles, masses: &[f64]) -> Option<Cow<'f, [[f64; 3]]>> {
    let velocity = |(momentum, kind): (&[f64; 3], &u32)| momentum.map(|p| p / masses[*kind as usize - 1]);
    let moved = || Some(file.momenta.as_ref()?.iter().zip(&file.types).map(velocity).collect());
    file.velocities.as_ref().map(Cow::from).or_else(moved)
}

/// Returns the particles whose velocity and momentum in the file contradict each other, unless both
/// are replaced.
fn contradictions(file: &InputParticles, config: &Config) -> impl Iterator<Item = ParticleFault> {
    let both = file.velocities.as_ref().zip(file.momenta.as_ref()).filter(|_| config.temperature.is_none());
    let pairs = both.into_iter().flat_map(|(velocities, momenta)| velocities.iter().zip(momenta));
    pairs.enumerate().filter_map(|(index, (velocity, momentum))| {
        let mass = config.masses[file.types[index] as usize - 1];
        let contradicts = (0..3).any(|dim| !agree(mass * velocity[dim], momentum[dim]));
        let problem = || {
            format!(
                "its velocity is {velocity:?} and its mass {mass}, but its momentum {momentum:?}; keep one of the two columns"
            )
        };
        let (id, attribute) = (file.ids[index], Attribute::Velocity);
        contradicts.then(|| ParticleFault { id, attribute, problem: problem() })
    })
}

/// Returns whether two numbers agree to about eight decimals.
fn agree(a: f64, b: f64) -> bool {
    const DIGITS: f64 = 1e-6;
    const DECIMALS: f64 = 1e-7;
    (a - b).abs() <= DIGITS * a.abs().max(b.abs()) + DECIMALS
}
