//! Message exchange between ranks: one contract, many transports.
//!
//! A run has a [`World`] of ranks; a world opens [`Exchange`] contexts from an [`ExchangeSpec`].
//! Which transport moves the bytes is chosen where the world is started ([`local::run`] or
//! `mpi::start`) and is invisible afterwards. The suite that every transport passes is the module
//! `conformance`, behind the feature of that name.
//!
//! ```
//! use md_comm::{CommError, Edge, EdgeId, ExchangeSpec, Flow, Sizes, Buffering, World, local};
//! use std::time::Duration;
//!
//! /// Every rank sends its number to the next one.
//! fn pass_on(world: &dyn World) -> Result<u8, CommError> {
//!     let (rank, ranks) = (world.rank(), world.ranks());
//!     let edge = |peer, flow| Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: 1 };
//!     let edges = vec![edge((rank + 1) % ranks, Flow::SendOnly), edge((rank + ranks - 1) % ranks, Flow::ReceiveOnly)];
//!     let spec = ExchangeSpec { name: "numbers", edges, sizes: Sizes::Fixed, buffering: Buffering::Single };
//!     let mut numbers = world.open(spec)?;
//!     numbers.send_buffer(EdgeId(0), 1)?[0] = rank as u8;
//!     numbers.start(EdgeId(0))?;
//!     numbers.initiate()?;
//!     let received = numbers.next()?.map_or(0, |arrival| arrival.bytes[0]);
//!     numbers.complete()?;
//!     numbers.finalise()?;
//!     Ok(received)
//! }
//!
//! let received = local::run(3, Duration::from_secs(60), pass_on);
//! assert_eq!(received, [Ok(Ok(2)), Ok(Ok(0)), Ok(Ok(1))]);
//! ```
// A new backend or option must not compile before each decision about it is taken.
#![warn(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(feature = "mpi"), forbid(unsafe_code))]

#[macro_use]
mod names;

#[cfg_attr(
    not(feature = "mpi"),
    allow(dead_code, unreachable_pub, reason = "only worlds over MPI offer a choice")
)]
mod auto;
mod backend;
mod buffer;
mod choice;
mod chunk;
#[cfg(feature = "conformance")]
pub mod conformance;
mod deliver;
mod error;
mod exact_sum;
mod exchange;
#[cfg(all(loom, test))]
mod explore_model;
#[cfg(any(feature = "mpi", test))]
mod flag_protocol;
mod ids;
mod known_problems;
pub mod launch;
mod ledger;
mod library;
pub mod local;
mod messages;
pub mod monitor;
#[cfg(feature = "mpi")]
pub mod mpi;
mod negotiation;
mod options;
mod platform;
mod refusal;
mod shared_file;
mod spec;
#[cfg(feature = "mpi")]
mod spin_wait;
mod transport;
mod unexpected;
mod unpacked;
mod world;

#[cfg(feature = "mpi")]
pub use auto::Trials;
pub use backend::{Backend, Blocking, Communication, Purpose};
pub use buffer::{ALIGNMENT, AlignedBuffer, prefer_large_pages};
pub use choice::{Choice, Outcome, Tried};
pub use chunk::Chunk;
pub use deliver::{Message, deliver, deliver_items};
pub use error::CommError;
pub use exchange::Exchange;
pub use ids::{Channel, EdgeId, MAX_CHANNEL, Rank};
pub use known_problems::{KnownProblem, known_problems};
pub use library::{Family, Library, Version};
pub use messages::{Arrival, MessageObserver, Traffic};
pub use negotiation::Growth;
pub use options::{
    Arrivals, Asserts, BarrierCount, EpochOpening, Notice, Operation, Polling, PutCount, RingForm, RmaKey,
    RmaOptions, WindowCount, WindowKind,
};
pub use platform::{CrowdedCores, Platform};
pub use refusal::Refusal;
pub use shared_file::SharedFile;
pub use spec::{Buffering, Edge, ExchangeSpec, Flow, Sizes};
pub use unexpected::{UnexpectedMessage, UnexpectedMessages};
pub use unpacked::{Subarray, Unpacked, UnpackedEdge, UnpackedSpec};
pub use world::{Reduction, World};
