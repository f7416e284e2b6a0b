//! The radial distribution function g(r) from numbers of pairs, as LAMMPS's `compute rdf` defines
//! it.

use std::f64::consts::PI;

use crate::analysis::distances::{DistanceBins, PairCounts};
use crate::domain::{Dimension, Domain};

/// Returns g(r) of every pair of species, in the order of [`PairCounts::pairs`] and by class within
/// each: the density of the second species at a distance from a particle of the first, relative to
/// its density in the whole box. `counts` are the numbers of particles by species.
pub fn radial_distribution(
    pairs: &PairCounts,
    counts: &[u64],
    domain: &Domain,
    bins: DistanceBins,
) -> Vec<f64> {
    let shells: Vec<f64> = (0..bins.bins).map(|class| shell(class, domain.dimension, bins)).collect();
    let volume = domain.volume();
    let of_species = |[a, b]: [usize; 2]| {
        // A particle is not its own partner.
        let (first, second) = (counts[a] as f64, (counts[b] - u64::from(a == b && counts[b] > 0)) as f64);
        let per_pair = if a == b { 2.0 } else { 1.0 };
        let ideal = first * second / volume;
        let value = move |(count, shell): (&u64, &f64)| {
            if ideal > 0.0 { per_pair * *count as f64 / (ideal * shell) } else { 0.0 }
        };
        pairs.of(a, b).iter().zip(&shells).map(value).collect::<Vec<_>>()
    };
    PairCounts::pairs(counts.len()).flat_map(of_species).collect()
}

/// Returns the volume of a shell, in 2D the area of a ring.
fn shell(class: usize, dimension: Dimension, bins: DistanceBins) -> f64 {
    let [inner, outer] = [class, class + 1].map(|edge| edge as f64 * bins.width());
    match dimension {
        Dimension::Two => PI * (outer * outer - inner * inner),
        Dimension::Three => 4.0 / 3.0 * PI * (outer.powi(3) - inner.powi(3)),
    }
}

/// Returns the number of neighbours of species `b` up to the end of each class, for a particle of
/// species `a`. `pairs` are mean numbers of pairs of the two species.
pub fn neighbours(pairs: &[f64], [a, b]: [usize; 2], counts: &[u64]) -> Vec<f64> {
    let per_pair = if a == b { 2.0 } else { 1.0 };
    let particles = (counts[a] as f64).max(1.0);
    let mut sum = 0.0;
    let below = |pairs: &f64| {
        sum += pairs * per_pair / particles;
        sum
    };
    pairs.iter().map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Boundary;

    fn domain(dimension: Dimension) -> Domain {
        Domain { dimension, origin: [0.0; 3], lengths: [10.0; 3], boundary: [Boundary::Periodic; 3] }
    }

    /// Uses the mean number of pairs of points that are distributed at random.
    #[test]
    fn of_an_ideal_gas_it_is_one() {
        for (dimension, size) in [(Dimension::Three, 1000.0), (Dimension::Two, 100.0)] {
            let domain = domain(dimension);
            let bins = DistanceBins { max: 4.0, bins: 8 };
            let counts = [3_000_001, 2_000_000];
            let mut pairs = PairCounts::none(2, bins.bins);
            let share: Vec<f64> = (0..bins.bins).map(|class| shell(class, dimension, bins) / size).collect();
            let [one, two] = counts.map(|count| count as f64);
            let all = [one * (one - 1.0) / 2.0, one * two, two * (two - 1.0) / 2.0];
            pairs.counts =
                all.iter().flat_map(|all| share.iter().map(move |share| (all * share) as u64)).collect();
            let found = radial_distribution(&pairs, &counts, &domain, bins);
            assert!(found.len() == 24 && found.iter().all(|g| (g - 1.0).abs() < 1e-6), "{found:?}");
        }
        let none = radial_distribution(
            &PairCounts::none(2, 1),
            &[1, 0],
            &domain(Dimension::Three),
            DistanceBins { max: 1.0, bins: 1 },
        );
        assert_eq!(none, [0.0; 3]);
    }

    #[test]
    fn neighbours_add_up() {
        assert_eq!(neighbours(&[6.0, 0.0, 3.0], [0, 0], &[3, 6]), [4.0, 4.0, 6.0]);
        assert_eq!(neighbours(&[6.0, 0.0, 3.0], [0, 1], &[3, 6]), [2.0, 2.0, 3.0]);
        assert_eq!(neighbours(&[6.0, 0.0, 3.0], [1, 0], &[3, 6]), [1.0, 1.0, 1.5]);
    }
}
