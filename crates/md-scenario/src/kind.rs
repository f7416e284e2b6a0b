//! Kinds of scenarios.

use clap::ValueEnum;

/// Kind of a scenario, named after the command that runs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ScenarioKind {
    /// Particles
    #[default]
    Run,
    /// Fields on a grid
    Stencil,
    /// A flow
    Lbm,
}
