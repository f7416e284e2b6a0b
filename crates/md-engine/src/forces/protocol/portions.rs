//! Portions of the pairs of a rank, grouped by the shared cells that they need.

use std::collections::BTreeMap;

use md_comm::Rank;
use md_core::force::{BLOCK_PAIRS, CellTasks, PairWork};
use md_core::grid::Cell;
use md_core::halo::Stage;
use md_core::{CellGrid, HaloPlan, LocalCells};

/// A local copy of a foreign cell: the cell itself or a periodic image of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) cell: u32,
    /// Displacement in box lengths.
    pub(super) shift: [i8; 3],
}

/// Location of a shared cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// Own cell with this local index, needed by other ranks.
    Here(u32),
    /// Cell of another rank, with its local copies. While the cell is here, the first copy holds
    /// its forces.
    At { owner: Rank, slots: Vec<Slot> },
}

/// A cell that several ranks compute with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedCell {
    /// Index of the cell in the grid. It identifies the cell in messages and sets the order in
    /// which cells are taken.
    pub(super) number: u64,
    pub(super) home: Home,
}

/// Indices of shared cells, ascending.
pub(super) type Needs = Vec<usize>;

/// Pairs of cells grouped by the shared cells they need; valid until the decomposition changes.
#[derive(Debug, Default)]
struct Pairs {
    by_needs: Vec<(Needs, Vec<(u32, u32)>)>,
    /// Pairs that need no shared cell.
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

/// Portions of a rank and the cells they need.
#[derive(Debug, Default)]
pub(super) struct Portions {
    pub(super) work: CellTasks,
    /// Shared cells of each portion; portions that need none come last.
    pub(super) needs: Vec<Needs>,
    /// Sorted by number.
    pub(super) shared: Vec<SharedCell>,
    /// Ranks that own cells in this rank's neighbourhood.
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

    /// Returns the shared cell of each local cell.
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

    /// Returns the number of particles in a shared cell.
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
