//! The embedded-atom method (Daw and Baskes 1984) with gather and scatter-add: inside one force
//! computation electron densities are summed on their owners, and derivatives of the embedding
//! energy are sent to the ghosts.

mod common;

use common::{largest_difference, melt, on_ranks};
use md_core::force::{Newton, Pair};
use md_core::{
    Evaluation, ExchangePattern, Field, FieldSpec, OnGhosts, OnMigration, PairSums, Particles, PartitionKind,
    Shell, SymmetricTensor,
};
use md_engine::{
    Division, EngineError, Force, ForceContext, Forces, Needs, ParticleRow, RowVector, Setup, Simulation,
    every,
};

const CUTOFF: f64 = 2.5;

/// Pair potential. The energy is the sum of phi(r) over pairs, minus the root of each particle's
/// density, the sum of rho(r) over its partners (Finnis and Sinclair 1984).
fn phi(r: f64) -> [f64; 2] {
    [2.0 * (CUTOFF - r).powi(4), -8.0 * (CUTOFF - r).powi(3)]
}

fn rho(r: f64) -> [f64; 2] {
    [(CUTOFF - r).powi(2), -2.0 * (CUTOFF - r)]
}

struct EmbeddedAtoms {
    /// Registered by [`Force::register`].
    density: Field,
    derivative: Field,
}

fn add(particles: &mut Particles, field: Field, pair: &Pair, value: f64) {
    let column = &mut particles.components_mut(field)[0];
    column[pair.i] += value;
    if pair.newton == Newton::On {
        column[pair.j] += value;
    }
}

impl Force for EmbeddedAtoms {
    fn cutoff(&self) -> f64 {
        CUTOFF
    }

    fn register(&mut self, particles: &mut Particles) {
        let scalar = |name| FieldSpec {
            name,
            components: 1,
            on_migration: OnMigration::Recomputed,
            on_ghosts: OnGhosts::Allocated,
        };
        [self.density, self.derivative] =
            ["densities", "derivatives"].map(|name| particles.register(scalar(name)));
    }

    fn add_forces(&mut self, context: &mut ForceContext, _: Evaluation) -> Result<PairSums, EngineError> {
        let Self { density, derivative } = *self;
        let mut pairs = Vec::new();
        context.pairs.visit(context.cells, context.particles, CUTOFF, |pair| pairs.push(pair));
        context.particles.clear(density);
        for pair in &pairs {
            add(context.particles, density, pair, rho(pair.r2.sqrt())[0]);
        }
        context.scatter_add(&[density])?;
        let mut sums = PairSums::default();
        for i in 0..context.particles.owned() {
            let root = context.particles.components(density)[0][i].sqrt();
            sums.energy -= root;
            context.particles.components_mut(derivative)[0][i] = -0.5 / root;
        }
        context.gather(&[derivative])?;
        for Pair { i, j, distance, r2, newton } in pairs {
            let r = r2.sqrt();
            let ([energy, slope], [_, density_slope]) = (phi(r), rho(r));
            let embedding = &context.particles.components(derivative)[0];
            let force_over_r = -(slope + (embedding[i] + embedding[j]) * density_slope) / r;
            for (column, d) in context.particles.force.iter_mut().zip(distance) {
                column[i] += force_over_r * d;
                if newton == Newton::On {
                    column[j] -= force_over_r * d;
                }
            }
            sums.energy += newton.weight() * energy;
            sums.virial += SymmetricTensor::product(distance, distance) * (newton.weight() * force_over_r);
            sums.useful_pairs += newton.weight();
        }
        Ok(sums)
    }
}

