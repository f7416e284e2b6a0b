//! Both methods against sums that this test computes itself (support/reference.rs), on
//! configurations that are hard to divide: clusters, empty cells, boxes of one or two cells, walls,
//! two dimensions.

use std::collections::BTreeSet;

use md_core::Dimension;

use crate::support::{
    Backend, Case, Configuration, Outcome, Pair, RANKS, Random, Run, Shift, assert_close, assert_forces,
    divided_cases, local_cases, mixed_cases, p2p_cases,
};

const CUTOFF: f64 = 2.5;
const SKIN: f64 = 0.3;
struct Allowed {
    /// Relative error of forces and sums.
    relative: f64,
    /// Bound on the magnitude of the sum of all forces.
    balance: f64,
}

const DOUBLE: Allowed = Allowed { relative: 1e-11, balance: 1e-13 };
const MIXED: Allowed = Allowed { relative: 3e-6, balance: 3e-7 };
/// Shortest side of a cell.
const LIST_RADIUS: f64 = CUTOFF + SKIN;

fn scenario(dimension: usize, periodic: [bool; 3], shift: Shift) -> String {
    let boundary = periodic.map(|is_periodic| if is_periodic { "periodic" } else { "reflecting" });
    format!(
        "[simulation]\nsteps = 1\ndimension = {dimension}\n\
         [system]\nfile = {{ path = \"clusters.extxyz\", format = \"extxyz\" }}\nboundary = {boundary:?}\n\
         [interaction]\ncutoff = {CUTOFF}\nshift = {:?}\n\
         [neighbor]\nskin = {SKIN}\n",
        shift.name()
    )
}

/// Returns whether each rank of the case gets at least one cell: for `rect` along some choice of
/// dimensions, for `scattered` by its rule.
fn fits(case: Case, lengths: [f64; 3], dimension: usize) -> bool {
    let cells: Vec<usize> =
        lengths[..dimension].iter().map(|length| ((length / LIST_RADIUS) as usize).max(1)).collect();
    let ranks = case.ranks;
    let most = |dim: usize| cells.get(dim).copied().unwrap_or(1);
    let rect = || (1..=most(0)).any(|x| (1..=most(1)).any(|y| (1..=most(2)).any(|z| x * y * z == ranks)));
    let scattered = || {
        let [x, y, z] = [0, 1, 2].map(most);
        let owners =
            (0..x * y * z).map(|cell| (cell % x + 3 * (cell / x % y) + 9 * (cell / (x * y))) % ranks);
        owners.collect::<BTreeSet<usize>>().len() == ranks
    };
    match case.partition {
        "rect" => rect(),
        "scattered" => scattered(),
        _ => ranks <= cells.iter().product(),
    }
}

/// Checks that the forces of a system cancel, up to rounding.
fn assert_balanced(outcome: &Outcome, scale: f64, relative: f64) {
    let forces = outcome.forces();
    for dim in 0..3 {
        let sum: f64 = forces.iter().map(|row| row.force[dim]).sum();
        let magnitudes: f64 = forces.iter().map(|row| row.force[dim].abs()).sum();
        let allowed = relative * (magnitudes + scale);
        assert!(
            sum.abs() <= allowed,
            "{}: forces add up to {sum}, not 0, in dimension {dim}",
            outcome.case()
        );
    }
}

/// Runs every case that fits. Returns how many combinations of partition and number of ranks
/// fitted.
fn check(
    configuration: &Configuration,
    dimension: usize,
    shift: Shift,
    cases: impl Iterator<Item = Case>,
    Allowed { relative, balance }: Allowed,
) -> usize {
    let expected = configuration.sums(Pair { cutoff: CUTOFF, shift });
    let run = Run::new("forces", scenario(dimension, configuration.periodic, shift))
        .file("clusters.extxyz", configuration.extxyz());
    let mut divisions = BTreeSet::new();
    for case in cases.filter(|&case| fits(case, configuration.lengths, dimension)) {
        let outcome = case.apply(&run).succeed();
        let what = format!("box {:?}: {}", configuration.lengths, outcome.case());
        assert_forces(&outcome.forces(), &expected.forces, expected.scale, relative, &what);
        assert_close(outcome.number("potential_energy"), expected.energy, relative, &what);
        assert_close(outcome.number("virial"), expected.virial, 10.0 * relative, &what);
        let tensor = &outcome.summary()["virial_tensor"];
        let scale = expected.virial_tensor.iter().fold(0.0, |most: f64, component| most.max(component.abs()));
        for (index, wanted) in expected.virial_tensor.into_iter().enumerate() {
            let found = tensor[index].as_f64().unwrap_or(f64::NAN);
            let allowed = 10.0 * relative * scale;
            assert!((found - wanted).abs() < allowed, "{what}: virial {index} is {found}, not {wanted}");
        }
        assert_balanced(&outcome, expected.scale, balance);
        divisions.insert((case.partition, case.ranks));
    }
    divisions.len()
}

