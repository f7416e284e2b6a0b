//! A linked-cell force loop, one pair at a time, for any storage and any method of finding
//! neighbour cells.

use md_core::Particles;
use md_core::potential::Well;

use crate::common::{Sample, Scenario};
use crate::neighbours::{Cell, Neighbours, all_cells, number, primary_cells};
use crate::pair::Pair;
use crate::storage::Storage;

/// Use of Newton's third law.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Third {
    /// Half shell: 13 neighbours, a pair is computed once and both particles get the force.
    Law,
    /// Full shell: 26 neighbours, a pair is computed twice, each time for one particle.
    Twice,
}

impl Third {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Law => "half",
            Self::Twice => "full",
        }
    }

    fn offsets(self) -> Vec<Cell> {
        let axis = || -1..=1;
        let all = axis().flat_map(|z| axis().flat_map(move |y| axis().map(move |x| [x, y, z])));
        let storage_order = |[x, y, z]: Cell| [z, y, x];
        all.filter(|&cell| match self {
            Self::Law => storage_order(cell) > [0; 3],
            Self::Twice => cell != [0; 3],
        })
        .collect()
    }
}

/// Particles and images, by cell.
pub(crate) struct PlainSystem<S, N> {
    storage: S,
    neighbours: N,
    third: Third,
    counts: Cell,
    /// Start of the particles of each cell; has one entry more than there are cells.
    starts: Vec<usize>,
    /// Id of every particle and image.
    ids: Vec<u64>,
    /// Each image and its original particle.
    images: Vec<(usize, usize)>,
    cutoff2: f64,
    well: Well,
}

impl<S: Storage, N: Neighbours> PlainSystem<S, N> {
    pub(crate) fn new(scenario: &Scenario, sample: &Sample, third: Third) -> Self {
        let (grid, particles) = (&sample.grid, &sample.particles);
        let counts = grid.counts().map(|count| count + 2);
        let mut members = vec![Vec::new(); grid.len()];
        for index in 0..particles.owned() {
            members[grid.linear(grid.cell_of(particles.position_of(index)))].push(index);
        }
        let (mut positions, mut ids, mut starts, mut images) = (Vec::new(), Vec::new(), vec![0], Vec::new());
        let mut home = vec![0; particles.owned() + 1];
        for cell in all_cells(counts) {
            let (primary, shift) = grid.wrap(cell.map(|c| c - 1)).expect("the box is periodic");
            for &index in &members[grid.linear(primary)] {
                let position = particles.position_of(index);
                let lengths = sample.domain.lengths;
                if shift == [0; 3] {
                    home[particles.id[index] as usize] = ids.len();
                } else {
                    images.push((ids.len(), particles.id[index] as usize));
                }
                positions.push([0, 1, 2].map(|dim| position[dim] + f64::from(shift[dim]) * lengths[dim]));
                ids.push(particles.id[index]);
            }
            starts.push(ids.len());
        }
        let images = images.into_iter().map(|(image, id)| (image, home[id])).collect();
        let neighbours = N::new(counts, &third.offsets());
        let (storage, cutoff2, well) = (S::new(&positions), scenario.cutoff.powi(2), scenario.wells[0]);
        Self { storage, neighbours, third, counts, starts, ids, images, cutoff2, well }
    }

    /// Computes the forces on all particles.
    pub(crate) fn forces(&mut self) {
        self.storage.clear_forces();
        match self.third {
            Third::Law => {
                self.sweep::<true>();
                for &(image, particle) in &self.images {
                    let force = self.storage.force(image);
                    self.storage.add_force(particle, force);
                }
            }
            Third::Twice => self.sweep::<false>(),
        }
    }

    fn sweep<const HALF: bool>(&mut self) {
        let Self { storage, neighbours, counts, starts, cutoff2, well, .. } = self;
        let pair = Pair::new(*cutoff2, *well);
        let range = |cell: usize| starts[cell]..starts[cell + 1];
        for cell in primary_cells(*counts) {
            let own = range(number(*counts, cell));
            for i in own.clone() {
                if !HALF {
                    pair.one_with_all::<S, HALF>(storage, i, own.start..i);
                }
                pair.one_with_all::<S, HALF>(storage, i, i + 1..own.end);
            }
            if own.is_empty() {
                continue;
            }
            for neighbour in neighbours.of(cell) {
                for i in own.clone() {
                    pair.one_with_all::<S, HALF>(storage, i, range(neighbour));
                }
            }
        }
    }

    pub(crate) fn forces_by_id(&self) -> Vec<[f64; 3]> {
        let owned = self.ids.len() - self.images.len();
        let mut forces = vec![[0.0; 3]; owned];
        for cell in primary_cells(self.counts) {
            let cell = number(self.counts, cell);
            for index in self.starts[cell]..self.starts[cell + 1] {
                forces[self.ids[index] as usize - 1] = self.storage.force(index);
            }
        }
        forces
    }
}

/// Returns a vector of every owned particle, in the order of ids.
pub(crate) fn by_id(particles: &Particles, of: impl Fn(usize) -> [f64; 3]) -> Vec<[f64; 3]> {
    let mut sorted = vec![[0.0; 3]; particles.owned()];
    for index in 0..particles.owned() {
        sorted[particles.id[index] as usize - 1] = of(index);
    }
    sorted
}
