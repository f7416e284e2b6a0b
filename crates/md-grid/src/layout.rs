//! Memory layout of the nodes of a rank, and boxes of nodes.
//!
//! ```text
//! component 0  | padding | row (x, y) = (-d, -d) | row (-d, -d + 1) | ...
//! component 1  | padding | ...
//! row          | ghosts of z | own nodes | ghosts of z | padding
//! ```
//!
//! z varies fastest, components slowest (structure of arrays). Rows are padded to whole cache
//! lines, and the first row of a component starts inside a line, so that the first own node of
//! every row starts a line: an aligned vector of own nodes then occupies one line, not parts of
//! two. The distance between components is a few lines more than whole pages, so that a kernel that
//! reads many of them at one node does not map them all to one set of the first-level cache.

use crate::GridError;
use crate::decomposition::text;

/// Bytes of a cache line; row lengths are multiples of it.
const LINE_BYTES: usize = 64;

/// Maximum number of values in a cache line.
pub(crate) const LINE: usize = LINE_BYTES / size_of::<f32>();

/// Numbers in a page of 4-byte numbers.
const PAGE: usize = 1024;

/// Numbers by which the distance between two components differs from whole pages.
const SKEW: usize = 3 * LINE;

/// Own nodes of a rank and the ghosts around them. Node indices are relative to the first own node:
/// ghosts have indices from `-depth` to -1, and from `size` to `size + depth - 1`.
///
/// ```
/// use md_grid::{GridError, Layout};
///
/// let layout = Layout::new([4, 5, 6], [1, 1, 2], size_of::<f64>())?;
/// assert_eq!(layout.own_nodes(), 4 * 5 * 6);
/// assert_eq!(layout.ghost_nodes(), 6 * 7 * 10 - 4 * 5 * 6);
/// // Nodes that are adjacent along z are adjacent in memory.
/// assert_eq!(layout.index([0, 0, 1]), layout.index([0, 0, 0]) + 1);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    size: [usize; 3],
    depth: [usize; 3],
    /// Numbers per cache line.
    line: usize,
    /// Numbers before the first row.
    lead: usize,
    row: usize,
    component: usize,
}

impl Layout {
    /// Creates a layout of `size` own nodes with `depth` layers of ghosts on both sides of each
    /// axis, for numbers of 4 or 8 bytes.
    ///
    /// # Errors
    /// [`GridError::Shape`] if there are more nodes than can be counted.
    pub fn new(size: [usize; 3], depth: [usize; 3], number_bytes: usize) -> Result<Self, GridError> {
        let line = LINE_BYTES / number_bytes;
        let too_many = || GridError::Shape(format!("{} nodes are more than a rank can hold", text(size)));
        let length = |axis: usize| depth[axis].checked_mul(2)?.checked_add(size[axis]);
        let lengths = || Some([length(0)?, length(1)?, length(2)?]);
        let [x, y, z] = lengths().ok_or_else(too_many)?;
        let row = z.checked_next_multiple_of(line).ok_or_else(too_many)?;
        let rows = x.checked_mul(y).and_then(|rows| rows.checked_mul(row)).ok_or_else(too_many)?;
        let lead = (line - depth[2] % line) % line;
        let component = rows.checked_add(lead).and_then(|numbers| numbers.checked_next_multiple_of(PAGE));
        let component = component.and_then(|pages| pages.checked_add(SKEW));
        let component = component.filter(|&numbers| numbers < usize::MAX >> 16).ok_or_else(too_many)?;
        Ok(Self { size, depth, line, lead, row, component })
    }

    /// Returns the number of own nodes along each axis.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Returns the number of ghost layers on each side of each axis.
    pub fn depth(&self) -> [usize; 3] {
        self.depth
    }

    /// Returns the number of own nodes.
    pub fn own_nodes(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the number of ghost nodes.
    pub fn ghost_nodes(&self) -> usize {
        let all: usize = (0..3).map(|axis| self.size[axis] + 2 * self.depth[axis]).product();
        all - self.own_nodes()
    }

    /// Returns the distance between adjacent nodes along each axis, in numbers.
    pub fn strides(&self) -> [usize; 3] {
        [(self.size[1] + 2 * self.depth[1]) * self.row, self.row, 1]
    }

    /// Returns the numbers per cache line.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Returns the distance between adjacent components, in numbers.
    pub fn component_stride(&self) -> usize {
        self.component
    }

    /// Returns the index of a node in its component.
    #[inline]
    pub fn index(&self, node: [isize; 3]) -> usize {
        let from_start = |axis: usize| {
            let place = node[axis] + self.depth[axis] as isize;
            debug_assert!(
                place >= 0 && (place as usize) < self.size[axis] + 2 * self.depth[axis],
                "node {node:?} is not in {self:?}"
            );
            place as usize
        };
        let [x, y, _] = self.strides();
        self.lead + from_start(0) * x + from_start(1) * y + from_start(2)
    }

    /// Converts a region to index ranges.
    pub fn resolve(&self, region: Region) -> Bounds {
        let part = |axis: usize| region.0[axis].resolve(self.size[axis] as isize, self.depth[axis] as isize);
        let [x, y, z] = [part(0), part(1), part(2)];
        Bounds { low: [x.0, y.0, z.0], high: [x.1, y.1, z.1] }
    }
}

/// Box of nodes of a rank, from `low` to below `high`; ghosts have indices below 0 or at least
/// `size`.
///
/// ```
/// use md_grid::{Bounds, GridError, Layout, Region};
///
/// let layout = Layout::new([4, 5, 6], [1, 1, 2], size_of::<f64>())?;
/// let all = layout.resolve(Region::ALL);
/// assert_eq!(all, Bounds { low: [-1, -1, -2], high: [5, 6, 8] });
/// assert_eq!((all.length(2), all.rows().count()), (10, 6 * 7));
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// First node along each axis.
    pub low: [isize; 3],
    /// First node beyond the box along each axis.
    pub high: [isize; 3],
}

