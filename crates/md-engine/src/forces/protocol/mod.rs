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

use md_comm::UnexpectedMessages;
use md_core::potential::PairPotential;
use md_core::{Evaluation, Field, HaloPlan, LocalCells, PairSums};

use crate::clock::Phase;
use crate::config::Protocol;
use crate::error::EngineError;
use crate::forces::context::{Carried, ForceContext, GhostPositions, system};
use dist::Dist;
use portions::Portions;
use post::Post;

/// Force computation by `simple` or `dist`.
#[derive(Debug)]
pub(crate) struct CellForces {
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
    pub(crate) fn new(protocol: Protocol) -> Option<Self> {
        let way = match protocol {
            Protocol::One => return None,
            Protocol::Simple => Way::Simple,
            Protocol::Dist => Way::Dist(Box::default()),
        };
        Some(Self { way, portions: Portions::default(), post: Post::default() })
    }

    /// Determines the shared cells and the portions computed with them.
    pub(crate) fn rebuild(&mut self, context: &ForceContext) -> Result<(), EngineError> {
        self.portions.rebuild(context.pairs, context.cells, context.plan, context.grid);
        match &mut self.way {
            Way::Simple => simple::check(&self.portions),
            Way::Dist(dist) => {
                dist.rebuild(&self.portions, context.halo.rank());
                Ok(())
            }
        }
    }

    pub(crate) fn pairs_by_cell(&self, cells: &LocalCells, plan: &HaloPlan) -> Vec<f64> {
        self.portions.work.pairs_by_cell(cells, plan)
    }

    /// Computes the forces once on all ranks. *Collective.*
    pub(crate) fn add_forces(
        &mut self,
        context: &mut ForceContext,
        potential: &dyn PairPotential,
        evaluation: Evaluation,
    ) -> Result<PairSums, EngineError> {
        let Self { way, portions, post } = self;
        if context.ghosts == GhostPositions::Stale {
            context.with_images(|images, Carried { particles, threads }| {
                images.gather(&[Field::POSITION], particles, threads);
            });
        }
        context.particles.clear_ghost_forces(context.threads);
        post.begin();
        let mut turn = Turn {
            portions,
            post,
            context,
            potential,
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
            images.scatter_add(&[Field::FORCE], &owned, particles, threads);
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
