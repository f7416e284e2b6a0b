//! `output.trajectory`: quantities of the particles that are written over time, and their format.

use std::path::Path;

use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::trajectory_format::TrajectoryFormat;
use crate::finding::{Checked, Finding};

/// `output.trajectory`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    /// File name in the output directory; the extension gives the format: `.extxyz`, `.lammpstrj`
    /// (with `.gz` appended: compressed), `.nc`, `.xtc`.
    pub path: String,
    /// Steps between two frames.
    #[schemars(range(min = 1), extend("$comment" = "steps between two frames"))]
    pub every: u64,
    /// Quantities that are written for each particle in addition to id, type and position. The
    /// default is `velocity`, for `.extxyz` also `mass` and `momentum`, and for `.xtc` nothing.
    pub columns: Option<Vec<TrajectoryColumn>>,
    /// Whether positions are wrapped into the box.
    #[serde(default)]
    pub positions: Positions,
    /// Precision of real numbers in `.nc`; the default is `single`, as in the convention of the
    /// format. Text formats contain all digits.
    pub precision: Option<TrajectoryPrecision>,
}

/// A quantity of each particle in a trajectory.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
pub enum TrajectoryColumn {
    /// Velocity at the full step.
    Velocity,
    /// Mass of the species.
    Mass,
    /// Mass times velocity, from which ASE computes velocities.
    Momentum,
    /// Image counts: how often the particle has crossed each periodic face.
    Images,
    /// Force.
    Force,
    /// Potential energy: half the energy of each of its pairs, its embedding energy and that of
    /// walls, without tail correction.
    Energy,
}

/// ```
/// use md_scenario::{TrajectoryColumn, TrajectoryFormat};
///
/// // Only extended XYZ has momenta, which ASE reads.
/// let with_momenta = |format: &&TrajectoryFormat| {
///     format.properties().columns.contains(&TrajectoryColumn::Momentum)
/// };
/// assert!(TrajectoryFormat::ALL.iter().filter(with_momenta).eq([&TrajectoryFormat::Extxyz]));
/// ```
impl TrajectoryColumn {
    /// All columns, in the order in which they are written.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Whether positions are wrapped into the box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// Positions inside the box.
    #[default]
    Wrapped,
    /// Positions as they would be if particles were not wrapped at periodic faces.
    Unwrapped,
}

/// Precision of real numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrajectoryPrecision {
    /// Single precision (f32).
    Single,
    /// Double precision (f64), which is read back to identical bits.
    #[default]
    Double,
}

pub(super) fn check(trajectory: &Trajectory) -> Checked {
    check_path(&trajectory.path)?;
    let Some((format, _)) = TrajectoryFormat::of_path(&trajectory.path) else { return Ok(()) };
    let format = format.properties();
    if trajectory.precision.is_some() && format.default_precision.is_none() {
        let message = format!("the precision of a trajectory `{}` cannot be chosen", format.extension);
        return Err(Finding::new(
            "output.trajectory.precision",
            message,
            "leave `precision` out; `.nc` has one",
        )
        .at_key());
    }
    for (index, column) in trajectory.columns.iter().flatten().enumerate() {
        if !format.columns.contains(column) {
            let path = format!("output.trajectory.columns[{index}]");
            let message = format!("a trajectory `{}` has no column `{}`", format.extension, name_of(column));
            let all: Vec<_> = format.columns.iter().map(|column| format!("`{}`", name_of(column))).collect();
            let help = match all.as_slice() {
                [] => "leave `columns` out: this format has positions alone".to_owned(),
                all => format!("columns of this format: {}", all.join(", ")),
            };
            return Err(Finding::new(path, message, help));
        }
    }
    Ok(())
}

fn check_path(path: &str) -> Checked {
    const KEY: &str = "output.trajectory.path";
    let plain = Path::new(path).file_name().is_some_and(|name| name == path);
    if !plain || path.contains('\\') {
        let message = format!("`{KEY}` must be a plain file name, found {path:?}");
        return Err(Finding::new(KEY, message, "it is put into `output.directory`, e.g. \"traj.extxyz\""));
    }
    if TrajectoryFormat::of_path(path).is_some() {
        return Ok(());
    }
    let help = format!("the extension gives the format: {}", TrajectoryFormat::extensions());
    let what = match Path::new(path).extension() {
        Some(_) => "an extension that no format has",
        None => "no extension, which gives the format",
    };
    let message = format!("`{KEY} = {path:?}` has {what}");
    Err(Finding::new(KEY, message, help))
}
