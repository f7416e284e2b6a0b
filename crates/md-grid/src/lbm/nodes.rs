//! Order of a rank's work: first the nodes whose populations are sent, then the others.

use super::crossing::Crossing;
use super::kernel::Run;
use super::rows::Ends;
use super::walls::Mask;
use crate::{Decomposition, Layout, Region};

/// Number of nodes at either end of a row that count as boundary if other ranks' nodes follow
/// there: whole vectors, because a single node takes as long as a vector.
const ROW_END: usize = 16;

/// Fluid nodes of a rank, in ascending order.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    /// Nodes next to a neighbour, or within `ROW_END` of one along z.
    pub boundary: Vec<Run>,
    /// The other nodes.
    pub inner: Vec<Run>,
    /// Total number of nodes.
    pub count: usize,
}

/// Whether a rank computes anything while messages are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// Inner nodes are computed.
    InnerNodes,
    /// Nothing is computed: all nodes come first.
    Nothing,
}

impl Nodes {
    /// Finds the fluid nodes, which are those that are not solid. With one stage of messages, data
    /// that a rank sends to itself is copied after all nodes, so nodes next to their own periodic
    /// images are inner ones. With several stages the first must be complete before the second.
    pub(super) fn of(
        decomposition: &Decomposition,
        layout: Layout,
        mask: &Mask,
        overlap: Overlap,
        crossing: Crossing,
    ) -> Self {
        let mut nodes = Self::default();
        let [x_size, y_size, z_size] = layout.size();
        let ends = Ends::of(decomposition);
        let travels = |axis: usize| match crossing {
            _ if axis == 2 && ends == Ends::Joined => false,
            Crossing::Direct => decomposition.ranks()[axis] > 1,
            Crossing::Staged => decomposition.has_neighbours(axis),
        };
        let is_outer =
            |axis: usize, at: isize, size: usize| travels(axis) && (at == 0 || at as usize + 1 == size);
        let row_end = if travels(2) { ROW_END.min(z_size / 2 + 1) } else { 0 };
        for row in layout.resolve(Region::OWN).rows() {
            let row_is_outer = is_outer(0, row[0], x_size) || is_outer(1, row[1], y_size);
            for z in 0..z_size {
                let node = [row[0], row[1], z as isize];
                if mask.is_solid(node) {
                    continue;
                }
                let is_inner = !row_is_outer && z >= row_end && z + row_end < z_size;
                let list = match overlap {
                    Overlap::InnerNodes if is_inner => &mut nodes.inner,
                    Overlap::InnerNodes | Overlap::Nothing => &mut nodes.boundary,
                };
                add(list, layout.index(node));
                nodes.count += 1;
            }
        }
        nodes
    }
}

fn add(runs: &mut Vec<Run>, place: usize) {
    match runs.last_mut() {
        Some(last) if last.start + last.length == place => last.length += 1,
        _ => runs.push(Run { start: place, length: 1 }),
    }
}
