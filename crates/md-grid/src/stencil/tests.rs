//! Tests for equal bits on every decomposition, and for correct results on one.

use std::time::Duration;

use md_comm::{Buffering, local};
use md_core::ExchangePattern;
use md_engine::Overlap;

use super::{Compute, Kind, Precision, Problem, open};
use crate::{Application, Decomposition, Edges, Messages, Neighbours, Progress};

const PERIODIC: [Edges; 3] = [Edges::Periodic; 3];
const SWAP: Kind = Kind::Swap { fields: 3, depth: 2, neighbours: Neighbours::All, compute: Compute::Average };

/// Values of all nodes in an order independent of their owners, and the last row.
struct Outcome {
    values: Vec<u64>,
    row: Vec<f64>,
    steps: u64,
}

fn problem(nodes: [usize; 3], grid: [usize; 3], edges: [Edges; 3], kind: Kind) -> Problem {
    Problem {
        decomposition: Decomposition::new(nodes, grid.iter().product(), Some(grid), edges).unwrap(),
        kind,
        precision: Precision::Double,
        exchange: ExchangePattern::Direct,
        messages: Messages::Aggregated,
        buffering: Buffering::Double,
        overlap: Overlap::On,
        may_be_cut: [true; 3],
    }
}

fn run(problem: &Problem, steps: u64) -> Outcome {
    let ranks = problem.decomposition.ranks().iter().product();
    let ended = local::run(ranks, Duration::from_secs(60), |world| {
        let mut app = open(world, problem).unwrap();
        let mut done = 0;
        while done < steps {
            done += 1;
            if app.step().unwrap() == Progress::Converged {
                break;
            }
        }
        let row = app.row().unwrap();
        let values = placed_values(&*app, problem, world.rank());
        app.finalise().unwrap();
        (values, row, done)
    });
    let mut all = Vec::new();
    let mut last = (Vec::new(), 0);
    for rank in ended {
        let (values, row, done) = rank.unwrap();
        all.extend(values);
        last = (row, done);
    }
    all.sort_unstable();
    Outcome { values: all.into_iter().map(|(_, bits)| bits).collect(), row: last.0, steps: last.1 }
}

/// Returns the field and global number of each own value, with its bits.
fn placed_values(app: &dyn Application, problem: &Problem, rank: usize) -> Vec<((usize, usize), u64)> {
    let (origin, nodes) = (problem.decomposition.block(rank).origin, problem.decomposition.nodes());
    let mut values = Vec::new();
    app.visit(&mut |field, node, bits| {
        let [x, y, z] = [0, 1, 2].map(|axis| origin[axis] + node[axis]);
        values.push(((field, (x * nodes[1] + y) * nodes[2] + z), bits));
    });
    values
}

/// Compares grids of 2, 3, 4 and 8 ranks, some of them uneven, with one rank.
fn expect_same_bits(
    nodes: [usize; 3],
    edges: [Edges; 3],
    kind: &Kind,
    precision: Precision,
    grids: &[[usize; 3]],
) {
    let of = |grid| Problem { precision, ..problem(nodes, grid, edges, kind.clone()) };
    let alone = run(&of([1; 3]), 6);
    assert_eq!(alone.values.len(), kind.fields() * nodes.iter().product::<usize>());
    for &grid in grids {
        for exchange in [ExchangePattern::Direct, ExchangePattern::Staged] {
            for messages in [Messages::Aggregated, Messages::PerField] {
                let overlap = if exchange == ExchangePattern::Direct { Overlap::On } else { Overlap::Off };
                // Only the axes that are divided, while the run on one rank allows division along
                // all.
                let may_be_cut = grid.map(|ranks| ranks > 1);
                let divided = run(&Problem { exchange, messages, overlap, may_be_cut, ..of(grid) }, 6);
                assert!(
                    divided.values == alone.values,
                    "{kind:?} {nodes:?} {grid:?} {exchange:?} {messages:?}"
                );
                assert_eq!(divided.row, alone.row, "{kind:?} {grid:?}");
            }
        }
    }
}

#[test]
fn swapped_fields_have_the_same_bits_on_every_decomposition() {
    let grids = [[2, 1, 1], [1, 3, 1], [2, 2, 1], [1, 2, 2], [2, 2, 2]];
    for depth in 1..=3 {
        let kind = Kind::Swap { fields: 2, depth, neighbours: Neighbours::All, compute: Compute::Average };
        expect_same_bits([9, 10, 7], PERIODIC, &kind, Precision::Double, &grids);
    }
    for neighbours in [Neighbours::Faces, Neighbours::FacesAndEdges] {
        let kind = Kind::Swap { fields: 1, depth: 1, neighbours, compute: Compute::Average };
        expect_same_bits([5, 6, 4], PERIODIC, &kind, Precision::Single, &grids);
    }
    let open = [Edges::Open, Edges::Periodic, Edges::Open];
    expect_same_bits([8, 6, 5], open, &SWAP, Precision::Single, &grids);
}

#[test]
fn grids_of_one_and_two_dimensions_too() {
    for edges in [PERIODIC, [Edges::Periodic, Edges::Open, Edges::Open]] {
        expect_same_bits([24, 1, 1], edges, &SWAP, Precision::Double, &[[2, 1, 1], [3, 1, 1], [8, 1, 1]]);
        expect_same_bits([9, 11, 1], edges, &SWAP, Precision::Double, &[[2, 2, 1], [4, 2, 1]]);
    }
}

