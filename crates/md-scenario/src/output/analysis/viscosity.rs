//! `output.viscosity`: shear viscosity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AnalysisKeys, AnalysisKind, AnalysisSettings, CORRELATION_TIME, MOST_LAGS, Particles, Quantity, SAMPLES,
    check_length,
};
use crate::finding::Checked;
use crate::known_file::KnownFile;

/// `output.viscosity`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Viscosity {
    /// Steps between two samples of the pressure tensor. Each sample needs a step that computes
    /// energy and virial.
    #[schemars(range(min = 1), extend("$comment" = SAMPLES))]
    pub every: u64,
    /// Time up to which the stress is correlated and the correlation is integrated: at most 10,000
    /// samples.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = CORRELATION_TIME))]
    pub length: f64,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Viscosity {
    /// Kind of this analysis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "viscosity",
        files: &[KnownFile::new("viscosity.csv")],
        columns: Self::columns,
        quantities: &[
            Quantity { columns: "stress", title: "Stress correlation", unit: "ε²/V²" },
            Quantity { columns: "viscosity", title: "Shear viscosity", unit: "ετ/V" },
        ],
    };

    fn columns(_: &[String]) -> Vec<String> {
        ["time", "stress_correlation", "stress_correlation_error", "viscosity", "viscosity_error"]
            .map(str::to_owned)
            .into()
    }
}

impl AnalysisSettings for Viscosity {
    fn keys(&self) -> AnalysisKeys {
        let length = Some(self.length);
        AnalysisKeys { length, ..AnalysisKeys::new(&Self::KIND, self.every, self.start) }
    }

    fn check(&self, particles: &Particles) -> Checked {
        check_length(&self.keys(), particles, MOST_LAGS)
    }
}
