//! Lives of inner lists, and what ends them.

use super::*;
use crate::{Boundary, Dimension, Particle};
use ListKind::{Inner, Outer};

/// Positions along x of two particles and two ghosts that arrive with the boundary.
struct Row {
    particles: Particles,
    pruning: Pruning,
    threads: Threads,
}

impl Row {
    fn new() -> Self {
        let boundary = [Boundary::Periodic; 3];
        let (dimension, lengths) = (Dimension::Three, [10.0; 3]);
        let domain = Domain { dimension, origin: [0.0; 3], lengths, boundary };
        let at = |x| Particle { position: [x, 1.0, 1.0], ..Particle::default() };
        let particles: Particles = [at(1.0), at(3.0), at(5.0), at(7.0)].into_iter().collect();
        let (mut pruning, threads) = (Pruning::new(1.0), Threads::one());
        pruning.restart(&domain, &particles, &threads, SimdLevel::detect());
        Self { particles, pruning, threads }
    }

    /// Moves each by this distance, and returns the pairs to be computed in each region.
    fn step(&mut self, ways: [f64; 4]) -> [ListKind; 3] {
        for (x, way) in self.particles.position[0].iter_mut().zip(ways) {
            *x += way;
        }
        let (threads, simd) = (&self.threads, SimdLevel::detect());
        let news = [0..2, 2..4, 0..0];
        for (&region, new) in Region::ALL.iter().zip(news) {
            self.pruning.choose(&Upcoming { region, new, particles: &self.particles, threads, simd });
        }
        [0, 1, 2].map(|region| self.pruning.kind(Region::ALL[region]))
    }
}

const STEP: [f64; 4] = [0.02, -0.02, 0.01, -0.01];

#[test]
fn a_list_is_pruned_for_several_steps() {
    let mut row = Row::new();
    assert_eq!(row.step(STEP), [Outer; 3], "positions are stored");
    for step in 0..50 {
        let due = row.pruning.next;
        assert_eq!(due == Stage::Prune, step % LIFE as i32 == 0, "step {step}: {due:?}");
        assert_eq!(row.step(STEP), [Inner; 3], "step {step}");
    }
}

#[test]
fn regions_after_a_jump_are_computed_in_full() {
    let jump = |ways: [f64; 4]| {
        let mut row = Row::new();
        for _ in 0..4 {
            row.step(STEP);
        }
        let kinds = row.step(ways);
        assert_eq!(row.step(STEP), [Inner; 3], "it is pruned after that");
        kinds
    };
    assert_eq!(jump([0.02, 0.3, 0.01, -0.01]), [Outer; 3], "a particle has pairs in all regions");
    assert_eq!(jump([0.02, -0.02, 0.3, -0.01]), [Inner, Outer, Outer], "a ghost comes later");
}

#[test]
fn fast_particles_are_not_worth_an_inner_list() {
    let mut row = Row::new();
    for _ in 0..10 {
        assert_eq!(row.step(STEP.map(|way| 10.0 * way)), [Outer; 3]);
    }
}
