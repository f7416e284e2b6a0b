//! Decisions that ranks make before they have all data, and their consequences when they were
//! wrong.

mod common;

use common::{melt, on_ranks};
use md_core::rebuild::RebuildPolicy;
use md_core::{Evaluation, PairSums};
use md_engine::{
    Config, EngineError, Force, ForceContext, Forces, NeighborReport, SecondShare, Setup, Simulation,
};

/// No forces except one push on one particle, which then moves by more than half the skin in the
/// next step.
struct Push {
    evaluations: u64,
    at: u64,
}

impl Force for Push {
    fn cutoff(&self) -> f64 {
        2.5
    }

    fn add_forces(&mut self, context: &mut ForceContext, _: Evaluation) -> Result<PairSums, EngineError> {
        const FORCE: f64 = 16_000.0;
        self.evaluations += 1;
        let owned = context.particles.owned();
        if self.evaluations == self.at
            && let Some(index) = context.particles.id[..owned].iter().position(|&id| id == 1)
        {
            context.particles.force[0][index] = FORCE;
        }
        Ok(PairSums::default())
    }
}

/// Returns the report of a run of 36 steps, with a push in the 33rd.
fn pushed(ranks: usize) -> NeighborReport {
    on_ranks(ranks, |world| {
        let forces = Forces::own(2.5);
        let mut config = Config { forces, ..melt() };
        config.temperature = Some(0.1);
        config.neighbor.rebuild = RebuildPolicy::Displacement;
        let push = Push { evaluations: 0, at: 34 };
        let setup = Setup::new(config, ranks)?;
        let mut simulation = Simulation::with_forces(world, &setup, vec![Box::new(push)])?;
        simulation.run(36, &mut [])?;
        let report = simulation.neighbor_report();
        simulation.finalise()?;
        Ok(report)
    })
}

#[test]
fn a_step_that_nobody_could_foresee_is_dangerous_and_rebuilds() {
    let alone = pushed(1);
    assert_eq!((alone.dangerous_checks, alone.first_dangerous_step), (0, None));
    let together = pushed(3);
    assert_eq!((together.dangerous_checks, together.first_dangerous_step), (1, Some(34)), "{together:?}");
    assert!(together.largest_displacement > 1.0);
    assert_eq!(together.rebuilds + 1, alone.rebuilds, "but for the step in which nobody knew");
}

/// Returns energy and virial after some steps, and the final share.
fn with_share(second_share: SecondShare) -> [f64; 3] {
    on_ranks(2, |world| {
        let mut config = melt();
        config.parallel.second_share = second_share;
        let mut simulation = Simulation::new(world, &Setup::new(config, 2)?)?;
        simulation.run(40, &mut [])?;
        let sums = simulation.system_sums()?;
        let share = simulation.timing()?.second_share;
        simulation.finalise()?;
        Ok([sums.pairs.energy, sums.pairs.virial.trace(), share])
    })
}

#[test]
fn whatever_share_is_chosen_the_sums_agree() {
    let [energy, virial, half] = with_share(SecondShare::Fixed(0.5));
    let [auto_energy, auto_virial, chosen] = with_share(SecondShare::Auto);
    assert_eq!(half, 0.5);
    assert!((0.125..=0.875).contains(&chosen), "{chosen}");
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-8;
    assert!(close(energy, auto_energy) && close(virial, auto_virial), "{energy} and {auto_energy}");
}
