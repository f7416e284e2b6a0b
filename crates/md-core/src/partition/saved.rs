//! Partitions as words for files: planes, starts of pieces, cuts, or the owner of every cell; and
//! their restoration.
//!
//! ```text
//! form, and then   planes   blocks along x, y and z; their planes along x, y and z
//!                  pieces   start of the piece of every rank
//!                  cuts     per cut: its order, and a cell in that order
//!                  table    runs of cells in storage order: their number and their rank
//! ```
//!
//! Input is not trusted: words that do not describe a partition of these cells among these ranks
//! are rejected.

use super::form::Form;
use super::{Ownership, Partition, Path, Pieces, Rcb, Scattered, Table, Uneven, metis};
use crate::grid::CellGrid;
use crate::memory;
use std::sync::Arc;

/// Restores a partition from its [`Ownership::words`]. Returns `None` if the words do not describe
/// a partition of these cells in which each rank has a cell.
pub fn from_words(words: &[u64], grid: &CellGrid, ranks: usize) -> Option<Partition> {
    let (&form, words) = words.split_first()?;
    let pieces = |path| Pieces::from_words(path, words, ranks);
    let partition: Partition = match Form::from_repr(form)? {
        Form::Planes => Arc::new(Uneven::from_words(words, grid, ranks)?),
        Form::Stripes => Arc::new(pieces(Path::StorageOrder)?),
        Form::Curve => Arc::new(pieces(Path::Hilbert)?),
        Form::Cuts => Arc::new(Rcb::from_words(words, ranks)?),
        Form::Scattered => words.is_empty().then(|| Arc::new(Scattered { ranks }))?,
        Form::Graph => metis::of_owners(owners(words, grid, ranks)?, ranks)?,
        Form::Table => Arc::new(Table::new(owners(words, grid, ranks)?, ranks)),
    };
    let mut has_cell = Vec::new();
    memory::resize(&mut has_cell, ranks, false);
    (0..grid.len()).for_each(|number| has_cell[partition.owner(grid, grid.at(number))] = true);
    has_cell.into_iter().all(|has| has).then_some(partition)
}

/// Returns the runs of consecutive cells with the same owner, one word each.
pub(super) fn runs(partition: &(impl Ownership + ?Sized), grid: &CellGrid) -> Vec<u64> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for owner in partition.owners(grid) {
        let owner = owner as u64;
        match runs.last_mut() {
            Some((count, last)) if *last == owner => *count += 1,
            _ => runs.push((1, owner)),
        }
    }
    runs.into_iter().map(|(count, owner)| count << u32::BITS | owner).collect()
}

/// Returns the owner of every cell.
fn owners(runs: &[u64], grid: &CellGrid, ranks: usize) -> Option<Vec<u32>> {
    let mut owners = memory::with_capacity(grid.len());
    for run in runs {
        let (count, owner) = ((run >> u32::BITS) as usize, *run as u32);
        if count == 0 || count > grid.len() - owners.len() || owner as usize >= ranks {
            return None;
        }
        owners.extend(std::iter::repeat_n(owner, count));
    }
    (owners.len() == grid.len()).then_some(owners)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{droplet, particles, request};
    use super::super::{CellLoads, PartitionKind};
    use super::*;
    use crate::domain::Dimension;
    use crate::shell::Shell;

    /// Checks every kind at the start and after balancing, and a partition with the default words.
    #[test]
    fn partitions_are_read_back() {
        for (kind, ranks) in PartitionKind::ALL.iter().flat_map(|&kind| [(kind, 1), (kind, 4), (kind, 6)]) {
            if kind == PartitionKind::Metis && cfg!(not(feature = "metis")) {
                continue;
            }
            let (grid, first) = kind.divide(&request([9, 8, 7], Dimension::Three, ranks)).unwrap();
            let loads = CellLoads::of_counts(&grid, particles(&grid, droplet), Shell::Half);
            let mut all = first.rebalanced(&grid, &loads).unwrap();
            all.push(Arc::new(Table::of(&first, &grid, ranks)));
            all.push(first);
            for partition in all {
                let words = partition.words(&grid);
                let read = from_words(&words, &grid, ranks).unwrap();
                let owners = |of: &Partition| Table::of(of, &grid, ranks);
                assert_eq!(owners(&read), owners(&partition), "{kind:?}");
                let balanced = |of: &Partition| {
                    let all = of.rebalanced(&grid, &loads).unwrap();
                    all.iter().map(owners).collect::<Vec<_>>()
                };
                assert_eq!(balanced(&read), balanced(&partition), "{kind:?}");
                let cells =
                    |of: &Partition| (0..ranks).map(|rank| of.cells_of(&grid, rank)).collect::<Vec<_>>();
                assert_eq!(cells(&read), cells(&partition), "{kind:?}");
                damaged(&words, &grid, ranks);
            }
        }
    }

    /// Checks that damaged words give a valid partition or none, and that a missing or additional
    /// word is detected.
    fn damaged(words: &[u64], grid: &CellGrid, ranks: usize) {
        let others = [0, 1, 3, 1 << 31, 1 << 32 | 7, 1 << 40, u64::MAX];
        let read = |words: &[u64]| from_words(words, grid, ranks);
        for (place, other) in (0..words.len()).flat_map(|place| others.map(|other| (place, other))) {
            let mut words = words.to_vec();
            words[place] = other;
            if let Some(partition) = read(&words) {
                let cells = (0..ranks).map(|rank| partition.cells_of(grid, rank).len());
                assert_eq!(cells.sum::<usize>(), grid.len(), "{words:?}");
            }
        }
        assert!(
            read(&words[..words.len() - 1]).is_none() && read(&[words, &[0]].concat()).is_none(),
            "{words:?}"
        );
    }

    #[test]
    fn words_that_are_no_partition() {
        let (grid, _) = PartitionKind::Stripe.divide(&request([4, 2, 2], Dimension::Three, 2)).unwrap();
        let run = |count: u64, rank: u64| count << 32 | rank;
        let is_read = |words: &[u64]| from_words(words, &grid, 2).is_some();
        assert!(is_read(&Form::Planes.with([2, 1, 1, 0, 3, 4, 0, 2, 0, 2])));
        for planes in [
            [2, 1, 1, 0, 4, 4, 0, 2, 0, 2],
            [2, 1, 1, 1, 3, 4, 0, 2, 0, 2],
            [2, 1, 1, 0, 3, 5, 0, 2, 0, 2],
            [1, 2, 1, 0, 4, 0, 1, 0, 2, 2],
            [1, 1, 1, 0, 4, 0, 2, 0, 2, 0],
        ] {
            assert!(!is_read(&Form::Planes.with(planes)), "{planes:?}");
        }
        assert!(is_read(&Form::Stripes.with([0, 5])));
        assert!(!is_read(&Form::Stripes.with([5, 0])) && !is_read(&Form::Stripes.with([0, 16])));
        assert!(is_read(&Form::Cuts.with([0, 1, 0, 0])) && !is_read(&Form::Cuts.with([6, 1, 0, 0])));
        assert!(!is_read(&Form::Cuts.with([0, 9, 0, 0])), "rank 1 has no cell");
        assert!(is_read(&Form::Table.with([run(9, 1), run(7, 0)])));
        for runs in
            [[run(9, 1), run(8, 0)], [run(9, 1), run(6, 0)], [run(9, 1), run(7, 2)], [run(9, 1), run(7, 1)]]
        {
            assert!(!is_read(&Form::Table.with(runs)), "{runs:?}");
        }
        assert!(!is_read(&[]) && !is_read(&[0]) && !is_read(&[99]));
    }
}
