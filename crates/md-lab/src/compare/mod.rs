//! Halo strategies on one configuration: checked, measured in turn, and ranked.
//!
//! Every strategy has a separate world (its contexts and collectives); in another one, the
//! agreement world, the ranks agree on the outcome of each piece of work. A strategy may therefore
//! fail on one rank, or leave messages behind, and the ranks exclude it consistently. Repetitions
//! are interleaved and their order is rotated, so that drifts (clock frequency, other jobs on the
//! machine) affect all strategies equally. Strategies that can block inside the MPI library come
//! later, group by group, each group next to a repeated measurement of the baseline: if one hangs,
//! a monitor ends the job, and the groups before it have been measured already.

mod chart;
mod comparison;
mod conduct;
mod measure;
mod particles;
mod recommendation;
mod reference;
mod results;
mod rows;
mod table;
mod trials;

#[cfg(test)]
mod fixtures;

pub use chart::chart;
pub use comparison::{Comparison, MeasurementContext, RowContext, StrategyReport};
pub use conduct::{Conditions, Publisher, conduct};
pub use measure::{Exchanged, Place, Running, WARM_UP};
pub use particles::ParticlesAtWork;
pub use recommendation::recommendation;
pub use reference::{Reference, ReferenceConditions, ReferenceError};
pub use rows::compare_csv;
pub use table::table;
pub use trials::{Ground, Prepared, Recording};

use crate::significant;
use crate::statistics::Interval;
use comparison::RankedBy;

/// A unit of time.
#[derive(Clone, Copy)]
struct Unit {
    per_second: f64,
    symbol: &'static str,
}

const MICROSECONDS: Unit = Unit { per_second: 1e6, symbol: "us" };
const MILLISECONDS: Unit = Unit { per_second: 1e3, symbol: "ms" };

impl Unit {
    /// Returns median and bounds with `digits` significant digits.
    fn bounds(self, interval: &Interval, digits: usize) -> [String; 3] {
        let &Interval { median_s, low_s, high_s } = interval;
        [median_s, low_s, high_s].map(|time_s| significant(time_s * self.per_second, digits))
    }
}

/// Returns the unit of the times: microseconds for exchanges, milliseconds for steps.
fn unit_of(by: RankedBy) -> Unit {
    match by {
        RankedBy::Exchange => MICROSECONDS,
        RankedBy::Step | RankedBy::WholeStep => MILLISECONDS,
    }
}
