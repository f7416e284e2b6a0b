//! Fixed data for the tests of the formatting functions.

use std::time::Duration;

use md_comm::{Backend, local};
use md_core::force::Precision;
use md_engine::clock::PhaseTime;
use md_engine::{
    BalanceReport, BoxReport, EnergyReport, NeighborConfig, NeighborReport, Phase, RankTiming, Timings,
};
use md_lab::{RunContext, Strategy};
use md_scenario::Parallel;

use super::RunFacts;
use crate::early_end::Ended;

/// Returns two ranks with one second each. The second one computes forces for longer, and the first
/// one waits for it.
pub(super) fn two_ranks() -> [RankTiming; 2] {
    [rank(0.6, 0.3125, 8037), rank(0.9, 0.0125, 7963)]
}

/// Returns the timings of these ranks, reduced over the ranks.
pub(super) fn reduced(ranks: &[RankTiming]) -> Timings {
    let reduce = |world: &dyn md_comm::World| Timings::reduce(&ranks[world.rank()], world).unwrap();
    local::run(ranks.len(), Duration::from_secs(60), reduce).remove(0).unwrap()
}

fn rank(force_s: f64, wait_s: f64, owned: u64) -> RankTiming {
    let mut timing =
        RankTiming { messages: 1300, bytes: 104_000_000, owned, ghosts: 9000, ..RankTiming::default() };
    let mut set = |phase: Phase, calls, seconds| timing.phases[phase as usize] = PhaseTime { calls, seconds };
    set(Phase::Integrate, 200, 0.05);
    set(Phase::Force, 101, force_s);
    set(Phase::HaloTransfer, 101, 0.0375);
    set(Phase::HaloWait, 101, wait_s);
    set(Phase::Output, 2, 3.5578e-5);
    set(Phase::Total, 1, 1.0);
    timing
}

pub(super) fn context() -> RunContext {
    RunContext {
        strategy: Strategy { backend: Backend::P2p, ..Parallel::default().strategy() },
        grid: "2x1x1".to_owned(),
        ranks: 2,
        threads: 1,
        precision: Precision::Double,
        atoms: 16000,
        steps: 100,
        seed: 87287,
        mpi_library: "Open MPI v4.1.4, package: Debian".to_owned(),
        host: "node-1".to_owned(),
        version: "0.1.0".to_owned(),
    }
}

pub(super) fn facts() -> RunFacts {
    let mut energy = EnergyReport::default();
    energy.drift = -0.0089259;
    RunFacts {
        wall_s: 1.0,
        degrees_of_freedom: 47_997,
        timestep: 0.005,
        simd: "avx512".to_owned(),
        shape: "cpu",
        useful_pairs_per_atom: 27.0,
        computed_pairs_per_atom: 108.0,
        neighborhood: NeighborReport {
            rebuilds: 5,
            dangerous_rebuilds: 1,
            dangerous_checks: 0,
            largest_displacement: 1.25,
            first_dangerous_step: Some(60),
        },
        lists: NeighborConfig::default(),
        inner_skin: None,
        lost_particles: 0,
        ended: Ended::AsPlanned,
        energy_drift_per_atom: -0.0089259,
        energy,
        box_changes: BoxReport::default(),
        integrity_checks: 0,
        balance: BalanceReport::default(),
        warnings: Vec::new(),
        warned: Vec::new(),
        crowding: None,
        host_use: None,
        trajectory: None,
        resumed_from_step: None,
        rma_component: "none".to_owned(),
        choices: Vec::new(),
        analyses: serde_json::Map::new(),
        git: "0123456".to_owned(),
    }
}
