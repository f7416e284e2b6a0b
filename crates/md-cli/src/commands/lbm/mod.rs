//! `md-cli lbm`: flow by the lattice Boltzmann method.

mod flow;
mod obstacle;
mod recorder;
mod warnings;

use std::path::PathBuf;
use std::{fs, io};

use md_comm::World;
use md_files::memory;
use md_grid::lbm::{FlowRun, LaneReal, Mask, Overlap, POPULATIONS};
use md_grid::stencil::Precision;
use md_grid::{Application, Decomposition, GridError, Layout, Schedule};
use md_scenario::failure::RunError;
use md_scenario::{GridOutput, GridParallel, Lbm, LbmScenario, ScenarioError, name_of};

use super::grid_run::{self, GridJob};
use super::timeline::traced;
use crate::args::GridArgs;
use crate::early_end::EarlyEnd;
use crate::grid_inputs::{GridInputs, GridModel, Subject};
use crate::requested_level::requested_level;
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
    let decomposition = LbmScenario::problem(inputs, world.ranks())?;
    LbmScenario::expect_room(inputs, &decomposition, memory::available_to_all(world)?)?;
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

impl GridModel for LbmScenario {
    const TABLE: &'static str = "lbm";
    type Problem = Decomposition;

    fn parallel(&self) -> &GridParallel {
        &self.parallel
    }

    fn parallel_mut(&mut self) -> &mut GridParallel {
        &mut self.parallel
    }

    fn output(&self) -> &GridOutput {
        &self.output.common
    }

    fn grow(&mut self, ranks: usize) -> Result<(), GridError> {
        let whole = self.parallel.decomposition.may_be_cut().map(|may| !may);
        let grown = Decomposition::of_blocks(self.lbm.grid, ranks, None, self.lbm.edges(), whole)?;
        (self.lbm.grid, self.parallel.grid) = (grown.nodes(), Some(grown.ranks()));
        Ok(())
    }

    fn file_beside(inputs: &GridInputs<Self>) -> Option<PathBuf> {
        inputs.mask_file()
    }

    fn find_files(inputs: &mut GridInputs<Self>) -> io::Result<()> {
        let found = inputs.mask_file().map(fs::canonicalize).transpose()?;
        if let (Some(obstacle), Some(path)) = (&mut inputs.scenario.lbm.obstacle, found) {
            let text = path.into_os_string().into_string();
            obstacle.path = Some(text.map_err(|_| io::Error::other("its path is not UTF-8"))?);
        }
        Ok(())
    }

    /// Describes a single field, since all populations are updated together.
    fn subject(&self) -> Subject {
        let Lbm { precision, steps, .. } = self.lbm;
        Subject { kind: "lbm".to_owned(), fields: 1, depth: 1, precision, steps }
    }

    fn resize(&mut self, nodes: [usize; 3], precision: Precision) {
        (self.lbm.grid, self.lbm.precision) = (nodes, precision);
    }

    fn expect_ready(inputs: &GridInputs<Self>) -> Result<(), RunError> {
        obstacle::expect_readable(inputs)?;
        requested_level().map(drop)
    }

    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Decomposition, RunError> {
        let LbmScenario { lbm, parallel, .. } = &inputs.scenario;
        let (grid, whole) = (parallel.grid, parallel.decomposition.may_be_cut().map(|may| !may));
        Decomposition::with_fixed_axes(lbm.grid, ranks, grid, lbm.edges(), whole).map_err(|error| {
            let key = if grid.is_some() { "parallel.grid" } else { "lbm.grid" };
            let help =
                "a rank has at least one node along each axis; ranks along x, y and z multiply to all ranks";
            ScenarioError::at(&inputs.source, key, error.to_string(), help).into()
        })
    }

    fn decomposition(problem: &Decomposition) -> &Decomposition {
        problem
    }

    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError> {
        let LbmScenario { lbm, parallel, .. } = &inputs.scenario;
        let decomposition = Self::problem(inputs, ranks)?;
        let overlap = if parallel.overlap { Overlap::InnerNodes } else { Overlap::Nothing };
        let (crossing, number_bytes) = (inputs.scenario.crossing(), lbm.precision.bytes());
        Ok(crossing.schedule(decomposition, parallel.messages, number_bytes, overlap))
    }

    fn needed_bytes(inputs: &GridInputs<Self>, decomposition: &Decomposition) -> Result<f64, RunError> {
        let lbm = &inputs.scenario.lbm;
        let number_bytes = lbm.precision.bytes();
        let layout = Layout::new(decomposition.block(0).size, [1; 3], number_bytes).map_err(|error| {
            ScenarioError::at(&inputs.source, "lbm.grid", error.to_string(), "fewer nodes, or more ranks")
        })?;
        // The mask is stored in addition to the populations.
        let per_place = (lbm.pattern.grids() * POPULATIONS * number_bytes + size_of::<f32>()) as f64;
        Ok(layout.component_stride() as f64 * per_place)
    }

    fn too_large(inputs: &GridInputs<Self>, _: &Decomposition, _: f64) -> (String, &'static str) {
        let nodes = inputs.scenario.lbm.grid.map(|nodes| nodes.to_string()).join(" x ");
        (format!("{nodes} nodes"), "lbm.grid")
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

    fn ways(&self) -> Vec<(&'static str, String)> {
        vec![("pattern", name_of(self.lbm.pattern)), ("collision", name_of(self.lbm.collision_kind()))]
    }

    fn has_formula(&self) -> bool {
        self.lbm.precision == Precision::Double
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