impl Bounds {
    /// Returns the number of nodes along an axis.
    pub fn length(&self, axis: usize) -> usize {
        usize::try_from(self.high[axis] - self.low[axis]).unwrap_or(0)
    }

    /// Returns the number of nodes in the box.
    pub fn nodes(&self) -> usize {
        (0..3).map(|axis| self.length(axis)).product()
    }

    /// Returns the first node of every row along z.
    pub fn rows(self) -> impl Iterator<Item = [isize; 3]> + Clone {
        let Self { low, high } = self;
        (low[0]..high[0]).flat_map(move |x| (low[1]..high[1]).map(move |y| [x, y, low[2]]))
    }
}

/// Part of an axis, defined independently of the size of the block.
///
/// ```
/// use md_grid::{GridError, Layout, Region, Span};
///
/// let layout = Layout::new([4, 1, 1], [2, 0, 0], size_of::<f64>())?;
/// let along_x = |span| {
///     let bounds = layout.resolve(Region([span, Span::Own, Span::Own]));
///     bounds.low[0]..bounds.high[0]
/// };
/// assert_eq!(along_x(Span::LowGhosts(2)), -2..0);
/// assert_eq!(along_x(Span::HighOwn(2)), 2..4);
/// assert_eq!(along_x(Span::WithGhosts), -2..6);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// All own nodes.
    Own,
    /// All own nodes and all ghosts.
    WithGhosts,
    /// The given number of ghosts next to the first own node.
    LowGhosts(usize),
    /// The given number of own nodes, from the first one.
    LowOwn(usize),
    /// The given number of own nodes, up to the last one.
    HighOwn(usize),
    /// The given number of ghosts next to the last own node.
    HighGhosts(usize),
    /// All own nodes except the given number at the start.
    OwnFrom(usize),
    /// All own nodes except the given number at the end.
    OwnUpTo(usize),
    /// The range of own nodes shifted by the given number of nodes: it contains ghosts at one end
    /// and leaves out own nodes at the other.
    Moved(i8),
}

impl Span {
    /// Returns the first index and the first index beyond.
    fn resolve(self, size: isize, depth: isize) -> (isize, isize) {
        match self {
            Self::Own => (0, size),
            Self::WithGhosts => (-depth, size + depth),
            Self::LowGhosts(count) => (-(count as isize), 0),
            Self::LowOwn(count) => (0, count as isize),
            Self::HighOwn(count) => (size - count as isize, size),
            Self::HighGhosts(count) => (size, size + count as isize),
            Self::OwnFrom(count) => (count as isize, size),
            Self::OwnUpTo(count) => (0, size - count as isize),
            Self::Moved(step) => (isize::from(step), size + isize::from(step)),
        }
    }
}

/// Box of nodes, given by a part of each axis.
///
/// ```
/// use md_grid::{GridError, Layout, Region, Span};
///
/// // The lower face perpendicular to z, with the ghosts along x.
/// let layout = Layout::new([4, 5, 6], [1; 3], size_of::<f64>())?;
/// let face = Region([Span::WithGhosts, Span::Own, Span::LowOwn(1)]);
/// assert_eq!(layout.resolve(face).nodes(), 6 * 5);
/// assert_eq!(layout.resolve(Region::OWN).nodes(), layout.own_nodes());
/// # Ok::<(), GridError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region(pub [Span; 3]);

impl Region {
    /// All own nodes.
    pub const OWN: Self = Self([Span::Own; 3]);
    /// All own nodes and all ghosts.
    pub const ALL: Self = Self([Span::WithGhosts; 3]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_start_on_lines_and_components_beside_pages() {
        let layout = Layout::new([3, 4, 5], [1, 2, 2], 4).unwrap();
        assert_eq!(layout.strides(), [8 * 16, 16, 1]);
        assert_eq!(layout.index([-1, -2, -2]), 14);
        assert_eq!(layout.index([0, 0, 0]), 128 + 2 * 16 + 16);
        assert_eq!(layout.component_stride() % PAGE, SKEW);
        assert_eq!((layout.own_nodes(), layout.ghost_nodes()), (60, 5 * 8 * 9 - 60));
        let layout = Layout::new([3, 4, 5], [1, 1, 1], 8).unwrap();
        assert_eq!((layout.strides(), layout.index([-1, -1, 0])), ([6 * 8, 8, 1], 8));
    }

    #[test]
    fn regions_are_boxes_counted_from_the_first_own_node() {
        let layout = Layout::new([3, 4, 5], [1, 2, 2], 4).unwrap();
        let region = Region([Span::LowGhosts(1), Span::HighOwn(2), Span::WithGhosts]);
        let bounds = layout.resolve(region);
        assert_eq!(bounds, Bounds { low: [-1, 2, -2], high: [0, 4, 7] });
        assert_eq!(bounds.nodes(), 2 * 9);
        assert_eq!(bounds.rows().collect::<Vec<_>>(), [[-1, 2, -2], [-1, 3, -2]]);
        assert_eq!(layout.resolve(Region::OWN).nodes(), layout.own_nodes());
    }

    #[test]
    fn more_nodes_than_can_be_counted_are_an_error() {
        let error = Layout::new([usize::MAX, 1, 1], [1, 0, 0], 8).unwrap_err().to_string();
        assert_eq!(error, "18446744073709551615 x 1 x 1 nodes are more than a rank can hold");
    }
}
