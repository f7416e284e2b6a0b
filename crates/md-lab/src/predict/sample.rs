//! Fraction of the candidate pairs that a method computes, from its lists for a part of the system.

use std::time::Duration;

use md_comm::{World, local};
use md_core::force::MethodKind;
use md_core::{ExchangePattern, PairSums, Shell};
use md_engine::{Config, EngineError, ParticleSource, Setup, Simulation};

use super::placement::Nodes;
use super::plans::{Density, Plans};
use super::{PredictError, room};

/// Largest number of particles of a lattice that is sampled as a whole.
const MOST_ATOMS: u64 = 32_000;
/// Smallest length of a part along each dimension, in units of cutoff + skin.
const LEAST_LENGTH: f64 = 4.0;

/// Numbers of computed pairs in a sample.
pub(super) struct Sample {
    computed_per_atom: f64,
    computed_per_candidate: f64,
    /// Pairs within the cutoff.
    useful_per_atom: f64,
    /// The same with the skin, if the particles were spread at random.
    random_per_atom: f64,
}

impl Sample {
    /// Samples the state at the start of a run on one rank.
    pub(super) fn of(config: &Config, memory: Option<f64>) -> Result<Self, PredictError> {
        const NO_LIMIT: Duration = Duration::MAX;
        let mut config = config.clone();
        (config.parallel.rank_grid, config.parallel.threads, config.temperature) = (None, 1, None);
        config.parallel.shell = Shell::Half;
        let list_radius = config.forces.cutoff() + config.neighbor.skin;
        if let ParticleSource::Lattice(lattice) = &mut config.particles {
            while lattice.len() > MOST_ATOMS {
                let (cells, lengths) = (lattice.cells(), lattice.lengths());
                let can_shrink =
                    |dim: &usize| lengths[*dim] > 2.0 * LEAST_LENGTH * list_radius && cells[*dim] > 1;
                let longest = (0..3).filter(can_shrink).max_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
                let Some(longest) = longest else { break };
                let shorter = |dim: usize| if dim == longest { cells[dim].div_ceil(2) } else { cells[dim] };
                *lattice = lattice.with_cells([0, 1, 2].map(shorter));
            }
        }
        let setup = Setup::new(config, 1)?;
        room::expect(setup.estimated_bytes(), memory, || {
            format!("a look at the pairs of {} particles", setup.atoms())
        })?;
        let computed = |world: &dyn World| {
            let mut simulation = Simulation::new(world, &setup)?;
            let pairs = simulation.system_sums()?.pairs;
            simulation.finalise()?;
            Ok::<_, EngineError>(pairs)
        };
        let outcome = local::run(1, NO_LIMIT, computed).pop();
        let PairSums { computed_pairs: computed, useful_pairs, .. } = match outcome {
            Some(Ok(pairs)) => pairs?,
            Some(Err(panic)) => return Err(EngineError::Config(panic.to_string()).into()),
            None => PairSums::default(),
        };
        let half = (Shell::Half, ExchangePattern::Direct);
        let plans = Plans::new(&setup.division, &Nodes::one(1), &Density::of(&setup), half, 0.0);
        Ok(Self {
            computed_per_atom: computed / setup.atoms() as f64,
            computed_per_candidate: computed / plans.distinct_candidates,
            useful_per_atom: useful_pairs / setup.atoms() as f64,
            random_per_atom: setup.random_pairs_per_particle(),
        })
    }

    /// Returns a warning if there are no pairs at the start, but will be, as on a lattice whose
    /// spacing is longer than the cutoff.
    pub(super) fn warning(&self) -> Option<String> {
        const HARDLY_ANY: f64 = 0.1;
        /// Fewer pairs per particle take less time than its integration.
        const MANY: f64 = 0.5;
        let Self { useful_per_atom: now, random_per_atom: random, .. } = self;
        (*now < HARDLY_ANY && *random > MANY).then(|| {
            format!(
                "particles have {now:.1} pairs each at the start, and about {random:.1} once they are spread at random: \
                 the time of computation is predicted for the start, and grows later"
            )
        })
    }

    /// Returns the fraction of the candidate pairs that is computed. Lists contain the pairs within
    /// reach, whatever the size of the cells; without lists all candidates are computed, and unused
    /// vector lanes.
    pub(super) fn computed_share(&self, setup: &Setup, plans: &Plans) -> f64 {
        match setup.config.neighbor.method {
            MethodKind::Clusters => self.computed_per_atom * setup.atoms() as f64 / plans.distinct_candidates,
            MethodKind::Cells | MethodKind::DirectSum => self.computed_per_candidate,
        }
    }
}