#[test]
fn clusters_with_empty_cells() {
    let lengths = [17.0, 12.0, 14.5];
    let configuration =
        Configuration::clustered(&mut Random::new(1), lengths, [true; 3], 300, Dimension::Three);
    assert!(configuration.positions.len() > 130, "{} particles", configuration.positions.len());
    let count = check(&configuration, 3, Shift::None, local_cases().chain(p2p_cases()), DOUBLE);
    assert_eq!(count, 2 * RANKS.len(), "partitions and numbers of ranks");
    let count = check(&configuration, 3, Shift::None, mixed_cases(), MIXED);
    assert_eq!(count, 2 * RANKS.len(), "partitions and numbers of ranks in mixed precision");
    // Three on each number of ranks, and `stripe` by `simple` on two ranks.
    let count = check(&configuration, 3, Shift::None, divided_cases(5), DOUBLE);
    assert_eq!(count, 3 * RANKS.len() + 1, "further partitions and numbers of ranks");
}

/// The program chooses the grid of ranks with the smallest surface, but the user may choose any
/// other. This box has 6 x 4 x 5 cells.
#[test]
fn every_grid_of_ranks() {
    let lengths = [17.0, 12.0, 14.5];
    let configuration =
        Configuration::clustered(&mut Random::new(2), lengths, [true; 3], 150, Dimension::Three);
    let expected = configuration.sums(Pair { cutoff: CUTOFF, shift: Shift::None });
    let run = Run::new("forces", scenario(3, [true; 3], Shift::None))
        .file("clusters.extxyz", configuration.extxyz());
    let grids = (0..120).map(|index| [1 + index % 6, 1 + index / 6 % 4, 1 + index / 24]);
    for (index, [x, y, z]) in grids.filter(|[x, y, z]| x * y * z <= 24).enumerate() {
        // All six combinations in turn.
        let shell = ["full", "half", "eighth"][index % 3];
        for exchange in ["direct", "staged"] {
            let run = run.clone().on(Backend::Local, x * y * z).set(format!("parallel.shell={shell:?}"));
            let run = run.set(format!("parallel.exchange={exchange:?}"));
            let outcome = run.set(format!("parallel.grid=[{x}, {y}, {z}]")).succeed();
            assert_eq!(outcome.summary()["grid"], format!("{x}x{y}x{z}"), "{}", outcome.case());
            assert_forces(
                &outcome.forces(),
                &expected.forces,
                expected.scale,
                DOUBLE.relative,
                outcome.case(),
            );
            assert_close(
                outcome.number("potential_energy"),
                expected.energy,
                DOUBLE.relative,
                outcome.case(),
            );
        }
    }
}

/// Along a side of one or two cells, the neighbours on both sides are the same cell, and the same
/// two particles may interact twice.
#[test]
fn boxes_of_one_and_two_cells() {
    let boxes = [
        // One cell: one rank, in both partitions.
        ([2.8, 2.8, 2.8], 2),
        // 1 x 2 x 3 cells: no division for eight ranks.
        ([2.9, 5.7, 9.0], 8),
        // 2 x 2 x 2 cells: three ranks only as stripes.
        ([5.61, 5.7, 5.8], 9),
        ([9.0, 3.0, 5.7], 8),
        // 2 x 4 x 1 cells.
        ([5.7, 11.3, 3.3], 10),
    ];
    for (seed, (lengths, divisions)) in (10..).zip(boxes) {
        let volume: f64 = lengths.iter().product();
        let random = &mut Random::new(seed);
        let configuration =
            Configuration::clustered(random, lengths, [true; 3], (0.4 * volume) as usize, Dimension::Three);
        let count = check(&configuration, 3, Shift::Energy, local_cases(), DOUBLE);
        assert_eq!(count, divisions, "partitions and numbers of ranks in a box of {lengths:?}");
    }
}

