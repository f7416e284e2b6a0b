//! What a run reports: plain data between the commands and the outputs, which write it.

use md_comm::Choice;
use md_engine::{BalanceReport, BoxReport, EnergyReport, NeighborReport};

use crate::early_end::Ended;

/// What a finished run knows about itself beside its timings: the rest of summary.json.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Seconds of the step loop alone.
    pub wall_s: f64,
    /// Degrees of freedom of the temperature, in the end.
    pub degrees_of_freedom: u64,
    /// Time step in tau.
    pub timestep: f64,
    /// SIMD level of the kernels, e.g. `avx512`.
    pub simd: String,
    /// How it was chosen: `cpu`, `measured` or `named`.
    pub shape: &'static str,
    /// Pairs within the cutoff per atom, each counted once, at the last thermo step.
    pub useful_pairs_per_atom: f64,
    /// Pairs whose distance was computed, per atom.
    pub computed_pairs_per_atom: f64,
    /// Rebuilds of the neighbourhood, and how it held in between.
    pub neighborhood: NeighborReport,
    /// Particles lost (a run that loses one fails).
    pub lost_particles: u64,
    /// Why the run has ended.
    pub ended: Ended,
    /// Total energy per atom, last minus first.
    pub energy_drift_per_atom: f64,
    /// How well the total energy was kept.
    pub energy: EnergyReport,
    /// How often a barostat has changed the box.
    pub box_changes: BoxReport,
    /// How the work was balanced.
    pub balance: BalanceReport,
    /// What puts the results in doubt, in words.
    pub warnings: Vec<String>,
    /// The same, where it has been said already.
    pub warned: Vec<String>,
    /// What makes ranks take turns on their cores, in words.
    pub crowding: Option<String>,
    /// File name of the trajectory that was written.
    pub trajectory: Option<String>,
    /// The step of the checkpoint that the run has gone on from.
    pub resumed_from_step: Option<u64>,
    /// RMA component in use, or `none`.
    pub rma_component: String,
    /// What the contexts of backend `auto` have chosen.
    pub choices: Vec<Choice>,
    /// What analyses have come to: entries of summary.json.
    pub analyses: serde_json::Map<String, serde_json::Value>,
    /// Commit the program was built from, or `unknown`.
    pub git: String,
}
