//! Pairs by distance from the neighbour lists equal those of a search over all particles exactly.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod common;

use common::{melt, on_ranks};
use md_core::analysis::DistanceBins;
use md_core::force::{MethodKind, Precision};
use md_core::potential::{LennardJones, Mixing, Shift, Well};
use md_core::{Shell, SimdLevel, Threads};
use md_engine::analysis::{DistanceCount, PairsByDistance};
use md_engine::{Config, Forces, Needs, Setup, SimdChoice, Simulation, Snapshot, every};

/// Two species, the second of which is smaller.
fn mixture() -> Config {
    let wells = [Well { epsilon: 1.0, sigma: 1.0 }, Well { epsilon: 0.5, sigma: 0.9 }];
    let potential = LennardJones::new(&wells, Mixing::LorentzBerthelot, &[], 2.5, Shift::None).unwrap();
    Config { masses: vec![1.0, 2.0], shares: vec![0.7, 0.3], forces: Forces::from(potential), ..melt() }
}

/// Returns whether the lists are used; checks that their pairs equal those of a search at every
/// step.
fn is_counted_from_lists(config: &Config, ranks: usize, bins: DistanceBins) -> bool {
    on_ranks(ranks, |world| {
        let species = config.masses.len();
        let mut simulation = Simulation::new(world, &Setup::new(config.clone(), ranks)?)?;
        let threads = Threads::new(config.parallel.threads).unwrap();
        let simd = SimdLevel::detect();
        let mut from_lists = Vec::new();
        let mut observer = every(1, Needs::NOTHING, |now| {
            from_lists.push(now.near_pairs.and_then(|near| near.count(species, bins)).is_some());
            let count = DistanceCount { bins, species, simd, threads: &threads };
            let mut ways = [*now, Snapshot { near_pairs: None, ..*now }]
                .iter()
                .map(|now| count.count(now, world))
                .collect::<Result<Vec<_>, _>>()?;
            PairsByDistance::sum(&mut ways, world)?;
            let [found, searched] = &ways[..] else { unreachable!() };
            assert_eq!(found, searched, "step {}", now.step);
            assert!(found.pairs.of(0, species - 1).iter().sum::<u64>() > 1000);
            Ok(())
        });
        simulation.run(25, &mut [&mut observer])?;
        assert!(from_lists.iter().all(|known| *known == from_lists[0]));
        Ok(from_lists[0])
    })
}

/// Returns the configuration with the kernels of every level and precision.
fn with_all_kernels(base: Config) -> impl Iterator<Item = Config> {
    SimdLevel::available().flat_map(move |level| {
        let base = base.clone();
        [Precision::Double, Precision::Mixed].map(move |precision| {
            let mut config = base.clone();
            config.parallel.simd = SimdChoice::Named(level);
            config.neighbor.precision = precision;
            config
        })
    })
}

/// One species and two.
fn systems() -> impl Iterator<Item = Config> {
    [melt(), mixture()].into_iter().flat_map(with_all_kernels)
}

/// Their constants come from a table in memory, which lanes of padding must not read beyond its
/// end.
#[test]
fn nine_equal_species_are_like_one() {
    let wells = [Well { epsilon: 1.0, sigma: 1.0 }; 9];
    let potential = LennardJones::new(&wells, Mixing::LorentzBerthelot, &[], 2.5, Shift::None).unwrap();
    let (masses, shares) = (vec![1.0; wells.len()], vec![1.0 / wells.len() as f64; wells.len()]);
    let nine = Config { masses, shares, forces: Forces::from(potential), ..melt() };
    let energy = |config: &Config| {
        on_ranks(2, |world| {
            let mut simulation = Simulation::new(world, &Setup::new(config.clone(), 2)?)?;
            simulation.run(25, &mut [])?;
            let energy = simulation.system_sums()?.pairs.energy;
            simulation.finalise()?;
            Ok(energy)
        })
    };
    for (one, nine) in with_all_kernels(melt()).zip(with_all_kernels(nine)) {
        let (one, nine) = (energy(&one), energy(&nine));
        assert!((nine / one - 1.0).abs() < 1e-5, "{nine} instead of {one}");
    }
}

#[test]
fn lists_have_every_pair_once() {
    let bins = DistanceBins { max: 2.5, bins: 200 };
    for mut config in systems() {
        for (ranks, threads, shell) in [(1, 1, Shell::Half), (2, 1, Shell::Eighth), (1, 3, Shell::Half)] {
            (config.parallel.threads, config.parallel.shell) = (threads, shell);
            assert!(is_counted_from_lists(&config, ranks, bins), "{config:?} {ranks}");
        }
    }
}

/// With very many bins, so that most particles have pairs whose bin is uncertain in f32, and with a
/// maximum distance other than the cutoff: at every level, because each packs the counted pairs
/// differently.
#[test]
fn classes_of_any_width() {
    for bins in [DistanceBins { max: 2.5, bins: 30_000 }, DistanceBins { max: 1.7, bins: 3 }] {
        for config in systems() {
            assert!(is_counted_from_lists(&config, 1, bins), "{bins:?} {config:?}");
        }
    }
}

/// Where the lists do not contain all pairs, or a pair is on two ranks, pairs are searched.
#[test]
fn elsewhere_pairs_are_searched() {
    let bins = DistanceBins { max: 2.5, bins: 50 };
    assert!(!is_counted_from_lists(&melt(), 2, DistanceBins { max: 4.0, ..bins }));
    let mut config = melt();
    config.parallel.shell = Shell::Full;
    assert!(!is_counted_from_lists(&config, 2, bins));
    let mut config = melt();
    config.neighbor.method = MethodKind::Cells;
    assert!(!is_counted_from_lists(&config, 2, bins));
}
