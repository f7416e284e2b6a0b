//! `output.profile`: profiles along an axis.

use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AnalysisKeys, AnalysisKind, AnalysisSettings, Particles, Quantity, SAMPLES};
use crate::defaults::number;
use crate::finding::{Checked, Finding};
use crate::known_file::KnownFile;
use crate::system::Axis;

/// Largest number of values in the slabs of all profiles together. A checkpoint can hold no more.
const MOST_IN_SLABS: u64 = 15_000;

/// An entry of `output.profile`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Axis perpendicular to the slabs.
    pub axis: Axis,
    /// Number of slabs of equal width.
    #[serde(default = "number::<100>")]
    #[schemars(range(min = 1), extend("$comment" = "number of slabs"))]
    pub bins: u64,
    /// Steps between two samples. Each sample computes the virial of every particle.
    #[schemars(range(min = 1), extend("$comment" = SAMPLES))]
    pub every: u64,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Profile {
    /// Kind of this analysis. It has a file for each axis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "profile",
        files: &[
            KnownFile::new("profile_x.csv"),
            KnownFile::new("profile_y.csv"),
            KnownFile::new("profile_z.csv"),
        ],
        columns: Self::columns,
        quantities: &[
            Quantity { columns: "density", title: "Density", unit: "1/V" },
            Quantity { columns: "temperature", title: "Temperature", unit: "ε/k" },
            Quantity { columns: "pressure", title: "Pressure", unit: "ε/V" },
            Quantity { columns: "velocity", title: "Velocity", unit: "σ/τ" },
        ],
    };

    /// Returns the file of this profile.
    pub fn file(&self) -> KnownFile {
        Self::KIND.files[self.axis as usize]
    }

    /// Returns the columns after the first one, which is named after the axis.
    fn columns(names: &[String]) -> Vec<String> {
        const OF_ALL: [&str; 8] = [
            "density",
            "temperature",
            "pressure_xx",
            "pressure_yy",
            "pressure_zz",
            "velocity_x",
            "velocity_y",
            "velocity_z",
        ];
        // With one species, the total density is that of the species.
        let densities = names.iter().filter(|_| names.len() > 1).map(|name| Self::density_column(name));
        let means: Vec<String> = OF_ALL.map(str::to_owned).into_iter().chain(densities).collect();
        let errors: Vec<String> = means.iter().map(|column| Self::error_column(column)).collect();
        [means, errors].concat()
    }

    /// Returns the column of the density of a species.
    pub fn density_column(species: &str) -> String {
        format!("density_{species}")
    }

    /// Returns the column of the error of another column.
    pub fn error_column(column: &str) -> String {
        format!("{column}_error")
    }
}

impl AnalysisSettings for Profile {
    fn keys(&self) -> AnalysisKeys {
        AnalysisKeys { file: self.file(), ..AnalysisKeys::new(&Self::KIND, self.every, self.start) }
    }

    /// See [`check_profiles`], which checks all of them.
    fn check(&self, _: &Particles) -> Checked {
        Ok(())
    }
}

/// Checks all profiles together.
pub(super) fn check_profiles(profiles: &[Profile], particles: &Particles) -> Checked {
    let per_slab = 9 + particles.species as u64;
    let mut left = MOST_IN_SLABS / per_slab;
    for (number, profile) in profiles.iter().enumerate() {
        let path = |key: &str| format!("output.profile[{number}].{key}");
        let axis = name_of(profile.axis);
        if profile.axis as usize >= usize::from(particles.dimension) {
            let message = "a 2D simulation is one layer in z: there is no profile across it";
            return Err(Finding::new(path("axis"), message, "\"x\" or \"y\"").or_at("simulation.dimension"));
        }
        if profiles[..number].iter().any(|other| other.axis == profile.axis) {
            let message = format!("two profiles across {axis} would be one file, `profile_{axis}.csv`");
            return Err(Finding::new(path("axis"), message, "one profile per axis"));
        }
        if profile.bins > left {
            let message = format!("`{}` is {}, more than a checkpoint can hold", path("bins"), profile.bins);
            return Err(Finding::new(path("bins"), message, format!("at most {left}")));
        }
        left -= profile.bins;
    }
    Ok(())
}
