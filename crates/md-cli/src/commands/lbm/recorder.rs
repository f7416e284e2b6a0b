//! Outputs of a flow in addition to those of all applications on grids: rows of its tables, images
//! and keys of summary.json.

use std::path::PathBuf;

use md_comm::World;
use md_engine::{Phase, Timings};
use md_files::checkpoint::{OutputState, Resumed};
use md_files::output::flow::{DRAG_LINE, FlowTable, images, probe_line};
use md_files::store::{OutputDirectory, OutputError};
use md_grid::lbm::{Collision, Flow, FlowRun, Forces, LaneReal, POPULATIONS, SOUND_SPEED_SQUARED};
use md_lab::bench::copy_bytes_per_s;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::warn;
use md_scenario::{Lbm, LbmOutput, LbmScenario};
use serde_json::{Map, Value, json};

use super::super::ROOT;
use super::super::grid_run::{Extension, Observed};
use super::warnings::{interval_warnings, mach_warning, slip_warning};
use crate::grid_inputs::GridInputs;

/// Size of a rank's populations in bytes, below which caches may hold them and memory bandwidth is
/// not relevant.
const LARGE: usize = 64 << 20;

/// Rates of copying in bytes per second, on all ranks together: with one stream, and with one
/// stream per population.
#[derive(Debug, Clone, Copy)]
struct Copying {
    one: f64,
    streams: f64,
}

/// Observer of a flow, on all ranks.
pub(super) struct Recorder<'w> {
    world: &'w dyn World,
    lbm: Lbm,
    output: LbmOutput,
    folder: PathBuf,
    /// Requested tables, on rank 0.
    tables: Vec<FlowTable>,
    /// Warnings that have been given.
    warnings: Vec<String>,
    copying: Option<Copying>,
    /// Whether there was a warning about high velocities.
    is_warned: bool,
}

/// Returns the first lines of the requested tables: probe.csv, then drag.csv.
pub(super) fn first_lines(output: &LbmOutput) -> Vec<(KnownFile, String)> {
    let probe = output.probe.as_ref().map(|probe| (KnownFile::PROBE, probe_line(&probe.nodes)));
    let drag = output.drag.map(|_| (KnownFile::DRAG, DRAG_LINE.to_owned()));
    probe.into_iter().chain(drag).collect()
}

impl<'w> Recorder<'w> {
    /// Opens the outputs, before the run. `odd` contains the warnings about the obstacle.
    /// *Collective.*
    pub(super) fn open(
        world: &'w dyn World,
        inputs: &GridInputs<LbmScenario>,
        directory: Option<&OutputDirectory>,
        resumed: Option<&Resumed>,
        odd: Vec<String>,
    ) -> Result<Self, RunError> {
        let scenario = &inputs.scenario;
        let output = &scenario.output;
        let open = || {
            let Some(directory) = directory else { return Ok(Vec::new()) };
            let lines = first_lines(output).into_iter();
            lines.map(|(kind, line)| FlowTable::open(directory, (kind, &line), resumed)).collect()
        };
        let tables = super::super::open_on_root(world, open)?.unwrap_or_default();
        let speed = mach_warning(scenario.greatest_speed());
        let (is_warned, slip) = (speed.is_some(), slip_warning(&scenario.lbm));
        let warnings: Vec<String> =
            odd.into_iter().chain(slip).chain(speed).chain(interval_warnings(scenario)).collect();
        if world.rank() == ROOT {
            warnings.iter().for_each(|text| warn(text));
        }
        Ok(Self {
            world,
            lbm: scenario.lbm.clone(),
            output: output.clone(),
            folder: PathBuf::from(&output.common.directory),
            tables,
            warnings,
            copying: None,
            is_warned,
        })
    }

    fn warn_of_speed<T: LaneReal>(&mut self, run: &FlowRun<'_, T>) {
        let speed = run.last_totals().map_or(0.0, |totals| totals.highest_speed);
        if let (false, ROOT, Some(text)) = (self.is_warned, self.world.rank(), mach_warning(speed)) {
            warn(&text);
            self.warnings.push(text);
            self.is_warned = true;
        }
    }

    /// Writes density and velocity of the probed nodes, from the ranks that own them. *Collective.*
    fn write_probes<T: LaneReal>(&mut self, flow: &Flow<T>, step: u64) -> Result<(), RunError> {
        let nodes = self.output.probe.iter().flat_map(|probe| &probe.nodes);
        let mut values: Vec<f64> = nodes.flat_map(|&node| probed(flow, node)).collect();
        // All ranks except the owner add zeros.
        self.world.sum(&mut values)?;
        self.write_row(KnownFile::PROBE, step, &values)
    }

    /// Writes the forces on obstacles and walls. *Collective.*
    fn write_drag<T: LaneReal>(&mut self, flow: &Flow<T>, step: u64) -> Result<(), RunError> {
        let Forces { on_obstacles, on_walls } = flow.forces(self.world)?;
        self.write_row(KnownFile::DRAG, step, [on_obstacles, on_walls].as_flattened())
    }