#[test]
fn walls_have_no_images() {
    let lengths = [9.0, 12.0, 8.5];
    for (seed, periodic) in
        (20..).zip([[false, true, true], [true, false, false], [false, false, false], [true, true, false]])
    {
        let configuration =
            Configuration::clustered(&mut Random::new(seed), lengths, periodic, 200, Dimension::Three);
        let count = check(&configuration, 3, Shift::Force, local_cases(), DOUBLE);
        assert_eq!(count, 2 * RANKS.len(), "partitions and numbers of ranks");
        check(&configuration, 3, Shift::Force, divided_cases(3), DOUBLE);
    }
}

#[test]
fn two_dimensions() {
    for (seed, lengths, periodic) in [
        (30, [25.0, 19.0, 1.0], [true, true, true]),
        (31, [25.0, 19.0, 1.0], [false, true, true]),
        (32, [5.7, 11.3, 1.0], [true, true, true]),
    ] {
        let configuration =
            Configuration::clustered(&mut Random::new(seed), lengths, periodic, 120, Dimension::Two);
        // A three-dimensional reference would include images above and below.
        let flat = Configuration { periodic: [periodic[0], periodic[1], false], ..configuration };
        let expected = flat.sums(Pair { cutoff: CUTOFF, shift: Shift::None });
        let run =
            Run::new("forces", scenario(2, periodic, Shift::None)).file("clusters.extxyz", flat.extxyz());
        let layers = (lengths[1] / LIST_RADIUS) as usize;
        for case in local_cases().chain(divided_cases(layers)).filter(|&case| fits(case, lengths, 2)) {
            let outcome = case.apply(&run).succeed();
            assert_forces(
                &outcome.forces(),
                &expected.forces,
                expected.scale,
                DOUBLE.relative,
                outcome.case(),
            );
            assert_close(
                outcome.number("potential_energy"),
                expected.energy,
                DOUBLE.relative,
                outcome.case(),
            );
        }
    }
}

/// A single particle, and two particles at the corners of a box that interact across its faces.
#[test]
fn very_few_particles() {
    let lengths = [9.0, 9.0, 9.0];
    for positions in [vec![[4.0, 4.0, 4.0]], vec![[0.2, 0.3, 0.1], [8.6, 8.5, 8.7]]] {
        let configuration = Configuration { lengths, periodic: [true; 3], positions };
        let run = Run::new("forces", scenario(3, [true; 3], Shift::None))
            .file("clusters.extxyz", configuration.extxyz());
        let expected = configuration.sums(Pair { cutoff: CUTOFF, shift: Shift::None });
        for case in local_cases() {
            let outcome = case.apply(&run).succeed();
            assert_forces(&outcome.forces(), &expected.forces, 1.0, DOUBLE.relative, outcome.case());
            let energy = outcome.number("potential_energy");
            assert!((energy - expected.energy).abs() < 1e-12, "{}: {energy}", outcome.case());
        }
    }
}

/// A configuration that is shifted as a whole by any vector has the same forces, because no cell
/// border is special. Positions on the faces and outside the box are wrapped into it.
#[test]
fn moved_and_unwrapped_configurations() {
    let lengths = [9.0, 8.5, 12.0];
    let configuration =
        Configuration::clustered(&mut Random::new(40), lengths, [true; 3], 200, Dimension::Three);
    let expected = configuration.sums(Pair { cutoff: CUTOFF, shift: Shift::None });
    let run = Run::new("forces", scenario(3, [true; 3], Shift::None));
    for shift in [[1.0, 2.0, 3.0], [-30.5, 0.0, 100.25], configuration.positions[0].map(|x| -x)] {
        let positions: Vec<[f64; 3]> = configuration
            .positions
            .iter()
            .map(|position| [0, 1, 2].map(|dim| position[dim] + shift[dim]))
            .collect();
        let moved = Configuration { positions, ..configuration.clone() };
        for ranks in [1, 3, 8] {
            let outcome =
                run.clone().file("clusters.extxyz", moved.extxyz()).on(Backend::Local, ranks).succeed();
            // Coordinates near 100 have lost two digits.
            assert_forces(&outcome.forces(), &expected.forces, expected.scale, 1e-10, outcome.case());
        }
    }
}
