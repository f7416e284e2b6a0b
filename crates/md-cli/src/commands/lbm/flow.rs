//! Conversion of a scenario into a flow.

use std::f64::consts::TAU;

use md_comm::World;
use md_core::Threads;
use md_engine::EngineError;
use md_grid::Decomposition;
use md_grid::lbm::{Flow, FlowOptions, FlowState, LaneReal, Mask, Overlap, WallVelocities};
use md_scenario::failure::RunError;
use md_scenario::{InitialKind, Lbm, LbmScenario};

use crate::grid_inputs::GridInputs;
use crate::requested_level::requested_or_widest;

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
        buffering: parallel.rma.slots,
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
