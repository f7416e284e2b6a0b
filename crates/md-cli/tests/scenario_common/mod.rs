//! Helpers of the tests of scenarios.

use md_cli::scenario::{Scenario, ScenarioError, ScenarioSource, load};

/// A valid scenario with nearly all keys.
pub(crate) const MELT: &str = r#"[simulation]
title = "LJ melt"
dimension = 3
timestep = 0.005
steps = 1000
seed = 87287

[system]
lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
temperature = 1.44
boundary = ["periodic", "periodic", "periodic"]

[[species]]
name = "A"
mass = 1.0
fraction = 0.9

[[species]]
name = "B"
mass = 2.0
epsilon = 0.5
sigma = 1.1

[interaction]
kind = "lennard-jones"
cutoff = 2.5
shift = "none"
mixing = "lorentz-berthelot"

[[interaction.pair]]
species = ["A", "B"]
epsilon = 1.5
sigma = 0.8

[neighbor]
method = "clusters"
skin = 0.3
rebuild = { every = 20 }
precision = "double"

[parallel]
backend = "local"
shell = "half"
exchange = "direct"
partition = "rect"
threads = 1

[output]
directory = "out/lj-melt"
thermo = { every = 100 }
trajectory = { path = "traj.extxyz", every = 500 }
"#;

/// Returns the source of a file `melt.toml`, with overrides.
pub(crate) fn source(text: &str, overrides: &[&str]) -> ScenarioSource {
    let overrides = overrides.iter().map(|text| (*text).to_owned()).collect();
    ScenarioSource { name: "melt.toml".to_owned(), text: text.to_owned(), overrides }
}

/// Reads a scenario that must be valid.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn valid(text: &str, overrides: &[&str]) -> Scenario {
    match load(&source(text, overrides)) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{}", error.render()),
    }
}

/// Returns the error of a scenario that must be refused.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn refused(text: &str, overrides: &[&str]) -> ScenarioError {
    match load(&source(text, overrides)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// Returns the rendered error of a file.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn error(text: &str) -> String {
    error_set(text, &[])
}

/// Returns the rendered error of a file with overrides.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn error_set(text: &str, overrides: &[&str]) -> String {
    refused(text, overrides).render()
}

/// Returns the rendered error of [`MELT`] with overrides.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn error_with(overrides: &[&str]) -> String {
    error_set(MELT, overrides)
}

/// Returns the rendered error of [`MELT`] after a change.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn error_after(from: &str, to: &str) -> String {
    assert!(MELT.contains(from), "nothing to replace: {from}");
    error(&MELT.replacen(from, to, 1))
}

/// Returns a small 2D scenario.
#[allow(dead_code, reason = "every test file uses some of these")]
pub(crate) fn layer(cells: &str, boundary_in_z: &str) -> String {
    format!(
        r#"[simulation]
dimension = 2
steps = 10
[system]
lattice = {{ kind = "hex", density = 0.8, cells = {cells} }}
boundary = ["periodic", "periodic", "{boundary_in_z}"]
"#
    )
}
