//! `machine.toml`: costs of messages and computation on a machine. `fit` writes it from
//! measurements, users may edit it, and [`crate::predict`] reads it.
//!
//! A message of `n` bytes arrives `latency_s + n seconds_per_byte` after its sender began to send
//! it, between two ranks and with all steps of its protocol: for `rma-lock` these are put,
//! acknowledgement and empty message, for `rma-fence` the fence of two ranks. The sender is busy
//! for `overhead_s` of this time, and the receiver as long. For the part `serial_share` of its time
//! beyond that of an empty message both are busy, half of it each, or the sender alone if it
//! flushes: to this extent the messages of a rank follow each other.

mod read;

pub use read::MachineError;

use std::collections::{BTreeMap, BTreeSet};

use md_comm::Backend;
use md_core::force::{MethodKind, Precision};
use serde::{Deserialize, Serialize};

use crate::name_of;

/// A machine: the content of a whole file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Origin of the numbers.
    #[serde(default)]
    pub provenance: Provenance,
    /// Costs of messages, by backend, distance and length.
    #[serde(default, rename = "message", skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageCost>,
    /// Costs of collective calls.
    #[serde(default, rename = "collective", skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveCost>,
    /// Shares of messages that can hide behind computation.
    #[serde(default, rename = "overlap", skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<OverlapCost>,
    /// Costs of rebuilds for transports that have windows.
    #[serde(default, rename = "negotiation", skip_serializing_if = "Vec::is_empty")]
    pub negotiations: Vec<NegotiationCost>,
    /// Costs of a rank's own work.
    #[serde(default, rename = "compute", skip_serializing_if = "Vec::is_empty")]
    pub computes: Vec<ComputeCost>,
}

/// Origin of the numbers of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// Host name of rank 0.
    pub host: String,
    /// CPU model of that host.
    pub cpu: String,
    /// First line of the version of the MPI library.
    pub mpi_library: String,
    /// Date, such as `2026-11-23`.
    pub date: String,
    /// Version of md.
    pub version: String,
    /// Commands that were run.
    pub commands: Vec<String>,
    /// Origin of the times of messages, if a table of benchmarks contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Origin>,
}

/// Place and time of the measurements of messages; for several tables in one, all their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Origin {
    /// As in [`Provenance`].
    pub host: String,
    /// As in [`Provenance`].
    pub cpu: String,
    /// As in [`Provenance`].
    pub mpi_library: String,
    /// First and last date.
    pub date: String,
    /// As in [`Provenance`].
    pub version: String,
    /// Numbers of ranks.
    pub ranks: Vec<usize>,
}

/// Distance between two ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// One node; where it matters, cores that share the last-level cache.
    #[default]
    Node,
    /// Two nodes.
    Network,
    /// One node, cores that do not share the last-level cache.
    Across,
}

/// Cost of messages of one backend over one distance, in a range of lengths: usually one range of
/// eager messages and one of rendezvous messages. The default is one range without cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCost {
    /// Backend that moves the messages.
    pub backend: Backend,
    /// Distance between the ranks.
    pub distance: Distance,
    /// Length of the shortest message of the range.
    pub from_bytes: u64,
    /// Length above all messages of the range; the last range has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_bytes: Option<u64>,
    /// Seconds from the beginning of sending to the arrival of an empty message.
    pub latency_s: f64,
    /// CPU seconds of the sender per message, and of the receiver.
    pub overhead_s: f64,
    /// Seconds that each byte adds.
    pub seconds_per_byte: f64,
    /// Part of the time beyond that of an empty message in which the messages of a rank follow each
    /// other (the gap per byte of `LogGP`): 0 if all travel at once, 1 if each waits for the
    /// previous one.
    #[serde(default)]
    pub serial_share: f64,
    /// Root mean square of (fit / measured - 1).
    #[serde(default)]
    pub rms_residual: f64,
    /// Largest of these, in magnitude.
    #[serde(default)]
    pub largest_residual: f64,
    /// Root mean square for measurements that were held out of the fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_rms_residual: Option<f64>,
    /// Largest of these, in magnitude.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_largest_residual: Option<f64>,
    /// Number of measurements it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Half widths of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

