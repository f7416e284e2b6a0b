//! `output.hash`: hashes of the state of all particles.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AnalysisKeys, AnalysisKind, AnalysisSettings, Particles};
use crate::finding::Checked;
use crate::known_file::KnownFile;

/// `output.hash`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hash {
    /// Steps between two hashes, from step 0.
    #[schemars(range(min = 1), extend("$comment" = "steps between two hashes"))]
    pub every: u64,
}

impl Hash {
    /// Kind of this analysis.
    pub const KIND: AnalysisKind = AnalysisKind {
        key: "hash",
        files: &[KnownFile::new("hash.csv")],
        columns: Self::columns,
        quantities: &[],
    };

    fn columns(_: &[String]) -> Vec<String> {
        ["step", "hash"].map(str::to_owned).into()
    }
}

impl AnalysisSettings for Hash {
    fn keys(&self) -> AnalysisKeys {
        AnalysisKeys::new(&Self::KIND, self.every, Some(0))
    }

    fn check(&self, _: &Particles) -> Checked {
        Ok(())
    }
}
