//! Global grid, and the division of its nodes among the ranks.
//!
//! Every axis is divided independently: rank (a, b, c) of a grid of px x py x pz ranks owns the
//! a-th part of the x axis, the b-th of y and the c-th of z. Parts of an axis differ by at most one
//! node; the longer ones come first. Rank numbers vary fastest along z, so that neighbours along z
//! are most likely to share a machine.

use md_comm::Rank;
use md_core::words::counted;

use crate::GridError;

/// Position of another rank relative to this one, in steps of -1, 0 or 1 along x, y and z.
///
/// ```
/// use md_grid::Offset;
///
/// // The neighbours across a face differ from the rank along one axis.
/// let is_face = |offset: &Offset| offset.iter().filter(|&&step| step != 0).count() == 1;
/// assert!(is_face(&[0, -1, 0]) && !is_face(&[1, -1, 0]));
/// ```
pub type Offset = [i8; 3];

/// Boundary condition at a pair of opposite faces of the global grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Edges {
    /// The grid continues at the opposite face.
    #[default]
    Periodic,
    /// The grid ends there: the application sets the ghosts.
    Open,
}

/// Nodes of one rank.
///
/// ```
/// use md_grid::{Block, Decomposition, Edges, GridError};
///
/// // Ten nodes on three ranks: four, three and three.
/// let line = Decomposition::new([10, 1, 1], 3, None, [Edges::Open; 3])?;
/// assert_eq!(line.block(0), Block { origin: [0; 3], size: [4, 1, 1] });
/// assert_eq!(line.block(2), Block { origin: [7, 0, 0], size: [3, 1, 1] });
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Global indices of the first node.
    pub origin: [usize; 3],
    /// Nodes along each axis.
    pub size: [usize; 3],
}

/// Global grid divided among the ranks of a run.
///
/// ```
/// use md_grid::{Decomposition, Edges, GridError};
///
/// // A channel that continues along x, on 2 x 2 ranks.
/// let edges = [Edges::Periodic, Edges::Open, Edges::Open];
/// let channel = Decomposition::new([16, 8, 8], 4, Some([2, 2, 1]), edges)?;
/// assert_eq!(channel.block(0).size, [8, 4, 8]);
/// // Beyond the upper end along x, rank 2 finds rank 0; below the lower end along y, no rank.
/// assert_eq!(channel.coordinates(2), [1, 0, 0]);
/// assert_eq!(channel.neighbour(2, [1, 0, 0]), Some(0));
/// assert_eq!(channel.neighbour(2, [0, -1, 0]), None);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decomposition {
    nodes: [usize; 3],
    ranks: [usize; 3],
    edges: [Edges; 3],
}

impl Decomposition {
    /// Divides `nodes` among `ranks`: into the grid of ranks `grid` if given, otherwise so that the
    /// largest block has the smallest surface.
    ///
    /// # Errors
    /// [`GridError::Shape`] if an axis has no nodes, `grid` has a different number of ranks, or an
    /// axis has more ranks than nodes.
    pub fn new(
        nodes: [usize; 3],
        ranks: usize,
        grid: Option<[usize; 3]>,
        edges: [Edges; 3],
    ) -> Result<Self, GridError> {
        Self::with_fixed_axes(nodes, ranks, grid, edges, [false; 3])
    }

    /// Like [`Self::new`], but does not divide `whole` axes when it chooses the grid of ranks.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
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

    /// Gives each rank a block of equal size (weak scaling), in the grid of ranks `grid` if given,
    /// otherwise in one as even as possible along the axes that are not `whole`.
    ///
    /// # Errors
    /// The errors of [`Self::new`]; [`GridError::Shape`] if all axes are `whole`.
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

    /// Returns the nodes of the global grid along each axis.
    pub fn nodes(&self) -> [usize; 3] {
        self.nodes
    }

    /// Returns the number of ranks along each axis.
    pub fn ranks(&self) -> [usize; 3] {
        self.ranks
    }

    /// Returns the boundary conditions at the faces.
    pub fn edges(&self) -> [Edges; 3] {
        self.edges
    }

    /// Returns the coordinates of a rank in the grid of ranks.
    pub fn coordinates(&self, rank: Rank) -> [usize; 3] {
        let [_, py, pz] = self.ranks;
        [rank / (py * pz), rank / pz % py, rank % pz]
    }

    /// Returns the nodes of a rank.
    pub fn block(&self, rank: Rank) -> Block {
        let coordinates = self.coordinates(rank);
        let part = |axis: usize| part(self.nodes[axis], self.ranks[axis], coordinates[axis]);
        let parts = [part(0), part(1), part(2)];
        Block { origin: parts.map(|(origin, _)| origin), size: parts.map(|(_, size)| size) }
    }

    /// Returns the rank at an offset from another, which may be that rank itself, or `None` beyond
    /// an open face.
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

    /// Returns whether the exchange fills the ghosts along an axis, on every rank that is not at an
    /// open face.
    pub fn has_neighbours(&self, axis: usize) -> bool {
        self.ranks[axis] > 1 || self.edges[axis] == Edges::Periodic
    }

    /// Checks that every rank has at least as many nodes as its neighbours read.
    ///
    /// # Errors
    /// [`GridError::Shape`], which names the axis.
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

/// Returns the first node and the length of the `index`-th of `parts` parts of an axis.
fn part(nodes: usize, parts: usize, index: usize) -> (usize, usize) {
    let (length, longer) = (nodes / parts, nodes % parts);
    (index * length + index.min(longer), length + usize::from(index < longer))
}

/// Formats three counts as "4 x 2 x 1".
pub(crate) fn text(counts: [usize; 3]) -> String {
    counts.map(|count| count.to_string()).join(" x ")
}

/// Returns all grids of `ranks` ranks that do not divide `whole` axes.
fn grids(ranks: usize, whole: [bool; 3]) -> impl Iterator<Item = [usize; 3]> {
    let divisors = |of: usize| (1..=of).filter(move |count| of.is_multiple_of(*count));
    let grids =
        divisors(ranks).flat_map(move |px| divisors(ranks / px).map(move |py| [px, py, ranks / px / py]));
    grids.filter(move |grid| (0..3).all(|axis| grid[axis] == 1 || !whole[axis]))
}

/// Returns the most even grid of ranks, like `MPI_Dims_create`; among equals the one with fewest
/// ranks along z, then y.
fn most_even(ranks: usize, whole: [bool; 3]) -> Option<[usize; 3]> {
    grids(ranks, whole).min_by_key(|grid| (grid.iter().sum::<usize>(), grid[2], grid[1]))
}

/// Cost per node of a face from a cut along x, y or z. Nodes of a z face are read and written one
/// by one, each from its own cache line of eight numbers.
const FACE_COSTS: [u128; 3] = [1, 1, 8];

/// Returns the grid of ranks whose largest block has the cheapest surface towards other ranks;
/// among equals the one with fewest ranks along z, then y.
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
        // Equal in surface to 2 x 2 x 2, but rows are not divided.
        assert_eq!(chosen([64, 64, 64], 8), [4, 2, 1]);
        // 3 x 3 x 3 has a smaller surface, but divides rows.
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
