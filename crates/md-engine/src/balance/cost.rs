//! Model of the savings and costs of a balancing: the decision must not depend on a clock.
//!
//! The numbers were measured on two ranks of an Intel server with AVX-512 in double precision: the
//! pair time from the additional time of an off-centre droplet without balancing, the others from
//! balancings of travelling droplets with 2,400 to 150,000 particles in 1,100 to 88,000 cells, with
//! two runs of each, which differ by up to a factor of two. Faster cores change all numbers alike
//! (on Zen 5 a balancing and a normal step take 0.6 times as long), so decisions hardly depend on
//! them.

/// A computed pair, including its part of lists and integration.
const PAIR_NS: f64 = 0.8;
/// Closing and opening contexts, and migration messages to all peers.
const REPLACEMENT_NS: f64 = 2e5;
/// Packing, sending and unpacking a particle, into memory that has to grow.
const MOVED_PARTICLE_NS: f64 = 1800.0;
/// A particle in an additional rebuild.
const REBUILT_PARTICLE_NS: f64 = 170.0;
/// A cell in the table of weights, in the proposals and in the new plan.
const CELL_NS: f64 = 290.0;

/// Unit of the loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LoadUnit {
    /// Computed pairs of one step.
    PairsOfAStep {
        /// Steps until the next check.
        steps: u64,
    },
    /// Nanoseconds between two checks.
    Nanoseconds,
}

impl LoadUnit {
    /// Returns the nanoseconds that `work` takes until the next check.
    pub(crate) fn ns(self, work: f64) -> f64 {
        match self {
            Self::PairsOfAStep { steps } => work * PAIR_NS * steps as f64,
            Self::Nanoseconds => work,
        }
    }
}

/// Size of a change of the division.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Change {
    /// Particles that change rank.
    pub particles_moved: f64,
    /// Particles of the whole system.
    pub particles: f64,
    /// Cells of the whole system.
    pub cells: usize,
    /// Ranks that share the work.
    pub ranks: usize,
}

impl Change {
    /// Returns the least cost of any change.
    pub(crate) fn least_ns(self) -> f64 {
        Self { particles_moved: 0.0, ..self }.ns()
    }

    /// Returns the cost per rank.
    pub(crate) fn ns(self) -> f64 {
        let Self { particles_moved, particles, cells, ranks } = self;
        let per_rank = (particles_moved * MOVED_PARTICLE_NS + particles * REBUILT_PARTICLE_NS) / ranks as f64;
        REPLACEMENT_NS + per_rank + cells as f64 * CELL_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_imbalance_is_worth_a_change_and_a_small_one_is_not() {
        let change = Change { particles_moved: 5_000.0, particles: 32_000.0, cells: 1_000, ranks: 4 };
        let until_next_look = LoadUnit::PairsOfAStep { steps: 100 };
        // A melt with 8,000 particles per rank has 800,000 computed pairs per rank.
        assert!(until_next_look.ns(0.5 * 800_000.0) > change.ns());
        assert!(until_next_look.ns(0.01 * 800_000.0) < change.least_ns());
        assert!(change.least_ns() < change.ns());
    }
}
