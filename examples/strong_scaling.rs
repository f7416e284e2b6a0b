//! Breakdown of a step for ranks with few particles.
//!
//! Build with `cargo build --release --example strong_scaling`, then run
//! `mpirun -n 2 target/release/examples/strong_scaling 500 1000 2000 4000` (particles per rank;
//! optionally with `--no-overlap` first).
//!
//! Prints CSV with microseconds per step. `work` is forces, lists and integration on the slowest
//! rank. `exchange_alone` is the halo exchange, repeated without work. A rank that is late in a
//! step makes the others wait. For each step, the shortest waiting time of any rank is counted as
//! `transfer`, and the additional waiting of the other ranks as `imbalance`.
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::time::{Duration, Instant};

use md_comm::World;
use md_core::Evaluation;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_engine::{Config, Overlap, Phase, Setup, Simulation, Timings};

const STEPS: u32 = 2000;
/// Steps for melting and for warming the caches.
const WARM_UP: u32 = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let world = md_comm::mpi::start(Duration::from_secs(60))?;
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let overlap = if arguments.first().is_some_and(|first| first == "--no-overlap") {
        arguments.remove(0);
        Overlap::Off
    } else {
        Overlap::On
    };
    if world.rank() == 0 {
        println!("atoms_per_rank,step,work,exchange_alone,pack_unpack,calls,transfer,imbalance,other");
    }
    for atoms_per_rank in arguments {
        measure(&world, atoms_per_rank.parse()?, overlap)?;
    }
    Ok(())
}

/// Returns the unit cells for about `atoms_per_rank` particles per rank. The box of each rank is as
/// close to a cube as is possible for ranks in a row.
fn cells(atoms_per_rank: u32, ranks: usize) -> [u32; 3] {
    const ATOMS_PER_CELL: f64 = 4.0;
    let per_rank = f64::from(atoms_per_rank) / ATOMS_PER_CELL;
    let side = per_rank.cbrt().ceil().max(5.0);
    let along = (per_rank / (side * side)).ceil().max(4.0);
    [along as u32 * ranks as u32, side as u32, side as u32]
}

fn measure(world: &dyn World, atoms_per_rank: u32, overlap: Overlap) -> Result<(), Box<dyn Error>> {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, cells(atoms_per_rank, world.ranks()));
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    (config.temperature, config.seed) = (Some(1.44), 87287);
    config.parallel.overlap = overlap;
    let mut simulation = Simulation::new(world, &Setup::new(config, world.ranks())?)?;
    steps(&mut simulation, WARM_UP)?;

    simulation.start_measuring()?;
    let begun = Instant::now();
    steps(&mut simulation, STEPS)?;
    let step_us = us(begun.elapsed().as_secs_f64());
    let timings = Timings::reduce(&simulation.timing()?, world)?;
    let waits = waits(&mut simulation)?;
    let (transfer, imbalance) = split(&waits, world)?;
    let mut halo = simulation.freeze()?;
    world.barrier()?;
    let begun = Instant::now();
    (0..STEPS).try_for_each(|_| halo.exchange())?;
    let exchange_us = us(begun.elapsed().as_secs_f64());

    let spread = |phase: Phase| us(timings.phase(phase).seconds.avg);
    let (work, calls) = (us(timings.work_s.max), spread(Phase::HaloTransfer));
    let packing = spread(Phase::HaloPack) + spread(Phase::HaloUnpack) + spread(Phase::ForceReturn);
    let waiting = spread(Phase::HaloWait);
    // The split was measured in other steps than the sum, so only its ratio is used.
    let [transfer, imbalance] = [transfer, imbalance].map(|part| waiting * part / (transfer + imbalance));
    let other = step_us - us(timings.work_s.avg) - packing - calls - waiting;
    if world.rank() == 0 {
        let atoms = simulation.atoms() / world.ranks() as u64;
        println!(
            "{atoms},{step_us:.1},{work:.1},{exchange_us:.1},{packing:.1},{calls:.1},{transfer:.1},{imbalance:.1},{other:.1}"
        );
    }
    Ok(simulation.finalise()?)
}

fn us(total_s: f64) -> f64 {
    1e6 * total_s / f64::from(STEPS)
}

fn steps(simulation: &mut Simulation, count: u32) -> Result<(), Box<dyn Error>> {
    (0..count).try_for_each(|_| Ok(simulation.step(Evaluation::ForcesOnly)?))
}

/// Returns this rank's waiting time in each of some more steps, in seconds.
fn waits(simulation: &mut Simulation) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut before = simulation.timing()?.phases[Phase::HaloWait as usize].seconds;
    let mut wait = || {
        simulation.step(Evaluation::ForcesOnly)?;
        let now = simulation.timing()?.phases[Phase::HaloWait as usize].seconds;
        Ok(now - std::mem::replace(&mut before, now))
    };
    (0..STEPS).map(|_| wait()).collect()
}

/// Returns sums over all steps: the shortest waiting time of any rank, and the additional waiting
/// time of the ranks on average.
fn split(waits: &[f64], world: &dyn World) -> Result<(f64, f64), Box<dyn Error>> {
    let mut least: Vec<f64> = waits.iter().map(|wait| -wait).collect();
    world.max(&mut least)?;
    let transfer = -least.iter().sum::<f64>();
    let mut all = [waits.iter().sum::<f64>()];
    world.sum(&mut all)?;
    Ok((transfer, all[0] / world.ranks() as f64 - transfer))
}
