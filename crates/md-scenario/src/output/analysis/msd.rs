//! `output.msd`: mean squared displacements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AnalysisKeys, AnalysisKind, AnalysisSettings, CentreOfMass, Particles, Quantity, SAMPLES, check_origins,
};
use crate::defaults::number;
use crate::finding::Checked;
use crate::known_file::KnownFile;

/// `output.msd`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Msd {
    /// Steps between two samples. In long runs the samples become rarer, so that msd.csv has at
    /// most 2048 rows.
    #[schemars(range(min = 1), extend("$comment" = SAMPLES))]
    pub every: u64,
    /// Largest number of time origins in use at once. Each needs 24 bytes per particle.
    #[serde(default = "number::<10>")]
    #[schemars(range(min = 1, max = 100))]
    pub origins: u64,
    /// Treatment of the motion of the centre of mass of all particles: `"diffusion"` (part of the
    /// columns, removed from the diffusion coefficients), `"kept"` or `"removed"`.
    #[serde(default)]
    pub centre_of_mass: CentreOfMass,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Msd {
    /// Kind of this analysis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "msd",
        files: &[KnownFile::new("msd.csv")],
        columns: Self::columns,
        quantities: &[
            Quantity { columns: "msd", title: "Mean squared displacement", unit: "σ²" },
            Quantity { columns: "origins", title: "Number of time origins", unit: "" },
        ],
    };

    fn columns(names: &[String]) -> Vec<String> {
        let columns = |kind: &'static str| names.iter().map(move |name| format!("{kind}_{name}"));
        let time = ["time".to_owned()].into_iter();
        time.chain(columns("msd")).chain(columns("error")).chain(["origins".to_owned()]).collect()
    }
}

impl AnalysisSettings for Msd {
    fn keys(&self) -> AnalysisKeys {
        let centre_of_mass = Some(self.centre_of_mass);
        AnalysisKeys { centre_of_mass, ..AnalysisKeys::new(&Self::KIND, self.every, self.start) }
    }

    fn check(&self, _: &Particles) -> Checked {
        check_origins("output.msd.origins", self.origins)
    }
}
