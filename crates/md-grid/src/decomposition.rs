//! The global grid, and which rank owns which of its nodes.
//!
//! Every axis is cut by itself: rank (a, b, c) of a grid of px x py x pz ranks owns the a-th part of the x axis, the b-th of y and
//! the c-th of z. Parts of an axis differ by at most one node; the longer ones come first. Ranks are numbered with z
//! fastest, so that neighbours along z are most likely to share a machine.

use md_comm::Rank;
use md_core::words::counted;

use crate::GridError;

/// Where another rank lies, in steps along x, y and z: each -1, 0 or 1.
pub type Offset = [i8; 3];

/// What lies beyond a pair of opposite faces of the global grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Edges {
    /// The opposite face.
    #[default]
    Periodic,
    /// Nothing: ghosts there are the application's.
    Open,
}

/// The nodes of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Global indices of the first node.
    pub origin: [usize; 3],
    /// Nodes along each axis.
    pub size: [usize; 3],
}

/// A global grid divided among the ranks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decomposition {
    nodes: [usize; 3],
    ranks: [usize; 3],
    edges: [Edges; 3],
}

impl Decomposition {
    /// Divides `nodes` among `ranks`: as `grid` says, or so that the largest block has the least surface.
    ///
    /// # Errors
    /// [`GridError::Shape`] for an axis without nodes, a grid of another number of ranks, or more ranks along an axis than nodes.
    pub fn new(
        nodes: [usize; 3],
        ranks: usize,
        grid: Option<[usize; 3]>,
        edges: [Edges; 3],
    ) -> Result<Self, GridError> {
        Self::with_fixed_axes(nodes, ranks, grid, edges, [false; 3])
    }

    /// The same, but where the grid of ranks is chosen, axes that are `whole` are not cut.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_fixed_axes(
        nodes: [usize; 3],
        ranks: usize,
        grid: Option<[usize; 3]>,
        edges: [Edges; 3],
        whole: [bool; 3],
    ) -> Result<Self, GridError> {
        if nodes.contains(&0) {
            return Err(GridError::Shape(format!("a grid of {} nodes has an axis without any", text(nodes))));
        }
        let grid = match grid {
            Some(grid) => grid,
            None => least_surface(nodes, ranks, whole).ok_or_else(|| {
                GridError::Shape(format!(
                    "{} nodes cannot be divided among {}",
                    text(nodes),
                    counted(ranks, "rank")
                ))
            })?,
        };
        if grid.iter().try_fold(1usize, |product, &count| product.checked_mul(count)) != Some(ranks) {
            return Err(GridError::Shape(format!(
                "a grid of {} ranks is not {}",
                text(grid),
                counted(ranks, "rank")
            )));
        }
        if let Some(axis) = (0..3).find(|&axis| grid[axis] > nodes[axis]) {
            return Err(GridError::Shape(format!(
                "{} along {} cannot be divided among {} ranks",
                counted(nodes[axis], "node"),
                AXES[axis],
                grid[axis]
            )));
        }
        Ok(Self { nodes, ranks: grid, edges })
    }

    /// As many blocks of one size as there are ranks (weak scaling): in a grid of ranks as given, or as even as possible along the axes
    /// that are not `whole`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_blocks(
        block: [usize; 3],
        ranks: usize,
        grid: Option<[usize; 3]>,
        edges: [Edges; 3],
        whole: [bool; 3],
    ) -> Result<Self, GridError> {
        let grid = grid.or_else(|| most_even(ranks, whole)).ok_or_else(|| {
            GridError::Shape(format!("{ranks} ranks need at least one axis that may be divided"))
        })?;
        let mut nodes = [0; 3];
        for axis in 0..3 {
            nodes[axis] = block[axis].checked_mul(grid[axis]).ok_or_else(|| {
                GridError::Shape(format!("{} nodes on each of {ranks} ranks are too many", text(block)))
            })?;
        }
        Self::new(nodes, ranks, Some(grid), edges)
    }

    /// Nodes of the global grid.
    pub fn nodes(&self) -> [usize; 3] {
        self.nodes
    }

    /// Ranks along each axis.
    pub fn ranks(&self) -> [usize; 3] {
        self.ranks
    }

    /// What lies beyond the faces.
    pub fn edges(&self) -> [Edges; 3] {
        self.edges
    }

    /// Where a rank stands in the grid of ranks.
    pub fn coordinates(&self, rank: Rank) -> [usize; 3] {
        let [_, py, pz] = self.ranks;
        [rank / (py * pz), rank / pz % py, rank % pz]
    }

    /// The nodes of a rank.
    pub fn block(&self, rank: Rank) -> Block {
        let coordinates = self.coordinates(rank);
        let part = |axis: usize| part(self.nodes[axis], self.ranks[axis], coordinates[axis]);
        let parts = [part(0), part(1), part(2)];
        Block { origin: parts.map(|(origin, _)| origin), size: parts.map(|(_, size)| size) }
    }

    /// The rank that lies at an offset from another: perhaps the same one; none beyond an open face.
    pub fn neighbour(&self, rank: Rank, offset: Offset) -> Option<Rank> {
        let mut at = self.coordinates(rank);
        for axis in 0..3 {
            let count = self.ranks[axis];
            let moved = at[axis].checked_add_signed(offset[axis].into()).filter(|&moved| moved < count);
            at[axis] = match (moved, self.edges[axis]) {
                (Some(inside), _) => inside,
                (None, Edges::Open) => return None,
                (None, Edges::Periodic) if offset[axis] < 0 => count - 1,
                (None, Edges::Periodic) => 0,
            };
        }
        Some((at[0] * self.ranks[1] + at[1]) * self.ranks[2] + at[2])
    }

    /// Whether ghosts along an axis are filled by the exchange, on every rank that is not at an open face.
    pub fn has_neighbours(&self, axis: usize) -> bool {
        self.ranks[axis] > 1 || self.edges[axis] == Edges::Periodic
    }

    /// Checks that every rank has as many nodes as its neighbours read of it.
    ///
    /// # Errors
    /// [`GridError::Shape`] names the axis.
    pub fn expect_depth(&self, depth: [usize; 3]) -> Result<(), GridError> {
        for axis in (0..3).filter(|&axis| self.has_neighbours(axis)) {
            let thinnest = self.nodes[axis] / self.ranks[axis];
            if thinnest < depth[axis] {
                return Err(GridError::Shape(format!(
                    "{} along {} on {} leave {thinnest} for one, fewer than the {} that its neighbours need: \
                     take fewer ranks along {}, or more nodes",
                    counted(self.nodes[axis], "node"),
                    AXES[axis],
                    counted(self.ranks[axis], "rank"),
                    depth[axis],
                    AXES[axis]
                )));
            }
        }
        Ok(())
    }
}

