//! Halo exchange of a grid: contexts opened once that transfer boxes of nodes between neighbours
//! repeatedly.
//!
//! ```text
//! start      stage 1: pack -> start, per message; initiate; copies within this rank
//! progress   drives messages; unpacks those that have arrived; starts the next stage
//! finish     waits for the remaining messages, stage by stage; complete
//! ```
//!
//! Messages that are not packed ([`Messages::AggregatedDatatypes`]) are transferred from field to
//! field within `start`: the library borrows the field for that call, and nothing remains to wait
//! for.
//!
//! Each message is written to a separate part of the field, so messages are unpacked in order of
//! arrival, and the bits do not depend on the transport, the order or the decomposition. Data that
//! a rank sends to itself is copied without a message.

mod pack;
mod plan;
mod stage;

use std::marker::PhantomData;
use std::time::Instant;

use md_comm::{Buffering, World};
use md_engine::clock::PhaseClock;
use md_engine::{Flight, Phase};

use crate::decomposition::Decomposition;
use crate::layout::Layout;
use crate::{Field, GridError, Real};
pub use plan::{HaloPlan, Neighbours, Transfer};
pub use stage::Parcel;
pub(crate) use stage::{Stage, expect_channels, sent};

/// Grouping of components into messages, and packing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Messages {
    /// All components for a neighbour in one message.
    #[default]
    Aggregated,
    /// One message per component and neighbour.
    PerField,
    /// Like `aggregated`, but not packed: described to MPI as datatypes, only with `p2p`. Nothing
    /// is computed during the transfer.
    AggregatedDatatypes,
    /// Like `per-field`, but not packed.
    PerFieldDatatypes,
}

/// ```
/// use md_grid::{Beside, Decomposition, Edges, Exchanged, GridError};
/// use md_grid::{HaloPlan, Messages, Neighbours, Schedule};
///
/// // Three fields on two ranks, each of which is the other's neighbour on both sides.
/// let edges = [Edges::Periodic, Edges::Open, Edges::Open];
/// let decomposition = Decomposition::new([8; 3], 2, Some([2, 1, 1]), edges)?;
/// let depth = [1, 0, 0];
/// let plan = HaloPlan::direct(depth, Neighbours::Faces, &[0, 1, 2]);
/// let exchanges = vec![Exchanged { plan, beside: Beside::Nothing }];
/// let mut schedule = Schedule {
///     decomposition,
///     depth,
///     messages: Messages::Aggregated,
///     number_bytes: size_of::<f64>(),
///     exchanges,
///     reductions: 0,
/// };
/// assert_eq!(schedule.sent_by(0, &schedule.exchanges[0])?[0].len(), 2);
/// schedule.messages = Messages::PerField;
/// assert_eq!(schedule.sent_by(0, &schedule.exchanges[0])?[0].len(), 2 * 3);
/// # Ok::<(), GridError>(())
/// ```
impl Messages {
    /// All variants.
    pub const ALL: &'static [Self] =
        &[Self::Aggregated, Self::PerField, Self::AggregatedDatatypes, Self::PerFieldDatatypes];

    /// Returns whether all components for a neighbour share a message.
    pub(crate) fn are_aggregated(self) -> bool {
        matches!(self, Self::Aggregated | Self::AggregatedDatatypes)
    }

    /// Returns whether messages are packed into and unpacked from buffers.
    pub fn are_packed(self) -> bool {
        matches!(self, Self::Aggregated | Self::PerField)
    }
}

/// Options of a halo.
///
/// ```
/// use md_comm::Buffering;
/// use md_grid::{HaloOptions, Messages};
///
/// let options = HaloOptions { name: "pressure", ..HaloOptions::default() };
/// assert_eq!(options.messages, Messages::Aggregated);
/// assert_eq!(options.buffering, Buffering::Double);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct HaloOptions {
    /// Name in errors and reports.
    pub name: &'static str,
    /// Grouping of components into messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
}

impl Default for HaloOptions {
    fn default() -> Self {
        Self { name: "halo", messages: Messages::default(), buffering: Buffering::default() }
    }
}

