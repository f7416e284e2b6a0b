//! Alternatives to ghosts for computing forces: the two-sided protocols of Matthey and Hansen
//! (2000).
//!
//! How a pair of particles on different ranks is computed:
//!
//! - `one`: with ghosts. Positions are copied to other ranks, forces on copies are sent back
//!   (`pair`, `halo`).
//! - `simple`: with whole rows. A rank first computes all pairs that involve its first row and
//!   sends the row with its partial forces to the previous rank, which adds its own forces and
//!   sends it back.
//! - `dist`: with cells on request. A cell is sent with its positions and the forces summed so far;
//!   the owner recalls it when another rank, or the owner, needs it.
//!
//! In `simple` and `dist` each cell exists once, without copies, and only the rank that holds it
//! may compute with it. The particles of a foreign cell are communicated with the border at
//! rebuilds; positions and forces are sent in messages at every step.
//!
//! ```text
//! pairs of cells (half shell)
//!   ->  portions by the shared cells they need: none, one, two
//!   ->  computed when these cells are here
//! ```
//!
//! Images of a rank's own cells remain copies, whose forces are added at the end.

mod carry;
mod dist;
mod portions;
mod post;
mod simple;

use std::sync::Arc;

use md_comm::UnexpectedMessages;
use md_core::analysis::{DistanceBins, PairCounts};
use md_core::potential::{PairPotential, Tail};
use md_core::{Dimension, Evaluation, Field, HaloPlan, LocalCells, PairSums};

use super::context::{Carried, FORCES, ForceContext, GhostPositions, POSITIONS, system};
use super::force::{Force, NearPairs};
use super::pair::PairForces;
use crate::clock::Phase;
use crate::error::EngineError;
use crate::settings::{NeighborConfig, ParallelConfig, Protocol};
use dist::Dist;
use portions::Portions;
use post::Post;

/// Forces from a pair potential by `simple` or `dist`.
#[derive(Debug)]
pub(crate) struct CellForces {
    pairs: PairForces,
    way: Way,
    portions: Portions,
    post: Post,
}

#[derive(Debug)]
enum Way {
    Simple,
    Dist(Box<Dist>),
}

impl CellForces {
    /// Returns `None` for [`Protocol::One`], which uses ghosts.
    pub(crate) fn new(
        potential: &Arc<dyn PairPotential>,
        neighbor: NeighborConfig,
        parallel: &ParallelConfig,
    ) -> Option<Self> {
        let way = match parallel.protocol {
            Protocol::One => return None,
            Protocol::Simple => Way::Simple,
            Protocol::Dist => Way::Dist(Box::default()),
        };
        let pairs = PairForces::new(Arc::clone(potential), neighbor, parallel);
        Some(Self { pairs, way, portions: Portions::default(), post: Post::default() })
    }
}

impl Force for CellForces {
    fn cutoff(&self) -> f64 {
        self.pairs.cutoff()
    }

    /// Images of own cells are copied here, and there are no other ghosts.
    fn ghost_fields(&self) -> &[Field] {
        &[]
    }

    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        self.pairs.tail(counts, volume, dimension)
    }

    /// Determines the shared cells and the portions computed with them.
    fn rebuild(&mut self, context: &mut ForceContext) -> Result<(), EngineError> {
        self.portions.rebuild(context.pairs, context.cells, context.plan, context.grid);
        match &mut self.way {
            Way::Simple => simple::check(&self.portions),
            Way::Dist(dist) => {
                dist.rebuild(&self.portions, context.halo.rank());
                Ok(())
            }
        }
    }

    fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Option<Vec<f64>> {
        Some(self.portions.work.pairs_by_cell(cells, plan))
    }

    fn particle_energies(&mut self, context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        self.pairs.particle_energies(context)
    }

    fn particle_virials(&mut self, context: &mut ForceContext) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        self.pairs.particle_virials(context)
    }

    fn count_distances(&self, near: &NearPairs, species: usize, bins: DistanceBins) -> Option<PairCounts> {
        self.pairs.count_distances(near, species, bins)
    }

    /// Computes every pair on one rank.
    fn add_forces(
        &mut self,
        context: &mut ForceContext,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        let Self { pairs, way, portions, post } = self;
        if context.ghosts == GhostPositions::Stale {
            context.with_images(|images, Carried { particles, threads }| {
                images.gather(POSITIONS, particles, threads);
            });
        }
        post.begin();
        let mut turn = Turn {
            portions,
            post,
            context,
            potential: pairs.potential(),
            evaluation,
            sums: PairSums::default(),
            kept: Vec::new(),
        };
        match way {
            Way::Simple => simple::add_forces(&mut turn)?,
            Way::Dist(dist) => dist.add_forces(&mut turn)?,
        }
        let sums = turn.sums;
        context.with_images(|images, Carried { particles, threads }| {
            let owned = 0..particles.owned();
            images.scatter_add(FORCES, &owned, particles, threads);
        });
        Ok(sums)
    }
}

/// One computation of forces.
struct Turn<'t, 'c, 'w> {
    portions: &'t Portions,
    post: &'t mut Post,
    context: &'t mut ForceContext<'c, 'w>,
    potential: &'t dyn PairPotential,
    evaluation: Evaluation,
    sums: PairSums,
    /// Messages that arrived before they were waited for.
    kept: Vec<post::Received>,
}

impl Turn<'_, '_, '_> {
    /// Adds the forces of a portion, whose cells must be here.
    fn compute(&mut self, portion: usize) {
        let Self { portions, potential, evaluation, .. } = self;
        self.sums += self.context.compute(|context| {
            let (system, particles) = system(context, *potential);
            portions.work.add_forces(portion, system, particles, *evaluation)
        });
    }

    /// Waits for a message of this computation.
    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<post::Received, EngineError> {
        let Self { post, context, .. } = self;
        let ForceContext { halo, clock, .. } = &mut **context;
        clock.time(Phase::HaloWait, || post.wait(unexpected(halo)?, awaited))
    }
}

fn unexpected<'h>(halo: &'h mut crate::Halo<'_>) -> Result<&'h mut dyn UnexpectedMessages, EngineError> {
    halo.unexpected().ok_or_else(|| EngineError::Config("a protocol without unexpected messages".to_owned()))
}
