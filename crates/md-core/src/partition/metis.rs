//! Parts of a graph of cells by METIS (Karypis & Kumar 1998), as in Matthey & Hansen. The weight of
//! a vertex is the cell's work, the weight of an edge is the number of particles in both cells, and
//! METIS minimises the weight of the edges that are cut. If a part would consist of only a few
//! heavy cells, METIS returns parts that are empty or have many times the mean work, and prints a
//! complaint to standard output. In that case this module uses recursive bisection, also tries
//! smaller weights, and takes the most even parts. At the end, the heaviest parts give cells to
//! lighter adjacent ones.
//!
//! Advantage: of all partitions, it sends the least data if the system is irregular. Disadvantage:
//! a table of all cells on every rank, some hundred nanoseconds per cell and a small imbalance.
//! Parts may be disconnected and have many neighbours.

use super::weights::CellLoads;
use super::{DivisionRequest, Partition};
use crate::grid::{CellGrid, GridError};

/// Divides the box into parts of equal volume.
pub(super) fn divide(request: &DivisionRequest) -> Result<(CellGrid, Partition), GridError> {
    let grid = CellGrid::new(request.domain, request.most_cells);
    let partition = of_loads(&grid, request.ranks, &CellLoads::uniform(&grid))?;
    Ok((grid, partition))
}

#[cfg(not(feature = "metis"))]
pub(super) fn of_loads(_: &CellGrid, _: usize, _: &CellLoads) -> Result<Partition, GridError> {
    Err(GridError::NotBuilt { partition: "metis", feature: "metis" })
}

#[cfg(not(feature = "metis"))]
pub(super) fn of_owners(_: Vec<u32>, _: usize) -> Option<Partition> {
    None
}

#[cfg(feature = "metis")]
pub(super) use graph::{of_loads, of_owners};

#[cfg(feature = "metis")]
mod graph {
    use super::super::form::Form;
    use super::super::saved;
    use super::super::table::Table;
    use super::super::weights::{CellLoads, check_enough, imbalance};
    use super::super::{Ownership, Partition};
    use crate::grid::{Cell, CellGrid, GridError, add};
    use crate::memory;
    use crate::shell::neighbours;
    use metis::option::{Seed, UFactor};
    use std::ops::Range;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Imbalance that METIS may leave, in thousandths: between all parts, or in each bisection,
    /// where the imbalances multiply.
    const IMBALANCE: metis::Idx = 30;
    const IMBALANCE_OF_A_CUT: metis::Idx = 4;
    const SEED: metis::Idx = 1;
    /// Imbalance that ends the search for better parts and the moving of cells.
    const GOOD_ENOUGH: f64 = 1.03;
    /// Smallest size of a part, in multiples of the heaviest cell, for which all parts may be cut
    /// at once. With parts of about one such cell, METIS leaves some empty and prints that to
    /// standard output.
    const FEWEST_CELLS: f64 = 2.0;
    /// Desired size of a part, in multiples of the heaviest cell.
    const ENOUGH_CELLS: f64 = 8.0;
    /// Sum of the weights of all vertices, because METIS adds them in 32 bits.
    const TOTAL: f64 = 1e9;

