//! Tests of plans for all shells, patterns and partitions.

use super::*;
use crate::Shell;
use crate::domain::{Boundary, Dimension, Domain};
use crate::force::{Newton, PairWork, Region};
use crate::partition::{Rect, Stripe};
use std::ops::Range;
use std::sync::Arc;

const SECOND_SHARE: f64 = 0.5;

fn grid(counts: Cell, boundary: Boundary) -> CellGrid {
    let dimension =
        if counts[2] == 1 && boundary == Boundary::Periodic { Dimension::Two } else { Dimension::Three };
    let domain =
        Domain { dimension, origin: [0.0; 3], lengths: counts.map(f64::from), boundary: [boundary; 3] };
    CellGrid::new(domain, counts)
}

fn plan(
    grid: &CellGrid,
    partition: &Partition,
    shell: Shell,
    pattern: ExchangePattern,
    rank: usize,
) -> HaloPlan {
    HaloPlan::new(grid, partition, &shell.offsets(grid.domain().dimension), pattern, rank)
}

fn shells_and_patterns() -> impl Iterator<Item = (Shell, ExchangePattern)> {
    let shells = [Shell::Full, Shell::Half, Shell::Eighth];
    shells.into_iter().flat_map(|shell| [(shell, ExchangePattern::Direct), (shell, ExchangePattern::Staged)])
}

/// Returns the exported cells in the receiver's coordinates.
fn displaced(plan: &HaloPlan, exports: &[Export], counts: Cell) -> Vec<Cell> {
    let seen = |export: &Export| {
        let cell = plan.cell_at(export.cell as usize);
        [0, 1, 2].map(|dim| cell[dim] + i32::from(export.shift[dim]) * counts[dim])
    };
    exports.iter().map(seen).collect()
}

