//! Rows along z, and populations that move beyond their ends.
//!
//! If z is periodic and not divided among ranks, a population that leaves a row at one end belongs
//! to the other. Copying it there after the sweep would access values one by one in lines that are
//! no longer in the caches, which takes a fifth of a step. Instead, the next sweep takes these
//! values from where they are stored when it reaches their row, whose lines it reads anyway.
//!
//! ```text
//! stored at z = size    moves up (velocity 1), belongs to z = 0   after a push or a shifted step
//! stored at z = -1      moves down, belongs to z = size - 1
//! stored at z = 0       a shifted step reads it at z = size       after a local step
//! stored at z = size-1  a shifted step reads it at z = -1
//! ```

use super::d3q19::VELOCITIES;
use super::kernel::Run;
use crate::{Decomposition, Edges, Layout};

/// Boundary at the ends of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Other nodes, or walls: messages and copies fill the ghosts there.
    Apart,
    /// The opposite end of the row: sweeps read the values there.
    Joined,
}

impl Ends {
    /// Returns the boundary at the ends of the rows of every rank.
    pub(super) fn of(decomposition: &Decomposition) -> Self {
        let is_whole = decomposition.ranks()[2] == 1 && decomposition.edges()[2] == Edges::Periodic;
        if is_whole { Self::Joined } else { Self::Apart }
    }
}

/// Ends of a row that are joined to the opposite end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JoinedEnds {
    /// The end at z = 0.
    pub below: bool,
    /// The end at z = size - 1.
    pub above: bool,
}

/// Rows of a rank, as places in a component.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// First own place along z of the very first row.
    first: usize,
    /// Distance between rows.
    stride: usize,
    /// Number of own nodes per row.
    length: usize,
    ends: Ends,
}

impl Rows {
    pub(super) fn new(layout: Layout, ends: Ends) -> Self {
        let [x, y, _] = layout.depth().map(|depth| -(depth as isize));
        Self { first: layout.index([x, y, 0]), stride: layout.strides()[1], length: layout.size()[2], ends }
    }

    /// Returns the number of own nodes per row.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns the start of the row of an own node, and the start of the next row.
    pub(super) fn around(&self, place: usize) -> [usize; 2] {
        let start = place - (place - self.first) % self.stride;
        [start, start + self.stride]
    }

    /// Returns the joined ends of its row that a run includes.
    #[inline(always)]
    pub(super) fn joined(&self, run: Run) -> JoinedEnds {
        let before = (run.start - self.first) % self.stride;
        let is_joined = self.ends == Ends::Joined;
        JoinedEnds { below: is_joined && before == 0, above: is_joined && before + run.length == self.length }
    }

    /// Returns the distance from the place of a node's population in the case of unjoined ends to
    /// its actual place. The former is its own place after a push or a shifted step, and one step
    /// back from it after a local step. `z` is relative to the first own node.
    pub(super) fn elsewhere(&self, population: usize, z: usize) -> isize {
        match VELOCITIES[population][2] {
            1 if self.ends == Ends::Joined && z == 0 => self.length as isize,
            -1 if self.ends == Ends::Joined && z + 1 == self.length => -(self.length as isize),
            _ => 0,
        }
    }
}