    /// Lock for the calls of METIS. It uses the random numbers of the C library, which all threads
    /// of a process share, and every rank must get the same parts.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// A partition by METIS.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Metis {
        table: Table,
        ranks: usize,
    }

    /// Divides the cells into parts of about equal work.
    pub(in super::super) fn of_loads(
        grid: &CellGrid,
        ranks: usize,
        loads: &CellLoads,
    ) -> Result<Partition, GridError> {
        Ok(Arc::new(Metis { table: Table::new(parts(grid, ranks, loads)?, ranks), ranks }))
    }

    /// Creates the partition from parts that METIS has found before.
    pub(in super::super) fn of_owners(owners: Vec<u32>, ranks: usize) -> Option<Partition> {
        Some(Arc::new(Metis { table: Table::new(owners, ranks), ranks }))
    }

    impl Ownership for Metis {
        fn owner(&self, grid: &CellGrid, cell: Cell) -> usize {
            self.table.owner(grid, cell)
        }

        fn cells_of(&self, grid: &CellGrid, rank: usize) -> Vec<Cell> {
            self.table.cells_of(grid, rank)
        }

        fn rebalanced(&self, grid: &CellGrid, loads: &CellLoads) -> Result<Vec<Partition>, GridError> {
            let mut owners = parts(grid, self.ranks, loads)?;
            rename(&mut owners, self.table.owners(), loads, self.ranks);
            Ok(vec![Arc::new(Self { table: Table::new(owners, self.ranks), ranks: self.ranks })])
        }

        fn words(&self, grid: &CellGrid) -> Vec<u64> {
            Form::Graph.with(saved::runs(&self.table, grid))
        }
    }

    fn parts(grid: &CellGrid, ranks: usize, loads: &CellLoads) -> Result<Vec<u32>, GridError> {
        check_enough(grid, ranks)?;
        loads.check()?;
        if ranks == 1 {
            let mut owners = Vec::new();
            memory::resize(&mut owners, grid.len(), 0);
            return Ok(owners);
        }
        let edges = edges(grid, loads);
        let [coarse, fine] = [FEWEST_CELLS, ENOUGH_CELLS].map(|cells| capped(&loads.work, ranks, cells));
        let even = CellLoads::uniform(grid).work;
        let weights = [&loads.work, &coarse, &fine, &even];
        let ways = weights.into_iter().flat_map(|work| [(Way::KWay, work), (Way::Bisection, work)]);
        let mut best = Err(GridError::Metis("there are no parts".to_owned()));
        for (way, work) in ways.filter(|(way, work)| *way == Way::Bisection || has_enough_cells(work, ranks))
        {
            let mut owners = match divide(&edges, way, work, ranks) {
                Ok(owners) => owners,
                Err(error) => {
                    best = best.or(Err(error));
                    continue;
                }
            };
            let imbalance = level(&mut owners, &edges, &loads.work, ranks);
            if !best.as_ref().is_ok_and(|(least, _)| *least <= imbalance) {
                best = Ok((imbalance, owners));
            }
            if imbalance <= GOOD_ENOUGH {
                break;
            }
        }
        best.map(|(_, owners)| owners)
    }

    /// Moves cells from the heaviest part to lighter adjacent parts, as long as it is too heavy and
    /// this makes it lighter. Returns the remaining imbalance.
    fn level(owners: &mut [u32], edges: &Edges, work: &[f64], ranks: usize) -> f64 {
        let mut of_parts = vec![0.0; ranks];
        let mut cells: Vec<Vec<usize>> = vec![Vec::new(); ranks];
        for (cell, &owner) in owners.iter().enumerate() {
            of_parts[owner as usize] += work[cell];
            cells[owner as usize].push(cell);
        }
        let heaviest =
            |of_parts: &[f64]| (0..ranks).max_by(|&a, &b| of_parts[a].total_cmp(&of_parts[b])).unwrap_or(0);
        for _ in 0..owners.len() {
            if imbalance(&of_parts) <= GOOD_ENOUGH {
                break;
            }
            let part = heaviest(&of_parts);
            let mut best: Option<(f64, usize, usize)> = None;
            for (place, &cell) in cells[part].iter().enumerate().filter(|_| cells[part].len() > 1) {
                for &beside in &edges.to[edges.first[cell] as usize..edges.first[cell + 1] as usize] {
                    let to = owners[beside as usize] as usize;
                    let after = (of_parts[part] - work[cell]).max(of_parts[to] + work[cell]);
                    if to != part && after < of_parts[part] && best.is_none_or(|(least, ..)| after < least) {
                        best = Some((after, place, to));
                    }
                }
            }
            let Some((_, place, to)) = best else { break };
            let cell = cells[part].swap_remove(place);
            (of_parts[part], of_parts[to]) = (of_parts[part] - work[cell], of_parts[to] + work[cell]);
            cells[to].push(cell);
            owners[cell] = to as u32;
        }
        imbalance(&of_parts)
    }

    /// Returns the weights with an upper limit, chosen such that a part consists of at least
    /// `cells` cells of the largest weight if there are enough cells.
    fn capped(work: &[f64], ranks: usize, cells: f64) -> Vec<f64> {
        const STEP: f64 = 0.8;
        let (mean, mut cap) = (work.iter().sum::<f64>() / work.len() as f64, heaviest(work));
        let total = |cap: f64| work.iter().map(|work| work.min(cap)).sum::<f64>();
        while cap > mean && total(cap) < cells * cap * ranks as f64 {
            cap *= STEP;
        }
        let mut capped = memory::with_capacity(work.len());
        capped.extend(work.iter().map(|work| work.min(cap)));
        capped
    }

    /// Returns whether METIS finds a non-empty set of cells for every part when it cuts all parts
    /// at once.
    fn has_enough_cells(work: &[f64], ranks: usize) -> bool {
        work.iter().sum::<f64>() >= FEWEST_CELLS * heaviest(work) * ranks as f64
    }

    fn heaviest(work: &[f64]) -> f64 {
        work.iter().copied().fold(0.0, f64::max)
    }

    /// Method that METIS uses.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Way {
        /// All parts at once. Cuts fewer edges.
        KWay,
        /// Recursive bisection. More even if a part has few vertices, and leaves no part empty.
        Bisection,
    }

    fn divide(edges: &Edges, way: Way, work: &[f64], ranks: usize) -> Result<Vec<u32>, GridError> {
        let mut owners = Vec::new();
        match way {
            Way::KWay => {
                let shares = vec![1.0 / ranks as metis::Real; ranks];
                owners = by_metis(edges, way, work, &shares)?;
                fill_empty(&mut owners, ranks);
            }
            Way::Bisection => {
                memory::resize(&mut owners, work.len(), 0);
                let mut all = memory::with_capacity(work.len());
                all.extend(0..work.len());
                bisect(edges, work, &all, 0..ranks, &mut owners)?;
            }
        }
        Ok(owners)
    }

    fn bisect(
        edges: &Edges,
        work: &[f64],
        cells: &[usize],
        parts: Range<usize>,
        owners: &mut [u32],
    ) -> Result<(), GridError> {
        if parts.len() == 1 {
            cells.iter().for_each(|&cell| owners[cell] = parts.start as u32);
            return Ok(());
        }
        let middle = parts.start.midpoint(parts.end);
        let [first, second] = halves(edges, work, cells, [middle - parts.start, parts.end - middle])?;
        bisect(edges, work, &first, parts.start..middle, owners)?;
        bisect(edges, work, &second, middle..parts.end, owners)
    }

    /// Divides `cells`, which are in ascending order, into two sets for `parts[0]` and `parts[1]`
    /// parts. Each set has at least one cell per part.
    fn halves(
        edges: &Edges,
        work: &[f64],
        cells: &[usize],
        parts: [usize; 2],
    ) -> Result<[Vec<usize>; 2], GridError> {
        let share = parts[0] as metis::Real / (parts[0] + parts[1]) as metis::Real;
        let mut of_cells = memory::with_capacity(cells.len());
        of_cells.extend(cells.iter().map(|&cell| work[cell]));
        let sides = by_metis(&edges.among(cells), Way::Bisection, &of_cells, &[share, 1.0 - share])?;
        let mut halves = [Vec::new(), Vec::new()];
        cells.iter().zip(sides).for_each(|(&cell, side)| halves[side as usize].push(cell));
        for (few, many) in [(0, 1), (1, 0)] {
            let missing = parts[few].saturating_sub(halves[few].len());
            if missing > 0 {
                halves[many].sort_by(|&a, &b| work[b].total_cmp(&work[a]));
                let lightest = halves[many].len() - missing;
                let given = halves[many].split_off(lightest);
                halves[few].extend(given);
                halves.iter_mut().for_each(|half| half.sort_unstable());
            }
        }
        Ok(halves)
    }

    /// Returns a part for every vertex. The parts have about the given shares of the work.
    fn by_metis(
        edges: &Edges,
        way: Way,
        work: &[f64],
        shares: &[metis::Real],
    ) -> Result<Vec<u32>, GridError> {
        let failed = |error: &dyn std::fmt::Display| GridError::Metis(error.to_string());
        let Edges { first, to, weights } = edges;
        let scale = TOTAL / work.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut scaled = memory::with_capacity(work.len());
        scaled.extend(work.iter().map(|work| (work * scale).round().max(1.0) as metis::Idx));
        let mut parts = Vec::new();
        memory::resize(&mut parts, work.len(), 0);
        let graph = metis::Graph::new(1, shares.len() as metis::Idx, first, to);
        let graph = graph.map_err(|error| failed(&error))?.set_vwgt(&scaled).set_adjwgt(weights);
        let graph = graph.set_tpwgts(shares).set_option(Seed(SEED));
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let divided = match way {
            Way::KWay => graph.set_option(UFactor(IMBALANCE)).part_kway(&mut parts),
            Way::Bisection => graph.set_option(UFactor(IMBALANCE_OF_A_CUT)).part_recursive(&mut parts),
        };
        divided.map_err(|error| failed(&error))?;
        let mut owners = memory::with_capacity(work.len());
        owners.extend(parts.into_iter().map(|part| part as u32));
        Ok(owners)
    }

    /// The graph in compressed sparse rows.
    struct Edges {
        first: Vec<metis::Idx>,
        to: Vec<metis::Idx>,
        weights: Vec<metis::Idx>,
    }

    impl Edges {
        /// Returns the edges between the cells of a sorted list, numbered by their places in it.
        fn among(&self, cells: &[usize]) -> Self {
            let of_cell = |cell: usize| self.first[cell] as usize..self.first[cell + 1] as usize;
            let most = cells.iter().map(|&cell| of_cell(cell).len()).sum();
            let mut among = Self {
                first: memory::with_capacity(cells.len() + 1),
                to: memory::with_capacity(most),
                weights: memory::with_capacity(most),
            };
            among.first.push(0);
            for &cell in cells {
                for edge in of_cell(cell) {
                    if let Ok(place) = cells.binary_search(&(self.to[edge] as usize)) {
                        among.to.push(place as metis::Idx);
                        among.weights.push(self.weights[edge]);
                    }
                }
                among.first.push(among.to.len() as metis::Idx);
            }
            among
        }
    }

    /// Returns an edge for each pair of adjacent cells, also a single one if they are adjacent on
    /// both sides.
    fn edges(grid: &CellGrid, loads: &CellLoads) -> Edges {
        let offsets = neighbours(grid.domain().dimension);
        let mut edges = Edges {
            first: memory::with_capacity(grid.len() + 1),
            to: memory::with_capacity(grid.len() * offsets.len()),
            weights: memory::with_capacity(grid.len() * offsets.len()),
        };
        let most = loads.particles.iter().sum::<f64>() * 2.0 * offsets.len() as f64;
        let scale = (TOTAL / most.max(1.0)).min(1.0);
        edges.first.push(0);
        for number in 0..grid.len() {
            let around = offsets.iter().filter_map(|&offset| grid.wrap(add(grid.at(number), offset)));
            let mut others: Vec<usize> = around.map(|(cell, _)| grid.linear(cell)).collect();
            others.sort_unstable();
            others.dedup();
            for other in others.into_iter().filter(|&other| other != number) {
                let particles = loads.particles[number] + loads.particles[other];
                edges.to.push(other as metis::Idx);
                edges.weights.push((particles * scale).round().max(1.0) as metis::Idx);
            }
            edges.first.push(edges.to.len() as metis::Idx);
        }
        edges
    }

    /// Gives a cell to every empty part, taken from the part with the most cells.
    fn fill_empty(owners: &mut [u32], ranks: usize) {
        let mut counts = vec![0_usize; ranks];
        owners.iter().for_each(|&owner| counts[owner as usize] += 1);
        for empty in 0..ranks {
            if counts[empty] > 0 {
                continue;
            }
            let richest = (0..ranks).max_by_key(|&rank| counts[rank]).unwrap_or(0);
            if let Some(owner) = owners.iter_mut().find(|owner| **owner as usize == richest) {
                *owner = empty as u32;
                counts[richest] -= 1;
                counts[empty] += 1;
            }
        }
    }

    /// Assigns to every part the rank that already has most of its particles, so that few particles
    /// have to move. The assignment is greedy, starting from the largest overlap.
    fn rename(owners: &mut [u32], before: &[u32], loads: &CellLoads, ranks: usize) {
        let mut overlaps = std::collections::BTreeMap::new();
        for ((&part, &rank), particles) in owners.iter().zip(before).zip(&loads.particles) {
            *overlaps.entry((part, rank)).or_insert(0.0) += particles;
        }
        let mut overlaps: Vec<((u32, u32), f64)> = overlaps.into_iter().collect();
        overlaps.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut names = vec![None; ranks];
        let mut is_taken = vec![false; ranks];
        for ((part, rank), _) in overlaps {
            if names[part as usize].is_none() && !is_taken[rank as usize] {
                names[part as usize] = Some(rank);
                is_taken[rank as usize] = true;
            }
        }
        let mut free = (0..ranks as u32).filter(|&rank| !is_taken[rank as usize]);
        let names: Vec<u32> =
            names.into_iter().map(|name| name.or_else(|| free.next()).unwrap_or(0)).collect();
        owners.iter_mut().for_each(|owner| *owner = names[*owner as usize]);
    }
}
