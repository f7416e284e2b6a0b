//! A machine's costs, fitted: of messages to bench.csv, of computation to short runs.

mod compute;
mod least_squares;
mod measurements;
mod messages;
mod report;

use md_comm::{RmaOptions, World};
use md_engine::EngineError;

use crate::Transports;
use crate::machine::{Machine, Provenance};
pub use compute::{ComputeFit, Observation, Part};
pub use least_squares::{Coefficient, Fit, Residuals};
pub use measurements::Measurement;
pub use messages::{MessageFit, Point, movers};
pub use report::{picture, table};

/// The benchmarks that messages are fitted to.
pub const BENCHMARKS: [&str; 6] = ["roundtrip", "sync26", "overlap", "barrier", "allreduce", "negotiation"];

/// All fits of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// What they make.
    pub machine: Machine,
    /// Of messages.
    pub messages: Vec<MessageFit>,
    /// Of computation.
    pub computes: Vec<ComputeFit>,
    /// Measurements that are not there, and what `machine.toml` lacks for it.
    pub missing: Vec<String>,
}

/// Measures what a rank's own work costs, on all ranks at once, as they will work. The same on all ranks. *Collective.*
///
/// # Errors
/// See [`EngineError`].
pub fn measure_compute(
    transports: &dyn Transports,
    budget_s: f64,
    tell: impl FnMut(usize, usize),
) -> Result<Vec<ComputeFit>, EngineError> {
    let world: Box<dyn World> = transports.world(transports.backends()[0], RmaOptions::default())?;
    compute::measure(&*world, budget_s, tell)
}

/// Fits messages, and puts everything together.
pub fn fit(rows: &[Measurement], computes: Vec<ComputeFit>, provenance: Provenance) -> Fitted {
    let messages = messages::messages(rows);
    let machine = Machine {
        provenance,
        messages: messages.iter().map(|fit| fit.cost.clone()).collect(),
        collectives: messages::collectives(rows),
        overlaps: messages::overlaps(&messages, rows),
        negotiations: messages::negotiations(rows),
        computes: computes.iter().map(|fit| fit.cost.clone()).collect(),
    };
    Fitted { machine, messages, computes, missing: messages::missing(rows) }
}
