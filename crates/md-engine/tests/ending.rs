//! Runs that an observer ends early.

mod common;

use common::{melt, on_ranks};
use md_core::rebuild::RebuildPolicy;
use md_engine::{Needs, Observer, ObserverError, Setup, Simulation, Snapshot};

/// Observer that requests the end of the run from step `from` on, on one rank.
struct Impatient {
    is_asked: bool,
    from: u64,
    seen: u64,
    told: Option<u64>,
    last_had_energy: bool,
}

impl Observer for Impatient {
    fn due(&self, step: u64) -> Option<Needs> {
        Some(if self.told == Some(step) { Needs::ENERGY_AND_VIRIAL } else { Needs::NOTHING })
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        (self.seen, self.last_had_energy) = (now.step, now.thermo.is_some());
        Ok(())
    }

    fn wants_end(&self) -> bool {
        self.is_asked && self.seen >= self.from
    }

    fn ends_at(&mut self, step: u64) {
        self.told = Some(step);
    }
}

/// Returns the lowest and the highest last step of all ranks, of 100 steps, if one of them requests
/// the end from step 5 on.
fn last_steps(ranks: usize, policy: RebuildPolicy) -> [f64; 2] {
    on_ranks(ranks, |world| {
        let mut config = melt();
        config.neighbor.rebuild = policy;
        let mut simulation = Simulation::new(world, &Setup::new(config, ranks)?)?;
        let is_asked = world.rank() == ranks - 1;
        let mut observer = Impatient { is_asked, from: 5, seen: 0, told: None, last_had_energy: false };
        simulation.run(100, &mut [&mut observer])?;
        assert_eq!(observer.told, Some(observer.seen));
        assert!(observer.last_had_energy);
        let mut last = [observer.seen as f64, -(observer.seen as f64)];
        world.max(&mut last)?;
        simulation.finalise()?;
        Ok([-last[1], last[0]])
    })
}

#[test]
fn all_ranks_end_after_the_same_step() {
    for (ranks, policy, last) in [
        (1, RebuildPolicy::Every(1000), 6.0),
        (1, RebuildPolicy::Displacement, 6.0),
        // The request is sent in each step and answered in the next, or in the same if the step
        // waits for the answer.
        (3, RebuildPolicy::Displacement, 7.0),
        (3, RebuildPolicy::Every(8), 9.0),
        // Nothing else makes the ranks communicate.
        (3, RebuildPolicy::Every(1000), 21.0),
    ] {
        assert_eq!(last_steps(ranks, policy), [last; 2], "{ranks} ranks, {policy:?}");
    }
}
