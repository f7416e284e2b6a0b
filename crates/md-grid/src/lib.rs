//! Structured fields on a Cartesian decomposition, their halo exchange, and the applications built
//! on them.
//!
//! A global grid of nodes is divided into one block per rank ([`Decomposition`]). Each rank stores
//! its block and the surrounding layers of ghost nodes ([`Layout`]) in a [`Field`] with any number
//! of components. A [`HaloPlan`] lists the boxes and components sent to each neighbour, and the
//! number of stages. A [`Halo`] holds the contexts that carry out these transfers repeatedly, on
//! any transport of `md-comm`.
//!
//! ```
//! use md_comm::World;
//! use md_engine::clock::PhaseClock;
//! use md_grid::{
//!     Decomposition, Edges, Field, GridError, Halo, HaloOptions, HaloPlan, Layout, Neighbours,
//! };
//! use std::time::Duration;
//!
//! // A ring of 8 nodes on two ranks: every node holds its global number and receives its
//! // predecessor's.
//! let before = md_comm::local::run(2, Duration::from_secs(60), |world| {
//!     let edges = [Edges::Periodic, Edges::Open, Edges::Open];
//!     let ring = Decomposition::new([8, 1, 1], world.ranks(), None, edges)?;
//!     let block = ring.block(world.rank());
//!     let layout = Layout::new(block.size, [1, 0, 0], size_of::<f64>())?;
//!     let mut field = Field::<f64>::new(layout, 1)?;
//!     field.fill_own(|_, node| (block.origin[0] + node[0]) as f64);
//!     let plan = HaloPlan::direct([1, 0, 0], Neighbours::Faces, &[0]);
//!     let mut halo = Halo::open(world, &ring, layout, &plan, HaloOptions::default())?;
//!     let mut clock = PhaseClock::default();
//!     halo.start(&mut field, &mut clock)?;
//!     halo.finish(&mut field, &mut clock)?;
//!     halo.finalise()?;
//!     Ok::<_, GridError>(field.component(0)[layout.index([-1, 0, 0])])
//! });
//! let before: Vec<f64> = before.into_iter().map(|rank| rank.unwrap().unwrap()).collect();
//! assert_eq!(before, [7.0, 3.0]);
//! ```
#![forbid(unsafe_code)]

pub mod application;
mod decomposition;
mod error;
mod field;
mod halo;
mod layout;
pub mod lbm;
mod real;
mod resume;
mod schedule;
pub mod stencil;
pub mod total;

pub use application::{Application, Progress};
pub use decomposition::{Block, Decomposition, Edges, Offset};
pub use error::GridError;
pub use field::Field;
pub use halo::{Halo, HaloOptions, HaloPlan, Messages, Neighbours, Parcel, Transfer};
pub use layout::{Bounds, Layout, Region, Span};
pub use real::Real;
pub use resume::Resumable;
pub use schedule::{Beside, Exchanged, Schedule};
