//! Which cells meet which: the shell's rules around every owned cell, grouped by the first cell.

use super::HaloPlan;
use crate::grid::{CellGrid, add};
use crate::shell::ForceReturn;
use std::ops::Range;

/// Whether the partner's force is computed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Newton {
    /// Both particles get their force (Newton's third law); the pair is counted once.
    On,
    /// Only the first; the partner's owner computes the pair again, so energies count half.
    Off,
}

/// Whether the work needs the halo of other ranks; inner work sorts before boundary work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// Own cells and their images only: can be computed while the halo is in flight.
    Inner,
    /// Touches imported cells.
    Boundary,
}

impl Region {
    /// In the order of computation.
    pub const ALL: [Self; 2] = [Self::Inner, Self::Boundary];
}

/// The cells that one cell meets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPairs {
    /// Slot of the first cell.
    pub a: u32,
    /// Who gets forces.
    pub newton: Newton,
    /// Inner or boundary work.
    pub region: Region,
    /// Where its partners are.
    partners: Range<usize>,
}

/// All groups, inner ones first. Their partners lie in one list, because in a sparse system reading them takes longer than
/// anything that is done with them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pairs {
    groups: Vec<CellPairs>,
    partners: Vec<Range<u32>>,
}

impl Pairs {
    pub(super) fn new(plan: &HaloPlan, grid: &CellGrid) -> Self {
        let rules = plan.shell.rules(grid.is_flat());
        let mut links = Vec::with_capacity(plan.owned.len() * rules.len());
        for &anchor in &plan.owned {
            for rule in &rules {
                let slots = (plan.slot_of(add(anchor, rule.a)), plan.slot_of(add(anchor, rule.b)));
                let (Some(a), Some(b)) = slots else { continue };
                if let Some(newton) = newton(plan, a, b) {
                    let outermost = a.max(b) as usize;
                    let region =
                        if outermost < plan.first_awaited_slot() { Region::Inner } else { Region::Boundary };
                    links.push((region, a, newton, b));
                }
            }
        }
        links.sort_unstable();
        let mut all = Self::default();
        for links in links.chunk_by(|x, y| (x.0, x.1, x.2) == (y.0, y.1, y.2)) {
            let (region, a, newton, _) = links[0];
            let start = all.partners.len();
            for link in links {
                all.add_partner(plan, start, (a, link.3));
            }
            all.groups.push(CellPairs { a, newton, region, partners: start..all.partners.len() });
        }
        all
    }

    /// Adds the slot b to the partners of a, which are those from `start`: to the last run if it follows that, is owned or
    /// a ghost as that is, and does not have to start one.
    fn add_partner(&mut self, plan: &HaloPlan, start: usize, (a, b): (u32, u32)) {
        let starts_a_run = b == a || b as usize == plan.owned.len();
        match self.partners[start..].last_mut() {
            Some(run) if run.end == b && !starts_a_run => run.end += 1,
            _ => self.partners.push(b..b + 1),
        }
    }

    /// Every group with the slots of its partners in storage order, as runs of slots whose particles lie back to back; the
    /// group's own cell stands for the pairs inside it and starts a run.
    pub fn iter(&self) -> impl Iterator<Item = (&CellPairs, &[Range<u32>])> {
        self.groups.iter().map(|group| (group, &self.partners[group.partners.clone()]))
    }
}

/// Who gets forces from the pairs of slots a and b; `None` where another rule has them already.
fn newton(plan: &HaloPlan, a: u32, b: u32) -> Option<Newton> {
    let b_is_owned = (b as usize) < plan.owned.len();
    match plan.shell.force_return() {
        ForceReturn::Needed => Some(Newton::On),
        ForceReturn::None if !b_is_owned => Some(Newton::Off),
        // Owned cells are sorted, so the later slot is the forward one.
        ForceReturn::None => (b >= a).then_some(Newton::On),
    }
}
