//! Inner lists give the forces of outer lists.

use super::*;
use crate::force::PairWork;
use crate::grid::most_cells;
use crate::lattice::{Lattice, LatticeKind};
use crate::partition::Rect;
use crate::potential::LennardJones;
use crate::{
    Boundary, CellGrid, Dimension, Domain, ExchangePattern, HaloPlan, LocalCells, Partition, Shell, Threads,
    random,
};
use std::sync::Arc;

const SKIN: f64 = 0.8;
const STEPS: u64 = 40;
const JUMP: u64 = 20;

/// A crystal whose particles have small random velocities, in a box with walls.
fn crystal() -> (Particles, Domain) {
    let lattice = Lattice::new(LatticeKind::Fcc, LatticeKind::Fcc.spacing(0.85), [6; 3]);
    let (origin, boundary) = ([0.0; 3], [Boundary::Reflecting; 3]);
    let domain = Domain { dimension: Dimension::Three, origin, lengths: lattice.lengths(), boundary };
    let particle = |(id, position): (u64, [f64; 3])| {
        let velocity = random::normal_vector(1, id).map(|v| 0.002 * v);
        crate::Particle { id, position, velocity, ..crate::Particle::default() }
    };
    (lattice.sites().map(particle).collect(), domain)
}

/// Moves all particles. In one step, most go further than pruning allows for.
fn step(particles: &mut Particles, number: u64) {
    let time = if number == JUMP { 10.0 } else { 1.0 };
    for dim in 0..3 {
        for (x, v) in particles.position[dim].iter_mut().zip(particles.velocity[dim].iter()) {
            *x += time * v;
        }
    }
}

fn compare(precision: Precision, level: SimdLevel, threads: usize) {
    let (mut particles, domain) = crystal();
    let (potential, threads) = (LennardJones::reduced(2.5), Threads::new(threads).unwrap());
    let counts = most_cells(&domain, 2.5 + SKIN, particles.len() as u64).unwrap();
    let grid = CellGrid::new(domain, counts);
    let partition: Partition = Arc::new(Rect { grid: [1; 3] });
    let offsets = Shell::Half.offsets(Dimension::Three);
    let plan = HaloPlan::new(&grid, &partition, &offsets, ExchangePattern::Direct, 0);
    let (pairs, mut cells) = (PairWork::new(&plan, &grid, Shell::Half, 0.5), LocalCells::default());
    cells.sort(&mut particles, &grid, &plan, &threads);
    cells.clear_ghosts(&plan);
    let (grid, plan, pairs, cells, threads) = (&grid, &plan, &pairs, &cells, &threads);
    let system = System { grid, potential: &potential, plan, pairs, cells, simd: level, threads };
    let mut work = ClusterWork::new(SKIN, precision, Summation::Rounded);
    work.rebuild(system, &particles);
    let at_rebuild = work.clone();
    let forces = |work: &mut ClusterWork, particles: &mut Particles| {
        particles.clear_forces(threads);
        let mut pairs = 0.0;
        for &region in Region::ALL {
            let part = Part { region, blocks: 0..work.blocks(region) };
            pairs += work.add_forces(system, particles, &part, Evaluation::ForcesOnly).computed_pairs;
        }
        (particles.force.each_ref().map(|column| column.to_vec()), pairs)
    };
    let (mut shorter, mut widest) = (0, 0.0_f64);
    for number in 0..STEPS {
        let (expected, all) = forces(&mut at_rebuild.clone(), &mut particles);
        let (found, pairs) = forces(&mut work, &mut particles);
        assert_eq!(found, expected, "step {number} at {}", level.name());
        let is_shorter = pairs < all;
        assert!(!is_shorter || number != JUMP + 1, "the inner list is not valid after a jump");
        shorter += u64::from(is_shorter);
        widest = widest.max(all / pairs);
        step(&mut particles, number);
    }
    // Not in the first step, nor in the one after the jump.
    assert!(shorter >= STEPS - 4 && widest > 1.2, "{shorter} steps, {widest:.2} at {}", level.name());
}

#[test]
fn inner_lists_give_the_same_forces_to_the_last_bit() {
    for level in SimdLevel::available() {
        for precision in [Precision::Double, Precision::Mixed] {
            compare(precision, level, 1);
        }
    }
    compare(Precision::Double, SimdLevel::detect(), 3);
    compare(Precision::Mixed, SimdLevel::detect(), 3);
}
