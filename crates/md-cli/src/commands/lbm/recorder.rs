//! What a flow leaves behind beside what all applications on grids do: rows of probe.csv, images, its own keys of summary.json.

use std::path::PathBuf;

use md_comm::World;
use md_engine::{Phase, Timings};
use md_grid::lbm::{Collision, Flow, FlowRun, LaneReal, POPULATIONS, SOUND_SPEED_SQUARED};
use md_lab::bench::copy_bytes_per_s;
use serde_json::{Map, Value, json};

use super::super::ROOT;
use super::super::grid_run::{Extension, Observed};
use super::super::intervals::beyond;
use crate::checkpoint::Resumed;
use crate::error::RunError;
use crate::grid_inputs::GridInputs;
use crate::output::flow::{ProbeWriter, images};
use crate::output::run_output::Kept;
use crate::output::{OutputDirectory, OutputError};
use crate::scenario::{Lbm, LbmScenario, Probe};
use crate::session::warn;

/// Mach number from which the flow is compressible: its errors grow with the square.
const HIGHEST_MACH: f64 = 0.3;

/// Populations of a rank, in bytes, below which caches may hold them: then memory does not count.
const LARGE: usize = 64 << 20;

/// What copying moves per second on all ranks together: one stream, and as many as there are populations.
#[derive(Debug, Clone, Copy)]
struct Copying {
    one: f64,
    streams: f64,
}

/// Looks at a flow, on all ranks.
pub(super) struct Recorder<'w> {
    world: &'w dyn World,
    lbm: Lbm,
    probe: Option<Probe>,
    images_every: Option<u64>,
    folder: PathBuf,
    /// On rank 0.
    rows: Option<ProbeWriter>,
    /// What has been warned of.
    warnings: Vec<String>,
    copying: Option<Copying>,
    /// Whether high velocities are among the warnings.
    is_warned: bool,
}

impl<'w> Recorder<'w> {
    /// Opens what is written, before the run; `nowhere` is a warning of the obstacle. *Collective.*
    pub(super) fn open(
        world: &'w dyn World,
        inputs: &GridInputs<LbmScenario>,
        directory: Option<&OutputDirectory>,
        resumed: Option<&Resumed>,
        nowhere: Option<String>,
    ) -> Result<Self, RunError> {
        let scenario = &inputs.scenario;
        let output = &scenario.output;
        let open = || {
            let Some(directory) = directory else { return Ok(None) };
            let open = |probe: &Probe| ProbeWriter::open(directory, &probe.nodes, resumed);
            output.probe.as_ref().map(open).transpose()
        };
        let rows = super::super::open_on_root(world, open)?.flatten();
        let speed = mach_warning(scenario.greatest_speed());
        let is_warned = speed.is_some();
        let warnings: Vec<String> =
            nowhere.into_iter().chain(speed).chain(interval_warnings(scenario)).collect();
        if world.rank() == ROOT {
            warnings.iter().for_each(|text| warn(text));
        }
        Ok(Self {
            world,
            lbm: scenario.lbm.clone(),
            probe: output.probe.clone(),
            images_every: output.fields.map(|fields| fields.every),
            folder: PathBuf::from(&output.common.directory),
            rows,
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
        let nodes = self.probe.iter().flat_map(|probe| &probe.nodes);
        let mut values: Vec<f64> = nodes.flat_map(|&node| probed(flow, node)).collect();
        // All but one rank add nothing.
        self.world.sum(&mut values)?;
        self.rows.as_mut().map_or(Ok(()), |rows| Ok(rows.write(step, &values)?))
    }
}

/// Density and velocity of a node, zero on ranks that do not own it.
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
        if is_due(self.probe.as_ref().map(|probe| probe.every)) {
            self.write_probes(run.flow(), step)?;
            observed = Observed::Something;
        }
        let is_last = self.images_every.is_some() && step == self.lbm.steps;
        if is_due(self.images_every) || is_last {
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
            ("collision", json!(lbm.collision)),
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
        // Rows and files are no part of a step.
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

    fn kept(&self) -> Result<Vec<Kept>, OutputError> {
        let mark = self.rows.as_ref().map(ProbeWriter::mark).transpose()?;
        Ok(vec![Kept { mark, memory: None }])
    }

    fn finish(self) -> Result<(), RunError> {
        Ok(self.rows.map_or(Ok(()), ProbeWriter::finish)?)
    }
}

/// What to say of velocities that are too high for an incompressible flow.
fn mach_warning(speed: f64) -> Option<String> {
    let mach = speed / SOUND_SPEED_SQUARED.sqrt();
    (mach > HIGHEST_MACH).then(|| {
        format!(
            "{speed:.3} nodes per step is Mach {mach:.2}: above {HIGHEST_MACH} the flow is compressible, with errors of about Mach \
             squared, and may become unstable; take a lower velocity and more steps"
        )
    })
}

/// Outputs that are written no more often than at the ends of the run.
fn interval_warnings(LbmScenario { lbm, output, .. }: &LbmScenario) -> Vec<String> {
    let probe = output.probe.as_ref().map(|probe| probe.every);
    let fields = output.fields.map(|fields| fields.every);
    let outputs = [
        ("probe", probe, "no row after step 0 will be written"),
        ("fields", fields, "no image between step 0 and the last will be written"),
    ];
    beyond(("", "run"), lbm.steps, &outputs)
}
