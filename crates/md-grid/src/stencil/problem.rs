//! Description of a problem: computation, grid and decomposition.

use md_comm::Buffering;
use md_core::ExchangePattern;
use md_engine::Overlap;

use crate::halo::expect_channels;
use crate::{Decomposition, Edges, GridError, HaloOptions, Messages, Neighbours};

/// Kinds of applications with their parameters; the first is the default.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(tag = "kind", rename_all = "kebab-case")
)]
pub enum Kind {
    /// All fields exchange their halos at the start of a step.
    Swap {
        /// Number of fields. MONC has 25 of moisture, temperature, and three of wind.
        #[cfg_attr(feature = "serde", serde(default = "monc::fields"), schemars(range(min = 1)))]
        fields: usize,
        /// Layers of ghosts.
        #[cfg_attr(feature = "serde", serde(default = "monc::depth"), schemars(range(min = 1)))]
        depth: usize,
        /// Neighbours that receive halos.
        #[cfg_attr(feature = "serde", serde(default))]
        neighbours: Neighbours,
        /// Computation after the exchange.
        #[cfg_attr(feature = "serde", serde(default))]
        compute: Compute,
    },
    /// Advection of tracers at a constant velocity, second order in space and time, without new
    /// extrema.
    Tvd {
        /// Number of tracers.
        #[cfg_attr(feature = "serde", serde(default = "one"), schemars(range(min = 1)))]
        fields: usize,
        /// Number of nodes that the wind moves by in a step, along x, y and z; each between -1 and
        /// 1.
        courant: [f64; 3],
    },
    /// The Poisson equation by conjugate gradients; a step is an iteration.
    Poisson {
        /// Norm of the residual relative to the right-hand side at which the solution has
        /// converged.
        #[cfg_attr(feature = "serde", serde(default = "monc::tolerance"))]
        tolerance: f64,
    },
}

impl Kind {
    /// Returns the name in scenarios and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Swap { .. } => "swap",
            Self::Tvd { .. } => "tvd",
            Self::Poisson { .. } => "poisson",
        }
    }

    /// Returns the number of ghost layers.
    pub fn depth(&self) -> usize {
        match self {
            Self::Swap { depth, .. } => *depth,
            Self::Tvd { .. } => 2,
            Self::Poisson { .. } => 1,
        }
    }

    /// Returns the number of fields that a step computes.
    pub fn fields(&self) -> usize {
        match self {
            Self::Swap { fields, .. } | Self::Tvd { fields, .. } => *fields,
            Self::Poisson { .. } => 1,
        }
    }
}

/// Default parameters, as in MONC.
#[cfg(feature = "serde")]
mod monc {
    pub(super) fn fields() -> usize {
        29
    }

    pub(super) fn depth() -> usize {
        2
    }

    pub(super) fn tolerance() -> f64 {
        1e-12
    }
}

#[cfg(feature = "serde")]
fn one() -> usize {
    1
}

/// Computation of `swap` after the exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Compute {
    /// Replaces every node by an average of itself and its neighbours within the depth of the halo,
    /// except across open axes.
    #[default]
    Average,
    /// Only the exchange.
    Nothing,
}

/// Precision of the numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Precision {
    /// `f64`.
    #[default]
    Double,
    /// `f32`.
    Single,
}

impl Precision {
    /// Returns the bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Double => size_of::<f64>(),
            Self::Single => size_of::<f32>(),
        }
    }
}

/// Problem on a given number of ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Global grid and its division among ranks.
    pub decomposition: Decomposition,
    /// Application and its parameters.
    pub kind: Kind,
    /// Precision of the numbers.
    pub precision: Precision,
    /// Rounds in which messages are exchanged.
    pub exchange: ExchangePattern,
    /// Grouping of fields into messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
    /// Whether nodes are computed while messages are in flight.
    pub overlap: Overlap,
    /// Axes along which ranks may be neighbours for some number of ranks; these have ghosts.
    pub may_be_cut: [bool; 3],
}

