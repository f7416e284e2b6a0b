//! What is computed, on which grid, divided how.

use md_comm::Buffering;
use md_core::ExchangePattern;
use md_engine::Overlap;

use crate::halo::expect_channels;
use crate::{Decomposition, Edges, GridError, Messages, Neighbours};

/// Kinds of applications with their own parameters; the first is the default.
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
        /// Which neighbours are reached.
        #[cfg_attr(feature = "serde", serde(default))]
        neighbours: Neighbours,
        /// What is computed after the exchange.
        #[cfg_attr(feature = "serde", serde(default))]
        compute: Compute,
    },
    /// Advection of tracers at a constant velocity, second order in space and time, without new extrema.
    Tvd {
        /// Number of tracers.
        #[cfg_attr(feature = "serde", serde(default = "one"), schemars(range(min = 1)))]
        fields: usize,
        /// Nodes that the wind moves by in a step, along x, y and z; each between -1 and 1.
        courant: [f64; 3],
    },
    /// The Poisson equation by conjugate gradients; a step is an iteration.
    Poisson {
        /// Norm of the residual, over that of the right-hand side, at which the solution is found.
        #[cfg_attr(feature = "serde", serde(default = "monc::tolerance"))]
        tolerance: f64,
    },
}

impl Kind {
    /// Name in scenarios and files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Swap { .. } => "swap",
            Self::Tvd { .. } => "tvd",
            Self::Poisson { .. } => "poisson",
        }
    }

    /// Layers of ghosts.
    pub fn depth(&self) -> usize {
        match self {
            Self::Swap { depth, .. } => *depth,
            Self::Tvd { .. } => 2,
            Self::Poisson { .. } => 1,
        }
    }

    /// Number of fields that a step computes.
    pub fn fields(&self) -> usize {
        match self {
            Self::Swap { fields, .. } | Self::Tvd { fields, .. } => *fields,
            Self::Poisson { .. } => 1,
        }
    }
}

/// The defaults.
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

/// What `swap` computes after the exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Compute {
    /// Every node becomes an average of itself and its neighbours within the depth of the halo, but not of those along open axes.
    #[default]
    Average,
    /// Nothing: the exchange alone.
    Nothing,
}

/// Of the numbers.
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
    /// Of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Double => size_of::<f64>(),
            Self::Single => size_of::<f32>(),
        }
    }
}

/// A problem on a number of ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The grid, and who owns what.
    pub decomposition: Decomposition,
    /// What is computed.
    pub kind: Kind,
    /// Of the numbers.
    pub precision: Precision,
    /// In which rounds messages travel.
    pub exchange: ExchangePattern,
    /// How fields share messages.
    pub messages: Messages,
    /// Buffers per message.
    pub buffering: Buffering,
    /// Whether nodes are computed while messages travel.
    pub overlap: Overlap,
    /// Axes along which ranks may be neighbours, whatever their number: those have ghosts.
    pub may_be_cut: [bool; 3],
}

impl Problem {
    /// Layers of ghosts along each axis that has any: more than one node, and neighbours with some number of ranks. It does not
    /// depend on the number of ranks, so that every rank count computes the same.
    ///
    /// # Errors
    /// [`GridError::Shape`] for ranks with fewer nodes.
    pub fn depth(&self, depth: usize) -> Result<[usize; 3], GridError> {
        let (nodes, edges) = (self.decomposition.nodes(), self.decomposition.edges());
        let has_ghosts =
            |axis: usize| nodes[axis] > 1 && (edges[axis] == Edges::Periodic || self.may_be_cut[axis]);
        let depths = [0, 1, 2].map(|axis| if has_ghosts(axis) { depth } else { 0 });
        self.decomposition.expect_depth(depths)?;
        Ok(depths)
    }

    /// Makes sure that a context can tell the messages of an exchange apart.
    ///
    /// # Errors
    /// [`GridError::Shape`] for more fields and neighbours than there are channels.
    pub fn expect_channels(&self) -> Result<(), GridError> {
        let per_neighbour = if self.messages.are_aggregated() { 1 } else { self.kind.fields() };
        let neighbours = match (&self.kind, self.exchange) {
            (Kind::Swap { neighbours, .. }, ExchangePattern::Direct) => *neighbours,
            // Two at a time.
            _ => return expect_channels(2 * per_neighbour),
        };
        let ranks = self.decomposition.ranks();
        let offsets = neighbours.offsets(self.depth(self.kind.depth())?);
        let leaves = |offset: &&[i8; 3]| (0..3).any(|axis| offset[axis] != 0 && ranks[axis] > 1);
        expect_channels(offsets.iter().filter(leaves).count().saturating_mul(per_neighbour))
    }

    /// Makes sure that there is something to solve.
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

    /// Bytes that the fields of the largest rank take, about; messages and the process itself come on top.
    pub fn estimated_bytes(&self) -> f64 {
        self.estimated_bytes_of(self.kind.fields())
    }

    /// The same with so many fields.
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

    /// Bytes that an update of a node of a field moves between memory and CPU where fields do not stay in the caches: in every pass
    /// each number is read once, and so is one that is only written.
    ///
    /// # Errors
    /// [`GridError::Shape`] for ranks with fewer nodes than layers of ghosts.
    pub fn bytes_per_update(&self) -> Result<usize, GridError> {
        let numbers = match self.kind {
            Kind::Swap { compute: Compute::Nothing, .. } => 0,
            // The average into another field, and its copy back.
            Kind::Swap { compute: Compute::Average, .. } => 3 + 3,
            // Along each axis fluxes, and what they change.
            Kind::Tvd { courant, .. } => {
                let moved = super::tvd::depth(self, courant)?.into_iter().filter(|&depth| depth > 0);
                moved.count() * (3 + 3)
            }
            // The image of the direction, two scalar products, three sums of fields.
            Kind::Poisson { .. } => 3 + (2 + 1) + (3 + 3 + 3),
        };
        Ok(numbers * self.precision.bytes())
    }

    /// Number of nodes of the whole grid.
    pub fn nodes(&self) -> usize {
        self.decomposition.nodes().iter().product()
    }
}
