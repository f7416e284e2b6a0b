//! The potential of Sutton and Chen against lattice sums and finite differences.

mod common;

use common::on_ranks;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::Shift;
use md_core::{ExchangePattern, Shell};
use md_engine::{
    Config, Forces, Needs, ParticleRow, ParticleSource, RowVector, Setup, Simulation, SuttonChen, every,
};

const CELLS: u32 = 5;

/// Copper, in units of its epsilon and of its lattice constant (Sutton and Chen 1990, table 1).
fn copper(cutoff: f64, shift: Shift) -> SuttonChen {
    SuttonChen { epsilon: 1.0, a: 1.0, c: 39.432, n: 9, m: 6, cutoff, shift }
}

fn config(model: SuttonChen) -> Config {
    let lattice = Lattice::new(LatticeKind::Fcc, 1.0, [CELLS; 3]);
    let mut config = Config::new(lattice, Forces::new(model));
    (config.neighbor.skin, config.timestep) = (0.2, 0.0002);
    config
}

/// Returns the sum of (a/r)^power over the partners of an fcc site up to `cutoff` times a.
fn lattice_sum(power: i32, cutoff: f64) -> f64 {
    let half = |i: i32, j: i32, k: i32| (i + j + k) % 2 == 0 && (i, j, k) != (0, 0, 0);
    let most = (2.0 * cutoff) as i32 + 1;
    let all = -most..=most;
    let sites = all.clone().flat_map(|i| {
        let (all, inner) = (all.clone(), all.clone());
        all.flat_map(move |j| inner.clone().map(move |k| (i, j, k)))
    });
    let distances = sites
        .filter(|&(i, j, k)| half(i, j, k))
        .map(|(i, j, k)| 0.5 * f64::from(i * i + j * j + k * k).sqrt());
    distances.filter(|&r| r < cutoff).map(|r| r.powi(-power)).sum()
}

/// The energy per atom of the crystal is `epsilon [S_n / 2 - c sqrt(S_m)]`.
#[test]
fn the_energy_of_a_crystal_is_that_of_lattice_sums() {
    let cutoff = 2.1;
    let expected = 0.5 * lattice_sum(9, cutoff) - 39.432 * lattice_sum(6, cutoff).sqrt();
    for ranks in [1, 2] {
        let energy = on_ranks(ranks, |world| {
            let setup = Setup::new(config(copper(cutoff, Shift::None)), ranks)?;
            let mut simulation = Simulation::new(world, &setup)?;
            let sums = simulation.system_sums()?;
            let energy = simulation.thermo(&sums).potential_per_atom;
            simulation.finalise()?;
            Ok(energy)
        });
        assert!((energy - expected).abs() < 1e-11 * expected.abs(), "{ranks} ranks: {energy} {expected}");
    }
    // The published cohesive energy of copper: 3.49 eV with epsilon = 1.2382e-2 eV.
    let all = 0.5 * lattice_sum(9, 12.0) - 39.432 * lattice_sum(6, 12.0).sqrt();
    assert!((1.2382e-2 * all + 3.49).abs() < 0.02, "{}", 1.2382e-2 * all);
}

/// Returns the rows with forces after some steps of a hot crystal, energies at two times, and the
/// sums of the energies of particles.
fn hot(ranks: usize, shell: Shell, exchange: ExchangePattern) -> (Vec<ParticleRow>, Vec<[f64; 2]>) {
    on_ranks(ranks, |world| {
        let mut config = config(copper(1.45, Shift::Force));
        (config.temperature, config.seed) = (Some(20.0), 7);
        (config.parallel.shell, config.parallel.exchange) = (shell, exchange);
        let mut simulation = Simulation::new(world, &Setup::new(config, ranks)?)?;
        let mut energies = Vec::new();
        let needs = Needs::ENERGY_AND_VIRIAL | Needs::PARTICLE_ENERGIES | Needs::PARTICLE_VIRIALS;
        let mut observer = every(20, needs, |now| {
            let (Some(energies_of), Some(virials), Some(thermo), Some(sums)) =
                (now.particle_energies, now.particle_virials, now.thermo, now.sums)
            else {
                return Err("not all of the data that was requested".into());
            };
            let mut own = [energies_of.iter().sum::<f64>(), virials.iter().flatten().sum::<f64>()];
            world.sum(&mut own)?;
            let atoms = f64::from(4 * CELLS.pow(3));
            assert!((own[0] / atoms - thermo.potential_per_atom).abs() < 1e-10 * own[0].abs() / atoms);
            assert!((own[1] - sums.pairs.virial.trace()).abs() < 1e-9 * (1.0 + own[1].abs()));
            energies.push([thermo.total_per_atom, thermo.potential_per_atom]);
            Ok(())
        });
        simulation.run(60, &mut [&mut observer])?;
        assert!(simulation.neighbor_report().rebuilds > 0);
        let rows = simulation.gather_rows(RowVector::Force)?;
        simulation.finalise()?;
        Ok((rows, energies))
    })
}

#[test]
fn forces_and_energies_are_the_same_on_any_ranks_and_shell() {
    let (expected, energies) = hot(1, Shell::Half, ExchangePattern::Direct);
    let largest = expected.iter().flat_map(|row| row.vector).fold(0.0, |a: f64, b| a.max(b.abs()));
    assert!(energies.iter().all(|[total, _]| (total - energies[0][0]).abs() < 1e-3 * energies[0][0].abs()));
    for ranks in [1, 2, 4] {
        for shell in [Shell::Full, Shell::Half, Shell::Eighth] {
            for exchange in [ExchangePattern::Direct, ExchangePattern::Staged] {
                let (rows, own) = hot(ranks, shell, exchange);
                let difference = common::largest_difference(&rows, &expected, |row| row.vector);
                assert!(
                    difference < 1e-9 * largest,
                    "{ranks} {shell:?} {exchange:?}: {difference} {largest}"
                );
                for ([total, _], [expected, _]) in own.iter().zip(&energies) {
                    assert!((total - expected).abs() < 1e-10 * expected.abs());
                }
            }
        }
    }
}

/// Returns the potential energy of particles at these positions.
fn energy_of(rows: &[ParticleRow]) -> f64 {
    on_ranks(1, |world| {
        let mut config = config(copper(1.45, Shift::Force));
        let particles = rows.iter().map(|row| md_core::Particle {
            id: row.id,
            position: row.position,
            ..md_core::Particle::default()
        });
        config.particles = ParticleSource::List {
            origin: [0.0; 3],
            lengths: [f64::from(CELLS); 3],
            particles: particles.collect::<Vec<_>>().into(),
            share: None,
        };
        let mut simulation = Simulation::new(world, &Setup::new(config, 1)?)?;
        let sums = simulation.system_sums()?;
        let energy = simulation.force_totals(&sums).potential_energy;
        simulation.finalise()?;
        Ok(energy)
    })
}

#[test]
fn the_force_is_the_slope_of_the_energy() {
    const BY: f64 = 1e-5;
    let (rows, _) = hot(1, Shell::Half, ExchangePattern::Direct);
    for (index, dim) in [(0, 0), (17, 1), (250, 2)] {
        let [below, above] = [-BY, BY].map(|by| {
            let mut moved = rows.clone();
            moved[index].position[dim] += by;
            energy_of(&moved)
        });
        let (slope, force) = ((below - above) / (2.0 * BY), rows[index].vector[dim]);
        assert!((slope - force).abs() < 1e-4 * (1.0 + force.abs()), "{index} {dim}: {slope} {force}");
    }
}
