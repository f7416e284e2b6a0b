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
//!
//! A cell is forward of another if it comes later in storage order (z, then y, then x).

use crate::grid::{Cell, storage_order};

/// An import shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// Import all neighbours, compute pairs across ranks twice, return nothing.
    Full,
    /// Import forward neighbours, compute every pair once, return forces.
    Half,
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
    /// The rules around one anchor, in storage order of the partner; the cell with itself comes first.
    pub fn rules(self, flat: bool) -> Vec<PairRule> {
        let origin = [0; 3];
        let mut offsets = neighbours(flat);
        if self == Self::Half {
            offsets.retain(is_forward);
        }
        std::iter::once(origin).chain(offsets).map(|b| PairRule { a: origin, b }).collect()
    }

    /// Whether forces on ghosts return.
    pub fn force_return(self) -> ForceReturn {
        match self {
            Self::Full => ForceReturn::None,
            Self::Half => ForceReturn::Needed,
        }
    }
}

/// Whether the offset leads to a later cell in storage order.
pub fn is_forward(offset: &Cell) -> bool {
    storage_order(offset) > [0; 3]
}

/// The 26 (flat: 8) offsets to adjacent cells in storage order.
pub fn neighbours(flat: bool) -> Vec<Cell> {
    let layers = if flat { 0..=0 } else { -1..=1 };
    let rows = layers.flat_map(|z| (-1..=1).map(move |y| (y, z)));
    rows.flat_map(|(y, z)| (-1..=1).map(move |x| [x, y, z])).filter(|offset| *offset != [0; 3]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_numbers() {
        assert_eq!(Shell::Full.rules(false).len(), 27);
        assert_eq!(Shell::Half.rules(false).len(), 14);
        assert_eq!(Shell::Full.rules(true).len(), 9);
        assert_eq!(Shell::Half.rules(true).len(), 5);
    }

    #[test]
    fn of_each_offset_and_its_opposite_one_is_forward() {
        assert!(neighbours(false).iter().all(|o| is_forward(o) != is_forward(&o.map(|c| -c))));
    }
}
