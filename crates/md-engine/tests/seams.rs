//! Extension points: user-defined integrators, observers and interactions.

mod common;

use common::{melt, on_ranks};
use md_core::TotalMomentum;
use md_core::integrate::{HalfKicks, VelocityVerlet};
use md_core::observables::twice_kinetic_energy;
use md_engine::integrator::Motion;
use md_engine::{
    Config, EngineError, Forces, Integrate, Needs, Observer, ObserverError, RunsOn, Scope, Setup, Simulation,
    Snapshot, every,
};

const ATOMS: u64 = 864;

/// Velocity Verlet with velocities scaled to one temperature after every step.
#[derive(Debug)]
struct Rescaling {
    keys: RescalingKeys,
    verlet: VelocityVerlet,
    degrees: f64,
}

/// Keys as an integrator of md-engine would have them in `integrators!`.
#[derive(Debug, Clone, Copy)]
struct RescalingKeys {
    temperature: f64,
}

impl RescalingKeys {
    fn build(self, setup: &Setup) -> Rescaling {
        let verlet = VelocityVerlet::new(setup.config.timestep, &setup.config.masses, setup.simd);
        let degrees = setup.degrees_of_freedom(TotalMomentum::Conserved) as f64;
        Rescaling { keys: self, verlet, degrees }
    }
}

impl Integrate for Rescaling {
    fn before_forces(&mut self, half_kicks: HalfKicks, motion: &mut Motion) -> Result<(), EngineError> {
        assert_eq!(half_kicks, HalfKicks::Single, "steps are completed at once");
        self.verlet.before_forces(half_kicks, motion)
    }

    fn after_forces(&mut self, motion: &mut Motion) -> Result<(), EngineError> {
        self.verlet.after_forces(motion)?;
        let mut sum = [twice_kinetic_energy(motion.particles, motion.masses)];
        motion.world.sum(&mut sum)?;
        let present = sum[0] / self.degrees;
        let factor = (self.keys.temperature / present).sqrt();
        let velocities = motion.particles.velocity.iter_mut().flat_map(|column| column.iter_mut());
        velocities.for_each(|velocity| *velocity *= factor);
        Ok(())
    }
}

#[test]
fn an_integrator_of_ones_own_takes_over_in_the_course_of_a_run() {
    for ranks in [1, 3] {
        let temperatures = on_ranks(ranks, |world| {
            let setup = Setup::new(melt(), ranks)?;
            let mut simulation = Simulation::new(world, &setup)?;
            let mut temperatures = Vec::new();
            let mut observer = every(10, Needs::ENERGY_AND_VIRIAL, |now| {
                temperatures.extend(now.thermo.map(|thermo| thermo.temperature));
                Ok(())
            });
            simulation.run(20, &mut [&mut observer])?;
            let own = RescalingKeys { temperature: 0.7 }.build(&setup);
            simulation.set_integrator(own)?;
            let mut observer = every(1, Needs::ENERGY_AND_VIRIAL, |now| {
                temperatures.extend(now.thermo.map(|thermo| thermo.temperature));
                Ok(())
            });
            simulation.run(10, &mut [&mut observer])?;
            simulation.finalise()?;
            Ok(temperatures)
        });
        assert_eq!(temperatures.len(), 3 + 10);
        assert!(temperatures[..3].iter().all(|&t| t > 0.8), "{temperatures:?}");
        assert!(temperatures[3..].iter().all(|t| (t - 0.7).abs() < 1e-12), "{temperatures:?}");
    }
}

/// Observer that records the steps it observes.
struct Log {
    rank: usize,
    steps: Vec<u64>,
}

