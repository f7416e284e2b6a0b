//! The pairs of a rank by the shared cells that they need.

use std::collections::BTreeMap;

use md_comm::Rank;
use md_core::force::{BLOCK_PAIRS, CellTasks, PairWork};
use md_core::grid::Cell;
use md_core::halo::Stage;
use md_core::{CellGrid, HaloPlan, LocalCells};

/// A place of this rank for a foreign cell: itself or an image of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) cell: u32,
    /// Displacement in box lengths.
    pub(super) shift: [i8; 3],
}

/// Where a shared cell belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// Here, as this local cell; others need it.
    Here(u32),
    /// With another rank; it has these places here, of which the first holds its forces while it is here.
    At { owner: Rank, slots: Vec<Slot> },
}

/// A cell that several ranks compute with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedCell {
    /// Of the cell in the grid: its name in letters, and its place in the order in which cells are taken.
    pub(super) number: u64,
    pub(super) home: Home,
}

/// Shared cells by their indices, ascending.
pub(super) type Needs = Vec<usize>;

/// Which pairs of cells there are, by what they need: the same as long as the decomposition is.
#[derive(Debug, Default)]
struct Pairs {
    by_needs: Vec<(Needs, Vec<(u32, u32)>)>,
    /// Those that need nothing.
    free: Vec<(u32, u32)>,
    owned: Vec<Cell>,
    ghosts: Vec<Cell>,
    stages: Vec<Stage>,
}

impl Pairs {
    fn are_of(&self, plan: &HaloPlan) -> bool {
        self.owned == plan.owned && self.ghosts == plan.ghosts && self.stages == plan.stages
    }

    fn new(pairs: &PairWork, plan: &HaloPlan, index: &[Option<usize>]) -> Self {
        let mut by_needs: BTreeMap<Needs, Vec<(u32, u32)>> = BTreeMap::new();
        let mut free = Vec::new();
        for (group, partners) in pairs.iter() {
            for b in partners.iter().cloned().flatten() {
                let mut needs =
                    Needs::from_iter([group.a, b].into_iter().filter_map(|cell| index[cell as usize]));
                needs.sort_unstable();
                needs.dedup();
                if needs.is_empty() {
                    free.push((group.a, b));
                } else {
                    by_needs.entry(needs).or_default().push((group.a, b));
                }
            }
        }
        let by_needs = by_needs.into_iter().collect();
        let HaloPlan { owned, ghosts, stages, .. } = plan.clone();
        Self { by_needs, free, owned, ghosts, stages }
    }
}

/// What a rank computes, and with which cells.
#[derive(Debug, Default)]
pub(super) struct Portions {
    pub(super) work: CellTasks,
    /// By portion: those that need nothing come last.
    pub(super) needs: Vec<Needs>,
    /// By number.
    pub(super) shared: Vec<SharedCell>,
    /// Ranks that have cells of this rank's neighbourhood.
    pub(super) owners: Vec<Rank>,
    /// Ranks that need cells of this rank.
    pub(super) takers: Vec<Rank>,
    pairs: Pairs,
}

impl Portions {
    pub(super) fn rebuild(&mut self, pairs: &PairWork, cells: &LocalCells, plan: &HaloPlan, grid: &CellGrid) {
        if !self.pairs.are_of(plan) {
            self.shared = shared_cells(plan, grid);
            let edges = || plan.stages.iter().flat_map(|stage| &stage.edges);
            self.owners = edges().filter(|edge| !edge.imports.is_empty()).map(|edge| edge.peer).collect();
            self.takers = edges().filter(|edge| !edge.exports.is_empty()).map(|edge| edge.peer).collect();
            self.pairs = Pairs::new(pairs, plan, &self.index(plan.cell_count()));
        }
        self.fill(cells);
    }

    fn fill(&mut self, cells: &LocalCells) {
        let Self { work, needs, pairs, .. } = self;
        work.clear();
        needs.clear();
        for (of_all, pairs) in &pairs.by_needs {
            pairs.iter().for_each(|&(a, b)| work.add(cells, a, b));
            needs.extend(work.end_portion().map(|_| of_all.clone()));
        }
        for &(a, b) in &pairs.free {
            work.add(cells, a, b);
            if work.candidates() > BLOCK_PAIRS as f64 {
                needs.extend(work.end_portion().map(|_| Needs::new()));
            }
        }
        needs.extend(work.end_portion().map(|_| Needs::new()));
    }

    /// Local cell -> shared cell.
    fn index(&self, cells: usize) -> Vec<Option<usize>> {
        let mut index = vec![None; cells];
        for (number, shared) in self.shared.iter().enumerate() {
            match &shared.home {
                Home::Here(cell) => index[*cell as usize] = Some(number),
                Home::At { slots, .. } => {
                    slots.iter().for_each(|slot| index[slot.cell as usize] = Some(number));
                }
            }
        }
        index
    }

    /// Particles of a shared cell.
    pub(super) fn count(&self, shared: usize, cells: &LocalCells) -> usize {
        match &self.shared[shared].home {
            Home::Here(cell) => cells.count(*cell as usize),
            Home::At { slots, .. } => slots.first().map_or(0, |slot| cells.count(slot.cell as usize)),
        }
    }
}

fn shared_cells(plan: &HaloPlan, grid: &CellGrid) -> Vec<SharedCell> {
    let mut shared = BTreeMap::new();
    for edge in plan.stages.iter().flat_map(|stage| &stage.edges) {
        for export in &edge.exports {
            let number = grid.linear(plan.cell_at(export.cell as usize)) as u64;
            shared.insert(number, Home::Here(export.cell));
        }
        for cell in edge.imports.clone() {
            let Some((primary, shift)) = grid.wrap(plan.cell_at(cell)) else { continue };
            let number = grid.linear(primary) as u64;
            let slot = Slot { cell: cell as u32, shift };
            let new = || Home::At { owner: edge.peer, slots: Vec::new() };
            if let Home::At { slots, .. } = shared.entry(number).or_insert_with(new) {
                slots.push(slot);
            }
        }
    }
    shared.into_iter().map(|(number, home)| SharedCell { number, home }).collect()
}
