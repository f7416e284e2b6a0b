//! Bitwise replay of a run that was balanced by measured times: the same cells change rank at the
//! same steps.
//!
//! A change of the division is written as the cells that changed rank: `first+count:rank` for
//! ranges of cells in storage order, separated by `;`.

use std::fmt::Write;
use std::sync::Arc;

use md_core::partition::{Partition, Table};
use md_core::{CellGrid, memory};

use crate::division::Division;
use crate::error::EngineError;

/// A step at which the division changed, and the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Step, as [`super::Balancing::step`].
    pub step: u64,
    /// Changed cells, as [`super::Balancing::division`].
    pub division: String,
}

/// Returns the cells that change rank, as text.
pub(crate) fn changed_cells(grid: &CellGrid, from: &Partition, to: &Partition) -> String {
    let mut text = String::new();
    let mut run: Option<(usize, usize, usize)> = None;
    let mut end_run = |run: Option<(usize, usize, usize)>| {
        if let Some((first, count, rank)) = run {
            let separator = if text.is_empty() { "" } else { ";" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{first}+{count}:{rank}");
        }
    };
    for number in 0..grid.len() {
        let (old, new) = (from.owner(grid, grid.at(number)), to.owner(grid, grid.at(number)));
        match &mut run {
            Some((_, count, rank)) if old != new && *rank == new => *count += 1,
            _ => {
                end_run(run.take());
                run = (old != new).then_some((number, 1, new));
            }
        }
    }
    end_run(run);
    text
}

/// Changes owners as described by [`changed_cells`], or returns why that is impossible. Every
/// listed cell must have had another owner before.
fn change(owners: &mut [u32], text: &str, ranks: usize) -> Result<(), String> {
    let all = owners.len();
    if text.is_empty() {
        return Ok(());
    }
    if text.split(';').any(str::is_empty) {
        return Err(format!("`{text}` has nothing before, between or after its `;`"));
    }
    for told in text.split(';') {
        let read = || {
            let (cells, rank) = told.split_once(':')?;
            let (first, count) = cells.split_once('+')?;
            let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
            Some((first, first.checked_add(count)?, rank.parse::<u32>().ok()?))
        };
        let (first, end, rank) =
            read().ok_or_else(|| format!("`{told}` is not of the form first+count:rank"))?;
        let cells = owners.get_mut(first..end).filter(|_| (rank as usize) < ranks);
        let cells = cells.ok_or_else(|| format!("`{told}` is beyond {all} cells and {ranks} ranks"))?;
        if cells.contains(&rank) {
            return Err(format!("`{told}` gives rank {rank} cells that it has already"));
        }
        cells.fill(rank);
    }
    Ok(())
}

/// Balancings that are to be repeated.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Present owners, indexed by [`CellGrid::linear`].
    owners: Vec<u32>,
    /// All balancings, in order of their steps.
    all: Vec<Replayed>,
    /// Number of balancings that are done.
    taken: usize,
}

impl Replay {
    /// Creates the replay of `all` balancings of a run that began with `division`, of which those
    /// before `steps_done` are taken as done; `every` is the number of steps between two balance
    /// checks.
    ///
    /// # Errors
    /// [`EngineError::Replay`]: a change does not follow from the division, or its step is not one
    /// of a balance check or does not come after that of the change before.
    pub(super) fn new(
        all: Vec<Replayed>,
        Division { grid, partition }: &Division,
        ranks: usize,
        every: Option<u64>,
        steps_done: u64,
    ) -> Result<Self, EngineError> {
        let owners = memory::or_error(|| Table::of(partition, grid, ranks))?.owners().to_vec();
        let (mut tried, mut last) = (owners.clone(), 0);
        let taken = all.iter().take_while(|replayed| replayed.step < steps_done).count();
        for (index, Replayed { step, division }) in all.iter().enumerate() {
            let misfit = |problem| EngineError::Replay { index, problem };
            if *step <= last {
                return Err(misfit(format!("step {step} does not come after step {last}")));
            }
            if let Some(every) = every.filter(|&every| !step.is_multiple_of(every)) {
                return Err(misfit(format!(
                    "step {step} is none of those at which this run looks, every {every}"
                )));
            }
            last = *step;
            if index < taken {
                continue;
            }
            change(&mut tried, division, ranks).map_err(|problem| {
                misfit(format!("the division of step {step} does not follow: {problem}"))
            })?;
        }
        Ok(Self { owners, all, taken })
    }

    /// Returns the number of balancings that are still to come, and their total number.
    pub(crate) fn unreached(&self) -> [usize; 2] {
        [self.all.len() - self.taken, self.all.len()]
    }

    /// Returns the new division that is due after `steps_done` steps.
    pub(crate) fn take(&mut self, steps_done: u64, grid: &CellGrid, ranks: usize) -> Option<Division> {
        let Self { owners, all, taken } = self;
        let Replayed { division, .. } = all.get(*taken).filter(|replayed| replayed.step == steps_done)?;
        change(owners, division, ranks).ok()?;
        *taken += 1;
        Some(Division { grid: grid.clone(), partition: Arc::new(Table::new(owners.clone(), ranks)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_division_makes_it_again() {
        let mut owners = vec![0, 0, 1, 1, 2, 2];
        assert_eq!(change(&mut owners, "1+2:2;5+1:0", 3), Ok(()));
        assert_eq!(owners, [0, 2, 2, 1, 2, 0]);
        assert_eq!(change(&mut owners, "", 3), Ok(()));
        let mut wrong = |text: &str| change(&mut owners, text, 3).unwrap_err();
        for text in [";", "1+2:0;;5+1:1", "1+2:0;", ";1+2:0"] {
            assert_eq!(wrong(text), format!("`{text}` has nothing before, between or after its `;`"));
        }
        for text in ["1", "1+2", "x+1:0", "1+18446744073709551615:0"] {
            assert_eq!(wrong(text), format!("`{text}` is not of the form first+count:rank"));
        }
        for text in ["1+2:3", "5+2:0"] {
            assert_eq!(wrong(text), format!("`{text}` is beyond 6 cells and 3 ranks"));
        }
        assert_eq!(wrong("2+2:1"), "`2+2:1` gives rank 1 cells that it has already");
    }
}
