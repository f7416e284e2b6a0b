//! `md-cli stencil`: fields on a grid, their halo exchange and the stencil applied to them.

use md_comm::World;
use md_engine::Timings;
use md_files::memory;
use md_grid::stencil::{self, Problem};
use md_grid::{Application, Decomposition};
use md_lab::in_words;
use md_scenario::failure::RunError;
use md_scenario::{ScenarioError, StencilScenario, effective_toml, name_of};
use serde_json::{Map, Value, json};

use super::grid_run::{self, Extension, GridJob, Observed, Runnable};
use super::timeline::traced;
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::GridInputs;
use crate::report::grid::GridContext;

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
    StencilScenario::expect_room(inputs, &problem, memory::available_to_all(world)?)?;
    let context = inputs.scenario.context(world, &problem);
    let traced = traced(world, &args.trace)?;
    let world = traced.as_ref().map_or(world, |traced| traced);
    let (decomposition, traced) = (&problem.decomposition, traced.as_ref());
    let bytes_per_update = problem.bytes_per_update()?;
    let job = GridJob {
        world,
        traced,
        inputs,
        decomposition,
        context,
        mask: None,
        first_lines: Vec::new(),
        args,
        early_end,
    };
    grid_run::run(&job, stencil::open(world, &problem)?, |_, _| Ok(Moved { bytes_per_update }))
}

/// Entry of summary.json that other applications on grids do not have.
struct Moved {
    bytes_per_update: usize,
}

impl<A: ?Sized> Extension<A> for Moved {
    fn observe(&mut self, _: &A, _: u64) -> Result<Observed, RunError> {
        Ok(Observed::Nothing)
    }

    fn summary(&self, _: &A, _: &Timings) -> Map<String, Value> {
        Map::from_iter([("bytes_per_update".to_owned(), json!(self.bytes_per_update))])
    }

    fn finish(self) -> Result<(), RunError> {
        Ok(())
    }
}

/// Returns the effective scenario of checked inputs, for `ranks` ranks.
///
/// # Errors
/// Returns an error at the key of the grid if it cannot be divided among these ranks or does not
/// fit in memory.
pub fn check(inputs: &GridInputs<StencilScenario>, ranks: usize) -> Result<String, RunError> {
    let problem = inputs.scenario.problem(&inputs.source, ranks)?;
    StencilScenario::expect_room(inputs, &problem, memory::available(ranks))?;
    let remark = format!("# needs about {} of memory per rank\n", in_words(problem.estimated_bytes()));
    Ok(effective_toml(&inputs.scenario) + "\n" + &remark)
}

impl Runnable for StencilScenario {
    type Problem = Problem;

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Problem, RunError> {
        Ok(inputs.scenario.problem(&inputs.source, ranks)?)
    }

    fn expect_room(
        inputs: &GridInputs<Self>,
        problem: &Problem,
        available: Option<f64>,
    ) -> Result<(), RunError> {
        let needed = problem.estimated_bytes();
        let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
        let message = format!("the fields need about {} of memory per rank", in_words(needed));
        let help = format!("there are {} of memory per rank here", in_words(available));
        let are_too_many =
            inputs.source.gives("stencil.fields") && problem.estimated_bytes_of(1) <= available;
        let key = if are_too_many { "stencil.fields" } else { inputs.scenario.grid_key() };
        Err(ScenarioError::at(&inputs.source, key, message, help).into())
    }

    fn decomposition(problem: &Problem) -> &Decomposition {
        &problem.decomposition
    }

    fn context(&self, world: &dyn World, problem: &Problem) -> GridContext {
        let StencilScenario { stencil, parallel, .. } = self;
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
            mpi_library: world.platform().library().lines().next().unwrap_or_default().to_owned(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn open<'w>(
        world: &'w dyn World,
        _: &GridInputs<Self>,
        problem: &Problem,
    ) -> Result<Box<dyn Application + 'w>, RunError> {
        Ok(stencil::open(world, problem)?)
    }
}
