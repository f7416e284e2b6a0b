//! Columns of trajectories, and checks of those that a scenario requests.

use md_lab::name_of;
use toml::{Table, Value};

use super::{Compressible, FORMATS, Format, format_of};
use crate::checkpoint::Resumed;
use crate::output::{OutputDirectory, OutputError};
use crate::scenario::{Trajectory, TrajectoryColumn, TrajectoryPrecision};

/// Returns the columns of a trajectory other than id, type and position, in the order of
/// [`TrajectoryColumn`] and without duplicates.
pub fn columns_of(trajectory: &Trajectory) -> Vec<TrajectoryColumn> {
    let default = format_of(&trajectory.path).map_or(&[][..], |(format, _)| format.default_columns);
    let mut columns = trajectory.columns.clone().unwrap_or_else(|| default.to_vec());
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Returns the precision of real numbers in a trajectory, if its format offers a choice.
pub(super) fn precision_of(trajectory: &Trajectory) -> TrajectoryPrecision {
    let default = format_of(&trajectory.path).and_then(|(format, _)| format.default_precision);
    trajectory.precision.or(default).unwrap_or_default()
}

/// Checks that a trajectory that is continued has frames of the same kind, according to the
/// scenario of the checkpoint. The file is not sufficient, because not every format describes its
/// frames, and unwrapped positions look like any others.
///
/// # Errors
/// [`OutputError::NotContinued`].
pub fn expect_same_kind(
    directory: &OutputDirectory,
    resumed: &Resumed,
    now: &Trajectory,
) -> Result<(), OutputError> {
    let mark = resumed.mark(&now.path).filter(|mark| directory.goes_on(mark));
    let then = mark.and_then(|_| trajectory_of(&resumed.header.scenario));
    let Some(reason) = then.and_then(|then| other_kind(&then, now)) else { return Ok(()) };
    Err(OutputError::NotContinued { path: directory.path().join(&now.path), reason })
}

fn trajectory_of(scenario: &str) -> Option<Trajectory> {
    let table: Table = scenario.parse().ok()?;
    table
        .get("output")
        .and_then(|output| output.get("trajectory"))
        .cloned()
        .and_then(|it: Value| it.try_into().ok())
}

/// Returns the difference between the frames of two trajectories, or `None` if they are of the same
/// kind.
fn other_kind(then: &Trajectory, now: &Trajectory) -> Option<String> {
    if columns_of(then) != columns_of(now) {
        let [then, now] =
            [then, now].map(|it| columns_of(it).iter().map(name_of).collect::<Vec<_>>().join(", "));
        return Some(format!("it has other columns than this run (it has [{then}], the run [{now}])"));
    }
    if then.positions != now.positions {
        let [then, now] = [then, now].map(|it| name_of(it.positions));
        return Some(format!("it has {then} positions, this run {now} ones"));
    }
    let [then, now] = [then, now].map(precision_of);
    (then != now).then(|| format!("it has {} precision, this run {}", name_of(then), name_of(now)))
}

impl Format {
    /// Returns the available extensions, for messages.
    pub fn extensions() -> String {
        let with_gz = |format: &Format| match format.compression {
            Compressible::Yes => format!("`{}[.gz]`", format.extension),
            Compressible::No => format!("`{}`", format.extension),
        };
        FORMATS.iter().map(with_gz).collect::<Vec<_>>().join(", ")
    }
}
