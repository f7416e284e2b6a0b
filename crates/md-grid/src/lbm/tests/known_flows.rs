//! Flows with analytical solutions.

use std::f64::consts::TAU;

use super::*;
use crate::lbm::{Face, MAGIC_OF_PLATES};

/// Speed times the number of nodes along an axis: so slow that the error from sound waves, of the
/// order of Mach squared, is negligible.
const SPEED: f64 = 0.2;

/// Vortices in the y-z plane (Taylor 1923); slower on a finer grid, as the viscosity requires.
fn vortices(node: [usize; 3], nodes: [usize; 3]) -> FlowState {
    taylor_green(node, nodes, 1.0)
}

fn taylor_green(node: [usize; 3], nodes: [usize; 3], amplitude: f64) -> FlowState {
    let n = nodes[1] as f64;
    let (k, u) = (TAU / n, amplitude * SPEED / n);
    let [y, z] = [node[1], node[2]].map(|at| k * at as f64);
    let mut gradient = [[0.0; 3]; 3];
    gradient[1] = [0.0, -u * k * y.sin() * z.sin(), -u * k * y.cos() * z.cos()];
    gradient[2] = [0.0, u * k * y.cos() * z.cos(), u * k * y.sin() * z.sin()];
    FlowState {
        excess_density: -0.75 * u * u * ((2.0 * y).cos() + (2.0 * z).cos()),
        velocity: [0.0, u * y.cos() * z.sin(), -u * y.sin() * z.cos()],
        gradient,
    }
}

/// Returns the root mean square error of the velocity, relative to that of the velocity, after one
/// e-folding of the speed.
fn vortex_error<T: LaneReal>(n: usize, pattern: Pattern) -> f64 {
    let viscosity = 0.06;
    let decay = 2.0 * viscosity * (TAU / n as f64).powi(2);
    let steps = (1.0 / decay).round() as usize;
    let case = Case { nodes: [1, n, n], viscosity, steps, initial: vortices, pattern, ..Case::default() };
    let outcome = case.run::<T>();
    let [mut error, mut norm] = [0.0, 0.0];
    for node in every_node(case.nodes) {
        let exact = taylor_green(node, case.nodes, (-decay * steps as f64).exp()).velocity;
        for (exact, found) in exact.into_iter().zip(outcome.velocity(node)) {
            error += (found - exact).powi(2);
            norm += exact * exact;
        }
    }
    (error / norm).sqrt()
}

#[test]
fn vortices_decay_as_the_viscosity_says_to_second_order() {
    let errors = [16, 32, 64].map(|n| vortex_error::<f64>(n, Pattern::TwoGrid));
    assert!(errors[2] < 1e-3, "{errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.8..2.3).contains(&order), "order {order} of {errors:?}");
    }
}

#[test]
fn single_precision_finds_the_same_decay() {
    let errors = [vortex_error::<f32>(32, Pattern::SingleGrid), vortex_error::<f64>(32, Pattern::SingleGrid)];
    assert!((errors[0] - errors[1]).abs() < 2e-5, "{errors:?}");
}

fn between_plates() -> Case {
    let edges = [Edges::Periodic, Edges::Periodic, Edges::Open];
    Case { nodes: [1, 2, 9], edges, steps: 6000, ..Case::default() }
}

#[test]
fn couette_flow_is_exact() {
    for collision in [Collision::Bgk, Collision::Trt { magic: 0.1 }] {
        for pattern in [Pattern::SingleGrid, Pattern::TwoGrid] {
            let mut walls = WallVelocities::default();
            walls.0[Face::ZHigh as usize] = [0.0, 0.05, 0.0];
            let outcome = Case { collision, walls, pattern, ..between_plates() }.run::<f64>();
            for z in 0..9 {
                let exact = 0.05 * (z as f64 + 0.5) / 9.0;
                let [x, y, w] = outcome.velocity([0, 1, z]);
                let error = (y - exact).abs().max(x.abs()).max(w.abs());
                assert!(error < 1e-14, "{collision:?} {pattern:?} at {z}: {error}");
            }
        }
    }
}

/// Returns the greatest error of a force-driven flow between plates, relative to its greatest
/// speed.
fn plates_error(collision: Collision, viscosity: f64) -> f64 {
    let force = 1e-5;
    let case = Case { collision, viscosity, body_force: [0.0, force, 0.0], ..between_plates() };
    let outcome = case.run::<f64>();
    let exact = |z: usize| {
        let height = z as f64 + 0.5;
        0.5 * force / viscosity * height * (9.0 - height)
    };
    let error = |z| (outcome.velocity([0, 0, z])[1] - exact(z)).abs() / exact(4);
    (0..9).map(error).fold(0.0, f64::max)
}

#[test]
fn the_magic_parameter_makes_a_parabola_exact_at_any_viscosity() {
    let magic = MAGIC_OF_PLATES;
    for viscosity in [0.05, 0.3, 1.0] {
        let error = plates_error(Collision::Trt { magic }, viscosity);
        assert!(error < 1e-10, "viscosity {viscosity}: {error}");
    }
    // tau = 1/2 + sqrt(3)/4 gives this magic parameter with one relaxation time.
    let error = plates_error(Collision::Bgk, 3_f64.sqrt() / 12.0);
    assert!(error < 1e-10, "{error}");
}

/// At other magic parameters the flow is faster or slower by a velocity that is equal at every
/// node.
#[test]
fn a_parabola_slips_along_the_walls_as_is_said() {
    for (collision, viscosity) in [
        (Collision::Bgk, 1.0),
        (Collision::Bgk, 0.05),
        (Collision::Trt { magic: 0.25 }, 0.3),
        (Collision::Trt { magic: 4.0 }, 0.3),
    ] {
        let (found, said) = (plates_error(collision, viscosity), collision.slip(viscosity, 9).abs());
        let error = (found - said).abs();
        assert!(error < 1e-9 && said > 1e-3, "{collision:?}, viscosity {viscosity}: {found}, {said}");
    }
}
