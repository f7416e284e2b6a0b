//! `md-cli compare` on a grid: halo strategies on a stencil or a flow, checked bit by bit, measured in turn, and ranked.
//!
//! The trials are those of particles. The reference is the same problem with two-sided messages (threads: with their own): all strategies
//! must give its bits.

mod ground;

use md_lab::Transports;

use super::compare::{Conditions, Outputs, conduct};
use super::timeline::Timelines;
use super::{grid_run, open_on_root, refused};
use crate::args::CompareArgs;
use crate::error::RunError;
use crate::grid_inputs::{GridInputs, GridModel};
use crate::memory;
use crate::scenario::{Scenario, ScenarioSource, load};
use crate::strategies::Choices;
pub use ground::Compared;
use ground::Grid;

/// Steps per sample.
const STEPS: u64 = 10;

/// Compares strategies on this rank; `end_job` ends all ranks with an exit code, from any thread. *Collective.*
///
/// # Errors
/// [`RunError::Compared`] if a strategy was wrong, failed or timed out; see [`RunError`] for the others.
pub fn compare_on_grid<M: Compared>(
    transports: &dyn Transports,
    inputs: &GridInputs<M>,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    let agreement = transports.agreement();
    if let Some(option) = choices.of_particles() {
        return Err(refused(format!("{option} is for scenarios of particles, and this one has a grid")));
    }
    memory::expect_timeline(agreement, &args.trace)?;
    let problem = M::problem(inputs, agreement.ranks())?;
    M::expect_room(agreement, inputs, &problem)?;
    let base = keys_of(inputs)?;
    let variants = choices.variants(&base, &transports.backends()).map_err(refused)?;
    let steps = args.steps.unwrap_or(STEPS);
    let between_nodes = inputs.scenario.parallel().between_nodes;
    let conditions = Conditions { transports, args, variants: &variants, between_nodes, steps, end_job };
    conditions.watch_agreement();
    let frame = conditions.frame(|variant| ground::is_own(variant, &base, inputs))?;
    let outputs = open_on_root(agreement, || {
        Outputs::open(&conditions, frame, |results, verbosity| {
            grid_run::output_directory(inputs, results, verbosity)
        })
    })?;
    let timelines = Timelines::new(&args.trace);
    let grid = Grid::of(transports, inputs, &base, problem, conditions.sampling(), timelines)?;
    let outcome = conduct(&grid, &conditions, outputs)?;
    grid.finish()?;
    outcome.into_result("wrong values")
}

/// A scenario of particles with the same `[parallel]`: strategies are combinations of its keys.
pub(super) fn keys_of<M: GridModel>(inputs: &GridInputs<M>) -> Result<Scenario, RunError> {
    const PARTICLES: &str =
        "[simulation]\nsteps = 1\n[system]\nlattice = { kind = \"sc\", density = 1.0, cells = [9, 9, 9] }\n";
    let source = ScenarioSource { text: PARTICLES.to_owned(), ..ScenarioSource::default() };
    Ok(Scenario { parallel: inputs.scenario.parallel().transport(), ..load(&source)? })
}
