//! Rows along z, and what moves beyond their ends.
//!
//! Where z is periodic and a rank has all of it, a population that leaves a row at one end belongs to the other. To copy it there after the
//! sweep, values are to be found one by one in lines that have left the caches: a fifth of a step. So nothing is copied: the next sweep
//! takes such values from where they lie when it comes to their row, whose lines it reads anyway.
//!
//! ```text
//! lies at z = size    what moves up (velocity 1 along z) and belongs to z = 0           after a push or a shifted step
//! lies at z = -1      what moves down and belongs to z = size - 1
//! lies at z = 0       what a shifted step looks for at z = size                         after a local step
//! lies at z = size-1  what a shifted step looks for at z = -1
//! ```

use super::d3q19::VELOCITIES;
use super::kernel::Run;
use crate::{Decomposition, Edges, Layout};

/// What lies beyond the ends of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Other nodes, or walls: messages and copies fill the ghosts there.
    Apart,
    /// Each the other: sweeps look for them there.
    Joined,
}

impl Ends {
    /// Of the rows of every rank.
    pub(super) fn of(decomposition: &Decomposition) -> Self {
        let is_whole = decomposition.ranks()[2] == 1 && decomposition.edges()[2] == Edges::Periodic;
        if is_whole { Self::Joined } else { Self::Apart }
    }
}

/// Which ends of a row are joined to the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JoinedEnds {
    /// That at z = 0.
    pub below: bool,
    /// That at z = size - 1.
    pub above: bool,
}

/// The rows of a rank: places in a component.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    /// First own place along z of the first row of all.
    first: usize,
    /// From row to row.
    stride: usize,
    /// Own nodes of each.
    length: usize,
    ends: Ends,
}

impl Rows {
    pub(super) fn new(layout: Layout, ends: Ends) -> Self {
        let [x, y, _] = layout.depth().map(|depth| -(depth as isize));
        Self { first: layout.index([x, y, 0]), stride: layout.strides()[1], length: layout.size()[2], ends }
    }

    /// Own nodes of a row.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Where the row of an own node begins, and where the next one does.
    pub(super) fn around(&self, place: usize) -> [usize; 2] {
        let start = place - (place - self.first) % self.stride;
        [start, start + self.stride]
    }

    /// What a run has of the ends of its row.
    #[inline(always)]
    pub(super) fn joined(&self, run: Run) -> JoinedEnds {
        let before = (run.start - self.first) % self.stride;
        let is_joined = self.ends == Ends::Joined;
        JoinedEnds { below: is_joined && before == 0, above: is_joined && before + run.length == self.length }
    }

    /// From where a node's population lies if ends are apart to where it does lie: after a push or a shifted step from its own place,
    /// after a local step from that one step back. `z` is counted from the first own node.
    pub(super) fn elsewhere(&self, population: usize, z: usize) -> isize {
        match VELOCITIES[population][2] {
            1 if self.ends == Ends::Joined && z == 0 => self.length as isize,
            -1 if self.ends == Ends::Joined && z + 1 == self.length => -(self.length as isize),
            _ => 0,
        }
    }
}
