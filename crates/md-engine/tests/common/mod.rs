//! Systems and helpers of the tests.
#![allow(dead_code, reason = "every test takes what it needs")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use md_comm::{World, local};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_engine::{Config, EngineError, ParticleRow};

/// A hot, dense liquid: particles change ranks and cross the faces of the box.
pub(crate) fn melt() -> Config {
    let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [6; 3]);
    let mut config = Config::new(lattice, LennardJones::reduced(2.5));
    config.temperature = Some(3.0);
    config.seed = 5;
    config
}

/// Returns the result of `work` on rank 0.
pub(crate) fn on_ranks<T: Send>(
    ranks: usize,
    work: impl Fn(&dyn World) -> Result<T, EngineError> + Sync,
) -> T {
    let limit = Duration::from_secs(120);
    let ended = local::run(ranks, limit, |world| work(world).map_err(|error| error.to_string()));
    let (values, errors): (Vec<_>, Vec<_>) = ended.into_iter().map(Result::unwrap).partition(Result::is_ok);
    // An error on one rank may cause errors on the others, which wait for it; all are reported.
    assert!(errors.is_empty(), "{:?}", errors.into_iter().filter_map(Result::err).collect::<Vec<_>>());
    values.into_iter().map(Result::unwrap).next().unwrap()
}

/// Returns the largest difference of a coordinate of any particle.
pub(crate) fn largest_difference(
    a: &[ParticleRow],
    b: &[ParticleRow],
    of: impl Fn(&ParticleRow) -> [f64; 3],
) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference = |(a, b): (&ParticleRow, &ParticleRow)| {
        assert_eq!(a.id, b.id);
        (0..3).map(|dim| (of(a)[dim] - of(b)[dim]).abs()).fold(0.0, f64::max)
    };
    a.iter().zip(b).map(difference).fold(0.0, f64::max)
}