/// Half of 95 % intervals; numbers held at a bound, or without residuals to judge them, have none.
pub type HalfWidths = BTreeMap<String, f64>;

/// Returns a warning on a fit that is off by more than 30 %, by the larger one of its two
/// residuals.
fn doubt(name: &str, rms: f64, held_out_rms: Option<f64>) -> Option<String> {
    const FAR: f64 = 0.3;
    let held_out = held_out_rms.unwrap_or(0.0);
    let of_what =
        if held_out > rms { "measurements that were kept from it" } else { "what it was fitted to" };
    let percent = 100.0 * rms.max(held_out);
    (rms.max(held_out) > FAR).then(|| {
        format!(
            "{name}: the fit is off by {percent:.0} % (rms) of {of_what}, and so may be predictions; fit again with a larger \
             --budget, on an idle machine"
        )
    })
}

/// Returns whether a fit has at least as many coefficients as samples: its residuals are then 0 and
/// judge nothing. Without samples, the numbers are not fitted but given by the user.
fn is_unjudged(samples: u64, coefficients: u64) -> bool {
    (1..=coefficients).contains(&samples)
}

impl MessageCost {
    /// Returns whether it was fitted to as many measurements as it has coefficients, so that its
    /// quality is unknown.
    pub fn is_unjudged(&self) -> bool {
        // Coefficients: latency and, unless it is 0, the time per byte.
        is_unjudged(self.samples, if self.seconds_per_byte > 0.0 { 2 } else { 1 })
    }

    /// Returns the seconds from the beginning of sending to the arrival.
    pub fn one_way_s(&self, bytes: f64) -> f64 {
        self.latency_s + self.seconds_per_byte * bytes
    }
}

/// A collective call of all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Allreduce` of some numbers.
    Allreduce,
}

/// Cost of a collective call: `base_s + per_doubling_s log2 P` on P ranks of one node, or on P
/// nodes with one rank each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveCost {
    /// Collective call.
    pub operation: Operation,
    /// Distance between the ranks.
    pub distance: Distance,
    /// Seconds on one rank.
    pub base_s: f64,
    /// Seconds that doubling the ranks adds.
    pub per_doubling_s: f64,
    /// As in [`MessageCost`].
    #[serde(default)]
    pub rms_residual: f64,
    /// As in [`MessageCost`].
    #[serde(default)]
    pub largest_residual: f64,
    /// Number of measurements it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Half widths of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

/// Share of a backend's messages that hides behind computation with occasional calls for progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlapCost {
    /// Backend that moves the messages.
    pub backend: Backend,
    /// Distance between the ranks.
    pub distance: Distance,
    /// Share of a message's time that passes while the receiver computes, 0 to 1.
    pub hidden_share: f64,
    /// Seconds of a call for progress.
    pub progress_call_s: f64,
}

/// Cost, for the window of one context on two ranks, of negotiating message sizes anew, in addition
/// to exchanging the sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NegotiationCost {
    /// Backend that has the window.
    pub backend: Backend,
    /// Distance between the ranks.
    pub distance: Distance,
    /// Seconds for collective calls, and for ending and beginning epochs.
    pub two_ranks_s: f64,
}

