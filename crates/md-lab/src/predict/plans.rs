//! Computation and messages of each rank, from the partition and halo plans of a run.
//!
//! Blocks of equal shape have plans that differ only in position: there are at most a few dozen
//! shapes, whatever the number of ranks. So a plan is made per shape and moved to each rank. With
//! other partitions each rank has its own shape.

use std::collections::HashMap;
use std::ops::Range;

use md_core::force::{PairWork, Region};
use md_core::grid::{Cell, add, subtract};
use md_core::halo::{self, Export, HaloEdge};
use md_core::partition::piece_start;
use md_core::shell::ForceReturn;
use md_core::{CellGrid, ExchangePattern, HaloPlan, Shell};
use md_engine::{Division, Setup};

use super::placement::Nodes;
use super::senders::Senders;

/// Largest number of particles for which the particles of each cell are counted.
pub(crate) const MOST_COUNTED: u64 = 10_000_000;

/// Number of particles in each cell.
pub(crate) enum Density {
    /// Counted, indexed by [`CellGrid::linear`].
    Counted(Vec<u32>),
    /// Mean over all cells.
    Mean(f64),
}

impl Density {
    /// Returns the density at the start of a simulation.
    pub(crate) fn of(setup: &Setup) -> Self {
        let grid = &setup.division.grid;
        if setup.atoms() > MOST_COUNTED {
            return Self::Mean(setup.atoms() as f64 / grid.len() as f64);
        }
        let mut counts = vec![0; grid.len()];
        let mut count = |position| counts[grid.linear(grid.cell_of(position))] += 1;
        let particles = &setup.config.particles;
        particles.for_each_position(|position| count(setup.domain.wrap_position(position)));
        Self::Counted(counts)
    }

    /// Returns the number of particles in each cell, indexed by [`CellGrid::linear`].
    pub(crate) fn by_cell(&self, grid: &CellGrid) -> Vec<f64> {
        (0..grid.len()).map(|number| self.in_cell(grid, grid.at(number))).collect()
    }

    /// Returns the number of particles in a cell given in extended coordinates.
    fn in_cell(&self, grid: &CellGrid, cell: Cell) -> f64 {
        match self {
            Self::Mean(mean) => *mean,
            Self::Counted(counts) => {
                grid.wrap(cell).map_or(0.0, |(primary, _)| f64::from(counts[grid.linear(primary)]))
            }
        }
    }
}

/// Messages of one stage in one direction, by receiver and ascending sender: those to rank `r` are
/// `first[r]..first[r + 1]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Messages {
    pub(super) first: Vec<u32>,
    /// Sender of each message.
    pub(super) peer: Vec<u32>,
    pub(crate) particles: Vec<f64>,
    pub(super) cells: Vec<u32>,
    /// By sender: number of particles packed and of messages sent.
    pub(super) sent: Vec<(f64, u32)>,
}

impl Messages {
    /// Returns the indices of the messages to a rank.
    pub(crate) fn to(&self, rank: usize) -> Range<usize> {
        self.first[rank] as usize..self.first[rank + 1] as usize
    }

    /// Returns the number of senders to a rank beyond the first.
    pub(super) fn further_peers(&self, rank: usize) -> f64 {
        let peers = &self.peer[self.to(rank)];
        peers.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64
    }

    /// Adds the messages of a rank: peer, particles and cells of each.
    pub(super) fn push_row(&mut self, mut row: Vec<(u32, f64, u32)>) {
        row.sort_unstable_by_key(|message| message.0);
        self.peer.extend(row.iter().map(|message| message.0));
        self.particles.extend(row.iter().map(|message| message.1));
        self.cells.extend(row.iter().map(|message| message.2));
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.first.push(self.peer.len() as u32);
    }

