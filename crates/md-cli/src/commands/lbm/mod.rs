//! `md-cli lbm`: flow by the lattice Boltzmann method.

mod flow;
mod obstacle;
mod recorder;
mod warnings;

use md_comm::World;
use md_files::memory;
use md_grid::lbm::{FlowRun, LaneReal, Mask, Overlap};
use md_grid::stencil::Precision;
use md_grid::{Application, Decomposition, Schedule};
use md_lab::in_words;
use md_scenario::failure::RunError;
use md_scenario::{LbmScenario, name_of};

use super::grid_run::{self, GridJob, Runnable};
use super::timeline::traced;
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::GridInputs;
use crate::report::grid::GridContext;
use crate::requested_level::requested_level;
use flow::{decomposition, expect_room};
use recorder::Recorder;

/// Runs the scenario on this rank. *Collective.*
///
/// # Errors
/// See [`RunError`].
pub fn lbm(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    args: &GridArgs,
    early_end: &EarlyEnd,
) -> Result<(), RunError> {
    match inputs.scenario.lbm.precision {
        Precision::Double => run::<f64>(world, inputs, args, early_end),
        Precision::Single => run::<f32>(world, inputs, args, early_end),
    }
}

fn run<T: LaneReal>(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    args: &GridArgs,
    early_end: &EarlyEnd,
) -> Result<(), RunError> {
    let decomposition = decomposition(world.ranks(), inputs)?;
    expect_room(inputs, &decomposition, memory::available_to_all(world)?)?;
    let (solid, mask) = obstacle::mask(world, inputs, &decomposition)?;
    let odd = obstacle::expect_fluid(world, inputs, &solid)?;
    let context = inputs.scenario.context(world, &decomposition);
    let traced = traced(world, &args.trace)?;
    let world = traced.as_ref().map_or(world, |traced| traced);
    let flow = flow::set_up::<T>(world, inputs, &decomposition, solid)?;
    let (decomposition, traced) = (&decomposition, traced.as_ref());
    let first_lines = recorder::first_lines(&inputs.scenario.output);
    let job = GridJob { world, traced, inputs, decomposition, context, mask, first_lines, args, early_end };
    grid_run::run(&job, Box::new(FlowRun::new(world, flow)), |directory, resumed| {
        Recorder::open(world, inputs, directory, resumed, odd)
    })
}

/// Returns the effective scenario of checked inputs, for `ranks` ranks.
///
/// # Errors
/// Returns an error at the key of the grid if it cannot be divided among these ranks or does not
/// fit in memory. A mask that cannot be read and an `MD_SIMD` that names no level of this CPU are
/// errors too.
pub fn check(inputs: &GridInputs<LbmScenario>, ranks: usize) -> Result<String, RunError> {
    let decomposition = decomposition(ranks, inputs)?;
    expect_room(inputs, &decomposition, memory::available(ranks))?;
    obstacle::expect_readable(inputs)?;
    requested_level()?;
    let needed = in_words(flow::needed_bytes(inputs, &decomposition)?);
    Ok(inputs.effective_toml()? + &format!("\n# needs about {needed} of memory per rank\n"))
}

/// Returns the messages and computations of a step on `ranks` ranks.
pub(super) fn schedule(inputs: &GridInputs<LbmScenario>, ranks: usize) -> Result<Schedule, RunError> {
    let LbmScenario { lbm, parallel, .. } = &inputs.scenario;
    let decomposition = decomposition(ranks, inputs)?;
    let overlap = if parallel.overlap { Overlap::InnerNodes } else { Overlap::Nothing };
    let number_bytes = match lbm.precision {
        Precision::Double => size_of::<f64>(),
        Precision::Single => size_of::<f32>(),
    };
    Ok(inputs.scenario.crossing().schedule(decomposition, parallel.messages, number_bytes, overlap))
}

impl Runnable for LbmScenario {
    type Problem = Decomposition;

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Decomposition, RunError> {
        decomposition(ranks, inputs)
    }

    fn expect_room(
        inputs: &GridInputs<Self>,
        decomposition: &Decomposition,
        available: Option<f64>,
    ) -> Result<(), RunError> {
        expect_room(inputs, decomposition, available)
    }

    fn decomposition(problem: &Decomposition) -> &Decomposition {
        problem
    }

    fn context(&self, world: &dyn World, decomposition: &Decomposition) -> GridContext {
        let LbmScenario { lbm, parallel, .. } = self;
        let crossed = |counts: [usize; 3]| counts.map(|count| count.to_string()).join("x");
        GridContext {
            backend: parallel.backend,
            exchange: parallel.exchange,
            messages: parallel.messages,
            kind: "lbm".to_owned(),
            nodes: crossed(lbm.grid),
            // The only field is the flow, since its populations are updated together.
            fields: 1,
            depth: 1,
            grid: crossed(decomposition.ranks()),
            ranks: world.ranks(),
            threads: parallel.threads,
            precision: name_of(lbm.precision),
            steps: lbm.steps,
            mpi_library: world.platform().library().lines().next().unwrap_or_default().to_owned(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    fn open<'w>(
        world: &'w dyn World,
        inputs: &GridInputs<Self>,
        decomposition: &Decomposition,
    ) -> Result<Box<dyn Application + 'w>, RunError> {
        let (mask, _) = obstacle::mask(world, inputs, decomposition)?;
        obstacle::expect_fluid(world, inputs, &mask)?;
        Ok(match inputs.scenario.lbm.precision {
            Precision::Double => flow_at_start::<f64>(world, inputs, decomposition, mask)?,
            Precision::Single => flow_at_start::<f32>(world, inputs, decomposition, mask)?,
        })
    }
}

fn flow_at_start<'w, T: LaneReal>(
    world: &'w dyn World,
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
    mask: Mask,
) -> Result<Box<dyn Application + 'w>, RunError> {
    Ok(Box::new(FlowRun::new(world, flow::set_up::<T>(world, inputs, decomposition, mask)?)))
}
