//! The pairs of cells: the shell's rules around every owned cell, grouped by the first cell.
//!
//! The halo plan contains the ghost cells; this module contains the pairs of cells that this rank
//! computes. Both are derived from the shell, so a rank has all ghost cells that its pairs need.

use crate::cells::LocalCells;
use crate::grid::{CellGrid, add};
use crate::halo::HaloPlan;
use crate::memory;
use crate::particles::Particles;
use crate::shell::{ForceReturn, Shell};
use std::ops::Range;

/// Newton's third law: whether a pair's reaction on the partner is computed too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Newton {
    /// Both particles get their force, and the pair is counted once.
    On,
    /// Only the first particle gets its force. The partner's owner computes the pair again, so
    /// energies count half.
    Off,
}

impl Newton {
    /// Returns the fraction of a pair's energy that counts on this rank.
    pub fn weight(self) -> f64 {
        match self {
            Self::On => 1.0,
            Self::Off => 0.5,
        }
    }
}

/// The parts of a rank's work, in the order of computation. The order does not depend on whether
/// messages are in flight, so neither do the sums.
///
/// ```
/// use md_core::partition::Rect;
/// use md_core::{Boundary, CellGrid, Dimension, Domain, ExchangePattern, HaloPlan};
/// use md_core::{Partition, Region, Shell, force::PairWork};
/// use std::sync::Arc;
///
/// let (origin, lengths, boundary) = ([0.0; 3], [9.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let (grid, shell) = (CellGrid::new(domain, [3; 3]), Shell::Half);
/// let offsets = shell.offsets(domain.dimension);
/// let has_boundary = |partition: Partition| {
///     let plan = HaloPlan::new(&grid, &partition, &offsets, ExchangePattern::Direct, 0);
///     let pairs = PairWork::new(&plan, &grid, shell, 0.5);
///     pairs.iter().any(|(group, _)| group.region == Region::Boundary)
/// };
/// // One rank has only its own cells and their images.
/// assert!(!has_boundary(Arc::new(Rect { grid: [1, 1, 1] })));
/// assert!(has_boundary(Arc::new(Rect { grid: [3, 1, 1] })));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum Region {
    /// Own cells and their images: can be computed while positions are being sent.
    InnerFirst,
    /// Pairs with imported cells.
    Boundary,
    /// Own cells only: can be computed while forces are being returned. Empty if no forces are
    /// returned.
    InnerSecond,
}

impl Region {
    /// All regions, in the order of computation.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// One cell and its partner cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPairs {
    /// Index of the first cell.
    pub a: u32,
    /// Whether the partners get forces too.
    pub newton: Newton,
    /// The region in which the pairs are computed.
    pub region: Region,
    /// Range of its partners in the common list.
    partners: Range<usize>,
}

/// All pairs of cells that a rank computes, region by region. The partners are in one list, because
/// in a sparse system reading them takes longer than processing them.
#[derive(Debug, Clone, PartialEq)]
pub struct PairWork {
    shell: Shell,
    second_share: f64,
    groups: Vec<CellPairs>,
    partners: Vec<Range<u32>>,
}

/// A pair of particles within the cutoff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Index of the first particle.
    pub i: usize,
    /// Index of the second.
    pub j: usize,
    /// Vector from j to i, \[length\].
    pub distance: [f64; 3],
    /// Squared length of `distance`.
    pub r2: f64,
    /// Whether the force on j is also computed from this pair.
    pub newton: Newton,
}

impl PairWork {
    /// Creates the pairs of the plan's rank. The fraction `second_share` of the inner pairs of
    /// cells is computed in [`Region::InnerSecond`], as far as these pairs need no images.
    pub fn new(plan: &HaloPlan, grid: &CellGrid, shell: Shell, second_share: f64) -> Self {
        let rules = shell.rules(grid.domain().dimension);
        let mut links = memory::with_capacity(plan.owned.len() * rules.len());
        for &anchor in &plan.owned {
            let first = links.len();
            for rule in &rules {
                let cells = (plan.local_cell(add(anchor, rule.a)), plan.local_cell(add(anchor, rule.b)));
                let (Some(a), Some(b)) = cells else { continue };
                if let Some(newton) = newton(plan, shell, a, b) {
                    let outermost = a.max(b) as usize;
                    let is_inner = outermost < plan.first_awaited_cell();
                    let region = if is_inner { Region::InnerFirst } else { Region::Boundary };
                    links.push((a, region, newton, b));
                }
            }
            // After this, all links are in order, except for the eighth shell.
            links[first..].sort_unstable();
        }
        links.sort_unstable();
        let mut all = Self { shell, second_share: 0.0, groups: Vec::new(), partners: Vec::new() };
        for links in links.chunk_by(|x, y| (x.0, x.1, x.2) == (y.0, y.1, y.2)) {
            let (a, region, newton, _) = links[0];
            let start = all.partners.len();
            for link in links {
                all.add_partner(plan, start, a, link.3);
            }
            let partners = start..all.partners.len();
            memory::push(&mut all.groups, CellPairs { a, newton, region, partners });
        }
        all.groups.sort_by_key(|group| group.region);
        all.set_second_share(second_share, plan);
        all
    }