    /// Returns the messages with these cells in the opposite direction. A rank sends in one
    /// direction what it receives in the other, in an unchanged order.
    pub(super) fn reversed(&self) -> Self {
        let (ranks, edges) = (self.first.len() - 1, self.peer.len());
        let mut back = Self {
            first: vec![0; ranks + 1],
            peer: vec![0; edges],
            particles: vec![0.0; edges],
            cells: vec![0; edges],
            sent: Vec::with_capacity(ranks),
        };
        self.peer.iter().for_each(|&peer| back.first[peer as usize + 1] += 1);
        (0..ranks).for_each(|rank| back.first[rank + 1] += back.first[rank]);
        let mut next = back.first.clone();
        for rank in 0..ranks {
            let mut sent = (0.0, 0);
            for edge in self.to(rank) {
                let place = &mut next[self.peer[edge] as usize];
                let other = *place as usize;
                *place += 1;
                sent = (sent.0 + self.particles[edge], sent.1 + 1);
                (back.peer[other], back.particles[other]) = (rank as u32, self.particles[edge]);
                back.cells[other] = self.cells[edge];
            }
            back.sent.push(sent);
        }
        back
    }
}

/// One stage of the exchange, in both directions.
pub(crate) struct Stage {
    pub(crate) gather: Messages,
    pub(crate) scatter: Messages,
    /// By rank: number of particles copied to images on the same rank.
    pub(crate) images: Vec<f64>,
    /// Senders of [`Self::gather`] and of [`Self::scatter`].
    senders: [Senders; 2],
}

/// One direction of a stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'p> {
    pub(super) plan: &'p Messages,
    /// The opposite direction, which contains the receivers of each rank.
    pub(super) reversed: &'p Messages,
    pub(super) senders: &'p Senders,
    pub(super) images: &'p [f64],
}

impl Stage {
    /// Creates a stage from the messages that each rank sends and its copies to images.
    pub(super) fn new(out: &Messages, images: Vec<f64>, nodes: &Nodes) -> Self {
        let gather = out.reversed();
        let scatter = gather.reversed();
        let senders = [Senders::of(&gather, &scatter, nodes), Senders::of(&scatter, &gather, nodes)];
        Self { gather, scatter, images, senders }
    }

    /// Returns the direction of positions.
    pub(super) fn there(&self) -> Way<'_> {
        let Self { gather: plan, scatter: reversed, images, senders: [senders, _] } = self;
        Way { plan, reversed, senders, images }
    }

    /// Returns the direction of forces.
    pub(super) fn back(&self) -> Way<'_> {
        let Self { gather: reversed, scatter: plan, images, senders: [_, senders] } = self;
        Way { plan, reversed, senders, images }
    }
}

/// Plans of all ranks, for one shell and exchange pattern.
pub(crate) struct Plans {
    pub(crate) stages: Vec<Stage>,
    /// Empty messages to all ranks to which particles may migrate.
    pub(crate) migration: Stage,
    /// By rank: number of owned particles.
    pub(crate) owned: Vec<f64>,
    /// By rank: number of cells, owned and ghost.
    pub(super) cells: Vec<f64>,
    /// By rank: number of candidate pairs in each [`Region`]; these are all pairs in adjacent
    /// cells.
    pub(crate) candidates: Vec<[f64; Region::ALL.len()]>,
    /// Number of all candidate pairs, each counted once.
    pub(super) distinct_candidates: f64,
}

/// Quantities that differ between the ranks of a shape.
#[derive(Clone)]
struct Quantities {
    owned: f64,
    candidates: [f64; Region::ALL.len()],
    distinct: f64,
    /// By stage: number of particles of each outgoing message, and of images.
    stages: Vec<(Vec<f64>, f64)>,
}

/// Ranks of one shape, with the plan of one of them.
struct Shape {
    rank: usize,
    /// Lowest cell of that rank.
    corner: Cell,
    plan: HaloPlan,
    pairs: PairWork,
    /// Quantities of the last rank considered; of all ranks if particles are not counted.
    quantities: Option<Quantities>,
}

