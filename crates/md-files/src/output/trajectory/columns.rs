//! Comparison of the frames of a trajectory that is continued with those of the run.

use md_lab::name_of;
use md_scenario::Trajectory;
use toml::{Table, Value};

use crate::checkpoint::Resumed;
use crate::store::{OutputDirectory, OutputError};

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
    if then.all_columns() != now.all_columns() {
        let [then, now] =
            [then, now].map(|it| it.all_columns().iter().map(name_of).collect::<Vec<_>>().join(", "));
        return Some(format!("it has other columns than this run (it has [{then}], the run [{now}])"));
    }
    if then.positions != now.positions {
        let [then, now] = [then, now].map(|it| name_of(it.positions));
        return Some(format!("it has {then} positions, this run {now} ones"));
    }
    let [then, now] = [then, now].map(Trajectory::precision);
    (then != now).then(|| format!("it has {} precision, this run {}", name_of(then), name_of(now)))
}
