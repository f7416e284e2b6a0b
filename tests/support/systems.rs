//! Systems that several tests use.

/// 864 atoms for 30 steps: dense and hot, with many rebuilds and migrations.
pub(crate) const RESTLESS_MELT: &str = r#"
[simulation]
steps = 30
timestep = 0.005
seed = 11
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 1.44
[neighbor]
rebuild = { every = 5 }
[output]
thermo = { every = 10 }
"#;

/// Particles from a file next to the scenario, with all defaults.
pub(crate) const CLUSTERS: &str = r#"
[simulation]
steps = 1
[system]
file = { path = "clusters.extxyz", format = "extxyz" }
"#;
