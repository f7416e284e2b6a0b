//! What trajectories hold of each particle, and whether a scenario may ask for it.

use md_lab::name_of;
use toml::{Table, Value};

use super::{Compressible, FORMATS, Format, format_of};
use crate::checkpoint::Resumed;
use crate::output::{OutputDirectory, OutputError};
use crate::scenario::{Trajectory, TrajectoryColumn, TrajectoryPrecision};

/// The columns of a trajectory, beside id, type and position, in the order of [`TrajectoryColumn`], each once.
pub fn columns_of(trajectory: &Trajectory) -> Vec<TrajectoryColumn> {
    let default = format_of(&trajectory.path).map_or(&[][..], |(format, _)| format.default_columns);
    let mut columns = trajectory.columns.clone().unwrap_or_else(|| default.to_vec());
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// How a trajectory writes real numbers, where its format leaves a choice.
pub(super) fn precision_of(trajectory: &Trajectory) -> TrajectoryPrecision {
    let default = format_of(&trajectory.path).and_then(|(format, _)| format.default_precision);
    trajectory.precision.or(default).unwrap_or_default()
}

/// Whether a trajectory that a run goes on with has frames of the same kind, as far as the scenario of the checkpoint says: not every format says so
/// itself, and positions outside the box are none of any other.
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

/// What frames have that those of another scenario have not.
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
    /// The extensions that there are, for messages.
    pub fn extensions() -> String {
        let with_gz = |format: &Format| match format.compression {
            Compressible::Yes => format!("`{}[.gz]`", format.extension),
            Compressible::No => format!("`{}`", format.extension),
        };
        FORMATS.iter().map(with_gz).collect::<Vec<_>>().join(", ")
    }
}
