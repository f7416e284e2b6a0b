//! Halo strategies on one configuration: checked, measured in turn, and ranked.
//!
//! Every strategy has a world of its own (its contexts and collectives), and the ranks agree in another one,
//! that of their agreement, on what has become of each piece of work. So a strategy may fail on one rank, or leave messages
//! behind, and the ranks still know what to do next: they leave it out. Repetitions are interleaved and their order is
//! rotated, so that whatever drifts (clock frequency, neighbours on the machine) drifts for all alike.
//! Strategies that can stand still inside the MPI library come later, group by group, each group beside the
//! baseline measured again: if one hangs, a monitor ends the job, and the groups before it have been measured already.

mod chart;
pub mod comparison;
mod measure;
mod outcome;
mod recommendation;
mod reference;
mod results;
mod rows;
mod table;
mod trials;

#[cfg(test)]
mod fixtures;

use md_comm::RmaOptions;
use md_engine::{NeighborReport, Setup};

pub use chart::chart;
pub use comparison::{Comparison, Status};
pub use outcome::{Exclusion, Problem, agree};
pub use recommendation::recommendation;
pub use reference::{Reference, ReferenceError, Terms};
pub use results::Results;
pub use rows::compare_csv;
pub use table::table;
pub use trials::{Sampling, Trials};

use crate::statistics::Interval;
use crate::{RunContext, Strategy, Variant, significant};
use comparison::RankedBy;

/// What strategies become on the configuration that is compared.
pub trait Plan {
    /// Everything that a strategy needs.
    ///
    /// # Errors
    /// Why there is none.
    fn prepare(&self, variant: &Variant) -> Result<Prepared, Problem>;

    /// What makes the row of a strategy stand alone for which there is no set-up.
    fn context(&self, strategy: Strategy) -> RunContext;

    /// Takes note of how the neighbourhood has held in a sample; on rank 0.
    fn look_at(&self, report: &NeighborReport);

    /// Where timelines are wanted: events that each rank keeps; the same on all ranks.
    fn timeline_events(&self) -> Option<usize> {
        None
    }

    /// Takes the next part of a strategy's timeline, on rank 0.
    fn take_timeline(&self, _variant: &Variant, _part: &[u8]) {}
}

/// A strategy on the configuration.
pub struct Prepared {
    /// For the engine.
    pub setup: Setup,
    /// For the transport.
    pub options: RmaOptions,
    /// What is to be said of it in any case.
    pub note: String,
    /// What makes its row stand alone.
    pub context: RunContext,
}

/// A unit of time.
#[derive(Clone, Copy)]
struct Unit {
    per_second: f64,
    symbol: &'static str,
}

const MICROSECONDS: Unit = Unit { per_second: 1e6, symbol: "us" };
const MILLISECONDS: Unit = Unit { per_second: 1e3, symbol: "ms" };

impl Unit {
    /// Median and bounds with so many significant digits.
    fn bounds(self, interval: &Interval, digits: usize) -> [String; 3] {
        let &Interval { median_s, low_s, high_s } = interval;
        [median_s, low_s, high_s].map(|time_s| significant(time_s * self.per_second, digits))
    }
}

/// Exchanges take microseconds, steps milliseconds.
fn unit_of(by: RankedBy) -> Unit {
    match by {
        RankedBy::Exchange => MICROSECONDS,
        RankedBy::Step | RankedBy::WholeStep => MILLISECONDS,
    }
}
