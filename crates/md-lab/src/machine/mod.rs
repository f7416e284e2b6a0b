//! `machine.toml`: what messages and computation cost on a machine. `fit` makes it from measurements, everybody may edit it, [`crate::predict`]
//! reads it.
//!
//! A message of `n` bytes has arrived `latency_s + n seconds_per_byte` after its sender has begun to send it, between two ranks and with
//! everything that its protocol does: of `rma-lock` that is put, acknowledgement and empty message, of `rma-fence` the fence of two ranks.
//! `overhead_s` of it keeps the sender busy, and as much the receiver. The part `serial_share` of what it takes longer than an empty message keeps
//! both busy, half of it each, or the sender alone if it flushes: so far the messages of a rank follow each other.

mod read;

pub use read::MachineError;

use std::collections::{BTreeMap, BTreeSet};

use md_comm::Backend;
use md_core::force::{MethodKind, Precision};
use serde::{Deserialize, Serialize};

use crate::name_of;

/// A machine, as a whole file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Where the numbers come from.
    #[serde(default)]
    pub provenance: Provenance,
    /// What a message costs, by backend, distance and length.
    #[serde(default, rename = "message", skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageCost>,
    /// What a collective call costs.
    #[serde(default, rename = "collective", skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveCost>,
    /// What of a message can hide behind computation.
    #[serde(default, rename = "overlap", skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<OverlapCost>,
    /// What a rebuild costs transports that have windows.
    #[serde(default, rename = "negotiation", skip_serializing_if = "Vec::is_empty")]
    pub negotiations: Vec<NegotiationCost>,
    /// What a rank's own work costs.
    #[serde(default, rename = "compute", skip_serializing_if = "Vec::is_empty")]
    pub computes: Vec<ComputeCost>,
}

/// Where and how a machine was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// Name of the host of rank 0.
    pub host: String,
    /// Name of its CPU.
    pub cpu: String,
    /// First line of the library's version.
    pub mpi_library: String,
    /// As `2026-11-23`.
    pub date: String,
    /// Of md.
    pub version: String,
    /// What was run.
    pub commands: Vec<String>,
    /// Of the messages' times, where a table of benchmarks has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Origin>,
}

/// Where and when messages were measured; of several tables in one, all that they say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Origin {
    /// As of [`Provenance`].
    pub host: String,
    /// As of [`Provenance`].
    pub cpu: String,
    /// As of [`Provenance`].
    pub mpi_library: String,
    /// First and last.
    pub date: String,
    /// As of [`Provenance`].
    pub version: String,
    /// Numbers of ranks.
    pub ranks: Vec<usize>,
}

/// How far apart two ranks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// On one node; where it matters, on cores that share the last cache.
    Node,
    /// On two.
    Network,
    /// On one node, on cores that do not share the last cache.
    Across,
}

/// Messages of one backend over one distance, in a range of lengths: one each for what the library sends eagerly and by rendezvous.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCost {
    /// What moves them.
    pub backend: Backend,
    /// How far.
    pub distance: Distance,
    /// The shortest message of the range.
    pub from_bytes: u64,
    /// Longer than all messages of the range; the last range has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_bytes: Option<u64>,
    /// From the beginning of sending to the arrival of an empty message.
    pub latency_s: f64,
    /// CPU time of the sender per message, and of the receiver.
    pub overhead_s: f64,
    /// What a byte adds.
    pub seconds_per_byte: f64,
    /// Part of what a message takes longer than an empty one in which the messages of a rank follow each other (the gap per byte of `LogGP`): 0 if all
    /// travel at once, 1 if each waits for the one before.
    #[serde(default)]
    pub serial_share: f64,
    /// Root of the mean square of (fit / measured - 1).
    #[serde(default)]
    pub rms_residual: f64,
    /// Largest of these, as a positive number.
    #[serde(default)]
    pub largest_residual: f64,
    /// The same of measurements that the fit did not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_rms_residual: Option<f64>,
    /// Largest of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_largest_residual: Option<f64>,
    /// Measurements it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

/// Half of 95 % intervals; none of a number that was held at a bound, or that nothing judges.
pub type HalfWidths = BTreeMap<String, f64>;

/// What is said of a fit that is off by more than a third; the larger one of two such numbers counts.
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

/// Whether a fit to so many samples has a coefficient for each: its residuals are 0 and judge nothing. None are no fit, but somebody's numbers.
fn is_unjudged(samples: u64, coefficients: u64) -> bool {
    (1..=coefficients).contains(&samples)
}

impl MessageCost {
    /// All messages of a backend over a distance, which cost nothing yet.
    pub fn nothing(backend: Backend, distance: Distance) -> Self {
        Self {
            backend,
            distance,
            from_bytes: 0,
            below_bytes: None,
            latency_s: 0.0,
            overhead_s: 0.0,
            seconds_per_byte: 0.0,
            serial_share: 0.0,
            rms_residual: 0.0,
            largest_residual: 0.0,
            held_out_rms_residual: None,
            held_out_largest_residual: None,
            samples: 0,
            half_widths: HalfWidths::new(),
        }
    }

    /// Whether it was fitted to as many measurements as it has coefficients, so that nothing tells how good it is.
    pub fn is_unjudged(&self) -> bool {
        // Latency, and what a byte adds.
        is_unjudged(self.samples, if self.seconds_per_byte > 0.0 { 2 } else { 1 })
    }

    /// Seconds from the beginning of sending to the arrival.
    pub fn one_way_s(&self, bytes: f64) -> f64 {
        self.latency_s + self.seconds_per_byte * bytes
    }
}

