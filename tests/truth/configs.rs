//! Every scenario of particles in configs/ runs unchanged except for the number of steps. Those
//! with millions of particles run on a smaller lattice. (Those of grids: `tests/cli/stencil.rs`,
//! `lbm.rs`.)

use std::path::{Path, PathBuf};

use crate::support::{Backend, Run, p2p_available, repository, text_of};

fn configs() -> Vec<PathBuf> {
    let entries = repository("configs").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.retain(|path| text_of(path).contains("\n[system]\n"));
    paths.sort();
    assert!(paths.len() >= 6, "{paths:?}");
    paths
}

/// Returns a short run of the scenario, with a small lattice where its own has millions of sites.
fn in_short(command: &str, path: &Path, text: &str) -> Run {
    const LARGE: [&str; 2] = ["alloy-2d-medium.toml", "alloy-2d-large.toml"];
    let run = Run::new(command, text);
    let is_large = LARGE.iter().any(|name| path.ends_with(name));
    if is_large { run.set("system.lattice.cells=[60, 35, 1]") } else { run }
}

fn two_steps(path: &Path, backend: Backend, ranks: usize) {
    let text = text_of(path);
    let mut run = in_short("run", path, &text).on(backend, ranks).argument("--steps").argument("2");
    if text.contains("\ntrajectory =") {
        // A trajectory without a frame after step 0 is refused.
        run = run.set("output.trajectory.every=1");
    }
    let outcome = run.succeed();
    let case = format!("{}: {}", path.display(), outcome.case());
    let thermo = outcome.thermo();
    assert_eq!(thermo.iter().map(|row| row.step).collect::<Vec<_>>(), [0, 2], "{case}");
    assert_eq!(outcome.number("lost_particles"), 0.0, "{case}");
    assert_eq!(outcome.number("ranks"), ranks as f64, "{case}");
    // The system does not explode: with an equilibrium time step, the total energy changes by much
    // less than the kinetic energy.
    let change = (thermo[1].total - thermo[0].total).abs();
    assert!(change < 0.01 * thermo[0].kinetic, "{case}: energy changes by {change} in two steps");
}

#[test]
fn every_config_runs_on_one_rank() {
    configs().iter().for_each(|path| two_steps(path, Backend::Local, 1));
}

#[test]
fn every_config_runs_on_two_ranks_over_mpi() {
    if p2p_available() {
        configs().iter().for_each(|path| two_steps(path, Backend::P2p, 2));
    }
}

/// The output of `check` can be run again: it is a complete scenario, which `check` leaves
/// unchanged.
#[test]
fn every_config_passes_check_unchanged() {
    for path in configs() {
        let check = |text: String| in_short("check", &path, &text).on(Backend::Local, 1).succeed();
        let first = check(text_of(&path)).finished().stdout.clone();
        let second = check(first.clone()).finished().stdout.clone();
        assert_eq!(first, second, "{}", path.display());
    }
}