/// Positions of the ranks. Without a rank grid all ranks form a row, and each has its own shape.
struct RankGrid<'a> {
    cells: &'a CellGrid,
    extent: [usize; 3],
    has_blocks: bool,
}

/// Shape along one dimension: number of cells, and whether it touches the lower and the upper face
/// of a box that is not periodic along it.
type Side = (usize, bool, bool);

impl RankGrid<'_> {
    fn place(&self, rank: usize) -> [usize; 3] {
        let [nx, ny, _] = self.extent;
        [rank % nx, rank / nx % ny, rank / (nx * ny)]
    }

    fn start(&self, dim: usize, part: usize) -> usize {
        piece_start(self.cells.counts()[dim] as usize, self.extent[dim], part)
    }

    fn shape(&self, rank: usize) -> ([Side; 3], usize) {
        if !self.has_blocks {
            return (Default::default(), rank);
        }
        let place = self.place(rank);
        let side = |dim: usize| {
            let (part, ends) = (place[dim], !self.cells.domain().is_periodic(dim));
            let cells = self.start(dim, part + 1) - self.start(dim, part);
            (cells, ends && part == 0, ends && part + 1 == self.extent[dim])
        };
        ([0, 1, 2].map(side), 0)
    }

    /// Returns the displacement of a rank's cells from those of the shape's representative.
    fn displacement(&self, rank: usize, shape: &Shape) -> Cell {
        if !self.has_blocks {
            return [0; 3];
        }
        let place = self.place(rank);
        subtract([0, 1, 2].map(|dim| self.start(dim, place[dim]) as i32), shape.corner)
    }

    /// Returns the rank with the position relative to `rank` that `peer` has relative to `own`.
    fn moved(&self, peer: usize, own: usize, rank: usize) -> u32 {
        let [peer, own, rank] = [peer, own, rank].map(|rank| self.place(rank));
        let [nx, ny, nz] = self.extent;
        let [x, y, z] =
            [(0, nx), (1, ny), (2, nz)].map(|(dim, n)| (rank[dim] + peer[dim] + n - own[dim]) % n);
        ((z * ny + y) * nx + x) as u32
    }
}

impl Plans {
    /// Creates the plans of a division among ranks on nodes, with a shell and an exchange pattern.
    pub(crate) fn new(
        Division { grid, partition }: &Division,
        nodes: &Nodes,
        density: &Density,
        (shell, pattern): (Shell, ExchangePattern),
        second_share: f64,
    ) -> Self {
        let (ranks, offsets) = (nodes.ranks, shell.offsets(grid.domain().dimension));
        let rank_grid = partition.rank_grid();
        let places = RankGrid {
            cells: grid,
            extent: rank_grid.unwrap_or([ranks, 1, 1]),
            has_blocks: rank_grid.is_some(),
        };
        let mut shapes = HashMap::new();
        let mut all = Draft::default();
        for rank in 0..ranks {
            let shape = shapes.entry(places.shape(rank)).or_insert_with(|| {
                let plan = HaloPlan::new(grid, partition, &offsets, pattern, rank);
                let pairs = PairWork::new(&plan, grid, shell, second_share);
                Shape { rank, corner: plan.owned[0], plan, pairs, quantities: None }
            });
            let quantities = match (shape.quantities.take(), density) {
                (Some(known), Density::Mean(_)) => known,
                _ => shape.quantities(grid, density, places.displacement(rank, shape)),
            };
            all.add(shape, &quantities, |peer| places.moved(peer, shape.rank, rank));
            shape.quantities = Some(quantities);
            if !places.has_blocks {
                shapes.clear();
            }
        }
        all.finished(nodes)
    }

    /// Returns the number of messages and of particles sent in a step's exchanges, over all ranks.
    pub(super) fn sent(&self, shell: Shell) -> (f64, f64) {
        let ways = match shell.force_return() {
            ForceReturn::None => 1.0,
            ForceReturn::Needed => 2.0,
        };
        let messages: usize = self.stages.iter().map(|stage| stage.gather.peer.len()).sum();
        let particles: f64 = self.stages.iter().flat_map(|stage| &stage.gather.particles).sum();
        // The sum of an empty iterator is -0.
        (ways * messages as f64, 0.0 + ways * particles)
    }
}