pub(crate) const AXES: [char; 3] = ['x', 'y', 'z'];

/// The `index`-th of `parts` parts of an axis: its first node and its length.
fn part(nodes: usize, parts: usize, index: usize) -> (usize, usize) {
    let (length, longer) = (nodes / parts, nodes % parts);
    (index * length + index.min(longer), length + usize::from(index < longer))
}

/// "4 x 2 x 1".
pub(crate) fn text(counts: [usize; 3]) -> String {
    counts.map(|count| count.to_string()).join(" x ")
}

/// All grids of so many ranks that leave axes whole.
fn grids(ranks: usize, whole: [bool; 3]) -> impl Iterator<Item = [usize; 3]> {
    let divisors = |of: usize| (1..=of).filter(move |count| of.is_multiple_of(*count));
    let grids =
        divisors(ranks).flat_map(move |px| divisors(ranks / px).map(move |py| [px, py, ranks / px / py]));
    grids.filter(move |grid| (0..3).all(|axis| grid[axis] == 1 || !whole[axis]))
}

/// As `MPI_Dims_create` has it: of equals the one that leaves z, then y, shorter.
fn most_even(ranks: usize, whole: [bool; 3]) -> Option<[usize; 3]> {
    grids(ranks, whole).min_by_key(|grid| (grid.iter().sum::<usize>(), grid[2], grid[1]))
}

/// What a node of a face costs that is cut off by a cut along x, y, z: those of the last are read and written one by one, from a cache
/// line of eight numbers each.
const FACE_COSTS: [u128; 3] = [1, 1, 8];

