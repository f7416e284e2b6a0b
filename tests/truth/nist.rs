//! NIST's "Lennard-Jones Fluid Reference Calculations: Cuboid Cell". The particles are at random
//! positions, so that every pair across every face counts. The boxes are so small that on 2 x 2 x 2
//! ranks both neighbours along an axis are the same rank.

use std::f64::consts::PI;

use md_core::SimdLevel;

use crate::support::{Case, Run, assert_close, assert_printed, every_case, local_cases, mixed_cases, table};

/// A row of a table of reference values.
#[derive(Clone, Copy)]
struct Row {
    configuration: u8,
    cutoff: f64,
    shift: &'static str,
    energy: &'static str,
    /// Sum of r . f.
    virial: &'static str,
    /// Tail correction.
    tail: Option<&'static str>,
}

const fn row(
    configuration: u8,
    cutoff: f64,
    shift: &'static str,
    energy: &'static str,
    virial: &'static str,
    tail: Option<&'static str>,
) -> Row {
    Row { configuration, cutoff, shift, energy, virial, tail }
}

/// NIST's table with its five digits (tests/data/README.md).
const PUBLISHED: [Row; 4] = [
    row(1, 3.0, "none", "-4351.5", "-568.67", Some("-198.49")),
    row(2, 3.0, "none", "-690.00", "-568.46", Some("-24.230")),
    row(1, 4.0, "none", "-4467.5", "-1263.9", Some("-83.769")),
    row(2, 4.0, "none", "-704.60", "-655.99", Some("-10.226")),
];

/// NIST's table for the linear force shift.
const FORCE_SHIFTED: [Row; 2] =
    [row(1, 3.0, "force", "-3870.9", "317.54", None), row(2, 3.0, "force", "-620.12", "-445.33", None)];

/// Values with more digits and other cutoffs, computed from the same files by an O(N^2) program
/// that is not a part of this project.
const DIGITS: [Row; 12] = [
    row(1, 2.5, "none", "-4214.08529744", "253.95245717", None),
    row(1, 3.0, "none", "-4351.54019454", "-568.66546532", None),
    row(1, 4.0, "none", "-4467.49572495", "-1263.88337187", None),
    row(2, 2.5, "none", "-671.19558961", "-455.90236818", None),
    row(2, 3.0, "none", "-690.00404517", "-568.45734074", None),
    row(2, 4.0, "none", "-704.60331973", "-655.98756071", None),
    row(1, 2.5, "energy", "-3874.88976450", "253.95245717", None),
    row(1, 3.0, "energy", "-4156.05015143", "-568.66546532", None),
    row(1, 4.0, "energy", "-4384.03173188", "-1263.88337187", None),
    row(2, 2.5, "energy", "-621.55960677", "-455.90236818", None),
    row(2, 3.0, "energy", "-662.39861767", "-568.45734074", None),
    row(2, 4.0, "energy", "-693.65384515", "-655.98756071", None),
];

/// Returns NIST's positions as extended XYZ. The box is centred at the origin.
fn extxyz(configuration: u8) -> String {
    let rows = table(&format!("nist-lj/lj-{configuration}.csv"), ["x", "y", "z"]);
    let (count, side) = (rows.len(), side(configuration));
    let o = -0.5 * side;
    let head = format!(
        "{count}\nLattice=\"{side} 0 0 0 {side} 0 0 0 {side}\" Origin=\"{o} {o} {o}\" Properties=species:S:1:pos:R:3\n"
    );
    head + &rows.iter().map(|[x, y, z]| format!("H {x} {y} {z}\n")).collect::<String>()
}

/// Returns the run of a row. There is no skin, because the box of configuration 2 is exactly two
/// cutoffs of 4 long.
fn run(Row { configuration, cutoff, shift, tail, .. }: Row) -> Run {
    let has_tail = tail.is_some();
    let scenario = format!(
        "[simulation]\nsteps = 1\n\
         [system]\nfile = {{ path = \"nist.extxyz\", format = \"extxyz\" }}\n\
         [[species]]\nname = \"H\"\n\
         [interaction]\ncutoff = {cutoff:?}\nshift = {shift:?}\ntail_correction = {has_tail}\n\
         [neighbor]\nskin = 0.0\nrebuild = {{ every = 1 }}\n"
    );
    Run::new("forces", scenario).file("nist.extxyz", extxyz(configuration))
}

