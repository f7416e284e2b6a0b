use super::*;
use crate::analysis::Extent;
use crate::domain::{Boundary, Dimension, Domain};
use crate::random;

fn domain(lengths: [f64; 3], boundary: Boundary) -> Domain {
    Domain { dimension: Dimension::Three, origin: [-1.0, 0.5, 2.0], lengths, boundary: [boundary; 3] }
}

/// Returns random points of two species, some of them outside the box.
fn points(domain: &Domain, count: u64, species: usize) -> Points {
    let mut points = Points::none(species);
    for id in 0..count {
        let normal = random::normal_vector(11, id);
        let spread = if domain.is_periodic(0) { 1.0 } else { 0.1 };
        let at = [0, 1, 2].map(|dim| domain.origin[dim] + (0.5 + spread * normal[dim]) * domain.lengths[dim]);
        points.push(id as usize % species, at);
    }
    points
}

fn count(domain: &Domain, points: &Points, bins: DistanceBins) -> PairCounts {
    let wrapped = wrapped(domain, points);
    let raster = Raster::new(domain, &Extent::of(&wrapped), wrapped.len(), bins.max);
    count_within(&wrapped, &raster, bins, SimdLevel::detect(), &Threads::one())
}

fn wrapped(domain: &Domain, points: &Points) -> Points {
    let mut all = Points::none(points.by_species.len());
    for (species, [x, y, z]) in points.by_species.iter().enumerate() {
        (0..x.len()).for_each(|i| all.push(species, domain.wrap_position([x[i], y[i], z[i]])));
    }
    all
}

/// Counts every pair at its nearest image.
fn by_all_pairs(domain: &Domain, points: &Points, bins: DistanceBins) -> PairCounts {
    let mut counts = PairCounts::none(points.by_species.len(), bins.bins);
    let all = points.by_species.iter().enumerate();
    let all: Vec<(usize, [f64; 3])> = all
        .flat_map(|(species, [x, y, z])| (0..x.len()).map(move |i| (species, [x[i], y[i], z[i]])))
        .collect();
    for (number, &(a, at)) in all.iter().enumerate() {
        for &(b, other) in &all[number + 1..] {
            let [x, y, z] = domain.nearest_image(at, other);
            let class = ((x * x + y * y + z * z).sqrt() / bins.width()) as usize;
            if class < bins.bins {
                let range = counts.range(a, b);
                counts.counts[range][class] += 1;
            }
        }
    }
    counts
}

#[test]
fn every_pair_is_counted_once_whatever_the_radius() {
    for boundary in [Boundary::Periodic, Boundary::Reflecting] {
        let domain = domain([4.0, 5.0, 6.5], boundary);
        for (count_of, species) in [(0, 1), (1, 1), (2, 2), (300, 1), (300, 3)] {
            let points = points(&domain, count_of, species);
            for (max, bins) in [(2.0, 40), (1.3, 7), (0.4, 5), (0.01, 1)] {
                let bins = DistanceBins { max, bins };
                let found = count(&domain, &points, bins);
                assert_eq!(
                    found,
                    by_all_pairs(&domain, &points, bins),
                    "{count_of} {species} {max} {boundary:?}"
                );
            }
        }
    }
}

#[test]
fn instruction_sets_and_threads_do_not_matter() {
    let domain = domain([4.0, 5.0, 6.5], Boundary::Periodic);
    let points = wrapped(&domain, &points(&domain, 3000, 2));
    let bins = DistanceBins { max: 1.5, bins: 30 };
    let raster = Raster::new(&domain, &Extent::of(&points), points.len(), bins.max);
    let expected = count_within(&points, &raster, bins, SimdLevel::Baseline, &Threads::one());
    for level in SimdLevel::available() {
        assert_eq!(count_within(&points, &raster, bins, level, &Threads::one()), expected, "{level:?}");
    }
    let of_threads = std::thread::scope(|scope| {
        let count = || count_within(&points, &raster, bins, SimdLevel::detect(), &Threads::new(3).unwrap());
        scope.spawn(count).join().unwrap()
    });
    assert_eq!(of_threads, expected);
}

/// Checks that the pairs within each of two parts, as on two ranks, and those across are all pairs.
#[test]
fn parts_make_up_the_whole() {
    let domain = domain([8.0, 5.0, 6.5], Boundary::Periodic);
    let all = wrapped(&domain, &points(&domain, 500, 2));
    let bins = DistanceBins { max: 1.2, bins: 12 };
    let is_first: [fn([f64; 3]) -> bool; 3] = [
        |[x, ..]| x < 1.0,
        |[x, ..]| (0.0..2.0).contains(&x),
        |[x, y, z]| ((x + y + z) * 1e3) as i64 % 2 == 0,
    ];
    for rule in is_first {
        let mut parts = [Points::none(2), Points::none(2)];
        for (species, [x, y, z]) in all.by_species.iter().enumerate() {
            for i in 0..x.len() {
                let at = [x[i], y[i], z[i]];
                parts[usize::from(!rule(at))].push(species, at);
            }
        }
        let [first, second] = &parts;
        let extent = Extent::of(first);
        let mut near = Points::none(2);
        for (species, [x, y, z]) in second.by_species.iter().enumerate() {
            for i in 0..x.len() {
                if extent.is_near(&domain, [x[i], y[i], z[i]], bins.max) {
                    near.push(species, [x[i], y[i], z[i]]);
                }
            }
        }
        let raster = Raster::new(&domain, &extent, first.len(), bins.max);
        let across = count_across(first, &near, &raster, bins, SimdLevel::detect(), &Threads::one());
        let mut sum = count(&domain, first, bins).counts;
        for counts in [count(&domain, second, bins), across] {
            sum.iter_mut().zip(counts.counts).for_each(|(sum, count)| *sum += count);
        }
        assert_eq!(sum, count(&domain, &all, bins).counts);
        assert!(near.len() < second.len() || rule([0.0, 0.0, 0.001]) != rule([0.0; 3]));
    }
}

/// Checks the shells of a face-centred cubic crystal: 12, 6, 24, 12, 24 and 8 neighbours at the
/// roots of 1/2, 1, 3/2, 2, 5/2 and 3 cells.
#[test]
fn shells_of_a_crystal() {
    const CELLS: usize = 4;
    let domain = Domain { origin: [0.0; 3], ..domain([CELLS as f64; 3], Boundary::Periodic) };
    let mut points = Points::none(1);
    for site in 0..CELLS * CELLS * CELLS {
        let corner = [site % CELLS, site / CELLS % CELLS, site / CELLS / CELLS].map(|at| at as f64);
        for basis in [[0.0; 3], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]] {
            points.push(0, [0, 1, 2].map(|dim| corner[dim] + basis[dim]));
        }
    }
    let bins = DistanceBins { max: 1.8, bins: 180 };
    let found = count(&domain, &points, bins);
    let shells: Vec<(usize, u64)> =
        found.of(0, 0).iter().copied().enumerate().filter(|&(_, pairs)| pairs > 0).collect();
    let sites = points.len() as u64;
    let expected = [(0.5, 12), (1.0, 6), (1.5, 24), (2.0, 12), (2.5, 24), (3.0, 8)]
        .map(|(squared, count)| ((f64::sqrt(squared) / 0.01) as usize, count * sites / 2));
    let near = |(found, expected): (&(usize, u64), &(usize, u64))| {
        found.0.abs_diff(expected.0) <= 1 && found.1 == expected.1
    };
    assert!(shells.len() == 6 && shells.iter().zip(&expected).all(near), "{shells:?} {expected:?}");
}