impl Observer for Log {
    fn due(&self, step: u64) -> Option<Needs> {
        (step % 3 == 1).then_some(Needs::GATHERED_PARTICLES | Needs::VELOCITIES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        assert_eq!((now.rank, self.rank), (0, 0));
        let rows = now.gathered.ok_or("no particles")?;
        assert!(rows.len() as u64 == ATOMS && rows.is_sorted_by_key(|row| row.id));
        for index in 0..now.particles.owned() {
            let row = &rows[now.particles.id[index] as usize - 1];
            assert_eq!(row.vector, now.particles.get(index).velocity, "velocities of the full step");
        }
        self.steps.push(now.step);
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

#[test]
fn observers_see_what_they_ask_for_when_they_ask() {
    for ranks in [1, 2] {
        let (log, ticks, energies) = on_ranks(ranks, |world| {
            let setup = Setup::new(melt(), ranks)?;
            let mut simulation = Simulation::new(world, &setup)?;
            let (mut ticks, mut energies) = (Vec::new(), Vec::new());
            let mut log = Log { rank: world.rank(), steps: Vec::new() };
            let mut tick = every(1, Needs::NOTHING, |now| {
                ticks.push((now.step, now.thermo.is_some()));
                Ok(())
            });
            let mut energy = every(4, Needs::ENERGY_AND_VIRIAL, |now| {
                energies.extend(now.thermo.map(|thermo| thermo.step));
                Ok(())
            })
            .on_first_rank();
            simulation.run(4, &mut [&mut tick, &mut log, &mut energy])?;
            simulation.run(4, &mut [&mut tick, &mut log, &mut energy])?;
            simulation.finalise()?;
            Ok((log.steps, ticks, energies))
        });
        assert_eq!(log, [1, 4, 7]);
        assert_eq!(ticks, (0..=8).map(|step| (step, false)).collect::<Vec<_>>());
        assert_eq!(energies, [0, 4, 8]);
    }
}

#[test]
fn an_observers_error_ends_the_run() {
    let error = on_ranks(1, |world| {
        let setup = Setup::new(melt(), 1)?;
        let mut simulation = Simulation::new(world, &setup)?;
        let mut observer = every(2, Needs::NOTHING, |now| match now.step {
            4 => Err("the disk is full".into()),
            _ => Ok(()),
        });
        let error = simulation.run(10, &mut [&mut observer]).unwrap_err();
        assert_eq!(simulation.state().step, 4);
        Ok(error)
    });
    assert_eq!(error.to_string(), "the disk is full");
}

/// The other rank does not notice the error until it communicates: the failing rank has to end the
/// run.
#[test]
fn an_observers_error_is_that_of_its_rank() {
    let limit = std::time::Duration::from_secs(120);
    let ended = md_comm::local::run(2, limit, |world| {
        let mut simulation = Simulation::new(world, &Setup::new(melt(), 2)?)?;
        let mut observer = every(2, Needs::NOTHING, |now| match (now.step, now.rank) {
            (4, 1) => Err("the disk is full".into()),
            _ => Ok(()),
        });
        let outcome = simulation.run(4, &mut [&mut observer]);
        Ok::<_, EngineError>(outcome.map_err(|error| (error.scope(), error.to_string())))
    });
    let outcomes: Vec<_> = ended.into_iter().map(|ended| ended.unwrap().unwrap()).collect();
    assert_eq!(outcomes, [Ok(()), Err((Scope::ThisRank, "the disk is full".to_owned()))]);
}

#[test]
fn forces_of_the_caller_must_be_passed() {
    let error = on_ranks(1, |world| {
        let config = Config { forces: Forces::own(1.0), ..melt() };
        Ok(Simulation::new(world, &Setup::new(config, 1)?).err().unwrap())
    });
    assert_eq!(
        error.to_string(),
        "the configuration leaves the forces to the caller, who passes them to `with_forces`"
    );
}

/// A simulation without forces: free flight.
#[test]
fn there_may_be_no_forces_at_all() {
    let (before, after) = on_ranks(2, |world| {
        let config = Config { forces: Forces::own(1.0), ..melt() };
        let setup = Setup::new(config, 2)?;
        let mut simulation = Simulation::with_forces(world, &setup, Vec::new())?;
        let before = simulation.system_sums()?.twice_kinetic();
        simulation.run(50, &mut [])?;
        let after = simulation.system_sums()?.twice_kinetic();
        assert!(simulation.neighbor_report().rebuilds > 1);
        simulation.finalise()?;
        Ok((before, after))
    });
    assert!((before - after).abs() < 1e-9 * before, "{before} {after}");
}
