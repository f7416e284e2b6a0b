//! LAMMPS's standard melt embedded in a user's program: `cargo run --release --example embed`, or
//! under `mpirun`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example")]

use std::error::Error;
use std::time::Duration;

use md_comm::World;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_core::rebuild::RebuildPolicy;
use md_engine::{Config, Needs, Observer, ObserverError, Setup, Simulation, Snapshot, every};

/// A user-defined observer, which examines the particles of its rank on every rank.
struct FastestParticle {
    speed: f64,
}

impl Observer for FastestParticle {
    fn due(&self, step: u64) -> Option<Needs> {
        step.is_multiple_of(10).then_some(Needs::VELOCITIES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let velocities = (0..now.particles.owned()).map(|index| now.particles.get(index).velocity);
        let speeds = velocities.map(|[x, y, z]| (x * x + y * y + z * z).sqrt());
        self.speed = speeds.fold(self.speed, f64::max);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let world = md_comm::mpi::start(Duration::from_secs(60))?;
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [20; 3]);
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    (config.temperature, config.seed) = (Some(1.44), 87287);
    config.neighbor.rebuild = RebuildPolicy::Every(20);
    let mut simulation = Simulation::new(&world, &Setup::new(config, world.ranks())?)?;

    let mut table = every(10, Needs::ENERGY_AND_VIRIAL, |now| {
        let thermo = now.thermo.ok_or("asked for and not there")?;
        println!("{:5} {:.6} {:.6}", now.step, thermo.temperature, thermo.total_per_atom);
        Ok(())
    })
    .on_first_rank();
    let mut fastest = FastestParticle { speed: 0.0 };
    if let Err(error) = simulation.run(100, &mut [&mut table, &mut fastest]) {
        // The other ranks may not have detected the error and would wait for this one.
        eprintln!("rank {}: {error}", world.rank());
        world.abort(1);
    }

    let mut speed = [fastest.speed];
    world.max(&mut speed)?;
    if world.rank() == 0 {
        println!("the fastest of {} particles had speed {:.2}", simulation.atoms(), speed[0]);
    }
    Ok(simulation.finalise()?)
}
