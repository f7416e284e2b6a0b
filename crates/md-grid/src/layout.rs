//! Where the nodes of a rank lie in memory, and boxes of them.
//!
//! ```text
//! component 0  | padding | row (x, y) = (-d, -d): ghosts of z, own nodes, ghosts of z, padding | row (-d, -d + 1) | ...
//! component 1  | the same
//! ```
//!
//! z runs fastest, components slowest (structure of arrays). Rows are padded to whole cache lines and a component's first row
//! starts inside one, so that the first own node of every row starts a line: a vector of own nodes is then one line and not
//! parts of two. Components are a few lines more than whole pages apart, so that a kernel that reads many of
//! them at one node does not find them all in one set of the first-level cache.

use crate::GridError;
use crate::decomposition::text;

/// Bytes of a cache line: rows are so long, or a multiple.
const LINE_BYTES: usize = 64;

/// The most numbers of a cache line.
pub(crate) const LINE: usize = LINE_BYTES / size_of::<f32>();

/// Numbers in a page of 4-byte numbers.
const PAGE: usize = 1024;

/// Numbers by which the distance between two components differs from whole pages.
const SKEW: usize = 3 * LINE;

/// The own nodes of a rank with ghosts around them. Nodes are counted from the first own one: ghosts have indices from `-depth`
/// to -1, and from `size` to `size + depth - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    size: [usize; 3],
    depth: [usize; 3],
    /// Numbers of a cache line.
    line: usize,
    /// Numbers before the first row.
    lead: usize,
    row: usize,
    component: usize,
}

impl Layout {
    /// A layout of `size` own nodes with `depth` layers of ghosts on both sides of each axis, for numbers of 4 or 8 bytes.
    ///
    /// # Errors
    /// [`GridError::Shape`] for more nodes than can be counted.
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

    /// Own nodes along each axis.
    pub fn size(&self) -> [usize; 3] {
        self.size
    }

    /// Layers of ghosts on each side of each axis.
    pub fn depth(&self) -> [usize; 3] {
        self.depth
    }

    /// Number of own nodes.
    pub fn own_nodes(&self) -> usize {
        self.size.iter().product()
    }

    /// Number of ghost nodes.
    pub fn ghost_nodes(&self) -> usize {
        let all: usize = (0..3).map(|axis| self.size[axis] + 2 * self.depth[axis]).product();
        all - self.own_nodes()
    }

    /// Numbers from a node to the next one along each axis.
    pub fn strides(&self) -> [usize; 3] {
        [(self.size[1] + 2 * self.depth[1]) * self.row, self.row, 1]
    }

    /// Numbers of a cache line.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Numbers from a component to the next.
    pub fn component_stride(&self) -> usize {
        self.component
    }

    /// Place of a node in its component.
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

    /// The box of own nodes, or another one, as index ranges.
    pub fn resolve(&self, region: Region) -> Bounds {
        let part = |axis: usize| region.0[axis].resolve(self.size[axis] as isize, self.depth[axis] as isize);
        let [x, y, z] = [part(0), part(1), part(2)];
        Bounds { low: [x.0, y.0, z.0], high: [x.1, y.1, z.1] }
    }
}

/// A box of nodes of a rank, from `low` to below `high`; ghosts have indices below 0 and from the size on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// First node along each axis.
    pub low: [isize; 3],
    /// First node that is beyond, along each axis.
    pub high: [isize; 3],
}

impl Bounds {
    /// Nodes along an axis.
    pub fn length(&self, axis: usize) -> usize {
        usize::try_from(self.high[axis] - self.low[axis]).unwrap_or(0)
    }

    /// Nodes of the box.
    pub fn nodes(&self) -> usize {
        (0..3).map(|axis| self.length(axis)).product()
    }

    /// The start of every row along z.
    pub fn rows(self) -> impl Iterator<Item = [isize; 3]> + Clone {
        let Self { low, high } = self;
        (low[0]..high[0]).flat_map(move |x| (low[1]..high[1]).map(move |y| [x, y, low[2]]))
    }
}

/// A part of an axis, the same on ranks of different sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// All own nodes.
    Own,
    /// All own nodes and all ghosts.
    WithGhosts,
    /// So many ghosts next to the first own node.
    LowGhosts(usize),
    /// So many own nodes from the first on.
    LowOwn(usize),
    /// So many own nodes up to the last.
    HighOwn(usize),
    /// So many ghosts next to the last own node.
    HighGhosts(usize),
    /// Own nodes but for so many first ones.
    OwnFrom(usize),
    /// Own nodes but for so many last ones.
    OwnUpTo(usize),
    /// As many as there are own nodes, so many further up: ghosts at one end, and without own nodes at the other.
    Moved(i8),
}

impl Span {
    /// The first index and the first beyond.
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

/// A box of nodes: a part of each axis.
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
