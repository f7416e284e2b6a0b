//! Import shells: the rules that assign each pair of adjacent cells to a rank, and therefore
//! determine which cells a rank imports.
//!
//! A shell is a list of [`PairRule`]s, which are applied at each cell that a rank owns (the
//! anchor): "compute the pairs between the cells at offset `a` and at offset `b`". Every cell in a
//! rule that the rank does not own is imported. The halo plan, the work of the kernels and the
//! force return all follow from these rules.
//!
//! | shell | rules at the anchor | imports | forces |
//! | --- | --- | --- | --- |
//! | full | the anchor with each of the 26 cells around it | 26 | stay: every rank computes all pairs of its own particles |
//! | half | the anchor with its 13 *forward* neighbours | 13 | return to the owner |
//! | eighth | all pairs of cells whose base corner is the anchor | 7 | return to the owners; includes pairs of two ghosts |
//!
//! A cell is forward of another if it comes later in storage order (z, then y, then x).

use crate::domain::Dimension;
use crate::grid::{Cell, storage_order};

/// Set of neighbouring cells to import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::VariantArray)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Shell {
    /// All 26; every rank computes all pairs of its particles; no forces return.
    Full,
    /// 13; the owner of the lower cell computes, forces return.
    #[default]
    Half,
    /// 7; the owner of the base corner computes, forces return.
    // The base corner is the component-wise lower cell (Liem, Brown & Clarke 1991; the default of
    // GROMACS). This shell imports the fewest cells, but also computes pairs of two ghosts.
    Eighth,
}

/// Rule to compute the pairs between two cells, given by their offsets from an owned anchor cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairRule {
    /// Offset of the cell over whose particles the outer loop runs.
    pub a: Cell,
    /// Offset of the other cell.
    pub b: Cell,
}

/// Whether Newton's third law is applied across ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceReturn {
    /// Forces on ghosts are sent back to the owner and added.
    Needed,
    /// Forces on ghosts are not computed.
    None,
}

/// ```
/// use md_core::{Dimension, Shell};
///
/// // Cells that a rank with one cell imports.
/// let imports = |shell: Shell| shell.offsets(Dimension::Three).len();
/// assert_eq!([Shell::Full, Shell::Half, Shell::Eighth].map(imports), [26, 13, 7]);
/// // Rules: the pairs inside the cell, and half of its pairs with the 26 cells around it.
/// assert_eq!(Shell::Half.rules(Dimension::Three).len(), 1 + 26 / 2);
/// ```
impl Shell {
    /// All shells, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the rules at one anchor, in storage order of the partner. The pairs within the
    /// anchor come first.
    pub fn rules(self, dimension: Dimension) -> Vec<PairRule> {
        let origin = [0; 3];
        let mut offsets = neighbours(dimension);
        if self != Self::Full {
            offsets.retain(is_forward);
        }
        let rule = |offset: Cell| match self {
            Self::Full | Self::Half => PairRule { a: origin, b: offset },
            // In each dimension the lower cell lies at the anchor's coordinate.
            Self::Eighth => PairRule { a: offset.map(|d| (-d).max(0)), b: offset.map(|d| d.max(0)) },
        };
        std::iter::once(origin).chain(offsets).map(rule).collect()
    }

    /// Returns the offsets of the cells that a rank needs around each of its own.
    pub fn offsets(self, dimension: Dimension) -> Vec<Cell> {
        let mut offsets: Vec<Cell> = self.rules(dimension).iter().flat_map(|rule| [rule.a, rule.b]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.retain(|offset| *offset != [0; 3]);
        offsets
    }

    /// Returns the cell whose owner computes the pairs of two adjacent cells, for shells that
    /// return forces.
    pub fn anchor_of(self, a: Cell, b: Cell) -> Cell {
        match self {
            Self::Full | Self::Half => {
                if storage_order(&a) <= storage_order(&b) {
                    a
                } else {
                    b
                }
            }
            Self::Eighth => [0, 1, 2].map(|dim| a[dim].min(b[dim])),
        }
    }

    /// Returns whether forces on ghosts are sent back to their owners.
    pub fn force_return(self) -> ForceReturn {
        match self {
            Self::Full => ForceReturn::None,
            Self::Half | Self::Eighth => ForceReturn::Needed,
        }
    }
}

/// Returns whether the offset leads to a later cell in storage order.
pub fn is_forward(offset: &Cell) -> bool {
    storage_order(offset) > [0; 3]
}

/// Returns the 26 (in two dimensions 8) offsets to adjacent cells in storage order.
pub fn neighbours(dimension: Dimension) -> Vec<Cell> {
    let layers = match dimension {
        Dimension::Two => 0..=0,
        Dimension::Three => -1..=1,
    };
    let rows = layers.flat_map(|z| (-1..=1).map(move |y| (y, z)));
    rows.flat_map(|(y, z)| (-1..=1).map(move |x| [x, y, z])).filter(|offset| *offset != [0; 3]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_numbers() {
        assert_eq!(Shell::Full.rules(Dimension::Three).len(), 27);
        assert_eq!(Shell::Half.rules(Dimension::Three).len(), 14);
        assert_eq!(Shell::Full.rules(Dimension::Two).len(), 9);
        assert_eq!(Shell::Half.rules(Dimension::Two).len(), 5);
        for (shell, dimension, imports) in [
            (Shell::Full, Dimension::Three, 26),
            (Shell::Half, Dimension::Three, 13),
            (Shell::Eighth, Dimension::Three, 7),
            (Shell::Eighth, Dimension::Two, 3),
        ] {
            assert_eq!(shell.offsets(dimension).len(), imports, "{shell:?}");
        }
    }

    #[test]
    fn of_each_offset_and_its_opposite_one_is_forward() {
        assert!(neighbours(Dimension::Three).iter().all(|o| is_forward(o) != is_forward(&o.map(|c| -c))));
    }
}