impl Problem {
    /// Returns the layers of ghosts along each axis: `depth` where it has more than one node and
    /// has neighbours for some number of ranks, otherwise 0. The result does not depend on the
    /// number of ranks, so that every rank count computes the same values.
    ///
    /// # Errors
    /// [`GridError::Shape`] if a rank has fewer nodes.
    pub fn depth(&self, depth: usize) -> Result<[usize; 3], GridError> {
        let (nodes, edges) = (self.decomposition.nodes(), self.decomposition.edges());
        let has_ghosts =
            |axis: usize| nodes[axis] > 1 && (edges[axis] == Edges::Periodic || self.may_be_cut[axis]);
        let depths = [0, 1, 2].map(|axis| if has_ghosts(axis) { depth } else { 0 });
        self.decomposition.expect_depth(depths)?;
        Ok(depths)
    }

    /// Returns the options of a halo with this name.
    pub(super) fn halo_options(&self, name: &'static str) -> HaloOptions {
        HaloOptions { name, messages: self.messages, buffering: self.buffering }
    }

    /// Checks that a context has enough channels for the messages of an exchange.
    ///
    /// # Errors
    /// [`GridError::Shape`] if there are more fields and neighbours than channels.
    pub fn expect_channels(&self) -> Result<(), GridError> {
        let per_neighbour = if self.messages.are_aggregated() { 1 } else { self.kind.fields() };
        let neighbours = match (&self.kind, self.exchange) {
            (Kind::Swap { neighbours, .. }, ExchangePattern::Direct) => *neighbours,
            // Two neighbours at a time.
            _ => return expect_channels(2 * per_neighbour),
        };
        let ranks = self.decomposition.ranks();
        let offsets = neighbours.offsets(self.depth(self.kind.depth())?);
        let leaves = |offset: &&[i8; 3]| (0..3).any(|axis| offset[axis] != 0 && ranks[axis] > 1);
        expect_channels(offsets.iter().filter(leaves).count().saturating_mul(per_neighbour))
    }

    /// Checks that there is an equation to solve.
    ///
    /// # Errors
    /// [`GridError::Shape`] for `poisson` on a single node.
    pub fn expect_equations(&self) -> Result<(), GridError> {
        if matches!(self.kind, Kind::Poisson { .. }) && self.nodes() == 1 {
            let reason = "a single node has no neighbours: `poisson` has nothing to solve there";
            return Err(GridError::Shape(reason.to_owned()));
        }
        Ok(())
    }

    /// Returns the approximate bytes of the fields of the largest rank, without messages and the
    /// process itself.
    pub fn estimated_bytes(&self) -> f64 {
        self.estimated_bytes_of(self.kind.fields())
    }

    /// Returns the approximate bytes of the largest rank with the given number of fields.
    pub fn estimated_bytes_of(&self, fields: usize) -> f64 {
        let fields = fields as f64;
        let copies = match self.kind {
            Kind::Swap { .. } => fields + 1.0,
            Kind::Tvd { .. } => 2.0 * fields,
            Kind::Poisson { .. } => 5.0,
        };
        let size = self.decomposition.block(0).size;
        let nodes: f64 = size.iter().map(|&count| (count + 2 * self.kind.depth()) as f64).product();
        copies * nodes * self.precision.bytes() as f64
    }

    /// Returns the bytes that an update of a node of a field moves between memory and CPU if the
    /// fields do not stay in the caches. In every pass each number is read once, including those
    /// that are only written.
    ///
    /// # Errors
    /// [`GridError::Shape`] if a rank has fewer nodes than layers of ghosts.
    pub fn bytes_per_update(&self) -> Result<usize, GridError> {
        let numbers = match self.kind {
            Kind::Swap { compute: Compute::Nothing, .. } => 0,
            // The average into another field, and the copy back.
            Kind::Swap { compute: Compute::Average, .. } => 3 + 3,
            // Along each axis, the fluxes and the update from them.
            Kind::Tvd { courant, .. } => {
                let moved = super::tvd::depth(self, courant)?.into_iter().filter(|&depth| depth > 0);
                moved.count() * (3 + 3)
            }
            // The image of the direction, two scalar products, and three sums of fields.
            Kind::Poisson { .. } => 3 + (2 + 1) + (3 + 3 + 3),
        };
        Ok(numbers * self.precision.bytes())
    }

    /// Returns the number of nodes of the whole grid.
    pub fn nodes(&self) -> usize {
        self.decomposition.nodes().iter().product()
    }
}
