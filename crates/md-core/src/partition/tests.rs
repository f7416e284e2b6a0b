//! Tests of all partitions: every cell has one owner, and the work is divided as evenly as each
//! partition allows.

use super::*;
use crate::Shell;
use crate::domain::{Boundary, Dimension, Domain};
use crate::random;

/// Returns the partitions with which this test was built.
fn kinds() -> impl Iterator<Item = PartitionKind> {
    let is_built = |kind: &PartitionKind| cfg!(feature = "metis") || *kind != PartitionKind::Metis;
    PartitionKind::ALL.iter().copied().filter(is_built)
}

fn domain(counts: Cell, dimension: Dimension) -> Domain {
    Domain { dimension, origin: [0.0; 3], lengths: counts.map(f64::from), boundary: [Boundary::Periodic; 3] }
}

pub(super) fn request(counts: Cell, dimension: Dimension, ranks: usize) -> DivisionRequest {
    DivisionRequest { domain: domain(counts, dimension), most_cells: counts, ranks, rank_grid: None }
}

/// Returns the particles per cell: density 0.8 inside, 0.02 outside, in cells 2.8 long.
pub(super) fn particles(grid: &CellGrid, is_inside: impl Fn([f64; 3]) -> bool) -> Vec<f64> {
    let cell_volume = 2.8_f64.powi(3);
    let counts = grid.counts();
    let centre = |cell: Cell| [0, 1, 2].map(|dim| (f64::from(cell[dim]) + 0.5) / f64::from(counts[dim]));
    let density = |number| if is_inside(centre(grid.at(number))) { 0.8 } else { 0.02 };
    // The fractional part of the number of particles is rounded at random.
    let count = |number| (density(number) * cell_volume + random::uniform(1, number as u64)).floor();
    (0..grid.len()).map(count).collect()
}

/// Returns whether a place lies in a droplet whose centre is not that of the box.
pub(super) fn droplet(place: [f64; 3]) -> bool {
    let distance2: f64 = place.iter().zip([0.47, 0.52, 0.55]).map(|(at, centre)| (at - centre).powi(2)).sum();
    distance2 < 0.31_f64.powi(2)
}

fn assert_complete(grid: &CellGrid, partition: &dyn Ownership, ranks: usize, case: &str) {
    let mut seen = vec![0; grid.len()];
    let owners = partition.owners(grid);
    for rank in 0..ranks {
        let cells = partition.cells_of(grid, rank);
        assert!(!cells.is_empty(), "{case}: rank {rank} has no cells");
        assert!(cells.is_sorted_by_key(crate::grid::storage_order), "{case}: storage order");
        for cell in cells {
            assert_eq!(partition.owner(grid, cell), rank, "{case}");
            assert_eq!(owners[grid.linear(cell)], rank, "{case}");
            seen[grid.linear(cell)] += 1;
        }
    }
    assert!(seen.iter().all(|&n| n == 1), "{case}");
}

#[test]
fn pieces_and_items_agree() {
    for items in 1..60 {
        for parts in 1..=items {
            for part in 0..parts {
                let range = piece_start(items, parts, part)..piece_start(items, parts, part + 1);
                assert!(!range.is_empty());
                assert!(range.into_iter().all(|item| piece_of(items, parts, item) == part));
            }
        }
    }
}

#[test]
fn every_cell_has_one_owner_and_the_owner_lists_it() {
    for (counts, dimension) in [([7, 5, 6], Dimension::Three), ([9, 14, 1], Dimension::Two)] {
        for (kind, ranks) in kinds().flat_map(|kind| [1, 2, 3, 4, 7, 8, 16].map(|ranks| (kind, ranks))) {
            let Ok((grid, even)) = kind.divide(&request(counts, dimension, ranks)) else {
                assert!(kind == PartitionKind::Rect && ranks == 16, "{kind:?} on {ranks} ranks");
                continue;
            };
            assert_complete(&grid, &*even, ranks, &format!("{kind:?} {ranks}"));
            let loads = CellLoads::of_counts(&grid, particles(&grid, droplet), Shell::Half);
            let weighted = kind.weighted(&grid, ranks, &loads).unwrap();
            assert_eq!(weighted.is_some(), kind.is_weighted());
            for (number, next) in
                even.rebalanced(&grid, &loads).unwrap().into_iter().chain(weighted).enumerate()
            {
                assert_complete(&grid, &*next, ranks, &format!("{kind:?} {ranks} balanced {number}"));
                assert_complete(&grid, &Table::of(&next, &grid, ranks), ranks, "as a table");
            }
        }
    }
}

/// In equal blocks of a box with a droplet of radius 0.31 box lengths, the largest work is eight to
/// ten times the mean. Weighted partitions are even up to one or two cells.
#[test]
fn a_droplet_off_centre_is_shared_out_evenly() {
    for (ranks, of_rect) in [(64, 6.5..9.5), (256, 8.0..11.0)] {
        let imbalance = |kind: PartitionKind| {
            let (grid, even) = kind.divide(&request([32; 3], Dimension::Three, ranks)).unwrap();
            let loads = CellLoads::of_counts(&grid, particles(&grid, droplet), Shell::Half);
            let weighted = kind.weighted(&grid, ranks, &loads).unwrap();
            loads.imbalance(&grid, &*weighted.unwrap_or(even), ranks)
        };
        let rect = imbalance(PartitionKind::Rect);
        assert!(of_rect.contains(&rect), "rect on {ranks}: {rect}");
        for kind in kinds().filter(|kind| kind.is_weighted()) {
            let found = imbalance(kind);
            assert!(found <= 1.05, "{kind:?} on {ranks}: {found}");
        }
    }
}

