//! Conversion of a scenario into a flow.

use std::f64::consts::TAU;

use md_comm::World;
use md_core::Threads;
use md_engine::EngineError;
use md_grid::lbm::{Flow, FlowOptions, FlowState, LaneReal, Mask, Overlap, POPULATIONS, WallVelocities};
use md_grid::{Decomposition, Layout};
use md_lab::in_words;
use md_scenario::failure::RunError;
use md_scenario::{InitialKind, Lbm, LbmScenario, ScenarioError};

use crate::grid_inputs::GridInputs;
use crate::requested_level::requested_or_widest;

/// Returns the division of the nodes among the ranks, or an error at the key of its fault.
pub(in crate::commands) fn decomposition(
    ranks: usize,
    inputs: &GridInputs<LbmScenario>,
) -> Result<Decomposition, RunError> {
    let lbm = &inputs.scenario.lbm;
    let parallel = &inputs.scenario.parallel;
    let (grid, whole) = (parallel.grid, parallel.decomposition.may_be_cut().map(|may| !may));
    Decomposition::with_fixed_axes(lbm.grid, ranks, grid, lbm.edges(), whole).map_err(|error| {
        let key = if grid.is_some() { "parallel.grid" } else { "lbm.grid" };
        let help =
            "a rank has at least one node along each axis; ranks along x, y and z multiply to all ranks";
        ScenarioError::at(&inputs.source, key, error.to_string(), help).into()
    })
}

/// Returns the number of bytes that a rank needs for its nodes.
pub(in crate::commands) fn needed_bytes(
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
) -> Result<f64, RunError> {
    let lbm = &inputs.scenario.lbm;
    let number_bytes = lbm.precision.bytes();
    let layout = Layout::new(decomposition.block(0).size, [1; 3], number_bytes).map_err(|error| {
        ScenarioError::at(&inputs.source, "lbm.grid", error.to_string(), "fewer nodes, or more ranks")
    })?;
    // The mask is stored in addition to the populations.
    let per_place = (lbm.pattern.grids() * POPULATIONS * number_bytes + size_of::<f32>()) as f64;
    Ok(layout.component_stride() as f64 * per_place)
}

/// Checks that every rank has enough memory for its nodes, if the available memory is known.
pub(in crate::commands) fn expect_room(
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
    available: Option<f64>,
) -> Result<(), RunError> {
    let lbm = &inputs.scenario.lbm;
    let needed = needed_bytes(inputs, decomposition)?;
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let nodes = lbm.grid.map(|nodes| nodes.to_string()).join(" x ");
    let message = format!("{nodes} nodes need about {} of memory per rank", in_words(needed));
    let help = format!("there are {} of memory per rank here", in_words(available));
    Err(ScenarioError::at(&inputs.source, "lbm.grid", message, help).into())
}

/// Returns the flow in its initial state. *Collective.*
pub(super) fn set_up<T: LaneReal>(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
    mask: Mask,
) -> Result<Flow<T>, RunError> {
    let (lbm, parallel) = (&inputs.scenario.lbm, &inputs.scenario.parallel);
    let options = FlowOptions {
        collision: lbm.collision(),
        viscosity: lbm.viscosity,
        body_force: lbm.body_force,
        wall_velocities: WallVelocities(lbm.wall_velocity.all().map(Option::unwrap_or_default)),
        pattern: lbm.pattern,
        stores: None,
        crossing: inputs.scenario.crossing(),
        overlap: if parallel.overlap { Overlap::InnerNodes } else { Overlap::Nothing },
        messages: parallel.messages,
        buffering: parallel.rma.buffering(),
        simd: requested_or_widest()?,
        threads: Threads::new(parallel.threads).map_err(EngineError::from)?,
    };
    Ok(Flow::new(world, decomposition, mask, options, |node| initial(lbm, node))?)
}

fn initial(lbm: &Lbm, node: [usize; 3]) -> FlowState {
    match lbm.initial.kind {
        InitialKind::Rest => FlowState::default(),
        InitialKind::TaylorGreen => vortices(lbm.grid, lbm.initial.velocity.unwrap_or_default(), node),
    }
}

/// Returns the state of a node in counter-rotating vortices (Taylor and Green 1937, in two
/// dimensions), with the pressure and gradients that belong to them. As long as they are slow
/// compared with sound, they keep their shape and decay as exp(-viscosity (a^2 + b^2) t), where a
/// and b are their wavenumbers.
fn vortices(nodes: [usize; 3], speed: f64, node: [usize; 3]) -> FlowState {
    let long: Vec<usize> = (0..3).filter(|&axis| nodes[axis] > 1).collect();
    let &[first, second, ..] = long.as_slice() else { return FlowState::default() };
    let wavenumber = |axis: usize| TAU / nodes[axis] as f64;
    let (a, b) = (wavenumber(first), wavenumber(second));
    let (x, y) = (a * node[first] as f64, b * node[second] as f64);
    // The velocity is free of divergence even if the axes differ in length.
    let [u, v] = if a < b { [speed, speed * a / b] } else { [speed * b / a, speed] };
    let mut state = FlowState {
        excess_density: -0.75 * (u * u * (2.0 * x).cos() + v * v * (2.0 * y).cos()),
        ..FlowState::default()
    };
    state.velocity[first] = u * x.cos() * y.sin();
    state.velocity[second] = -v * x.sin() * y.cos();
    state.gradient[first][first] = -u * a * x.sin() * y.sin();
    state.gradient[second][first] = u * b * x.cos() * y.cos();
    state.gradient[first][second] = -v * a * x.cos() * y.cos();
    state.gradient[second][second] = v * b * x.sin() * y.sin();
    state
}
