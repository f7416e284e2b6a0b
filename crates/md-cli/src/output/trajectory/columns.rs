//! What trajectories hold of each particle, and whether a scenario may ask for it.

use super::{Compressible, FORMATS, Format, format_of};
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
