//! `[integrator]`: the keys are those of [`md_engine::integrator`], which also knows what they can be.

use md_engine::Integrator;
use md_engine::integrator::KeyFault;

use super::finding::{Checked, Finding};

pub(super) fn check(integrator: &Integrator) -> Checked {
    integrator.check().map_err(|KeyFault { key, problem }| {
        let path = format!("integrator.{key}");
        let help = match key {
            "temperature" | "temperature.from" | "temperature.to" => {
                "a reduced temperature, for example 0.85, or `{ from = 1.44, to = 0.85 }`"
            }
            "friction" => "1.0 forgets velocities within 1 tau",
            "relaxation" => "0.5 is usual, in units of tau",
            "every" => "steps; leave the key out to have it chosen",
            _ => "leave the key out for its default",
        };
        Finding::new(path.as_str(), format!("`{path}` {problem}"), help)
    })
}
