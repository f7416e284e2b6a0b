//! The halo of a grid: contexts made once, which carry boxes of nodes between neighbours over and over.
//!
//! ```text
//! start      stage 1: pack -> start, per message; initiate; copies within this rank
//! progress   lets messages move; writes what has come; starts the next stage
//! finish     waits for what is left, stage by stage; complete
//! ```
//!
//! Messages that are not packed ([`Messages::AggregatedDatatypes`]) go from place to place within `start`: the field is lent to the
//! library for so long, and there is nothing left to wait for.
//!
//! A message has a place of its own to be written to, so messages are unpacked as they come, and the bits are the same whatever
//! the transport, the order and the decomposition. What a rank sends to itself is copied without a message.

mod pack;
mod plan;
mod stage;

use std::marker::PhantomData;
use std::time::Instant;

use md_comm::{Buffering, Choice, Exchange, Traffic, World};
use md_engine::clock::PhaseClock;
use md_engine::{Flight, Phase};

use crate::decomposition::Decomposition;
use crate::layout::Layout;
use crate::{Field, GridError, Real};
pub use plan::{HaloPlan, Neighbours, Transfer};
pub use stage::Parcel;
use stage::Stage;
pub(crate) use stage::{expect_channels, sent};

/// How components share messages, and who collects their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Messages {
    /// All components that go to a neighbour in one message.
    #[default]
    Aggregated,
    /// One message per component and neighbour.
    PerField,
    /// As `aggregated`, but not packed: described to MPI as datatypes, with `p2p` alone. Nothing is computed while they are under way.
    AggregatedDatatypes,
    /// As `per-field`, but not packed.
    PerFieldDatatypes,
}

impl Messages {
    /// All ways.
    pub const ALL: &'static [Self] =
        &[Self::Aggregated, Self::PerField, Self::AggregatedDatatypes, Self::PerFieldDatatypes];

    /// Whether all components that go to a neighbour share a message.
    pub(crate) fn are_aggregated(self) -> bool {
        matches!(self, Self::Aggregated | Self::AggregatedDatatypes)
    }

    /// Whether they are copied to buffers, and from them.
    pub fn are_packed(self) -> bool {
        matches!(self, Self::Aggregated | Self::PerField)
    }
}

/// How a halo is carried.
#[derive(Debug, Clone, Copy)]
pub struct HaloOptions {
    /// Name in errors and reports.
    pub name: &'static str,
    /// How components share messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
}

impl Default for HaloOptions {
    fn default() -> Self {
        Self { name: "halo", messages: Messages::default(), buffering: Buffering::default() }
    }
}

/// The contexts that carry one plan, one per stage, for fields of one layout.
pub struct Halo<T> {
    name: &'static str,
    layout: Layout,
    /// Whether contexts may only be driven, not looked into, before all have to wait.
    same_order: bool,
    stages: Vec<Stage>,
    /// Stages of the exchange under way that have been sent.
    sent: usize,
    /// Since when messages have been in flight beside other work.
    flies_since: Option<Instant>,
    kind: PhantomData<T>,
}

impl<T: Real> Halo<T> {
    /// Opens the contexts. *Collective*: the same plan on all ranks.
    ///
    /// # Errors
    /// [`GridError::Shape`] where a rank has fewer nodes than the plan reads, or a stage has more messages than a context can tell
    /// apart; communication.
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
            name: options.name,
            layout,
            same_order: world.needs_same_order(),
            stages: plan.stages.iter().map(open).collect::<Result<_, _>>()?,
            sent: 0,
            flies_since: None,
            kind: PhantomData,
        })
    }

    /// Sends the messages of the first stage, and returns while they are in flight. What this rank sends itself is copied by
    /// [`Self::finish`], or before the next stage: until then nodes may be written that only such messages read.
    ///
    /// # Errors
    /// Communication.
    pub fn start(&mut self, field: &mut Field<T>, clock: &mut PhaseClock) -> Result<(), GridError> {
        debug_assert_eq!(field.layout(), self.layout, "a halo carries fields of one layout");
        self.sent = 0;
        self.send_next(field, clock)?;
        // What is not packed has come.
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

    /// Lets messages move, writes those that have come to their places, and sends the next stage when all of one are there.
    ///
    /// # Errors
    /// Communication.
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

    /// Waits for what [`Self::start`] has begun, and goes through the other stages.
    ///
    /// # Errors
    /// Communication.
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

    /// [`Self::start`] and [`Self::finish`], with nothing in between.
    ///
    /// # Errors
    /// Communication.
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

    /// Name in errors and reports.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Messages and bytes sent so far.
    pub fn traffic(&self) -> Traffic {
        self.stages.iter().map(Stage::traffic).sum()
    }

    /// What the contexts that choose their transports by themselves have chosen.
    pub fn choices(&self) -> Vec<Choice> {
        self.contexts().filter_map(Exchange::choice).collect()
    }

    /// The contexts of packed messages, in the order of the stages that send any.
    pub fn contexts(&self) -> impl Iterator<Item = &Exchange> {
        self.stages.iter().filter_map(Stage::context)
    }

    /// Closes the contexts. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn finalise(self) -> Result<(), GridError> {
        self.stages.into_iter().try_for_each(Stage::finalise)
    }
}