/// Returns the side length of the cubic box.
fn side(configuration: u8) -> f64 {
    if configuration == 1 { 10.0 } else { 8.0 }
}

/// Returns whether the case fits into the box. Three ranks in a row need three cells of at least
/// the cutoff.
fn fits(case: Case, Row { configuration, cutoff, .. }: Row) -> bool {
    case.partition == "stripe" || case.ranks != 3 || 3.0 * cutoff <= side(configuration)
}

/// Returns the pressure at rest: the part of the virial, and the mean field of the particles beyond
/// the cutoff (Allen and Tildesley, equation 2.144), which NIST's table does not contain.
fn pressure(Row { configuration, cutoff, tail, .. }: Row, virial: f64, atoms: f64) -> f64 {
    let volume = side(configuration).powi(3);
    let density = atoms / volume;
    let beyond = PI * density * density * (32.0 / 9.0 * cutoff.powi(-9) - 16.0 / 3.0 * cutoff.powi(-3));
    virial / (3.0 * volume) + if tail.is_some() { beyond } else { 0.0 }
}

/// Relative tolerances in mixed precision: half a unit of the last printed digit. The virial is the
/// remainder of sums fifty times as large.
const ENERGY: f64 = 1.2e-5;
const VIRIAL: f64 = 3e-5;

/// Checks all printed digits, or in mixed precision the relative error `mixed`.
fn assert_agrees(case: Case, actual: f64, printed: &str, mixed: f64, what: &str) {
    if case.precision == "mixed" {
        assert_close(actual, printed.parse().unwrap_or(f64::NAN), mixed, what);
    } else {
        assert_printed(actual, printed, what);
    }
}

fn check(row: Row, cases: impl Iterator<Item = Case>) {
    check_run(row, &run(row), cases);
}

fn check_run(row: Row, run: &Run, cases: impl Iterator<Item = Case>) {
    let Row { configuration, cutoff, shift, energy, virial, tail } = row;
    for case in cases.filter(|&case| fits(case, row)) {
        let outcome = case.apply(run).succeed();
        let what = format!("configuration {configuration}, cutoff {cutoff}, {shift}: {}", outcome.case());
        let tail_energy = outcome.number("tail_energy");
        // The reference does not count the tail as a part of the energy.
        assert_agrees(case, outcome.number("potential_energy") - tail_energy, energy, ENERGY, &what);
        assert_agrees(case, outcome.number("virial"), virial, VIRIAL, &what);
        assert_printed(tail_energy, tail.unwrap_or("0.0000000000"), &what);
        let pressure = pressure(row, outcome.number("virial"), outcome.number("atoms"));
        assert_close(outcome.number("pressure"), pressure, 1e-10, &what);
    }
}

#[test]
fn published_values_on_every_path() {
    PUBLISHED.into_iter().take(2).for_each(|row| check(row, every_case()));
}

#[test]
fn published_values_in_mixed_precision() {
    PUBLISHED.into_iter().take(2).for_each(|row| check(row, mixed_cases()));
}

#[test]
fn published_values_at_every_simd_level() {
    let levels = SimdLevel::available().map(SimdLevel::name);
    for (level, row) in levels.flat_map(|level| PUBLISHED.into_iter().take(2).map(move |row| (level, row))) {
        let run = run(row).environment("MD_SIMD", level);
        check_run(row, &run, local_cases());
        check_run(row, &run, mixed_cases().take(2));
    }
}

#[test]
fn published_values_of_the_longer_cutoff() {
    PUBLISHED.into_iter().skip(2).for_each(|row| check(row, local_cases()));
}

#[test]
fn published_values_of_the_linear_force_shift() {
    FORCE_SHIFTED.into_iter().for_each(|row| check(row, local_cases()));
}

#[test]
fn more_digits_and_other_cutoffs() {
    DIGITS.into_iter().for_each(|row| check(row, local_cases()));
}
