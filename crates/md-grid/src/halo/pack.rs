//! Copies of boxes of nodes to messages, from messages, and to other nodes of the same rank.

use crate::layout::{Bounds, Layout};
use crate::{Field, Real};

/// One component of a box in a transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub component: usize,
    /// Box that is read on this rank and sent to the neighbour.
    pub read: Bounds,
    /// Box that is written on this rank, with data from the opposite neighbour.
    pub write: Bounds,
}

/// Copies the parts' boxes into a message, one after the other, row by row.
pub(super) fn pack<T: Real>(parts: &[Part], field: &Field<T>, mut message: &mut [T]) {
    let layout = field.layout();
    for part in parts {
        let component = field.component(part.component);
        let length = part.read.length(2);
        for row in part.read.rows() {
            let (here, rest) = message.split_at_mut(length);
            here.copy_from_slice(&component[layout.index(row)..][..length]);
            message = rest;
        }
    }
}

/// Copies a message to the parts' boxes.
pub(super) fn unpack<T: Real>(parts: &[Part], mut message: &[T], field: &mut Field<T>) {
    let layout = field.layout();
    for part in parts {
        let component = field.component_mut(part.component);
        let length = part.write.length(2);
        for row in part.write.rows() {
            let (here, rest) = message.split_at(length);
            component[layout.index(row)..][..length].copy_from_slice(here);
            message = rest;
        }
    }
}

/// Copies the parts' boxes without a message, where this rank is its own neighbour.
pub(super) fn copy<T: Real>(parts: &[Part], field: &mut Field<T>) {
    let layout = field.layout();
    for part in parts {
        let component = field.component_mut(part.component);
        let length = part.read.length(2);
        let rows = part.read.rows().zip(part.write.rows());
        let places = rows.map(|(from, to)| (layout.index(from), layout.index(to)));
        if length == 1 {
            // A face along z: calling a copy function per number would take longer than the copy
            // itself.
            places.for_each(|(from, to)| component[to] = component[from]);
        } else {
            places.for_each(|(from, to)| component.copy_within(from..from + length, to));
        }
    }
}

/// Returns the number of values in the boxes of a message, either those read or those written.
pub(super) fn numbers(parts: &[Part], bounds: impl Fn(&Part) -> Bounds) -> usize {
    parts.iter().map(|part| bounds(part).nodes()).sum()
}

/// Returns whether a box lies inside a layout.
pub(super) fn is_inside(bounds: Bounds, layout: &Layout) -> bool {
    (0..3).all(|axis| {
        let (size, depth) = (layout.size()[axis] as isize, layout.depth()[axis] as isize);
        -depth <= bounds.low[axis]
            && bounds.low[axis] <= bounds.high[axis]
            && bounds.high[axis] <= size + depth
    })
}
