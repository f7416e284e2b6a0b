//! Report of a run: data that the commands collect, and the text and tables made of them.

pub mod advice;
pub mod breakdown;
pub mod choices;
pub mod grid;
pub mod statistics;
pub mod summary;
pub mod tables;
pub mod timeline;
pub mod warnings;

#[cfg(test)]
mod fixtures;

use md_comm::Choice;
use md_engine::{BalanceReport, BoxReport, EnergyReport, NeighborConfig, NeighborReport};

use crate::early_end::Ended;
use crate::host_load::HostUse;

/// Facts about a finished run other than its timings: the rest of summary.json.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Seconds of the step loop alone.
    pub wall_s: f64,
    /// Degrees of freedom of the temperature, at the end.
    pub degrees_of_freedom: u64,
    /// Time step in tau.
    pub timestep: f64,
    /// SIMD level of the kernels, e.g. `avx512`.
    pub simd: String,
    /// Origin of the SIMD level: `cpu`, `measured` or `named`.
    pub shape: &'static str,
    /// Pairs within the cutoff per atom, each counted once, at the last thermo step.
    pub useful_pairs_per_atom: f64,
    /// Pairs whose distance was computed, per atom.
    pub computed_pairs_per_atom: f64,
    /// Rebuilds of the neighbour list, and how it held in between.
    pub neighborhood: NeighborReport,
    /// Search for pairs.
    pub lists: NeighborConfig,
    /// Skin of the pruned lists of rank 0, if it uses any.
    pub inner_skin: Option<f64>,
    /// Particles lost (a run that loses one fails).
    pub lost_particles: u64,
    /// Reason why the run has ended.
    pub ended: Ended,
    /// Total energy per atom, last minus first.
    pub energy_drift_per_atom: f64,
    /// Conservation of the total energy.
    pub energy: EnergyReport,
    /// Changes of the box by a barostat.
    pub box_changes: BoxReport,
    /// Checks that the sum of all forces is exactly zero, in a reproducible run.
    pub integrity_checks: u64,
    /// Balancing of the work.
    pub balance: BalanceReport,
    /// Reasons to doubt the results, in words.
    pub warnings: Vec<String>,
    /// The warnings that have been printed already.
    pub warned: Vec<String>,
    /// Which ranks take turns on their cores and why, in words.
    pub crowding: Option<String>,
    /// Use of the cores of the host.
    pub host_use: Option<HostUse>,
    /// File name of the trajectory that was written.
    pub trajectory: Option<String>,
    /// Step of the checkpoint from which the run was resumed.
    pub resumed_from_step: Option<u64>,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// Choices of the contexts of backend `auto`.
    pub choices: Vec<Choice>,
    /// Results of the analyses: entries of summary.json.
    pub analyses: serde_json::Map<String, serde_json::Value>,
    /// Commit from which the program was built, or `unknown`.
    pub git: String,
}
