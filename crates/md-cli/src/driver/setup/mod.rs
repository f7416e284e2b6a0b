//! From a checked scenario to the objects of md-core: everything that is the same for the whole run.

mod interaction;
mod space;

use md_core::force::System;
use md_core::grid::most_cells;
use md_core::halo::ExchangePattern;
use md_core::lattice::Lattice;
use md_core::partition::Ownership;
use md_core::rebuild::RebuildPolicy;
use md_core::{CellGrid, Domain, HaloPlan, LocalCells, Partition, Potential, Shell, SimdLevel, Threads};

use super::error::RunError;
use crate::input::InputParticles;
use crate::scenario::{self, Scenario, ScenarioSource};
use interaction::{check_precision, masses, potential};
use space::{cell_limit, divide, domain, lattice, located, nearest_distance};

/// Chooses another instruction set than the method's best on this CPU, e.g. `MD_SIMD=avx2+fma`.
const SIMD_VARIABLE: &str = "MD_SIMD";

/// Where the particles come from.
#[derive(Debug, Clone)]
pub enum ParticleSource {
    /// A lattice that fills the box.
    Lattice(Lattice),
    /// A file, read and checked.
    File(InputParticles),
}

impl ParticleSource {
    fn atoms(&self) -> u64 {
        match self {
            Self::Lattice(lattice) => lattice.len(),
            Self::File(file) => file.ids.len() as u64,
        }
    }
}

/// What does not change during a run.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The global box.
    pub domain: Domain,
    /// Its cells.
    pub grid: CellGrid,
    /// Who owns them.
    pub partition: Partition,
    /// Import shell.
    pub shell: Shell,
    /// Direct or staged exchange.
    pub exchange: ExchangePattern,
    /// Pair potential.
    pub potential: Potential,
    /// Mass per species.
    pub masses: Vec<f64>,
    /// When to rebuild.
    pub rebuild: RebuildPolicy,
    /// Vector width.
    pub simd: SimdLevel,
    /// Threads of this rank.
    pub threads: Threads,
    /// The particles.
    pub particles: ParticleSource,
    /// Lattice sites are displaced by up to this length along each axis: 0 but for checks that need forces, which a
    /// perfect lattice does not have.
    pub displacement: f64,
}

impl Setup {
    /// For `ranks` ranks. `file` is the particle file, already read.
    ///
    /// # Errors
    /// What only shows once box and ranks are known, each at its key: a box too small for the cutoff or too thin for
    /// the ranks, species that do not match the file.
    pub fn new(
        source: &ScenarioSource,
        scenario: &Scenario,
        file: Option<InputParticles>,
        ranks: usize,
    ) -> Result<Self, RunError> {
        let masses = masses(source, scenario, file.as_ref())?;
        let particles = match file {
            Some(file) => ParticleSource::File(file),
            None => ParticleSource::Lattice(lattice(source, scenario)?),
        };
        let domain = domain(scenario, &particles);
        let at = |error| located(source, scenario, &error);
        let reach = scenario.interaction.cutoff + scenario.neighbor.skin;
        let limit = cell_limit(particles.atoms(), ranks);
        let most = most_cells(&domain, reach, limit).map_err(at)?;
        let (grid, partition) = divide(scenario, &domain, most, ranks).map_err(at)?;
        check_precision(source, scenario, &grid)?;
        Ok(Self {
            potential: potential(source, scenario)?,
            shell: scenario.parallel.shell,
            exchange: scenario.parallel.exchange,
            rebuild: match scenario.neighbor.rebuild.every {
                Some(steps) => RebuildPolicy::Every(steps),
                None => RebuildPolicy::Displacement,
            },
            simd: simd_level(scenario.neighbor.method)?,
            threads: Threads::new(scenario.parallel.threads)?,
            domain,
            grid,
            partition,
            masses,
            particles,
            displacement: 0.0,
        })
    }

    /// What force methods see of a rank.
    pub(super) fn system<'s>(&'s self, plan: &'s HaloPlan, cells: &'s LocalCells) -> System<'s> {
        let Self { grid, potential, simd, threads, .. } = self;
        System { grid, potential, plan, cells, simd: *simd, threads }
    }

    /// Number of particles of the whole system.
    pub fn atoms(&self) -> u64 {
        self.particles.atoms()
    }

    /// The same with every lattice site displaced at random, as far as two particles cannot come closer than their
    /// diameter (or a little in any case). Particles from a file stay where they are.
    #[must_use]
    pub fn displaced(&self, diameter: f64) -> Self {
        /// Of the distance between neighbours.
        const LEAST: f64 = 0.02;
        let displacement = match &self.particles {
            ParticleSource::Lattice(lattice) => {
                let distance = nearest_distance(lattice);
                ((distance - diameter) / (2.0 * 3_f64.sqrt())).max(LEAST * distance)
            }
            ParticleSource::File(_) => 0.0,
        };
        Self { displacement, ..self.clone() }
    }

    /// Ranks per dimension as `2x1x1`, or `-`.
    pub fn grid_text(&self) -> String {
        self.partition.rank_grid().map_or_else(|| "-".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
    }
}

/// The level that the environment asks for, or the best for the method on this CPU.
fn simd_level(method: scenario::Method) -> Result<SimdLevel, RunError> {
    let wanted = std::env::var(SIMD_VARIABLE).unwrap_or_default();
    if wanted.is_empty() {
        return Ok(match method {
            scenario::Method::Clusters => SimdLevel::for_clusters(),
            _ => SimdLevel::detect(),
        });
    }
    let available = || SimdLevel::ALL.into_iter().filter(|level| level.is_available());
    available().find(|level| level.name() == wanted).ok_or_else(|| RunError::UnknownSimd {
        variable: SIMD_VARIABLE,
        wanted,
        available: available().map(SimdLevel::name).collect::<Vec<_>>().join(", "),
    })
}
