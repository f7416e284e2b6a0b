//! What runs on a grid, as the program sees it.

use md_comm::{Choice, Reduction, Traffic, World};
use md_engine::clock::PhaseClock;
use md_engine::{Phase, RankTiming};

use crate::{Decomposition, GridError, Layout, Resumable};

/// What there is to do after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The next step.
    GoesOn,
    /// Nothing: the solution is found.
    Converged,
}

/// One rank of an application. All methods that can fail are *collective*.
pub trait Application: Resumable {
    /// Makes one step.
    ///
    /// # Errors
    /// Communication; numbers that are none any more.
    fn step(&mut self) -> Result<Progress, GridError>;

    /// Exchanges the halo of a step once, without computation.
    ///
    /// # Errors
    /// Communication.
    fn exchange(&mut self) -> Result<(), GridError>;

    /// Names of the numbers in [`Self::row`].
    fn columns(&self) -> &'static [&'static str];

    /// The state in a few numbers, the same on all ranks.
    ///
    /// # Errors
    /// Communication; a value that is not a finite number.
    fn row(&mut self) -> Result<Vec<f64>, GridError>;

    /// Why the state after the last step is not what was asked for, if it is not; the same on all ranks.
    fn shortfall(&self) -> Option<String> {
        None
    }

    /// Calls `take(field, node, bits)` with the bits (of the `f64`) of all own values; nodes are counted from the first own one.
    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64));

    /// The clock of the phases.
    fn clock(&mut self) -> &mut PhaseClock;

    /// Where the nodes of this rank lie.
    fn layout(&self) -> Layout;

    /// Nodes of this rank that a step updates.
    fn updated_nodes(&self) -> usize {
        self.layout().own_nodes()
    }

    /// Messages and bytes sent so far.
    fn traffic(&self) -> Traffic;

    /// What contexts that choose their transports by themselves have chosen.
    fn choices(&self) -> Vec<Choice>;

    /// Closes the contexts.
    ///
    /// # Errors
    /// Communication.
    fn finalise(self: Box<Self>) -> Result<(), GridError>;
}

/// A number that stands for the bits of all values of all ranks, the same for every decomposition. *Collective.*
///
/// # Errors
/// Communication.
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

/// The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): every bit changes about half of all bits.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// What a rank has measured over `steps` steps since its clock was restarted, when it had sent so much.
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

/// The phases that a step on a grid has, in their order; [`Phase::Integrate`] is the computation at the nodes,
/// [`Phase::Reduce`] scalar products over all of them: computing and adding up over ranks.
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