/// Returns the forces by id after 20 steps, and the total energy at every fifth; `then` replaces
/// the partition halfway.
fn run(
    ranks: usize,
    shell: Shell,
    exchange: ExchangePattern,
    then: Option<PartitionKind>,
) -> (Vec<ParticleRow>, Vec<f64>) {
    on_ranks(ranks, |world| {
        let mut config = melt();
        config.forces = Forces::own(CUTOFF);
        (config.parallel.shell, config.parallel.exchange) = (shell, exchange);
        config.timestep = 0.002;
        let setup = Setup::new(config, world.ranks())?;
        // Placeholders until the fields are registered.
        let atoms = EmbeddedAtoms { density: Field::FORCE, derivative: Field::FORCE };
        let mut simulation = Simulation::with_forces(world, &setup, vec![Box::new(atoms)])?;
        let mut energies = Vec::new();
        let mut observer = every(5, Needs::ENERGY_AND_VIRIAL, |now| {
            energies.extend(now.thermo.map(|thermo| thermo.total_per_atom));
            Ok(())
        });
        simulation.run(10, &mut [&mut observer])?;
        if let Some(kind) = then {
            let division = Division::new(setup.domain, 2.9, setup.atoms(), ranks, kind, None)?;
            simulation.replace_decomposition(division)?;
        }
        simulation.run(10, &mut [&mut observer])?;
        let rows = simulation.gather_rows(RowVector::Force)?;
        assert!(
            simulation.neighbor_report().rebuilds > 0,
            "ghosts are gathered in some steps and new in others"
        );
        simulation.finalise()?;
        Ok((rows, energies))
    })
}

/// Reference forces: every particle with the nearest image of every other.
fn forces_by_the_book(rows: &[ParticleRow], length: f64) -> Vec<ParticleRow> {
    let vector = |a: &ParticleRow, b: &ParticleRow| {
        [0, 1, 2].map(|dim| {
            let d = a.position[dim] - b.position[dim];
            d - length * (d / length).round()
        })
    };
    let near = |a: &ParticleRow| -> Vec<(usize, [f64; 3], f64)> {
        let others = rows.iter().enumerate().filter(|(_, b)| a.id != b.id);
        let distances = others.map(|(j, b)| (j, vector(a, b)));
        let distances = distances.map(|(j, d)| (j, d, d.iter().map(|d| d * d).sum::<f64>().sqrt()));
        distances.filter(|(_, _, r)| *r < CUTOFF).collect()
    };
    let neighbours: Vec<_> = rows.iter().map(near).collect();
    let density = |i: usize| neighbours[i].iter().map(|(_, _, r)| rho(*r)[0]).sum::<f64>();
    let slope: Vec<f64> = (0..rows.len()).map(|i| -0.5 / density(i).sqrt()).collect();
    let force = |i: usize| {
        neighbours[i].iter().fold([0.0; 3], |sum, (j, d, r)| {
            let size = -(phi(*r)[1] + (slope[i] + slope[*j]) * rho(*r)[1]) / r;
            [0, 1, 2].map(|dim| sum[dim] + size * d[dim])
        })
    };
    rows.iter().enumerate().map(|(i, row)| ParticleRow { vector: force(i), ..*row }).collect()
}

#[test]
fn forces_are_those_of_the_book_on_any_ranks_and_shell() {
    let stripe = Some(PartitionKind::Stripe);
    let length = 6.0 * (4.0_f64 / 0.8442).cbrt();
    let reference = run(1, Shell::Half, ExchangePattern::Direct, None).1;
    for ranks in [1, 2, 3, 4, 8] {
        for shell in [Shell::Full, Shell::Half, Shell::Eighth] {
            for exchange in [ExchangePattern::Direct, ExchangePattern::Staged] {
                let case = format!("{ranks} ranks, {shell:?}, {exchange:?}");
                // For even numbers of ranks the contexts of registered fields are opened anew.
                let then = stripe.filter(|_| ranks % 2 == 0);
                let (rows, energies) = run(ranks, shell, exchange, then);
                let expected = forces_by_the_book(&rows, length);
                let largest = rows.iter().flat_map(|row| row.vector).fold(0.0, |a: f64, b| a.max(b.abs()));
                let difference = largest_difference(&rows, &expected, |row| row.vector);
                assert!(difference < 1e-10 * largest, "{case}: forces differ by {difference}");
                assert_eq!(energies.len(), 5, "{case}");
                for (energy, expected) in energies.iter().zip(&reference) {
                    assert!((energy - expected).abs() < 1e-9 * expected.abs(), "{case}: {energies:?}");
                    assert!((energy - energies[0]).abs() < 2e-3, "{case}: energy drifts, {energies:?}");
                }
            }
        }
    }
}
