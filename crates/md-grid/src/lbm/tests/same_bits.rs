//! Independence of the populations from the method of computation, to the last bit.

use super::*;
use crate::lbm::Face;

/// Patterns and stores: in place in one grid, or to another through the caches or past them.
const WAYS: [(Pattern, Option<Stores>); 4] = [
    (Pattern::SingleGrid, None),
    (Pattern::TwoGrid, Some(Stores::Ordinary)),
    (Pattern::TwoGrid, Some(Stores::Unfetched)),
    (Pattern::TwoGrid, Some(Stores::PastCaches)),
];

/// Returns a case with all features: moving walls, obstacles across the borders of ranks, a force,
/// and row lengths that are not a multiple of a vector.
pub(super) fn everything() -> Case {
    let mut walls = WallVelocities::default();
    walls.0[Face::YLow as usize] = [0.03, 0.0, -0.01];
    Case {
        nodes: [9, 8, 37],
        edges: [Edges::Periodic, Edges::Open, Edges::Periodic],
        collision: Collision::Trt { magic: 0.2 },
        viscosity: 0.03,
        body_force: [2e-5, 1e-5, -1e-5],
        walls,
        solid: |[x, y, z]| (x + 2 * y + 3 * z) % 11 == 0 || (z == 18 && y < 4),
        initial: |[x, y, z], _| {
            let phase = (x * 7 + y * 5 + z * 3) as f64;
            FlowState {
                excess_density: 0.01 * phase.sin(),
                velocity: [0.02 * phase.cos(), 0.01 * (2.0 * phase).sin(), -0.02 * (3.0 * phase).cos()],
                ..FlowState::default()
            }
        },
        steps: 7,
        ..Case::default()
    }
}

#[test]
fn on_any_number_of_ranks_in_any_order_of_messages() {
    let reference = everything().run::<f64>().bits();
    let cuts = [
        (2, None),
        (3, Some([3, 1, 1])),
        (3, Some([1, 1, 3])),
        (4, Some([2, 2, 1])),
        (4, Some([1, 2, 2])),
        (8, Some([2, 2, 2])),
    ];
    for (ranks, grid) in cuts {
        for (pattern, stores) in WAYS {
            for crossing in [Crossing::Direct, Crossing::Staged] {
                for overlap in [Overlap::InnerNodes, Overlap::Nothing] {
                    let case = Case { ranks, grid, pattern, stores, crossing, overlap, ..everything() };
                    let same = case.run::<f64>().bits() == reference;
                    assert!(same, "{ranks} {grid:?} {pattern:?} {stores:?} {crossing:?} {overlap:?}");
                }
            }
        }
    }
}

#[test]
fn after_odd_and_even_numbers_of_steps_with_either_pattern() {
    for steps in 0..5 {
        let bits = |pattern| Case { pattern, steps, ..everything() }.run::<f64>().bits();
        assert!(bits(Pattern::SingleGrid) == bits(Pattern::TwoGrid), "{steps} steps");
    }
}

#[test]
fn with_any_number_of_threads_and_any_width_of_vectors() {
    fn check<T: LaneReal>() {
        let reference = everything().run::<T>().bits();
        for (pattern, stores) in WAYS {
            for threads in [2, 3] {
                let bits = Case { pattern, stores, threads, ..everything() }.run::<T>().bits();
                assert!(bits == reference, "{threads} threads, {pattern:?}, {stores:?}");
            }
            for simd in SimdLevel::available() {
                let bits = Case { pattern, stores, simd, ..everything() }.run::<T>().bits();
                assert!(bits == reference, "{simd:?}, {pattern:?}, {stores:?}");
            }
        }
    }
    check::<f64>();
    check::<f32>();
}

/// An axis of one node has itself as both neighbours.
#[test]
fn on_axes_of_one_node() {
    for nodes in [[1, 8, 20], [9, 8, 1], [1, 1, 16]] {
        let edges = [Edges::Periodic; 3];
        let bits = |pattern, crossing| {
            let solid = |_: [usize; 3]| false;
            Case { nodes, edges, pattern, crossing, solid, ..everything() }.run::<f64>().bits()
        };
        let reference = bits(Pattern::TwoGrid, Crossing::Direct);
        assert!(bits(Pattern::TwoGrid, Crossing::Staged) == reference, "{nodes:?}");
        assert!(bits(Pattern::SingleGrid, Crossing::Direct) == reference, "{nodes:?}");
        assert!(bits(Pattern::SingleGrid, Crossing::Staged) == reference, "{nodes:?}");
    }
}

/// Returns a case with rows of one rank that have solid nodes at both ends, within, and throughout,
/// between walls along x. The rows are shorter and longer than vectors, whole numbers of them and
/// not.
fn joined_rows(length: usize) -> Case {
    let mut walls = WallVelocities::default();
    walls.0[Face::XHigh as usize] = [0.0, 0.02, 0.01];
    Case {
        nodes: [3, 5, length],
        edges: [Edges::Open, Edges::Periodic, Edges::Periodic],
        walls,
        solid: |[x, y, z]| match (x, y) {
            (0, 1) | (2, 3) => z == 0,
            (1, 2) => z % 15 == 1 || z == 36 || z == 47,
            (1, 4) => true,
            _ => false,
        },
        steps: 5,
        ..everything()
    }
}

/// Values that leave rows are sent in messages if rows are divided; otherwise sweeps read them at
/// the other end.
#[test]
fn in_rows_that_are_cut_and_in_rows_whose_ends_are_joined() {
    fn check<T: LaneReal>(length: usize) {
        let cut = Case { ranks: 2, grid: Some([1, 1, 2]), pattern: Pattern::TwoGrid, ..joined_rows(length) };
        let reference = cut.run::<T>();
        for (pattern, stores) in WAYS {
            for (threads, crossing) in [(1, Crossing::Direct), (4, Crossing::Staged)] {
                let case = Case { pattern, stores, threads, crossing, ..joined_rows(length) };
                let outcome = case.run::<T>();
                let what = format!("{length} nodes, {pattern:?}, {stores:?}, {threads} threads");
                assert!(outcome.bits() == reference.bits(), "{what}");
                let [found, expected] = [outcome.totals[1], reference.totals[1]];
                assert_eq!(found.highest_speed, expected.highest_speed, "{what}");
                assert_eq!(found.least_density, expected.least_density, "{what}");
                assert!((found.mass - expected.mass).abs() < 1e-12 * expected.mass, "{what}");
            }
        }
    }
    for length in [2, 3, 16, 37, 48] {
        check::<f64>(length);
        check::<f32>(length);
    }
}

/// With exchanges between steps, as in `compare`, and a checkpoint that resumes with the other
/// pattern.
#[test]
fn with_exchanges_between_steps_and_after_a_restart_with_the_other_pattern() {
    let others = [(Pattern::SingleGrid, Pattern::TwoGrid), (Pattern::TwoGrid, Pattern::SingleGrid)];
    for (ranks, grid) in [(1, None), (2, Some([1, 1, 2])), (2, Some([1, 2, 1]))] {
        let case = Case { ranks, grid, ..joined_rows(37) };
        let reference = case.run::<f64>().bits();
        for (pattern, other) in others {
            for at in 1..4 {
                let restart = Some((at, other));
                let bits = Case { pattern, restart, extra_exchanges: 2, ..case.clone() }.run::<f64>().bits();
                assert!(bits == reference, "{grid:?}, {pattern:?}, {at} steps before");
            }
        }
    }
}
