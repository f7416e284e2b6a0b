//! What a flow is told.

use md_comm::Buffering;
use md_core::Threads;
use md_core::simd::SimdLevel;

use super::collision::Collision;
use super::crossing::Crossing;
use super::nodes::Overlap;
use super::stores::Stores;
use super::walls::WallVelocities;
use crate::Messages;

/// How populations are kept from step to step.
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
    /// Two grids, from one into the other.
    TwoGrid,
}

impl Pattern {
    /// Grids.
    pub fn grids(self) -> usize {
        match self {
            Self::SingleGrid => 1,
            Self::TwoGrid => 2,
        }
    }
}

/// The fluid, its walls, and how it is computed.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// How populations relax.
    pub collision: Collision,
    /// Kinematic viscosity in lattice units, above 0.
    pub viscosity: f64,
    /// Force per volume.
    pub body_force: [f64; 3],
    /// Of the domain's walls.
    pub wall_velocities: WallVelocities,
    /// One grid or two.
    pub pattern: Pattern,
    /// How the second of two grids is written; none: in caches if the grids may stay there, else as is found to be faster.
    pub stores: Option<Stores>,
    /// The order in which populations leave.
    pub crossing: Crossing,
    /// What is computed while messages travel.
    pub overlap: Overlap,
    /// How populations share messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
    /// The instruction set.
    pub simd: SimdLevel,
    /// The threads of the rank.
    pub threads: Threads,
}