    /// Writes a row of a table, if it is open.
    fn write_row(&mut self, kind: KnownFile, step: u64, values: &[f64]) -> Result<(), RunError> {
        let mut tables = self.tables.iter_mut();
        tables.find(|table| table.kind() == kind).map_or(Ok(()), |table| Ok(table.write(step, values)?))
    }
}

/// Returns density and velocity of a node, or zeros on ranks that do not own it.
fn probed<T: LaneReal>(flow: &Flow<T>, node: [usize; 3]) -> [f64; 4] {
    let block = flow.block();
    let own = [0, 1, 2].map(|axis| node[axis].wrapping_sub(block.origin[axis]));
    let is_own = (0..3).all(|axis| own[axis] < block.size[axis]);
    let state = if is_own { flow.state(own) } else { None };
    state.map_or([0.0; 4], |(density, [x, y, z])| [density, x, y, z])
}

impl<T: LaneReal> Extension<FlowRun<'_, T>> for Recorder<'_> {
    fn observe(&mut self, run: &FlowRun<'_, T>, step: u64) -> Result<Observed, RunError> {
        let is_due = |every: Option<u64>| every.is_some_and(|every| step.is_multiple_of(every));
        let mut observed = Observed::Nothing;
        self.warn_of_speed(run);
        if is_due(self.output.probe.as_ref().map(|probe| probe.every)) {
            self.write_probes(run.flow(), step)?;
            observed = Observed::Something;
        }
        // No force has acted before the first step.
        if step > 0 && is_due(self.output.drag.map(|drag| drag.every)) {
            self.write_drag(run.flow(), step)?;
            observed = Observed::Something;
        }
        let images_every = self.output.fields.map(|fields| fields.every);
        let is_last = images_every.is_some() && step == self.lbm.steps;
        if is_due(images_every) || is_last {
            images::write(self.world, &self.folder, run.flow(), step)?;
            observed = Observed::Something;
        }
        Ok(observed)
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn measure(&mut self, run: &FlowRun<'_, T>) -> Result<(), RunError> {
        let mut least = [-((run.flow().fluid_nodes() * POPULATIONS * size_of::<T>()) as f64)];
        self.world.max(&mut least)?;
        if least[0] > -(LARGE as f64) {
            return Ok(());
        }
        let copied = |streams| copy_bytes_per_s(self.world, LARGE, streams);
        if let (Some(one), Some(streams)) = (copied(1)?, copied(POPULATIONS)?) {
            let mut sums = [one, streams];
            self.world.sum(&mut sums)?;
            self.copying = Some(Copying { one: sums[0], streams: sums[1] });
        }
        Ok(())
    }

    fn summary(&self, run: &FlowRun<'_, T>, timings: &Timings) -> Map<String, Value> {
        let lbm = &self.lbm;
        let total = timings.phase(Phase::Total);
        let updates = timings.owned.avg * self.world.ranks() as f64 * total.calls as f64;
        let bytes_per_update = run.flow().bytes_per_update();
        let speed = run.last_totals().map_or(0.0, |totals| totals.highest_speed);
        let per_s = |amount: f64| if total.seconds.max > 0.0 { amount / total.seconds.max } else { 0.0 };
        let entries = [
            ("pattern", json!(lbm.pattern)),
            ("collision", json!(lbm.collision_kind())),
            ("viscosity", json!(lbm.viscosity)),
            ("simd", json!(run.flow().simd().name())),
            ("fluid_nodes", json!(timings.owned.avg * self.world.ranks() as f64)),
            ("bytes_per_update", json!(bytes_per_update)),
            ("bytes_per_s", json!(per_s(updates * bytes_per_update as f64))),
            ("mach", json!(speed / SOUND_SPEED_SQUARED.sqrt())),
        ];
        let magic = match lbm.collision() {
            Collision::Bgk => None,
            Collision::Trt { magic } => Some(("magic", json!(magic))),
        };
        // Rows and files are not part of a step.
        let busy_s = total.seconds.max - timings.phase(Phase::Output).seconds.max;
        let shares = self.copying.filter(|_| busy_s > 0.0).map(|Copying { one, streams }| {
            let moved = updates * bytes_per_update as f64 / busy_s;
            [
                ("copy_bytes_per_s", json!(one)),
                ("streams_copy_bytes_per_s", json!(streams)),
                ("share_of_copy", json!(moved / one)),
                ("share_of_streams_copy", json!(moved / streams)),
            ]
        });
        entries
            .into_iter()
            .chain(magic)
            .chain(run.flow().stores().map(|stores| ("stores", json!(stores.name()))))
            .chain(shares.into_iter().flatten())
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    fn kept(&self) -> Result<Vec<OutputState>, OutputError> {
        let kept = |table: &FlowTable| Ok(OutputState { mark: Some(table.mark()?), memory: None });
        self.tables.iter().map(kept).collect()
    }

    fn finish(self) -> Result<(), RunError> {
        Ok(self.tables.into_iter().try_for_each(FlowTable::finish)?)
    }
}
