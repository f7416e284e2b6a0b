//! `output.rdf`: radial distribution functions.

use md_core::analysis::PairCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AnalysisKeys, AnalysisKind, AnalysisSettings, Particles, Quantity, SAMPLES};
use crate::defaults::number;
use crate::finding::{Checked, Finding};
use crate::known_file::KnownFile;

/// Largest number of bins of all pairs of species together. A checkpoint can hold no more.
const MOST_CLASSES: u64 = 40_000;

/// `output.rdf`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rdf {
    /// Steps between two samples.
    #[schemars(range(min = 1), extend("$comment" = SAMPLES))]
    pub every: u64,
    /// Number of distance bins.
    #[serde(default = "number::<200>")]
    #[schemars(range(min = 1), extend("$comment" = "number of classes of distances"))]
    pub bins: u64,
    /// Largest distance, at most half of each periodic side of the box; the default is the cutoff.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "a distance, for example 5.0"))]
    pub max: Option<f64>,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Rdf {
    /// Kind of this analysis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "rdf",
        files: &[KnownFile::new("rdf.csv")],
        columns: Self::columns,
        quantities: &[
            Quantity { columns: "g", title: "Radial distribution function g(r)", unit: "" },
            Quantity { columns: "n", title: "Neighbours within r", unit: "" },
        ],
    };

    fn columns(names: &[String]) -> Vec<String> {
        let pairs = || PairCounts::pairs(names.len());
        let column = |kind: &str, [a, b]: [usize; 2]| format!("{kind}_{}_{}", names[a], names[b]);
        let both_orders = pairs().flat_map(|[a, b]| [Some([a, b]), (a != b).then_some([b, a])]).flatten();
        let mut columns = vec!["r".to_owned()];
        columns.extend(pairs().map(|pair| column("g", pair)));
        columns.extend(both_orders.map(|pair| column("n", pair)));
        columns.extend(pairs().map(|pair| column("error", pair)));
        columns
    }
}

impl AnalysisSettings for Rdf {
    fn keys(&self) -> AnalysisKeys {
        AnalysisKeys::new(&Self::KIND, self.every, self.start)
    }

    fn check(&self, particles: &Particles) -> Checked {
        let pairs = (particles.species * (particles.species + 1) / 2).max(1) as u64;
        if self.bins > MOST_CLASSES / pairs {
            let message = format!(
                "`output.rdf.bins` is {}, for each of {pairs} pairs of species: more than {MOST_CLASSES} classes",
                self.bins
            );
            let help = format!("at most {}", MOST_CLASSES / pairs);
            return Err(Finding::new("output.rdf.bins", message, help));
        }
        Ok(())
    }
}