/// Plans under construction, rank by rank, with the messages in the order of their senders.
#[derive(Default)]
struct Draft {
    stages: Vec<(Messages, Vec<f64>)>,
    migration: Messages,
    owned: Vec<f64>,
    cells: Vec<f64>,
    candidates: Vec<[f64; Region::ALL.len()]>,
    distinct_candidates: f64,
}

impl Draft {
    fn add(&mut self, shape: &Shape, quantities: &Quantities, moved: impl Fn(usize) -> u32) {
        self.owned.push(quantities.owned);
        self.cells.push(shape.plan.cell_count() as f64);
        self.candidates.push(quantities.candidates);
        self.distinct_candidates += quantities.distinct;
        self.stages.resize_with(shape.plan.stages.len(), Default::default);
        let stages = shape.plan.stages.iter().zip(&quantities.stages).zip(&mut self.stages);
        for ((stage, (particles, copied)), (messages, images)) in stages {
            let edges = sending(stage).zip(particles);
            let row =
                edges.map(|(edge, &particles)| (moved(edge.peer), particles, edge.exports.len() as u32));
            messages.push_row(row.collect());
            images.push(*copied);
        }
        let neighbours = shape.plan.neighbours.iter().map(|&peer| (moved(peer), 0.0, 0));
        self.migration.push_row(neighbours.collect());
    }

    fn finished(self, nodes: &Nodes) -> Plans {
        let Self { owned, cells, candidates, distinct_candidates, .. } = self;
        let both_ways = |(out, images): (Messages, Vec<f64>)| Stage::new(&out, images, nodes);
        let stages = self.stages.into_iter().map(both_ways).collect();
        let migration = Stage::new(&self.migration, vec![0.0; nodes.ranks], nodes);
        Plans { stages, migration, owned, cells, candidates, distinct_candidates }
    }
}

fn sending(stage: &halo::Stage) -> impl Iterator<Item = &HaloEdge> {
    stage.edges.iter().filter(|edge| !edge.exports.is_empty())
}

impl Shape {
    /// Returns the quantities of the rank at this displacement from the representative.
    fn quantities(&self, grid: &CellGrid, density: &Density, displacement: Cell) -> Quantities {
        let Self { plan, pairs, .. } = self;
        let in_cell = |cell: u32| density.in_cell(grid, add(plan.cell_at(cell as usize), displacement));
        let counts: Vec<f64> = (0..plan.cell_count() as u32).map(in_cell).collect();
        // Number of particles in all cells before each cell.
        let mut before = vec![0.0];
        before.extend(counts.iter().scan(0.0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        let mut candidates = [0.0; Region::ALL.len()];
        let mut distinct = 0.0;
        for (group, runs) in pairs.iter() {
            let own = counts[group.a as usize];
            let met = |run: &Range<u32>| before[run.end as usize] - before[run.start as usize];
            let mut met: f64 = runs.iter().map(met).sum();
            if runs.iter().any(|run| run.contains(&group.a)) {
                // Inside its own cell a particle is paired with half of the others.
                met -= 0.5 * (own + if matches!(density, Density::Counted(_)) { 1.0 } else { 0.0 });
            }
            candidates[group.region as usize] += own * met;
            distinct += group.newton.weight() * own * met;
        }
        let particles =
            |exports: &[Export]| exports.iter().map(|export| counts[export.cell as usize]).sum::<f64>();
        let stage = |stage: &halo::Stage| {
            (sending(stage).map(|edge| particles(&edge.exports)).collect(), particles(&stage.images))
        };
        let stages = plan.stages.iter().map(stage).collect();
        Quantities { owned: before[plan.owned.len()], candidates, distinct, stages }
    }
}
