//! Conservation of mass for all combinations of walls and obstacles.

use super::*;
use crate::lbm::{Face, MAGIC_OF_PLATES};

/// Pseudorandom numbers between 0 and 1.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() * count as f64) as usize
    }
}

/// Returns a case with random sizes, random walls that slide along random axes, and random solid
/// nodes.
fn random_case(seed: u64) -> Case {
    let mut draws = Draws(seed);
    let edges = [0; 3].map(|_| if draws.below(3) == 0 { Edges::Periodic } else { Edges::Open });
    let mut walls = WallVelocities::default();
    for face in Face::ALL.into_iter().filter(|face| edges[face.axis()] == Edges::Open) {
        for axis in (0..3).filter(|&axis| axis != face.axis()) {
            walls.0[face as usize][axis] = if draws.below(3) == 0 { 0.0 } else { 0.1 * draws.next() - 0.05 };
        }
    }
    let nodes = [1 + draws.below(5), 1 + draws.below(5), 2 + draws.below(20)];
    let collision = match draws.below(2) {
        0 => Collision::Bgk,
        _ => Collision::Trt { magic: MAGIC_OF_PLATES },
    };
    let body_force = [0; 3].map(|_| 2e-5 * draws.next() - 1e-5);
    let scattered = Some((seed, 0.5 * draws.next()));
    let ranks = 1 + draws.below(2);
    let grid = Some([1, 1, ranks]);
    Case { nodes, edges, collision, body_force, walls, scattered, ranks, grid, steps: 150, ..Case::default() }
}

/// Returns the change of mass of a case over all its steps, per fluid node.
fn drift<T: LaneReal>(case: &Case) -> f64 {
    let [before, after] = case.run::<T>().totals;
    assert!(after.highest_speed < 0.3, "{case:?}: {after:?}");
    (after.mass - before.mass).abs() / before.fluid_nodes.max(1.0)
}

#[test]
fn mass_stays_to_rounding_among_random_obstacles_and_walls_that_move() {
    for seed in 0..60 {
        for pattern in [Pattern::SingleGrid, Pattern::TwoGrid] {
            let case = Case { pattern, ..random_case(seed) };
            let drift = [drift::<f64>(&case), drift::<f32>(&case)];
            assert!(drift[0] < 1e-14 && drift[1] < 1e-6, "{drift:?}: {case:?}");
        }
    }
}

/// An obstacle in the corner that a wall slides towards.
#[test]
fn mass_stays_where_a_sliding_wall_another_wall_and_an_obstacle_meet() {
    let mut walls = WallVelocities::default();
    walls.0[Face::XHigh as usize] = [0.0, 0.0, 0.03];
    for pattern in [Pattern::SingleGrid, Pattern::TwoGrid] {
        let case = Case {
            nodes: [8, 1, 12],
            edges: [Edges::Open, Edges::Periodic, Edges::Open],
            walls,
            solid: |[x, _, z]| (x as i64 - 7).pow(2) + (z as i64 - 11).pow(2) < 3,
            steps: 2000,
            pattern,
            ..Case::default()
        };
        let drift = drift::<f64>(&case);
        assert!(drift < 1e-13, "{drift}");
    }
}

#[test]
fn mass_stays_to_rounding_among_moving_walls_and_obstacles() {
    let mut walls = WallVelocities::default();
    walls.0[Face::YHigh as usize] = [0.05, 0.0, 0.02];
    let case = Case {
        nodes: [12, 10, 14],
        edges: [Edges::Periodic, Edges::Open, Edges::Periodic],
        collision: Collision::Trt { magic: MAGIC_OF_PLATES },
        viscosity: 0.02,
        body_force: [1e-5, 0.0, -1e-5],
        walls,
        solid: |[x, y, z]| (x as i64 - 5).pow(2) + (y as i64 - 4).pow(2) + (z as i64 - 7).pow(2) < 9,
        steps: 501,
        ..Case::default()
    };
    for pattern in [Pattern::SingleGrid, Pattern::TwoGrid] {
        let [before, after] = Case { pattern, ..case.clone() }.run::<f64>().totals;
        let drift = (after.mass / before.mass - 1.0).abs();
        assert!(drift < 1e-13, "{drift}");
        assert!(before.fluid_nodes < 1680.0 && before.mass == before.fluid_nodes);
        assert!(after.highest_speed > 0.01 && after.highest_speed < 0.1, "{after:?}");
    }
}
