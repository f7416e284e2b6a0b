//! Options of a flow.

use md_comm::Buffering;
use md_core::Threads;
use md_core::simd::SimdLevel;

use super::collision::Collision;
use super::crossing::Crossing;
use super::nodes::Overlap;
use super::stores::Stores;
use super::walls::WallVelocities;
use crate::{HaloOptions, Messages};

/// Storage of populations between steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Pattern {
    /// One grid, updated in place.
    #[default]
    SingleGrid,
    /// Two grids, each step from one into the other.
    TwoGrid,
}

impl Pattern {
    /// Returns the number of grids.
    pub fn grids(self) -> usize {
        match self {
            Self::SingleGrid => 1,
            Self::TwoGrid => 2,
        }
    }
}

/// Fluid, walls and method of computation.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// Relaxation of populations.
    pub collision: Collision,
    /// Kinematic viscosity in lattice units, above 0.
    pub viscosity: f64,
    /// Force per volume.
    pub body_force: [f64; 3],
    /// Velocities of the domain's walls.
    pub wall_velocities: WallVelocities,
    /// Storage of populations: one grid or two.
    pub pattern: Pattern,
    /// Way in which the second of two grids is written. With `None`, into the caches if the grids
    /// may fit there, otherwise in the fastest way measured.
    pub stores: Option<Stores>,
    /// Order in which populations are sent.
    pub crossing: Crossing,
    /// Computation while messages are in flight.
    pub overlap: Overlap,
    /// Grouping of populations into messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
    /// Instruction set of the kernels.
    pub simd: SimdLevel,
    /// Threads of the rank.
    pub threads: Threads,
}

impl FlowOptions {
    /// Returns the options of the halos of populations.
    pub(super) fn halo_options(&self) -> HaloOptions {
        HaloOptions { name: "populations", messages: self.messages, buffering: self.buffering }
    }
}
