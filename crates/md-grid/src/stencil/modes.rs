//! Waves that fit into the grid, from which initial states and exact solutions are composed.

use std::f64::consts::PI;

use crate::decomposition::Block;
use crate::{Decomposition, Edges};

/// Wave along one axis at the own nodes of a rank, with its eigenvalue of the discrete Laplacian
/// along the axis.
pub(super) struct Wave {
    pub values: Vec<f64>,
    /// Eigenvalue of `2 u(i) - u(i - 1) - u(i + 1)`.
    pub eigenvalue: f64,
}

/// Returns the wave with wave number `number`, from 1, along an axis: a shifted cosine on a
/// periodic axis, a sine that is zero beyond both faces on an open one, and 1 on an axis of one
/// node.
pub(super) fn wave(grid: &Decomposition, block: &Block, axis: usize, number: usize) -> Wave {
    let nodes = grid.nodes()[axis];
    if nodes == 1 {
        return Wave { values: vec![1.0], eigenvalue: 0.0 };
    }
    let (angle, phase) = match grid.edges()[axis] {
        Edges::Periodic => (2.0 * PI * number as f64 / nodes as f64, PI / 2.0 + 0.3 * number as f64),
        Edges::Open => (PI * number as f64 / (nodes + 1) as f64, 0.0),
    };
    let shift = match grid.edges()[axis] {
        Edges::Periodic => 0,
        Edges::Open => 1,
    };
    let own = block.origin[axis]..block.origin[axis] + block.size[axis];
    let values = own.map(|node| ((node + shift) as f64 * angle + phase).sin()).collect();
    Wave { values, eigenvalue: 4.0 * (0.5 * angle).sin().powi(2) }
}

/// Returns the number of wave numbers along an axis that give distinct waves, none of them
/// constant.
pub(super) fn distinct_waves(grid: &Decomposition, axis: usize) -> usize {
    let nodes = grid.nodes()[axis];
    match grid.edges()[axis] {
        Edges::Periodic => (nodes / 2).max(1),
        Edges::Open => nodes,
    }
}