/// Checks that the exports of every rank match the imports of its peers, cell by cell and with the
/// correct shift, and that each exported cell exists by then.
#[test]
fn imports_and_exports_match_on_every_edge() {
    for (counts, boundary) in
        [([4, 4, 4], Boundary::Periodic), ([5, 8, 2], Boundary::Reflecting), ([1, 8, 2], Boundary::Periodic)]
    {
        let grid = grid(counts, boundary);
        for (ranks, (shell, pattern)) in
            [1, 2, 3, 4, 8].into_iter().flat_map(|n| shells_and_patterns().map(move |way| (n, way)))
        {
            let stripe: Partition = Arc::new(Stripe { ranks });
            let rect: Partition = Arc::new(Rect { grid: [1, ranks.min(4), ranks.div_ceil(4)] });
            for partition in [stripe, rect] {
                let plans: Vec<_> =
                    (0..ranks).map(|rank| plan(&grid, &partition, shell, pattern, rank)).collect();
                for (rank, plan) in plans.iter().enumerate() {
                    for (number, stage) in plan.stages.iter().enumerate() {
                        let images: Vec<Cell> =
                            stage.image_cells.clone().map(|cell| plan.cell_at(cell)).collect();
                        assert_eq!(displaced(plan, &stage.images, counts), images);
                        for edge in &stage.edges {
                            let peer = &plans[edge.peer];
                            let back = peer.stages[number].edges.iter().find(|e| e.peer == rank).unwrap();
                            let expected: Vec<Cell> =
                                edge.imports.clone().map(|cell| plan.cell_at(cell)).collect();
                            assert_eq!(displaced(peer, &back.exports, counts), expected);
                            let there = peer.stages[number].image_cells.start as u32;
                            assert!(back.exports.iter().all(|export| export.cell < there || number == 0));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn staged_needs_few_partners_and_direct_one_stage() {
    let grid = grid([8, 8, 8], Boundary::Periodic);
    let partition: Partition = Arc::new(Rect { grid: [4, 4, 4] });
    let partners = |shell, pattern| {
        let plan = plan(&grid, &partition, shell, pattern, 21);
        let count = |stage: &Stage| stage.edges.iter().filter(|edge| !edge.imports.is_empty()).count();
        plan.stages.iter().map(count).collect::<Vec<_>>()
    };
    assert_eq!(partners(Shell::Full, ExchangePattern::Direct), [26]);
    // Not 13: for a block of cells, the forward neighbours of its lower faces lie in 4 more
    // regions.
    assert_eq!(partners(Shell::Half, ExchangePattern::Direct), [17]);
    assert_eq!(partners(Shell::Eighth, ExchangePattern::Direct), [7]);
    assert_eq!(partners(Shell::Full, ExchangePattern::Staged), [2, 2, 2]);
    assert_eq!(partners(Shell::Half, ExchangePattern::Staged), [2, 2, 1]);
    assert_eq!(partners(Shell::Eighth, ExchangePattern::Staged), [1, 1, 1]);
}

/// Checks that, over all ranks, every pair of adjacent cells (with its images) is computed exactly
/// once if forces return. With the full shell it is computed once if both cells are on one rank
/// without a shift, and otherwise once from each side.
#[test]
fn every_cell_pair_is_computed_once() {
    for counts in [[4, 4, 4], [1, 2, 3], [2, 2, 2], [4, 3, 1]] {
        let grid = grid(counts, Boundary::Periodic);
        let expected_links = grid.len() * neighbours(grid.domain().dimension).len() / 2;
        for (ranks, (shell, pattern)) in
            [1, 2, 4].into_iter().flat_map(|n| shells_and_patterns().map(move |way| (n, way)))
        {
            if ranks > grid.len() {
                continue;
            }
            let partition: Partition = Arc::new(Stripe { ranks });
            let (mut own, mut links) = (0, 0.0);
            for rank in 0..ranks {
                let plan = plan(&grid, &partition, shell, pattern, rank);
                for (group, runs) in PairWork::new(&plan, &grid, shell, SECOND_SHARE).iter() {
                    let partners: Vec<u32> = runs.iter().cloned().flatten().collect();
                    own += usize::from(partners.contains(&group.a));
                    let others = partners.iter().filter(|&&b| b != group.a).count() as f64;
                    links += if group.newton == Newton::On { others } else { 0.5 * others };
                }
            }
            assert_eq!((own, links), (grid.len(), expected_links as f64), "{counts:?} {ranks} {shell:?}");
        }
    }
}

#[test]
fn partners_that_follow_each_other_are_one_run() {
    let whole: Partition = Arc::new(Stripe { ranks: 1 });
    let grid = grid([4, 4, 4], Boundary::Reflecting);
    let plan = plan(&grid, &whole, Shell::Half, ExchangePattern::Direct, 0);
    let pairs = PairWork::new(&plan, &grid, Shell::Half, SECOND_SHARE);
    let middle = plan.local_cell([1, 1, 1]).unwrap();
    let (_, runs) = pairs.iter().find(|(group, _)| group.a == middle).unwrap();
    let rows = [[0, 2, 1], [0, 0, 2], [0, 1, 2], [0, 2, 2]].map(|first| {
        let start = plan.local_cell(first).unwrap();
        start..start + 3
    });
    assert_eq!(runs[0], middle..middle + 2);
    assert_eq!(runs[1..], rows);
}

/// Checks the order of the regions, and that the second part of the inner work needs no ghosts and
/// has its share, as far as there are such pairs.
#[test]
fn inner_work_is_cut_around_the_boundary() {
    let partition: Partition = Arc::new(Rect { grid: [1, 2, 1] });
    let grid = grid([8, 16, 8], Boundary::Periodic);
    let plan = plan(&grid, &partition, Shell::Half, ExchangePattern::Direct, 0);
    let count = |share: f64| {
        let pairs = PairWork::new(&plan, &grid, Shell::Half, share);
        assert!(pairs.iter().is_sorted_by_key(|(group, _)| group.region));
        let mut counts = [0; Region::ALL.len()];
        for (group, runs) in pairs.iter() {
            counts[group.region as usize] += runs.iter().map(Range::len).sum::<usize>();
        }
        counts
    };
    let [inner, boundary, none] = count(0.0);
    assert!(inner > 0 && boundary > 0 && none == 0);
    let [first, _, second] = count(0.25);
    assert!(first + second == inner && (inner / 4 - 14..=inner / 4).contains(&second), "{second} of {inner}");
    let [first, _, second] = count(1.0);
    assert!(first + second == inner && first > 0, "images are met in the first part");
    let full = PairWork::new(&plan, &grid, Shell::Full, 0.5);
    assert!(full.iter().all(|(group, _)| group.region != Region::InnerSecond), "no forces travel home");
}

/// Checks all shells, including the case that the first cell of a pair is an image.
#[test]
fn the_second_part_of_the_inner_work_touches_owned_cells_only() {
    let partition: Partition = Arc::new(Rect { grid: [2, 1, 1] });
    let grid = grid([8, 4, 4], Boundary::Periodic);
    for (shell, pattern) in shells_and_patterns() {
        let plan = plan(&grid, &partition, shell, pattern, 0);
        let mut pairs = PairWork::new(&plan, &grid, shell, 1.0);
        let owned = plan.owned.len();
        for (group, runs) in pairs.iter().filter(|(group, _)| group.region == Region::InnerSecond) {
            let last = runs.iter().map(|run| run.end as usize).max().unwrap();
            assert!((group.a as usize) < owned && last <= owned, "{shell:?} {pattern:?}");
        }
        pairs.set_second_share(0.25, &plan);
        assert_eq!(pairs, PairWork::new(&plan, &grid, shell, 0.25), "cut anew: {shell:?} {pattern:?}");
    }
}