/// Costs of a rank's own work, by method, precision and threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeCost {
    /// Method that finds the pairs.
    pub method: MethodKind,
    /// Precision of the pair arithmetic.
    pub precision: Precision,
    /// Threads per rank.
    #[serde(default = "one")]
    pub threads: usize,
    /// Seconds per computed pair, in each step.
    pub per_computed_pair_s: f64,
    /// Seconds of the forces per particle, in addition to its pairs, in each step.
    #[serde(default)]
    pub per_particle_forces_s: f64,
    /// Seconds of the forces per cell, owned or ghost, in each step.
    #[serde(default)]
    pub per_cell_forces_s: f64,
    /// Seconds of integration per particle, in each step.
    pub per_particle_s: f64,
    /// Seconds of building the neighbour lists per computed pair in them, in steps that rebuild.
    #[serde(default)]
    pub per_list_entry_s: f64,
    /// Seconds per particle of migration, sorting and other work, in steps that rebuild.
    #[serde(default)]
    pub per_particle_rebuilt_s: f64,
    /// Seconds per cell, owned or ghost, of that work.
    #[serde(default)]
    pub per_cell_rebuilt_s: f64,
    /// Seconds of writing a particle into a message, or to its periodic image.
    pub per_ghost_packed_s: f64,
    /// Seconds of reading a particle from a message.
    pub per_ghost_unpacked_s: f64,
    /// Standard deviation of the forces' time between steps and ranks, relative to it.
    #[serde(default)]
    pub force_scatter: f64,
    /// Relative standard deviation of all work done per particle.
    #[serde(default)]
    pub particle_scatter: f64,
    /// Root mean square of (model / measured - 1), for the forces of several systems.
    #[serde(default)]
    pub rms_residual: f64,
    /// Largest of these, in magnitude.
    #[serde(default)]
    pub largest_residual: f64,
    /// Root mean square for measurements that were held out of the fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_rms_residual: Option<f64>,
    /// Largest of these, in magnitude.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_largest_residual: Option<f64>,
    /// Number of systems it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Half widths of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

fn one() -> usize {
    1
}

impl ComputeCost {
    /// Coefficients of the forces' fit: pairs, particles, cells.
    const COEFFICIENTS: u64 = 3;

    /// As [`MessageCost::is_unjudged`].
    pub fn is_unjudged(&self) -> bool {
        is_unjudged(self.samples, Self::COEFFICIENTS)
    }
}

impl Machine {
    /// Returns the ranges of a backend's messages over a distance, shortest first.
    pub fn ranges(&self, backend: Backend, distance: Distance) -> Vec<&MessageCost> {
        let of_these = |cost: &&MessageCost| (cost.backend, cost.distance) == (backend, distance);
        let mut ranges: Vec<_> = self.messages.iter().filter(of_these).collect();
        ranges.sort_by_key(|cost| cost.from_bytes);
        ranges
    }

    /// Returns the cost of a collective call over a distance, if it was measured.
    pub fn collective(&self, operation: Operation, distance: Distance) -> Option<&CollectiveCost> {
        self.collectives.iter().find(|cost| (cost.operation, cost.distance) == (operation, distance))
    }

    /// Returns the share of a backend's messages that can hide, if it was measured.
    pub fn overlap(&self, backend: Backend, distance: Distance) -> Option<&OverlapCost> {
        self.overlaps.iter().find(|cost| (cost.backend, cost.distance) == (backend, distance))
    }

    /// Returns the cost of a backend's windows at a rebuild, if it was measured.
    pub fn negotiation(&self, backend: Backend, distance: Distance) -> Option<&NegotiationCost> {
        self.negotiations.iter().find(|cost| (cost.backend, cost.distance) == (backend, distance))
    }

    /// Returns a sentence for each kind of cost whose fit is far from the measurements, fitted or
    /// held out. Costs of computation count only if `is_used` returns true.
    pub fn doubts(&self, is_used: impl Fn(&ComputeCost) -> bool) -> Vec<String> {
        let messages = self.messages.iter().map(|cost| {
            (format!("messages by {}", cost.backend.name()), cost.rms_residual, cost.held_out_rms_residual)
        });
        let computes = self.computes.iter().filter(|cost| is_used(cost)).map(|cost| {
            let name = format!("forces by {} in {} precision", name_of(cost.method), name_of(cost.precision));
            (name, cost.rms_residual, cost.held_out_rms_residual)
        });
        let far = messages.chain(computes).filter_map(|(name, rms, held_out)| doubt(&name, rms, held_out));
        far.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the cost of a method's work, if it was measured.
    pub fn compute(&self, method: MethodKind, precision: Precision, threads: usize) -> Option<&ComputeCost> {
        let wanted = (method, precision, threads);
        self.computes.iter().find(|cost| (cost.method, cost.precision, cost.threads) == wanted)
    }
}