#[test]
fn planes_and_stripes_follow_a_slab() {
    let slab = |[_, _, z]: [f64; 3]| (0.2..0.5).contains(&z);
    for kind in [PartitionKind::Rect, PartitionKind::Stripe] {
        let mut asked = request([8, 8, 40], Dimension::Three, 4);
        asked.rank_grid = (kind == PartitionKind::Rect).then_some([1, 1, 4]);
        let (grid, mut now) = kind.divide(&asked).unwrap();
        let loads = CellLoads::of_counts(&grid, particles(&grid, slab), Shell::Half);
        let before = loads.imbalance(&grid, &*now, 4);
        let bounded = now.rebalanced(&grid, &loads).unwrap().swap_remove(0);
        now = now.rebalanced(&grid, &loads).unwrap().pop().unwrap();
        let after = loads.imbalance(&grid, &*now, 4);
        // Whole layers: the slab has 12, on 4 ranks, plus a little vapour.
        assert!(before > 2.0 && after < 1.1, "{kind:?}: {before} to {after}");
        if kind == PartitionKind::Rect {
            let moved =
                |cell: Cell| bounded.owner(&grid, cell) != Rect { grid: [1, 1, 4] }.owner(&grid, cell);
            let layers = (0..40).filter(|&z| moved([0, 0, z])).count();
            assert!((1..=6).contains(&layers), "{layers} layers have moved");
        }
    }
}

/// Checks that a small change of the loads moves few cells.
#[test]
fn a_new_balance_keeps_what_it_can() {
    for kind in kinds().filter(|kind| kind.is_weighted()) {
        let (grid, _) = kind.divide(&request([16; 3], Dimension::Three, 8)).unwrap();
        let loads = |shift: f64| {
            let counts = particles(&grid, |[x, y, z]| droplet([x - shift, y, z]));
            CellLoads::of_counts(&grid, counts, Shell::Half)
        };
        let first = kind.weighted(&grid, 8, &loads(0.0)).unwrap().unwrap();
        let next = first.rebalanced(&grid, &loads(0.03)).unwrap().swap_remove(0);
        let moved = (0..grid.len()).map(|number| grid.at(number));
        let moved = moved.filter(|&cell| first.owner(&grid, cell) != next.owner(&grid, cell)).count();
        let most = if kind == PartitionKind::Rcb { 0.25 } else { 0.6 };
        assert!((moved as f64) < most * grid.len() as f64, "{kind:?}: {moved} of {} cells moved", grid.len());
        assert!(loads(0.03).imbalance(&grid, &*next, 8) < 1.1, "{kind:?}");
    }
}

#[test]
fn what_cannot_be_divided_is_refused() {
    for kind in kinds().filter(|kind| *kind != PartitionKind::Rect) {
        let refusal = kind.divide(&request([2, 2, 2], Dimension::Three, 9)).unwrap_err().to_string();
        let expected =
            "the box is too thin for the ranks: 9 ranks, but only 8 cells of at least cutoff + skin";
        assert_eq!(refusal, expected, "{kind:?}");
    }
    let (grid, _) = PartitionKind::Stripe.divide(&request([4; 3], Dimension::Three, 2)).unwrap();
    let nothing = CellLoads { work: vec![0.0; grid.len()], ..CellLoads::uniform(&grid) };
    for kind in kinds().filter(|kind| kind.is_weighted()) {
        assert_eq!(kind.weighted(&grid, 2, &nothing).unwrap_err(), GridError::NoWeight, "{kind:?}");
    }
    let thin = PartitionKind::Scattered.divide(&request([8, 1, 1], Dimension::Three, 8));
    assert!(thin.is_ok());
    let leaps = PartitionKind::Scattered.divide(&request([1, 1, 8], Dimension::Three, 8)).map(|_| ());
    assert_eq!(leaps, Ok(()), "multiples of 9 modulo 8 are all numbers");
    let leaps = PartitionKind::Scattered.divide(&request([1, 1, 9], Dimension::Three, 9)).unwrap_err();
    let expected =
        "the box is too thin for the ranks: on 1x1x9 cells, (x + 3 y + 9 z) modulo 9 gives rank 1 none";
    assert_eq!(leaps.to_string(), expected);
}

#[cfg(not(feature = "metis"))]
#[test]
fn without_metis_its_partition_says_how_to_get_it() {
    let request = request([4; 3], Dimension::Three, 2);
    let (grid, _) = PartitionKind::Rcb.divide(&request).unwrap();
    let divided = PartitionKind::Metis.divide(&request).map(|_| ());
    let weighted = PartitionKind::Metis.weighted(&grid, 2, &CellLoads::uniform(&grid)).map(|_| ());
    for refused in [divided, weighted] {
        assert_eq!(
            refused.unwrap_err().to_string(),
            "this program was built without partition `metis`; build it with the feature `metis`"
        );
    }
}