    /// Divides the inner pairs again, which changes the order of the sums. Methods must be rebuilt
    /// afterwards.
    pub fn set_second_share(&mut self, share: f64, plan: &HaloPlan) {
        if self.shell.force_return() == ForceReturn::None || !plan.awaits_messages() {
            return;
        }
        for group in self.groups.iter_mut().filter(|group| group.region == Region::InnerSecond) {
            group.region = Region::InnerFirst;
        }
        self.groups.sort_by_key(|group| (group.region, group.a, group.newton));
        self.second_share = share;
        self.put_off(share, plan.owned.len());
    }

    /// Returns the fraction of the inner pairs intended for [`Region::InnerSecond`], or 0 if no
    /// forces are returned.
    pub fn second_share(&self) -> f64 {
        self.second_share
    }

    /// Moves this fraction of the inner pairs to [`Region::InnerSecond`]. It takes the last cells
    /// in memory, and only those paired with nothing but the `owned` cells, because forces on
    /// images are returned earlier.
    fn put_off(&mut self, share: f64, owned: usize) {
        let Self { groups, partners, .. } = self;
        let runs = |group: &CellPairs| &partners[group.partners.clone()];
        let pairs = |group: &CellPairs| runs(group).iter().map(Range::len).sum::<usize>();
        let inner = groups.partition_point(|group| group.region == Region::InnerFirst);
        let total: usize = groups[..inner].iter().map(pairs).sum();
        let mut left = (share * total as f64) as usize;
        for group in groups[..inner].iter_mut().rev() {
            let is_owned = |run: &Range<u32>| run.end as usize <= owned;
            let own_cells_only = (group.a as usize) < owned && runs(group).iter().all(is_owned);
            if own_cells_only && pairs(group) <= left {
                left -= pairs(group);
                group.region = Region::InnerSecond;
            }
        }
        groups.sort_by_key(|group| group.region);
    }

    /// Adds cell b to the partners of a, which begin at `start`. Extends the last run if b follows
    /// it, both are owned or both are ghosts, and b does not have to start a run.
    fn add_partner(&mut self, plan: &HaloPlan, start: usize, a: u32, b: u32) {
        let starts_a_run = b == a || b as usize == plan.owned.len();
        match self.partners[start..].last_mut() {
            Some(run) if run.end == b && !starts_a_run => run.end += 1,
            _ => memory::push(&mut self.partners, b..b + 1),
        }
    }

    /// Returns the shell that divides the pairs among ranks.
    pub fn shell(&self) -> Shell {
        self.shell
    }

    /// Returns every group with the indices of its partners in storage order, as runs of cells
    /// whose particles are contiguous. The group's own cell stands for the pairs inside it and
    /// starts a run.
    pub fn iter(&self) -> impl Iterator<Item = (&CellPairs, &[Range<u32>])> {
        self.groups.iter().map(|group| (group, &self.partners[group.partners.clone()]))
    }

    /// Calls `visit` with every pair of particles within the cutoff that this rank computes. This
    /// is a plain loop for user-defined methods and for tests; [`super::Method`] is many times as
    /// fast.
    pub fn visit(&self, cells: &LocalCells, particles: &Particles, cutoff: f64, mut visit: impl FnMut(Pair)) {
        for (group, partners) in self.iter() {
            for i in cells.range(group.a as usize) {
                for j in partners.iter().flat_map(|run| cells.run(run)).map(|j| j as usize) {
                    // Inside its own cell, a particle is paired with the particles after it.
                    let is_own_cell = cells.range(group.a as usize).contains(&j);
                    if is_own_cell && j <= i {
                        continue;
                    }
                    let (a, b) = (particles.position_of(i), particles.position_of(j));
                    let distance = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
                    let r2 = distance.iter().map(|d| d * d).sum();
                    if r2 < cutoff * cutoff {
                        visit(Pair { i, j, distance, r2, newton: group.newton });
                    }
                }
            }
        }
    }
}

/// Returns which particles get forces from the pairs of cells a and b, or `None` if another rule
/// already covers these pairs.
fn newton(plan: &HaloPlan, shell: Shell, a: u32, b: u32) -> Option<Newton> {
    let b_is_owned = (b as usize) < plan.owned.len();
    match shell.force_return() {
        ForceReturn::Needed => Some(Newton::On),
        ForceReturn::None if !b_is_owned => Some(Newton::Off),
        // Owned cells are sorted, so the later one is the forward one.
        ForceReturn::None => (b >= a).then_some(Newton::On),
    }
}
