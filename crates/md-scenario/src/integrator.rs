//! `[integrator]`: its keys are defined in [`md_engine::integrator`] and [`md_engine::barostat`],
//! which also check their values.

use md_core::Dimension;
use md_engine::integrator::KeyFault;
use md_engine::{Barostat, Integrator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::finding::{Checked, Finding};
use super::schema::lift_kind;
use super::simulation::Simulation;
use super::system::System;
use super::text::ScenarioSource;

/// `[integrator]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = lift_kind)]
pub struct IntegratorTable {
    /// Kind of the integrator, and its keys.
    #[serde(flatten)]
    pub kind: Integrator,
    /// Controls the pressure by changing the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barostat: Option<Barostat>,
}

/// Checks the table at `path`.
pub(super) fn check(
    path: &str,
    IntegratorTable { kind, barostat }: &IntegratorTable,
    simulation: &Simulation,
    system: &System,
) -> Checked {
    let dimension = if simulation.dimension == 2 { Dimension::Two } else { Dimension::Three };
    let of_barostat =
        || barostat.as_ref().map_or(Ok(()), |barostat| barostat.check(dimension, system.boundary, kind));
    kind.check().and_then(|()| of_barostat()).map_err(|fault| finding(path, fault))
}

/// Creates the finding for a fault of a key of the table at `path`.
fn finding(path: &str, KeyFault { key, problem }: KeyFault) -> Finding {
    let path = format!("{path}.{key}");
    Finding::new(path.as_str(), format!("`{path}` {problem}"), help(key))
}

/// Creates the error for a key of the table at `path` that does not suit the system of the
/// scenario.
pub fn integrator_fault(source: &ScenarioSource, path: &str, fault: KeyFault) -> ScenarioError {
    ScenarioError::locate(source, &finding(path, fault))
}

fn help(key: &str) -> &'static str {
    match key {
        "temperature" | "temperature.from" | "temperature.to" => {
            "a reduced temperature, for example 0.85, or `{ from = 1.44, to = 0.85 }`"
        }
        "friction" => "1.0 forgets velocities within 1 tau",
        "relaxation" => "0.5 is usual, in units of tau",
        "every" | "barostat.every" => "steps; leave the key out to have it chosen",
        "barostat.pressure" => "a reduced pressure, for example 1.0",
        "barostat.relaxation" => "2.0 is usual, in units of tau",
        "barostat.compressibility" => "0.1 is about that of a Lennard-Jones liquid",
        "barostat.axes" => "name axes whose boundaries are periodic, for example \"z\"",
        "barostat" => "leave the barostat out, or put it into a stage with another integrator",
        "barostat.kind" => {
            "give the integrator a thermostat, for example `kind = \"csvr\"`, or use `berendsen`"
        }
        _ => "leave the key out for its default",
    }
}
