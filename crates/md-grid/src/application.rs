//! Interface between the main program and the applications on a grid.

use md_comm::{Choice, Reduction, Traffic, World};
use md_engine::clock::PhaseClock;
use md_engine::{Phase, RankTiming};

use crate::halo::Stage;
use crate::{Decomposition, GridError, Layout, Resumable};

/// Status after a step.
///
/// See [`Application`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Further steps are needed.
    GoesOn,
    /// The solution has converged.
    Converged,
}

/// One rank of an application of this crate. All methods that can fail are *collective*.
///
/// ```
/// use md_comm::{Buffering, local};
/// use md_core::ExchangePattern;
/// use md_engine::Overlap;
/// use md_grid::stencil::{self, Kind, Precision, Problem};
/// use md_grid::{Decomposition, Edges, GridError, Messages, Progress};
/// use std::time::Duration;
///
/// // The Poisson equation, whose exact solution is known, on two ranks.
/// let errors = local::run(2, Duration::from_secs(60), |world| {
///     let decomposition = Decomposition::new([8; 3], world.ranks(), None, [Edges::Periodic; 3])?;
///     let problem = Problem {
///         decomposition,
///         kind: Kind::Poisson { tolerance: 1e-10 },
///         precision: Precision::Double,
///         exchange: ExchangePattern::Staged,
///         messages: Messages::Aggregated,
///         buffering: Buffering::Double,
///         overlap: Overlap::On,
///         may_be_cut: [true; 3],
///     };
///     let mut application = stencil::open(world, &problem)?;
///     while application.step()? == Progress::GoesOn {}
///     let (names, row) = (application.columns(), application.row()?);
///     application.finalise()?;
///     let error = names.iter().position(|name| *name == "error").map(|column| row[column]);
///     Ok::<_, GridError>(error)
/// });
/// for error in errors {
///     assert!(error??.is_some_and(|error| error < 1e-9));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Application: Resumable {
    /// Makes one step.
    ///
    /// # Errors
    /// Communication errors; values that are no longer finite.
    fn step(&mut self) -> Result<Progress, GridError>;

    /// Exchanges the halo of one step, without computation.
    ///
    /// # Errors
    /// Communication errors.
    fn exchange(&mut self) -> Result<(), GridError>;

    /// Returns the names of the numbers in [`Self::row`].
    fn columns(&self) -> &'static [&'static str];

    /// Returns a few numbers that summarise the state, equal on all ranks.
    ///
    /// # Errors
    /// Communication errors; a value that is not finite.
    fn row(&mut self) -> Result<Vec<f64>, GridError>;

    /// Returns why the state after the last step misses the requested result, if it does; equal on
    /// all ranks.
    fn shortfall(&self) -> Option<String> {
        None
    }

    /// Calls `take(field, node, bits)` for all own values, with the bits of their `f64`; node
    /// indices are relative to the first own node.
    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64));

    /// Returns the clock of the phases.
    fn clock(&mut self) -> &mut PhaseClock;

    /// Returns the memory layout of the nodes of this rank.
    fn layout(&self) -> Layout;

    /// Returns the number of nodes of this rank that a step updates.
    fn updated_nodes(&self) -> usize {
        self.layout().own_nodes()
    }

    /// Returns the stages of the halos.
    fn stages(&self) -> Vec<&Stage>;

    /// Returns the stages of the halos, without the values.
    fn into_stages(self: Box<Self>) -> Vec<Stage>;

    /// Returns the messages and bytes sent so far.
    fn traffic(&self) -> Traffic {
        self.stages().into_iter().map(Stage::traffic).sum()
    }

    /// Returns the transports selected by contexts that choose automatically.
    fn choices(&self) -> Vec<Choice> {
        self.stages().into_iter().filter_map(|stage| stage.context()?.choice()).collect()
    }

    /// Closes the contexts.
    ///
    /// # Errors
    /// Communication errors.
    fn finalise(self: Box<Self>) -> Result<(), GridError> {
        self.into_stages().into_iter().try_for_each(Stage::finalise)
    }
}

/// Returns a hash of all values of all ranks (bit by bit) that does not depend on the
/// decomposition. *Collective.*
///
/// # Errors
/// Communication errors.
pub fn fingerprint<A: Application + ?Sized>(
    app: &A,
    world: &dyn World,
    decomposition: &Decomposition,
) -> Result<u64, GridError> {
    let (origin, nodes) = (decomposition.block(world.rank()).origin, decomposition.nodes());
    let all: usize = nodes.iter().product();
    let mut sum = 0_u64;
    app.visit(&mut |field, node, bits| {
        let [x, y, z] = [0, 1, 2].map(|axis| origin[axis] + node[axis]);
        let place = field * all + (x * nodes[1] + y) * nodes[2] + z;
        sum = sum.wrapping_add(mixed(bits ^ mixed(place as u64)));
    });
    let mut words = [sum];
    world.reduce(&mut words, Reduction::Sum)?;
    Ok(words[0])
}

/// Finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every input bit changes about half
/// of all output bits.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Returns the measurements of a rank over `steps` steps since its clock was restarted;
/// `sent_before` is the traffic at that time.
pub fn timing<A: Application + ?Sized>(application: &mut A, steps: u64, sent_before: Traffic) -> RankTiming {
    let (layout, sent) = (application.layout(), application.traffic());
    RankTiming {
        phases: application.clock().times(steps),
        messages: sent.messages - sent_before.messages,
        bytes: sent.bytes - sent_before.bytes,
        owned: application.updated_nodes() as u64,
        ghosts: layout.ghost_nodes() as u64,
        second_share: 0.0,
    }
}

/// Phases of a step on a grid, in order. [`Phase::Integrate`] is the computation at the nodes;
/// [`Phase::Reduce`] is the scalar products over all nodes, both their computation and their
/// reduction over ranks.
pub const PHASES: [Phase; 10] = [
    Phase::Integrate,
    Phase::HaloPack,
    Phase::HaloTransfer,
    Phase::HaloWait,
    Phase::HaloHidden,
    Phase::HaloUnpack,
    Phase::Reduce,
    Phase::Output,
    Phase::Other,
    Phase::Total,
];