/// The grid of ranks whose largest block has the cheapest surface towards other ranks; of equals the one that leaves z, then y, whole.
fn least_surface(nodes: [usize; 3], ranks: usize, whole: [bool; 3]) -> Option<[usize; 3]> {
    let fits = |grid: &[usize; 3]| (0..3).all(|axis| grid[axis] <= nodes[axis]);
    let surface = |grid: &[usize; 3]| -> u128 {
        let size = [0, 1, 2].map(|axis| nodes[axis].div_ceil(grid[axis]) as u128);
        let cut = (0..3).filter(|&axis| grid[axis] > 1);
        cut.map(|axis| FACE_COSTS[axis] * size[(axis + 1) % 3] * size[(axis + 2) % 3]).sum()
    };
    grids(ranks, whole).filter(fits).min_by_key(|grid| (surface(grid), grid[2], grid[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORUS: [Edges; 3] = [Edges::Periodic; 3];

    #[test]
    fn blocks_cover_every_node_once_and_differ_by_one() {
        let grid = Decomposition::new([7, 5, 3], 12, Some([3, 2, 2]), TORUS).unwrap();
        let mut seen = vec![0; 7 * 5 * 3];
        for rank in 0..12 {
            let Block { origin, size } = grid.block(rank);
            for x in origin[0]..origin[0] + size[0] {
                for y in origin[1]..origin[1] + size[1] {
                    (origin[2]..origin[2] + size[2]).for_each(|z| seen[(x * 5 + y) * 3 + z] += 1);
                }
            }
        }
        assert!(seen.iter().all(|&count| count == 1));
        assert_eq!(grid.block(0).size, [3, 3, 2]);
        assert_eq!(grid.block(11).size, [2, 2, 1]);
    }

    #[test]
    fn neighbours_find_each_other() {
        let edges = [Edges::Periodic, Edges::Open, Edges::Periodic];
        let grid = Decomposition::new([8, 8, 8], 12, Some([3, 2, 2]), edges).unwrap();
        for rank in 0..12 {
            for offset in [[1, 0, 0], [1, -1, 0], [-1, 1, 1], [0, 0, 1]] {
                let back = offset.map(|step: i8| -step);
                if let Some(peer) = grid.neighbour(rank, offset) {
                    assert_eq!(grid.neighbour(peer, back), Some(rank));
                }
            }
        }
        assert_eq!(grid.neighbour(0, [0, -1, 0]), None);
        assert_eq!(grid.neighbour(0, [-1, 0, -1]), Some(9));
    }

    #[test]
    fn the_chosen_grid_has_the_cheapest_surface() {
        let chosen = |nodes, ranks| Decomposition::new(nodes, ranks, None, TORUS).unwrap().ranks();
        // As much surface as 2 x 2 x 2, and rows stay whole.
        assert_eq!(chosen([64, 64, 64], 8), [4, 2, 1]);
        // 3 x 3 x 3 has less of it, across rows.
        assert_eq!(chosen([64, 64, 64], 27), [9, 3, 1]);
        assert_eq!(chosen([64, 64, 64], 2), [2, 1, 1]);
        assert_eq!(chosen([16, 16, 256], 2), [1, 1, 2]);
        assert_eq!(chosen([2, 2, 2], 1), [1, 1, 1]);
        let columns = [false, false, true];
        let of_columns = Decomposition::with_fixed_axes([16, 16, 256], 8, None, TORUS, columns).unwrap();
        assert_eq!(of_columns.ranks(), [4, 2, 1]);
    }

    #[test]
    fn what_cannot_be_divided_is_an_error() {
        let error =
            |nodes, ranks, grid| Decomposition::new(nodes, ranks, grid, TORUS).unwrap_err().to_string();
        assert_eq!(error([0, 1, 1], 1, None), "a grid of 0 x 1 x 1 nodes has an axis without any");
        assert_eq!(error([2, 2, 1], 5, None), "2 x 2 x 1 nodes cannot be divided among 5 ranks");
        assert_eq!(error([8, 8, 8], 4, Some([3, 1, 1])), "a grid of 3 x 1 x 1 ranks is not 4 ranks");
        assert_eq!(error([2, 8, 8], 4, Some([4, 1, 1])), "2 nodes along x cannot be divided among 4 ranks");
        let thin = Decomposition::new([7, 8, 8], 4, Some([4, 1, 1]), TORUS).unwrap();
        let expected = "7 nodes along x on 4 ranks leave 1 for one, fewer than the 2 that its neighbours need: take fewer ranks \
                        along x, or more nodes";
        assert_eq!(thin.expect_depth([2, 2, 2]).unwrap_err().to_string(), expected);
    }
}
