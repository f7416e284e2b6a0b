//! A run that was balanced by measured times, repeated to the bit: at the same steps the same cells change rank.
//!
//! A division is told by the cells that changed rank: `first+count:rank` for runs of cells in storage order, with `;` between
//! them.

use std::fmt::Write;
use std::sync::Arc;

use md_core::partition::{Partition, Table};
use md_core::{CellGrid, memory};

use crate::decomposition::Division;
use crate::error::EngineError;
use crate::simulation::Simulation;

/// One step at which the division changed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// [`super::Balancing::step`].
    pub step: u64,
    /// [`super::Balancing::division`].
    pub division: String,
}

/// The cells that change rank.
pub(super) fn changed_cells(grid: &CellGrid, from: &Partition, to: &Partition) -> String {
    let mut text = String::new();
    let mut run: Option<(usize, usize, usize)> = None;
    let mut end_run = |run: Option<(usize, usize, usize)>| {
        if let Some((first, count, rank)) = run {
            let separator = if text.is_empty() { "" } else { ";" };
            // Writing to a text cannot fail.
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

/// Changes owners by what [`changed_cells`] has said.
fn change(owners: &mut [u32], text: &str, ranks: usize) -> Option<()> {
    for run in text.split(';').filter(|run| !run.is_empty()) {
        let (cells, rank) = run.split_once(':')?;
        let (first, count) = cells.split_once('+')?;
        let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
        let rank: u32 = rank.parse().ok().filter(|&rank: &u32| (rank as usize) < ranks)?;
        owners.get_mut(first..first.checked_add(count)?)?.fill(rank);
    }
    Some(())
}

impl<I> Simulation<'_, I> {
    /// Lets the division change as in another run of the same scenario on as many ranks, instead of looking at the balance.
    ///
    /// # Errors
    /// [`EngineError::Config`]: what is told is no division of this box among these ranks.
    pub fn replay_balancing(&mut self, all: Vec<Replayed>) -> Result<(), EngineError> {
        let (Division { grid, partition }, ranks) = (&self.setup.division, self.setup.ranks);
        let owners = memory::or_error(|| Table::of(partition, grid, ranks))?.owners().to_vec();
        let mut tried = owners.clone();
        for Replayed { step, division } in &all {
            if change(&mut tried, division, ranks).is_none() {
                let cells = grid.len();
                let what =
                    format!("the division of step {step} is not one of {cells} cells among {ranks} ranks");
                return Err(EngineError::Config(what));
            }
        }
        self.balancer.rule = None;
        self.balancer.replay = Some(Replay { owners, all });
        Ok(())
    }
}

/// What is to be done again.
#[derive(Debug)]
pub(crate) struct Replay {
    /// By [`CellGrid::linear`], as they are now.
    owners: Vec<u32>,
    all: Vec<Replayed>,
}

impl Replay {
    /// What changes after so many steps.
    pub(super) fn take(&mut self, steps_done: u64, grid: &CellGrid, ranks: usize) -> Option<Division> {
        let Self { owners, all } = self;
        let Replayed { division, .. } = all.iter().find(|replayed| replayed.step == steps_done)?;
        change(owners, division, ranks)?;
        Some(Division { grid: grid.clone(), partition: Arc::new(Table::new(owners.clone(), ranks)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_division_makes_it_again() {
        let mut owners = vec![0, 0, 1, 1, 2, 2];
        assert_eq!(change(&mut owners, "1+2:2;5+1:0", 3), Some(()));
        assert_eq!(owners, [0, 2, 2, 1, 2, 0]);
        assert_eq!(change(&mut owners, "", 3), Some(()));
        for wrong in ["1+2:3", "5+2:0", "1", "1+2", "x+1:0", "1+18446744073709551615:0"] {
            assert_eq!(change(&mut owners, wrong, 3), None, "{wrong}");
        }
    }
}
