//! LAMMPS's published log of `bench/in.lj`, and conservation of energy.

use md_core::SimdLevel;

use crate::support::{
    Backend, Run, ThermoRow, assert_close, assert_printed, every_case, repository, table, text_of,
};

/// Returns the thermo table of the log for `processes` processes: step, temperature, potential and
/// total energy per atom, pressure, as printed.
fn log(processes: &str) -> Vec<[String; 5]> {
    let columns = ["processes", "step", "temperature", "potential_per_atom", "total_per_atom", "pressure"];
    let rows = table("melt32000/thermo.csv", columns).into_iter().filter(|row| row[0] == processes);
    rows.map(|[_, step, temperature, potential, total, pressure]| {
        [step, temperature, potential, total, pressure]
    })
    .collect()
}

fn melt() -> String {
    text_of(&repository("configs/lj-bench.toml"))
}

fn assert_first_row(row: &ThermoRow, printed: &[String; 5], case: &str) {
    let [_, temperature, potential, total, pressure] = printed;
    assert_printed(row.temperature, temperature, &format!("{case}: temperature"));
    // "1.44" is printed with fewer digits than it has, because LAMMPS omits trailing zeros.
    assert_close(row.temperature, 1.44, 1e-13, case);
    assert_printed(row.potential, potential, &format!("{case}: potential energy"));
    assert_printed(row.total, total, &format!("{case}: total energy"));
    assert_printed(row.pressure, pressure, &format!("{case}: pressure"));
}

/// Step 0 does not depend on the velocities, except for their scale.
#[test]
fn step_0_of_the_published_log() {
    let logs = [log("1"), log("4")];
    assert_eq!(logs[0], logs[1], "both published logs say the same");
    let run = Run::new("run", melt()).argument("--steps").argument("1");
    // All pairs of 32,000 atoms would take minutes; that method is tested on small systems.
    for case in every_case().filter(|case| case.is_fast()) {
        let outcome = case.apply(&run).succeed();
        assert_eq!(outcome.number("atoms"), 32_000.0, "{}", outcome.case());
        assert_first_row(&outcome.thermo()[0], &logs[0][0], outcome.case());
    }
}

#[test]
fn step_0_at_every_simd_level() {
    let run = Run::new("run", melt()).argument("--steps").argument("1");
    for level in SimdLevel::available().map(SimdLevel::name) {
        for method in ["clusters", "cells"] {
            let run = run.clone().environment("MD_SIMD", level).set(format!("neighbor.method={method:?}"));
            let outcome = run.on(Backend::Local, 2).succeed();
            assert_eq!(outcome.summary()["simd"], level, "{}: the instruction set used", outcome.case());
            assert_first_row(&outcome.thermo()[0], &log("1")[0], outcome.case());
        }
    }
}

/// Later steps depend on the velocities, and LAMMPS draws different ones. In both programs,
/// however, the crystal melts, and pairs that cross the unshifted cutoff change the total energy in
/// the same way, by -0.0089.
#[test]
fn step_100_of_the_published_log() {
    let [_, end] = &log("1")[..] else { panic!("two rows") };
    let published = end.each_ref().map(|field| field.parse::<f64>().unwrap());
    for (ranks, precision) in [(1, "double"), (8, "double"), (2, "mixed")] {
        let run = Run::new("run", melt()).set(format!("neighbor.precision={precision:?}"));
        let outcome = run.on(Backend::Local, ranks).succeed();
        let thermo = outcome.thermo();
        let last = thermo[thermo.len() - 1];
        assert_eq!(last.step as f64, published[0], "{}", outcome.case());
        // miniMD, again with other velocities, differs by 0.0052 in temperature
        // (tests/data/miniMD/32k.csv).
        let bands = [
            ("total energy", last.total, published[3], 2e-4),
            ("temperature", last.temperature, published[1], 0.015),
            ("pressure", last.pressure, published[4], 0.1),
        ];
        for (name, value, wanted, band) in bands {
            let case = outcome.case();
            assert!((value - wanted).abs() < band, "{case}: {name} {value} instead of {wanted} +- {band}");
        }
    }
}

/// Runs a melt with a smooth potential and rebuilds that are never late, so that only the
/// integrator's error remains.
fn smooth_melt(timestep: f64, steps: u64, ranks: usize, precision: &str) -> Vec<ThermoRow> {
    let scenario = format!(
        "[simulation]\nsteps = {steps}\ntimestep = {timestep}\nseed = 7\n\
         [system]\nlattice = {{ kind = \"fcc\", density = 0.8442, cells = [8, 8, 8] }}\ntemperature = 1.44\n\
         [interaction]\nshift = \"force\"\n\
         [output]\nthermo = {{ every = {} }}\n",
        steps / 25
    );
    let run = Run::new("run", scenario).set(format!("neighbor.precision={precision:?}"));
    let outcome = run.on(Backend::Local, ranks).succeed();
    assert!(outcome.number("rebuilds") >= 5.0, "{}: rebuilds", outcome.case());
    outcome.thermo()
}

/// Returns the largest difference of the total energy from its initial value.
fn largest_change(rows: &[ThermoRow]) -> f64 {
    rows.iter().map(|row| (row.total - rows[0].total).abs()).fold(0.0, f64::max)
}

/// The integrator conserves an energy that differs from the true one by a term of the order of the
/// time step squared. The term changes while the crystal melts, until 0.2 tau, and then stays
/// constant except for small noise.
#[test]
fn energy_does_not_drift() {
    for (ranks, precision) in [(1, "double"), (4, "double"), (1, "mixed"), (4, "mixed")] {
        let rows = smooth_melt(0.002, 300, ranks, precision);
        assert_eq!(rows.last().map(|row| row.step), Some(300));
        assert!(
            largest_change(&rows) < 2e-4,
            "{ranks} ranks, {precision}: energy changes by {}",
            largest_change(&rows)
        );
        let after_melting = || rows.iter().filter(|row| row.time > 0.2);
        for row in after_melting() {
            let change = row.total - rows[0].total;
            assert!(
                change.abs() < 2.5e-5,
                "{ranks} ranks, {precision}: energy has changed by {change} at step {}",
                row.step
            );
        }
        let count = after_melting().count() as f64;
        let average = after_melting().map(|row| row.total).sum::<f64>() / count;
        let drift = average - rows[0].total;
        assert!(drift.abs() < 1e-5, "{ranks} ranks, {precision}: energy has drifted by {drift}");
    }
}

/// With half the time step the error is a quarter: velocity Verlet is of second order.
#[test]
fn the_integrator_is_of_second_order() {
    let changes = [(0.004, 150), (0.002, 300), (0.001, 600)]
        .map(|(timestep, steps)| largest_change(&smooth_melt(timestep, steps, 2, "double")));
    for pair in changes.windows(2) {
        let ratio = pair[0] / pair[1];
        assert!(
            (3.9..4.1).contains(&ratio),
            "halving the time step divides the error by {ratio}: {changes:?}"
        );
    }
}
