//! What a balancing wins and what it costs, as a model: the decision must not depend on a clock.
//!
//! The numbers were measured on two ranks of an Intel server with AVX-512 in double precision: a pair by what an off-centre droplet takes longer
//! without balance, the rest by balancings of travelling droplets with 2,400 to 150,000 particles in 1,100 to 88,000 cells, two runs of each, which
//! differ by up to a factor of two. Faster cores change all of them alike (on Zen 5 a balancing and the step beside it take 0.6 times as long), so
//! decisions hardly depend on them.

/// A computed pair, with its share of lists and integration.
const PAIR_NS: f64 = 0.8;
/// Contexts closed and opened, messages of the migration to all peers.
const REPLACEMENT_NS: f64 = 2e5;
/// A particle that is packed, sent and unpacked, into memory that has to grow.
const MOVED_PARTICLE_NS: f64 = 1800.0;
/// A particle in a rebuild that would not have been due.
const REBUILT_PARTICLE_NS: f64 = 170.0;
/// A cell in the table of weights, in the proposals and in the new plan.
const CELL_NS: f64 = 290.0;

/// A time step's share of work, in the unit that the loads are in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LoadUnit {
    /// Computed pairs of one step, of so many until the next look.
    PairsOfAStep {
        /// Steps until the next look.
        steps: u64,
    },
    /// Nanoseconds between two looks.
    Nanoseconds,
}

impl LoadUnit {
    /// Nanoseconds until the next look that so much work takes.
    pub(super) fn ns(self, work: f64) -> f64 {
        match self {
            Self::PairsOfAStep { steps } => work * PAIR_NS * steps as f64,
            Self::Nanoseconds => work,
        }
    }
}

/// What is moved and made anew.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Change {
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
    /// The least that any change costs.
    pub(super) fn least_ns(self) -> f64 {
        Self { particles_moved: 0.0, ..self }.ns()
    }

    /// What it costs a rank.
    pub(super) fn ns(self) -> f64 {
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
        // A melt of 8,000 particles on each rank has 800,000 computed pairs there.
        assert!(until_next_look.ns(0.5 * 800_000.0) > change.ns());
        assert!(until_next_look.ns(0.01 * 800_000.0) < change.least_ns());
        assert!(change.least_ns() < change.ns());
    }
}