#[test]
fn advected_tracers_and_solutions_have_the_same_bits_on_every_decomposition() {
    let grids = [[2, 1, 1], [1, 1, 3], [2, 2, 1], [2, 2, 2]];
    let tvd = Kind::Tvd { fields: 2, courant: [0.5, -0.3, 0.7] };
    expect_same_bits([9, 8, 10], PERIODIC, &tvd, Precision::Double, &grids);
    expect_same_bits([9, 8, 10], PERIODIC, &tvd, Precision::Single, &grids[3..]);
    let poisson = Kind::Poisson { tolerance: 1e-12 };
    for edges in [PERIODIC, [Edges::Open; 3], [Edges::Periodic, Edges::Periodic, Edges::Open]] {
        expect_same_bits([9, 8, 10], edges, &poisson, Precision::Double, &grids);
    }
}

#[test]
fn an_average_reaches_as_far_as_its_depth() {
    // One step on a line: the average of a node with the two neighbours on either side.
    let swap = Kind::Swap { fields: 1, depth: 2, neighbours: Neighbours::All, compute: Compute::Average };
    let line = problem([8, 1, 1], [2, 1, 1], PERIODIC, swap);
    let numbers = |steps| -> Vec<f64> { run(&line, steps).values.into_iter().map(f64::from_bits).collect() };
    let (before, after) = (numbers(0), numbers(1));
    for (node, value) in after.iter().enumerate() {
        let neighbour = |offset: usize| before[(node + offset) % 8];
        let expected = 0.5 * before[node] + (neighbour(6) + neighbour(7) + neighbour(1) + neighbour(2)) / 8.0;
        assert!((value - expected).abs() < 1e-15, "{node}");
    }
}

#[test]
fn a_tracer_keeps_its_mass_and_makes_no_new_extrema() {
    let tvd = Kind::Tvd { fields: 2, courant: [0.5, -0.25, 0.0] };
    let advection = problem([32, 16, 4], [2, 2, 1], PERIODIC, tvd);
    let [first, last] = [0, 200].map(|steps| run(&advection, steps).row);
    assert!((last[0] - first[0]).abs() < 1e-13 * first[0], "mass {} {}", first[0], last[0]);
    assert!(last[1] >= first[1] - 1e-15 && last[2] <= first[2] + 1e-15, "{first:?} {last:?}");
}

#[test]
fn a_whole_courant_number_moves_a_tracer_exactly() {
    let tvd = Kind::Tvd { fields: 1, courant: [1.0, -1.0, 0.0] };
    let row = run(&problem([12, 9, 1], [2, 1, 1], PERIODIC, tvd), 30).row;
    assert!(row[3] < 1e-13, "{row:?}");
}

/// Halving the spacing reduces the mean error to about a quarter, after equal displacements
/// relative to the grid's length.
#[test]
fn advection_is_of_second_order() {
    let error = |nodes: usize| {
        let tvd = Kind::Tvd { fields: 1, courant: [0.4, 0.2, 0.0] };
        // Displacement of 0.8 of the grid's length along x and 0.4 along y.
        run(&problem([nodes, nodes, 1], [2, 1, 1], PERIODIC, tvd), 2 * nodes as u64).row[3]
    };
    let errors = [32, 64, 128].map(error);
    let orders = [errors[0] / errors[1], errors[1] / errors[2]].map(f64::log2);
    assert!(orders.iter().all(|order| (1.7..2.4).contains(order)), "{errors:?} {orders:?}");
}

#[test]
fn conjugate_gradients_find_the_discrete_solution() {
    for edges in [PERIODIC, [Edges::Open; 3], [Edges::Periodic, Edges::Open, Edges::Open]] {
        let kind = Kind::Poisson { tolerance: 1e-13 };
        let Outcome { row, steps, .. } = run(&problem([18, 15, 12], [2, 1, 2], edges, kind), 300);
        assert!(steps < 100, "{steps} iterations");
        assert!(row[3] <= 1e-13 && row[4] < 1e-10, "{edges:?} {row:?}");
    }
}

#[test]
fn what_cannot_be_is_an_error() {
    let refusal = |problem: &Problem| {
        let ranks = problem.decomposition.ranks().iter().product();
        let ended = local::run(ranks, Duration::from_secs(60), |world| {
            open(world, problem).map(|_| ()).unwrap_err().to_string()
        });
        ended.into_iter().next().unwrap().unwrap()
    };
    let thin = problem([4, 9, 9], [3, 1, 1], PERIODIC, SWAP);
    assert!(refusal(&thin).starts_with("4 nodes along x on 3 ranks leave 1 for one, fewer than the 2"));
    let many = Kind::Swap { fields: 40, depth: 1, neighbours: Neighbours::All, compute: Compute::Nothing };
    let many = Problem { messages: Messages::PerField, ..problem([8, 8, 8], [2, 1, 1], PERIODIC, many) };
    let expected = "720 messages at a time are more than the 256 that a context can tell apart: take fewer fields or neighbours, \
                    or send them aggregated";
    assert_eq!(refusal(&many), expected);
    let kind = Kind::Tvd { fields: 1, courant: [0.5, 0.0, 0.0] };
    let wall = problem([8, 8, 8], [2, 1, 1], [Edges::Open; 3], kind);
    let expected = "the Courant number along x is 0.5, but nothing flows through the open faces there";
    assert_eq!(refusal(&wall), expected);
}
