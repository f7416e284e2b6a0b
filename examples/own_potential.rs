//! A user-defined pair potential in the loops of the engine: the Gaussian core model (Stillinger
//! 1976), U(r) = epsilon exp(-r^2 / sigma^2). Runs two ranks as threads of this process:
//!
//! ```text
//! cargo run --release --example own_potential
//! ```
#![expect(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::time::Duration;

use md_core::force::PairLoop;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::{Distance, Formula, PairTable, PairTerm, Tail};
use md_core::simd::{Arithmetic, Simd};
use md_core::{Dimension, PairPotential, PairSums};
use md_engine::{Config, EngineError, Needs, Setup, Simulation, every};

/// The potential, with constants per pair of species: epsilon, 1 / sigma^2.
#[derive(Debug)]
struct GaussianCore {
    cutoff: f64,
    constants: PairTable<[f64; 2]>,
}

/// The formula that the loops compute.
#[derive(Clone, Copy)]
struct Gaussian;

impl Formula<2> for Gaussian {
    /// r^2, and the distances, which contain the lanes that do not count.
    type Prepared<S: Simd, P: Arithmetic> = (Distance<S, P>, P::Lanes<S>);

    #[inline(always)]
    fn prepare<S: Simd, P: Arithmetic>(self, distance: Distance<S, P>) -> Self::Prepared<S, P> {
        (distance, distance.r2())
    }

    #[inline(always)]
    fn evaluate<S: Simd, P: Arithmetic>(
        self,
        simd: S,
        [epsilon, per_sigma2]: [P::Lanes<S>; 2],
        (distance, r2): Self::Prepared<S, P>,
    ) -> PairTerm<P::Lanes<S>> {
        let exponent = P::neg(simd, P::mul(simd, r2, per_sigma2));
        let energy = P::mul(simd, epsilon, P::exp(simd, exponent));
        let slope = P::mul(simd, P::mul(simd, P::splat(simd, 2.0), per_sigma2), energy);
        PairTerm { energy, force_over_r: distance.masked(slope) }
    }
}

impl PairPotential for GaussianCore {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> usize {
        self.constants.species()
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        let [epsilon, per_sigma2] = self.constants.get(a, b);
        let energy = epsilon * (-r2 * per_sigma2).exp();
        PairTerm { energy, force_over_r: 2.0 * per_sigma2 * energy }
    }

    fn tail(&self, _: &[u64], _: f64, _: Dimension) -> Tail {
        Tail::default()
    }

    fn fits_single_precision(&self) -> bool {
        true
    }

    fn compute(&self, pairs: PairLoop) -> PairSums {
        self.constants.run(Gaussian, pairs)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let ended = md_comm::local::run(2, Duration::from_secs(60), |world| {
        let potential = GaussianCore { cutoff: 4.0, constants: PairTable::of_one_species([1.0, 1.0]) };
        let lattice = Lattice::with_density(LatticeKind::Bcc, 0.3, [12; 3]);
        let mut config = Config::new(lattice, potential);
        config.temperature = Some(0.05);
        config.timestep = 0.02;
        let mut simulation = Simulation::new(world, &Setup::new(config, world.ranks())?)?;
        let mut energies = Vec::new();
        let mut observer = every(100, Needs::ENERGY_AND_VIRIAL, |now| {
            energies.extend(now.thermo.map(|thermo| thermo.total_per_atom));
            Ok(())
        });
        simulation.run(500, &mut [&mut observer])?;
        simulation.finalise()?;
        Ok::<_, EngineError>(energies)
    });
    for energies in ended {
        println!("total energy per atom {:.8?}", energies??);
    }
    Ok(())
}
