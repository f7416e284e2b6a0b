//! Import shells: who computes a pair of adjacent cells, and therefore which cells a rank imports.
//!
//! A shell is a list of [`PairRule`]s anchored at each cell a rank owns: "compute the pairs between the cells at
//! offset `a` and at offset `b`". All cells named that are not owned are imported; that is the whole definition, and
//! the halo plan, the kernels' work and the force return follow from it.
//!
//! | shell | rules at the anchor | imports | forces |
//! | --- | --- | --- | --- |
//! | full | itself with each of the 26 around it | 26 | stay: every rank computes all pairs of its own particles |
//! | half | itself with the 13 *forward* ones | 13 | return to the owner |
//! | eighth | all pairs of cells of which it is the base corner | 7 | return to the owners; pairs of two ghosts included |
//!
//! A cell is forward of another if it comes later in storage order (z, then y, then x).

use crate::domain::Dimension;
use crate::grid::{Cell, storage_order};

/// Which neighbouring cells are imported.
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
    // The base corner is the component-wise lower cell (Liem, Brown & Clarke 1991; the default of GROMACS). Least to
    // import, but pairs of two ghosts are computed here too.
    Eighth,
}

/// Compute the pairs between two cells at these offsets from an owned anchor cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairRule {
    /// Offset of the cell whose particles are taken one by one.
    pub a: Cell,
    /// Offset of the cell they meet.
    pub b: Cell,
}

/// Whether the third law is applied across ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceReturn {
    /// Forces on ghosts are sent back to the owner and added.
    Needed,
    /// Forces on ghosts are not computed.
    None,
}

impl Shell {
    /// All of them, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The rules around one anchor, in storage order of the partner; the cell with itself comes first.
    pub fn rules(self, dimension: Dimension) -> Vec<PairRule> {
        let origin = [0; 3];
        let mut offsets = neighbours(dimension);
        if self != Self::Full {
            offsets.retain(is_forward);
        }
        let rule = |offset: Cell| match self {
            Self::Full | Self::Half => PairRule { a: origin, b: offset },
            // The lower cell of each dimension is the anchor's.
            Self::Eighth => PairRule { a: offset.map(|d| (-d).max(0)), b: offset.map(|d| d.max(0)) },
        };
        std::iter::once(origin).chain(offsets).map(rule).collect()
    }

    /// Offsets of the cells that a rank needs around each of its own.
    pub fn offsets(self, dimension: Dimension) -> Vec<Cell> {
        let mut offsets: Vec<Cell> = self.rules(dimension).iter().flat_map(|rule| [rule.a, rule.b]).collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.retain(|offset| *offset != [0; 3]);
        offsets
    }

    /// The cell whose owner computes the pairs of two adjacent cells, where forces return.
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

    /// Whether forces on ghosts return.
    pub fn force_return(self) -> ForceReturn {
        match self {
            Self::Full => ForceReturn::None,
            Self::Half | Self::Eighth => ForceReturn::Needed,
        }
    }
}

/// Whether the offset leads to a later cell in storage order.
pub fn is_forward(offset: &Cell) -> bool {
    storage_order(offset) > [0; 3]
}

/// The 26 (in two dimensions: 8) offsets to adjacent cells in storage order.
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
