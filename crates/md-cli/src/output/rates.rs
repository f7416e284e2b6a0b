//! Speed of a run, from the wall time of its step loop.

use crate::report::{RunContext, RunFacts};

/// Wall time per atom and step in nanoseconds; 0 where there was no step.
pub(super) fn ns_per_atom_step(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(facts.wall_s, atom_steps(context)) * 1e9
}

/// Atoms times steps per second; 0 where there was no step.
pub(super) fn atom_steps_per_s(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(atom_steps(context), facts.wall_s)
}

/// Steps per second; 0 where there was no step.
pub(super) fn steps_per_s(context: &RunContext, facts: &RunFacts) -> f64 {
    ratio(context.steps as f64, facts.wall_s)
}

fn atom_steps(context: &RunContext) -> f64 {
    context.atoms as f64 * context.steps as f64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
