//! Forces on obstacles and walls.

use super::same_bits::everything;
use super::*;
use crate::lbm::{Face, MAGIC_OF_PLATES};

const TRT: Collision = Collision::Trt { magic: MAGIC_OF_PLATES };

/// In every step the fluid loses the momentum that obstacles and walls gain.
#[test]
fn forces_are_what_the_momentum_of_the_fluid_changes_by() {
    fn check<T: LaneReal>(tolerance: f64) {
        for (pattern, ranks) in [(Pattern::SingleGrid, 1), (Pattern::TwoGrid, 1), (Pattern::SingleGrid, 2)] {
            for steps in [3, 4] {
                let run = |steps| Case { pattern, ranks, steps, ..everything() }.run::<T>();
                let (before, after) = (run(steps), run(steps + 1));
                let [before, end] = [before.totals[1], after.totals[1]];
                for axis in 0..3 {
                    let taken = after.forces.on_obstacles[axis] + after.forces.on_walls[axis];
                    let driven = after.body_force[axis] * end.fluid_nodes;
                    let error = end.momentum[axis] - before.momentum[axis] - driven + taken;
                    assert!(taken.abs() > 1e-3, "{taken} along {axis}");
                    assert!(error.abs() < tolerance, "{error} of {taken} along {axis}");
                }
            }
        }
    }
    check::<f64>(1e-13);
    check::<f32>(1e-5);
}

/// A wall that slides above a layer of solid nodes: the force per area is viscosity times shear on
/// either.
#[test]
fn shear_pulls_at_the_wall_and_at_the_obstacle() {
    let mut walls = WallVelocities::default();
    walls.0[Face::ZHigh as usize] = [0.0, 0.05, 0.0];
    let case = Case {
        nodes: [3, 2, 9],
        edges: [Edges::Periodic, Edges::Periodic, Edges::Open],
        collision: TRT,
        walls,
        solid: |[_, _, z]| z == 0,
        steps: 4000,
        ..Case::default()
    };
    let Forces { on_obstacles, on_walls } = case.run::<f64>().forces;
    let shear = 3.0 * 2.0 * 0.1 * 0.05 / 8.0;
    for (found, expected) in on_obstacles.into_iter().zip([0.0, shear, 0.0]) {
        assert!((found - expected).abs() < 1e-13, "{on_obstacles:?}, {shear}");
    }
    for (found, expected) in on_walls.into_iter().zip([0.0, -shear, 0.0]) {
        assert!((found - expected).abs() < 1e-13, "{on_walls:?}, {shear}");
    }
}

/// In a steady flow the sum of all forces equals the driving force.
#[test]
fn obstacle_and_walls_together_balance_the_body_force() {
    let case = Case {
        nodes: [10, 9, 12],
        edges: [Edges::Periodic, Edges::Open, Edges::Periodic],
        collision: TRT,
        viscosity: 0.3,
        body_force: [1e-6, 0.0, -2e-6],
        solid: |[x, y, z]| (x as i64 - 5).pow(2) + (y as i64 - 4).pow(2) + (z as i64 - 6).pow(2) < 9,
        steps: 2000,
        ..Case::default()
    };
    let outcome = case.run::<f64>();
    let Forces { on_obstacles, on_walls } = outcome.forces;
    for axis in [0, 2] {
        let driven = case.body_force[axis] * outcome.totals[1].fluid_nodes;
        let [obstacle, wall] = [on_obstacles[axis] / driven, on_walls[axis] / driven];
        assert!((obstacle + wall - 1.0).abs() < 1e-9, "{obstacle} + {wall} along {axis}");
        assert!(obstacle > 0.3 && wall > 0.1, "{obstacle} + {wall} along {axis}");
    }
}

/// A simple cubic array of spheres in a slow flow (Hasimoto 1959): drag divided by 6 pi viscosity
/// radius velocity. The velocity is the mean over the whole volume; the force includes that of the
/// pressure drop inside the spheres.
#[test]
fn the_drag_of_a_sphere_in_a_periodic_box_is_that_of_stokes_and_hasimoto() {
    let case = Case {
        nodes: [16; 3],
        collision: TRT,
        viscosity: 0.2,
        body_force: [0.0, 0.0, 1e-6],
        solid: |node| node.into_iter().map(|index| (index as i64 - 8).pow(2)).sum::<i64>() <= 16,
        steps: 800,
        ..Case::default()
    };
    let outcome = case.run::<f64>();
    let totals = outcome.totals[1];
    let volume = 4096.0;
    let share = 1.0 - totals.fluid_nodes / volume;
    let radius = (share * volume * 0.75 / std::f64::consts::PI).cbrt();
    let drag = outcome.forces.on_obstacles[2] * volume / totals.fluid_nodes;
    let found = drag / (6.0 * std::f64::consts::PI * 0.2 * radius * totals.momentum[2] / volume);
    let expected = 1.0 / (1.0 - 1.7601 * share.cbrt() + share - 1.5593 * share * share);
    assert!((found / expected - 1.0).abs() < 0.01, "{found}, and {expected} of a share of {share}");
}
