//! `md-cli stencil`: fields on a grid, their halo, and what is computed with them.

use md_comm::World;
use md_grid::stencil::{self, Problem};

use super::grid_run::{self, NoExtension, Show};
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::error::RunError;
use crate::grid_inputs::GridInputs;
use crate::output::Verbosity;
use crate::output::grid::GridContext;
use crate::scenario::{StencilScenario, name_of};

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn stencil(
    world: &dyn World,
    inputs: &GridInputs<StencilScenario>,
    args: &GridArgs,
    early_end: &EarlyEnd,
) -> Result<(), RunError> {
    let problem = inputs.scenario.problem(&inputs.source, world.ranks())?;
    let context = context(world, &inputs.scenario, &problem);
    let show = Show { verbosity: Verbosity::unless(args.quiet), progress: args.progress };
    grid_run::run(world, inputs, context, show, early_end, |_| {
        Ok((stencil::open(world, &problem)?, NoExtension))
    })
}

/// What makes the rows of a problem's tables stand alone.
pub(super) fn context(world: &dyn World, scenario: &StencilScenario, problem: &Problem) -> GridContext {
    let StencilScenario { stencil, parallel, .. } = scenario;
    let crossed = |counts: [usize; 3]| counts.map(|count| count.to_string()).join("x");
    GridContext {
        backend: parallel.backend,
        exchange: parallel.exchange,
        messages: parallel.messages,
        kind: problem.kind.name().to_owned(),
        nodes: crossed(problem.decomposition.nodes()),
        fields: problem.kind.fields(),
        depth: problem.kind.depth(),
        grid: crossed(problem.decomposition.ranks()),
        ranks: world.ranks(),
        threads: parallel.threads,
        precision: name_of(stencil.precision),
        steps: stencil.steps,
        mpi_library: world.library().lines().next().unwrap_or_default().to_owned(),
        host: gethostname::gethostname().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