/// A collective call that all ranks make together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Allreduce` of some numbers.
    Allreduce,
}

/// `base_s + per_doubling_s log2 P` on P ranks of one node, or on P nodes of one rank each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectiveCost {
    /// Which.
    pub operation: Operation,
    /// How far.
    pub distance: Distance,
    /// On one rank.
    pub base_s: f64,
    /// What twice as many ranks add.
    pub per_doubling_s: f64,
    /// As of messages.
    #[serde(default)]
    pub rms_residual: f64,
    /// As of messages.
    #[serde(default)]
    pub largest_residual: f64,
    /// Measurements it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

/// What of a backend's messages hides behind computation that calls for progress now and then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverlapCost {
    /// What moves them.
    pub backend: Backend,
    /// How far.
    pub distance: Distance,
    /// Share of a message's time that passes while the receiver computes: 0 to 1.
    pub hidden_share: f64,
    /// Each call for progress.
    pub progress_call_s: f64,
}

/// What two ranks spend on the window of one context when the sizes of messages are agreed upon anew, beside telling each other the sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NegotiationCost {
    /// What has the window.
    pub backend: Backend,
    /// How far.
    pub distance: Distance,
    /// Collective calls, and epochs that end and begin.
    pub two_ranks_s: f64,
}

/// What a rank's own work costs, by method, precision and threads.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeCost {
    /// How pairs are found.
    pub method: MethodKind,
    /// Of the pair arithmetic.
    pub precision: Precision,
    /// Threads per rank.
    #[serde(default = "one")]
    pub threads: usize,
    /// A computed pair, in each step.
    pub per_computed_pair_s: f64,
    /// What forces cost a particle beside its pairs, in each step.
    #[serde(default)]
    pub per_particle_forces_s: f64,
    /// What forces cost a cell, owned or ghost, in each step.
    #[serde(default)]
    pub per_cell_forces_s: f64,
    /// Integrating a particle, in each step.
    pub per_particle_s: f64,
    /// Making lists, per computed pair that they hold, in steps that rebuild.
    #[serde(default)]
    pub per_list_entry_s: f64,
    /// Migration, sorting and what else a step that rebuilds does with a particle.
    #[serde(default)]
    pub per_particle_rebuilt_s: f64,
    /// The same of a cell, owned or ghost.
    #[serde(default)]
    pub per_cell_rebuilt_s: f64,
    /// Writing a particle into a message, or to an image of itself.
    pub per_ghost_packed_s: f64,
    /// Reading one from a message.
    pub per_ghost_unpacked_s: f64,
    /// Standard deviation of the forces' time from step to step and rank to rank, as a part of it.
    #[serde(default)]
    pub force_scatter: f64,
    /// The same of all that is done particle by particle.
    #[serde(default)]
    pub particle_scatter: f64,
    /// Root of the mean square of (model / measured - 1), of the forces of several systems.
    #[serde(default)]
    pub rms_residual: f64,
    /// Largest of these, as a positive number.
    #[serde(default)]
    pub largest_residual: f64,
    /// The same of measurements that the fit did not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_rms_residual: Option<f64>,
    /// Largest of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out_largest_residual: Option<f64>,
    /// Systems it was fitted to.
    #[serde(default)]
    pub samples: u64,
    /// Of fitted numbers, by their keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub half_widths: HalfWidths,
}

fn one() -> usize {
    1
}

impl ComputeCost {
    /// Of the forces' fit: pairs, particles, cells.
    const COEFFICIENTS: u64 = 3;

    /// As [`MessageCost::is_unjudged`].
    pub fn is_unjudged(&self) -> bool {
        is_unjudged(self.samples, Self::COEFFICIENTS)
    }
}

impl Machine {
    /// The ranges of a backend's messages over a distance, shortest first.
    pub fn ranges(&self, backend: Backend, distance: Distance) -> Vec<&MessageCost> {
        let of_these = |cost: &&MessageCost| (cost.backend, cost.distance) == (backend, distance);
        let mut ranges: Vec<_> = self.messages.iter().filter(of_these).collect();
        ranges.sort_by_key(|cost| cost.from_bytes);
        ranges
    }

    /// What a collective call costs over a distance, if that was measured.
    pub fn collective(&self, operation: Operation, distance: Distance) -> Option<&CollectiveCost> {
        self.collectives.iter().find(|cost| (cost.operation, cost.distance) == (operation, distance))
    }

    /// What of a backend's messages can hide, if that was measured.
    pub fn overlap(&self, backend: Backend, distance: Distance) -> Option<&OverlapCost> {
        self.overlaps.iter().find(|cost| (cost.backend, cost.distance) == (backend, distance))
    }

    /// What a backend's windows cost at a rebuild, if that was measured.
    pub fn negotiation(&self, backend: Backend, distance: Distance) -> Option<&NegotiationCost> {
        self.negotiations.iter().find(|cost| (cost.backend, cost.distance) == (backend, distance))
    }

    /// Returns what cannot be relied on: a sentence for each kind of cost whose fit is far from what was measured, be it what
    /// the fit knew or what it was kept from. Computation counts where `is_used` says so.
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

    /// What a method's work costs, if that was measured.
    pub fn compute(&self, method: MethodKind, precision: Precision, threads: usize) -> Option<&ComputeCost> {
        let wanted = (method, precision, threads);
        self.computes.iter().find(|cost| (cost.method, cost.precision, cost.threads) == wanted)
    }
}
