//! Settings that single parts of the engine read: search for pairs, division of the work, exchange
//! of the halo.

pub(crate) mod balance;
mod lists;
mod neighbor;
mod parallel;
mod protocol;
mod second_share;

pub use balance::{Balance, BalanceRule, BalanceWeights};
pub use lists::{DriftModel, ListModel, TimedLists};
pub use neighbor::{NeighborConfig, ToleratedDrift};
pub use parallel::{Overlap, ParallelConfig, SimdChoice};
pub use protocol::Protocol;
pub use second_share::SecondShare;
