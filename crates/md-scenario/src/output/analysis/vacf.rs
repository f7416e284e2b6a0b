//! `output.vacf`: velocity autocorrelation functions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AnalysisKeys, AnalysisKind, AnalysisSettings, CORRELATION_TIME, CentreOfMass, MOST_LAGS, Particles,
    Quantity, SAMPLES, check_length, check_origins,
};
use crate::defaults::number;
use crate::finding::Checked;
use crate::known_file::KnownFile;

/// `output.vacf`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vacf {
    /// Steps between two samples.
    #[schemars(range(min = 1), extend("$comment" = SAMPLES))]
    pub every: u64,
    /// Time up to which velocities are correlated: at most 10,000 samples divided by the number of
    /// species.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = CORRELATION_TIME))]
    pub length: f64,
    /// Number of overlapping intervals of this length. Each needs 24 bytes per particle.
    #[serde(default = "number::<10>")]
    #[schemars(range(min = 1, max = 100))]
    pub origins: u64,
    /// Treatment of the motion of the centre of mass, as in `output.msd`.
    #[serde(default)]
    pub centre_of_mass: CentreOfMass,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

/// ```
/// use md_scenario::{Analyses, CentreOfMass, Vacf};
///
/// let (centre_of_mass, start) = (CentreOfMass::default(), None);
/// let vacf = Vacf { every: 5, length: 1.0, origins: 10, centre_of_mass, start };
/// // Samples every 5 x 0.002, up to 1.
/// let analyses = Analyses { vacf: Some(vacf), ..Analyses::default() };
/// assert_eq!(analyses.keys()[0].lags(0.002), 100);
/// ```
impl Vacf {
    /// Kind of this analysis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "vacf",
        files: &[KnownFile::new("vacf.csv")],
        columns: Self::columns,
        quantities: &[
            Quantity { columns: "vacf", title: "Velocity autocorrelation", unit: "σ²/τ²" },
            Quantity { columns: "diffusion", title: "Diffusion coefficient", unit: "σ²/τ" },
        ],
    };

    fn columns(names: &[String]) -> Vec<String> {
        const KINDS: [&str; 4] = ["vacf", "error", "diffusion", "diffusion_error"];
        let columns = names.iter().flat_map(|name| KINDS.map(|kind| format!("{kind}_{name}")));
        ["time".to_owned()].into_iter().chain(columns).collect()
    }
}

impl AnalysisSettings for Vacf {
    fn keys(&self) -> AnalysisKeys {
        let (length, centre_of_mass) = (Some(self.length), Some(self.centre_of_mass));
        AnalysisKeys { length, centre_of_mass, ..AnalysisKeys::new(&Self::KIND, self.every, self.start) }
    }

    fn check(&self, particles: &Particles) -> Checked {
        check_origins("output.vacf.origins", self.origins)?;
        check_length(&self.keys(), particles, MOST_LAGS / particles.species.max(1))
    }
}