/// Contexts that carry out one plan, one per stage, for fields of one layout.
///
/// ```
/// use md_engine::clock::PhaseClock;
/// use md_grid::{Decomposition, Edges, Field, GridError, Halo, HaloOptions, HaloPlan, Layout};
/// use std::time::Duration;
///
/// // A ring of four nodes on one rank: its ghosts are its own first and last node.
/// let ghosts = md_comm::local::run(1, Duration::from_secs(60), |world| {
///     let (size, depth) = ([1, 1, 4], [0, 0, 1]);
///     let ring = Decomposition::new(size, 1, None, [Edges::Periodic; 3])?;
///     let layout = Layout::new(size, depth, size_of::<f64>())?;
///     let mut field = Field::<f64>::new(layout, 1)?;
///     field.fill_own(|_, [_, _, z]| z as f64);
///     let plan = HaloPlan::staged(depth, &[0]);
///     let mut halo = Halo::open(world, &ring, layout, &plan, HaloOptions::default())?;
///     halo.exchange(&mut field, &mut PhaseClock::default())?;
///     halo.finalise()?;
///     let value = |z| field.component(0)[layout.index([0, 0, z])];
///     Ok::<_, GridError>([value(-1), value(4)])
/// });
/// for ghosts in ghosts {
///     assert_eq!(ghosts??, [3.0, 0.0]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Halo<T> {
    layout: Layout,
    /// Whether all ranks must call the contexts in a common order, so that they may only be driven,
    /// not polled, before [`Self::finish`].
    same_order: bool,
    pub(crate) stages: Vec<Stage>,
    /// Number of stages of the current exchange that have been sent.
    sent: usize,
    /// Time since which messages have been in flight during other work.
    flies_since: Option<Instant>,
    kind: PhantomData<T>,
}

impl<T: Real> Halo<T> {
    /// Opens the contexts. *Collective*: all ranks pass equal plans.
    ///
    /// # Errors
    /// [`GridError::Shape`] if a rank has fewer nodes than the plan reads, or a stage has more
    /// messages than a context has channels; communication errors.
    pub fn open(
        world: &dyn World,
        decomposition: &Decomposition,
        layout: Layout,
        plan: &HaloPlan,
        options: HaloOptions,
    ) -> Result<Self, GridError> {
        decomposition.expect_depth(layout.depth())?;
        let open =
            |transfers: &Vec<Transfer>| Stage::open::<T>(world, decomposition, &layout, transfers, &options);
        Ok(Self {
            layout,
            same_order: world.needs_same_order(),
            stages: plan.stages.iter().map(open).collect::<Result<_, _>>()?,
            sent: 0,
            flies_since: None,
            kind: PhantomData,
        })
    }

    /// Sends the messages of the first stage and returns while they are in flight. Data that this
    /// rank sends to itself is copied by [`Self::finish`] or before the next stage: until then,
    /// nodes may still be written that only such messages read.
    ///
    /// # Errors
    /// Communication errors.
    pub fn start(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<(), GridError> {
        debug_assert_eq!(field.layout(), self.layout, "a halo carries fields of one layout");
        self.sent = 0;
        self.send_next(field, clock)?;
        // Messages that are not packed have already arrived.
        self.flies_since = self.stages.iter().all(Stage::is_packed).then(Instant::now);
        Ok(())
    }

    fn send_next(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<(), GridError> {
        if let Some(stage) = self.stages.get_mut(self.sent) {
            self.sent += 1;
            stage.send(field, clock)?;
        }
        Ok(())
    }

    /// Drives messages, unpacks those that have arrived, and sends the next stage when all messages
    /// of a stage have arrived.
    ///
    /// # Errors
    /// Communication errors.
    pub fn progress(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<Flight, GridError> {
        if self.flies_since.is_none() {
            return Ok(Flight::Over);
        }
        loop {
            let is_last = self.sent == self.stages.len();
            let Some(stage) = self.sent.checked_sub(1).and_then(|last| self.stages.get_mut(last)) else {
                return Ok(Flight::Over);
            };
            if self.same_order {
                return stage.drive(clock);
            }
            if stage.take_arrived(field, clock)? == Flight::UnderWay {
                return Ok(Flight::UnderWay);
            }
            if is_last {
                self.book_hidden(clock);
                return Ok(Flight::Over);
            }
            stage.copy_local(field, clock);
            self.send_next(field, clock)?;
        }
    }

    /// Waits for the stage that [`Self::start`] began, and carries out the remaining stages.
    ///
    /// # Errors
    /// Communication errors.
    pub fn finish(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<(), GridError> {
        self.book_hidden(clock);
        for number in 0..self.stages.len() {
            if number >= self.sent {
                self.send_next(field, clock)?;
            }
            self.stages[number].finish(field, clock)?;
        }
        Ok(())
    }

    /// Calls [`Self::start`] and [`Self::finish`], with nothing in between.
    ///
    /// # Errors
    /// Communication errors.
    pub fn exchange(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<(), GridError> {
        self.start(field, clock)?;
        self.flies_since = None;
        self.finish(field, clock)
    }

    fn book_hidden(&mut self, clock: &mut PhaseClock) {
        if let Some(since) = self.flies_since.take() {
            clock.book_since(Phase::HaloHidden, since);
        }
    }

    /// Closes the contexts. *Collective.*
    ///
    /// # Errors
    /// Communication errors.
    pub fn finalise(self) -> Result<(), GridError> {
        self.stages.into_iter().try_for_each(Stage::finalise)
    }
}
