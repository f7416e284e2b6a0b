//! Other ways of getting forces than by ghosts: the two-sided protocols of Matthey and Hansen (2000).
//!
//! | protocol | how a pair across ranks is computed |
//! | --- | --- |
//! | `one` | ghosts: positions are copied out, forces on copies travel home (`interaction`, `halo`) |
//! | `simple` | whole rows: a rank first computes all that involves its first row, sends the row with its partial forces to the rank before it, which adds its own and sends it back |
//! | `dist` | cells on request: a cell travels with its positions and the forces added up so far; the owner asks for it back where somebody else, or itself, needs it |
//!
//! In `simple` and `dist` there is one cell and no copy: who has it may compute with it, nobody else. Which particles a foreign cell
//! has is told with the border at rebuilds; positions and forces travel by letters in every step.
//!
//! ```text
//! pairs of cells (half shell)  ->  portions by what they need: nothing, one shared cell, two  ->  computed when these are there
//! ```
//!
//! Images of a rank's own cells remain copies, whose forces are added in the end.

mod carry;
mod dist;
mod portions;
mod post;
mod simple;

use md_comm::UnexpectedMessages;
use md_core::force::MethodKind;
use md_core::potential::PairPotential;
use md_core::{
    CellGrid, Dimension, Evaluation, ExchangePattern, Field, HaloPlan, LocalCells, PairSums, PartitionKind,
    Shell,
};

use crate::clock::Phase;
use crate::config::{Config, ParallelConfig};
use crate::error::EngineError;
use crate::interaction::{Carried, ForceContext, GhostPositions, system};
use dist::Dist;
use portions::Portions;
use post::Post;

/// How pairs of particles of different ranks get their forces (Matthey and Hansen 2000).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Protocol {
    /// Ghosts, by any backend.
    #[default]
    One,
    /// Whole rows to the neighbour and back, two-sided; for `stripe`.
    Simple,
    /// Cells on request, two-sided.
    Dist,
}

impl Protocol {
    /// All of them, in the order of their declaration.
    pub const ALL: &'static [Self] = &[Self::One, Self::Simple, Self::Dist];

    /// Rows, or layers in three dimensions, that a rank must have: the first is away while the last is computed with.
    pub const ROWS_OF_SIMPLE: usize = 2;

    /// What in a configuration does not go with it, in words.
    pub(crate) fn check(self, config: &Config) -> Result<(), EngineError> {
        let ParallelConfig { partition, shell, exchange, threads, .. } = config.parallel;
        let wanted = [
            (config.neighbor.method == MethodKind::Cells, "the method `cells`"),
            (shell == Shell::Half, "the half shell"),
            (exchange == ExchangePattern::Direct, "the direct exchange"),
            (threads == 1, "one thread per rank"),
            (self != Self::Simple || partition == PartitionKind::Stripe, "the partition `stripe`"),
        ];
        match wanted.into_iter().find(|(is_so, _)| !is_so) {
            Some((_, what)) if self != Self::One => {
                Err(EngineError::Config(format!("the protocol `{}` needs {what}", self.name())))
            }
            _ => Ok(()),
        }
    }

    /// Whether there are enough rows of cells for the ranks.
    pub(crate) fn check_rows(self, grid: &CellGrid, ranks: usize) -> Result<(), EngineError> {
        let (last, rows) = match grid.domain().dimension {
            Dimension::Two => (1, "rows"),
            Dimension::Three => (2, "layers"),
        };
        let (count, least) = (grid.counts()[last] as usize, Self::ROWS_OF_SIMPLE * ranks);
        if self != Self::Simple || ranks == 1 || count >= least {
            return Ok(());
        }
        let what = format!(
            "the protocol `simple` needs {least} {rows} of cells for {ranks} ranks, {} for each, but there are {count}",
            Self::ROWS_OF_SIMPLE
        );
        Err(EngineError::Config(what))
    }

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Simple => "simple",
            Self::Dist => "dist",
        }
    }
}

/// Forces by one of the protocols.
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
    /// `None`: by ghosts.
    pub(crate) fn new(protocol: Protocol) -> Option<Self> {
        let way = match protocol {
            Protocol::One => return None,
            Protocol::Simple => Way::Simple,
            Protocol::Dist => Way::Dist(Box::default()),
        };
        Some(Self { way, portions: Portions::default(), post: Post::default() })
    }

    /// Finds out which cells are shared, and what is computed with them.
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

    /// One computation of forces on all ranks. *Collective.*
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
    /// Come before they were waited for.
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

    /// Waits for a letter of this turn.
    fn wait(&mut self, awaited: &dyn Fn() -> String) -> Result<post::Received, EngineError> {
        let Self { post, context, .. } = self;
        let ForceContext { halo, clock, .. } = &mut **context;
        clock.time(Phase::HaloWait, || post.wait(mailbox(halo)?, awaited))
    }
}

fn mailbox<'h>(halo: &'h mut crate::Halo<'_>) -> Result<&'h mut dyn UnexpectedMessages, EngineError> {
    halo.mailbox().ok_or_else(|| EngineError::Config("a protocol without letters".to_owned()))
}
