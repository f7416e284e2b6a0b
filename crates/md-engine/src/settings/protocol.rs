//! Choice of the protocol by which pairs of particles of different ranks get their forces.

use md_core::{CellGrid, Dimension};

use crate::error::EngineError;

/// How pairs of particles of different ranks get their forces (Matthey and Hansen 2000).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Protocol {
    /// Ghosts, by any backend.
    #[default]
    One,
    /// Whole rows to the neighbour and back, two-sided; for `stripe`.
    Simple,
    /// Cells on request, two-sided.
    Dist,
}

impl Protocol {
    /// All protocols, in the order of their declaration.
    pub const ALL: &'static [Self] = &[Self::One, Self::Simple, Self::Dist];

    /// Least number of rows (layers in three dimensions) per rank for `simple`: the first row is
    /// away while the last is computed with.
    pub const ROWS_OF_SIMPLE: usize = 2;

    /// Checks that there are enough rows of cells for the ranks.
    pub(crate) fn check_rows(self, grid: &CellGrid, ranks: usize) -> Result<(), EngineError> {
        let (last, rows) = match grid.domain().dimension {
            Dimension::Two => (1, "rows"),
            Dimension::Three => (2, "layers"),
        };
        let (count, least) = (grid.counts()[last] as usize, Self::ROWS_OF_SIMPLE * ranks);
        if self != Self::Simple || ranks == 1 || count >= least {
            return Ok(());
        }
        let what = format!(
            "the protocol `simple` needs {least} {rows} of cells for {ranks} ranks, {} for each, but there are {count}",
            Self::ROWS_OF_SIMPLE
        );
        Err(EngineError::Config(what))
    }

    /// Returns the name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Simple => "simple",
            Self::Dist => "dist",
        }
    }
}
