//! `md-cli stencil`: fields on a grid, their halo exchange and the stencil applied to them.

use md_comm::World;
use md_engine::Timings;
use md_files::memory;
use md_grid::stencil::{self, Precision, Problem};
use md_grid::{Application, Decomposition, GridError, Schedule};
use md_scenario::failure::RunError;
use md_scenario::{GridOutput, GridParallel, Stencil, StencilScenario};
use serde_json::{Map, Value, json};

use super::grid_run::{self, Extension, GridJob};
use super::timeline::traced;
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::{GridInputs, GridModel, Subject};

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
    fn summary(&self, _: &A, _: &Timings) -> Map<String, Value> {
        Map::from_iter([("bytes_per_update".to_owned(), json!(self.bytes_per_update))])
    }
}

impl GridModel for StencilScenario {
    const TABLE: &'static str = "stencil";
    type Problem = Problem;

    fn parallel(&self) -> &GridParallel {
        &self.parallel
    }

    fn parallel_mut(&mut self) -> &mut GridParallel {
        &mut self.parallel
    }

    fn output(&self) -> &GridOutput {
        &self.output
    }

    fn grows(&self) -> bool {
        self.stencil.grid_per_rank.is_some()
    }

    fn grow(&mut self, _: usize) -> Result<(), GridError> {
        let Stencil { grid, grid_per_rank, .. } = &mut self.stencil;
        *grid_per_rank = grid_per_rank.or(grid.take());
        self.parallel.grid = None;
        Ok(())
    }

    fn subject(&self) -> Subject {
        let Stencil { kind, precision, steps, .. } = &self.stencil;
        let (name, fields, depth) = (kind.name().to_owned(), kind.fields(), kind.depth());
        Subject { kind: name, fields, depth, precision: *precision, steps: *steps }
    }

    fn resize(&mut self, nodes: [usize; 3], precision: Precision) {
        (self.stencil.grid, self.stencil.grid_per_rank) = (Some(nodes), None);
        self.stencil.precision = precision;
    }

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Problem, RunError> {
        Ok(inputs.scenario.problem(&inputs.source, ranks)?)
    }

    fn decomposition(problem: &Problem) -> &Decomposition {
        &problem.decomposition
    }

    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError> {
        Ok(stencil::schedule(&inputs.scenario.problem(&inputs.source, ranks)?)?)
    }

    fn needed_bytes(_: &GridInputs<Self>, problem: &Problem) -> Result<f64, RunError> {
        Ok(problem.estimated_bytes())
    }

    fn too_large(inputs: &GridInputs<Self>, problem: &Problem, available: f64) -> (String, &'static str) {
        let are_too_many =
            inputs.source.gives("stencil.fields") && problem.estimated_bytes_of(1) <= available;
        let key = if are_too_many { "stencil.fields" } else { inputs.scenario.grid_key() };
        ("the fields".to_owned(), key)
    }

    fn open<'w>(
        world: &'w dyn World,
        _: &GridInputs<Self>,
        problem: &Problem,
    ) -> Result<Box<dyn Application + 'w>, RunError> {
        Ok(stencil::open(world, problem)?)
    }
}
