//! Memory that a run needs, compared with the memory of the machine, before the simulation is set
//! up.

use md_comm::World;
use md_engine::Setup;
use md_files::memory::{available, available_to_all, ranks_here};
use md_files::output::Gathers;
use md_lab::in_words;
use md_scenario::ScenarioError;
use md_scenario::failure::RunError;

use super::inputs::Inputs;

/// Checks that every rank has enough memory for a set-up. *Collective.*
///
/// # Errors
/// The errors of [`expect`]; communication.
pub fn expect_on_all(
    world: &dyn World,
    inputs: &Inputs,
    setup: &Setup,
    gathers: Gathers,
) -> Result<(), RunError> {
    let mut share = [1.0 / ranks_here(world.ranks())];
    world.max(&mut share)?;
    let needed = setup.estimated_bytes() + gathers.bytes(setup) * share[0];
    expect_room(inputs, setup, needed, available_to_all(world)?)
}

/// Checks that each of `ranks` ranks of this machine has enough memory.
///
/// # Errors
/// The errors of [`expect`].
pub(crate) fn expect_here(
    inputs: &Inputs,
    setup: &Setup,
    gathers: Gathers,
    ranks: usize,
) -> Result<(), RunError> {
    let needed = setup.estimated_bytes() + gathers.bytes(setup) / ranks_here(ranks);
    expect_room(inputs, setup, needed, available(ranks))
}

/// Checks that each rank has enough memory where nothing is gathered.
///
/// # Errors
/// A system that is too large, located at its key.
pub fn expect(inputs: &Inputs, setup: &Setup, available: Option<f64>) -> Result<(), RunError> {
    expect_room(inputs, setup, setup.estimated_bytes(), available)
}

/// Lower bound of the memory of a particle, in bytes.
const LEAST_BYTES: f64 = 150.0;

/// Checks that each of `ranks` ranks of this machine has memory for its share of the particles.
///
/// # Errors
/// The errors of [`expect`].
pub(crate) fn expect_particles(inputs: &Inputs, atoms: u64, ranks: usize) -> Result<(), RunError> {
    expect_bytes(inputs, atoms, atoms as f64 / ranks as f64 * LEAST_BYTES, available(ranks))
}

/// Does what [`expect_particles`] does for the ranks of a world. *Collective.*
///
/// # Errors
/// The errors of [`expect`]; communication.
pub(crate) fn expect_particles_on_all(
    world: &dyn World,
    inputs: &Inputs,
    atoms: u64,
) -> Result<(), RunError> {
    let needed = atoms as f64 / world.ranks() as f64 * LEAST_BYTES;
    expect_bytes(inputs, atoms, needed, available_to_all(world)?)
}

fn expect_room(inputs: &Inputs, setup: &Setup, needed: f64, available: Option<f64>) -> Result<(), RunError> {
    expect_bytes(inputs, setup.atoms(), needed, available)
}

fn expect_bytes(inputs: &Inputs, atoms: u64, needed: f64, available: Option<f64>) -> Result<(), RunError> {
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let key = inputs.scenario.system.size_key();
    let here = format!("there are {} of memory per rank here", in_words(available));
    let (message, help) = match atoms {
        u64::MAX => ("more particles than can be counted".to_owned(), here),
        atoms => {
            let fitting = atoms as f64 * available / needed;
            let message = format!("{atoms} particles need about {} of memory per rank", in_words(needed));
            (message, format!("{here}, enough for about {fitting:.0e} particles"))
        }
    };
    Err(ScenarioError::at(&inputs.source, key, message, help).into())
}

/// Returns the remark of `check` on the memory that is needed.
pub(crate) fn remark(setup: &Setup, gathers: Gathers) -> String {
    let needed = setup.estimated_bytes();
    let rank_0 = match gathers {
        Gathers::Nothing => String::new(),
        _ => format!(", rank 0 about {}", in_words(needed + gathers.bytes(setup))),
    };
    format!("# needs about {} of memory per rank{rank_0}\n", in_words(needed))
}
