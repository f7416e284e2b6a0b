//! From a checked scenario to the objects of md-core: everything that is the same for the whole run.

use md_core::force::System;
use md_core::grid::{GridError, axis, balanced_count, most_cells};
use md_core::halo::Route;
use md_core::lattice::{Lattice, LatticeKind};
use md_core::partition::{Ownership, Rect, Stripe, choose_grid};
use md_core::potential::{LennardJones, Mixing, PairPotential, Shift, Well};
use md_core::rebuild::RebuildPolicy;
use md_core::{
    Boundary, CellGrid, Dimension, Domain, HaloPlan, LocalCells, Partition, Potential, Shell, SimdLevel,
    Threads,
};

use super::error::RunError;
use crate::input::InputParticles;
use crate::scenario::{self, Scenario, ScenarioError, ScenarioSource};

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
    pub route: Route,
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
        Ok(Self {
            potential: potential(source, scenario)?,
            shell: shell(scenario.parallel.shell),
            route: match scenario.parallel.exchange {
                scenario::ExchangeKind::Direct => Route::Direct,
                scenario::ExchangeKind::Staged => Route::Staged,
            },
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
        let Self { domain, potential, simd, threads, .. } = self;
        System { domain, potential, plan, cells, simd: *simd, threads }
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

    /// Length of the shortest cell edge in a dimension with motion: nobody may move further between two rebuilds.
    pub fn shortest_edge(&self) -> f64 {
        let edge = |dim: usize| self.domain.lengths[dim] / f64::from(self.grid.counts()[dim]);
        (0..self.domain.dimension.count()).map(edge).fold(f64::INFINITY, f64::min)
    }
}

/// Between a site and its nearest neighbour, which may be a periodic image.
fn nearest_distance(lattice: &Lattice) -> f64 {
    let lengths = lattice.lengths();
    let image = |dim: usize, distance: f64| distance.min(lengths[dim] - distance);
    let from_origin = |[x, y, z]: [f64; 3]| image(0, x).hypot(image(1, y)).hypot(image(2, z));
    let others = lattice.sites().skip(1).map(|(_, position)| from_origin(position));
    others.chain(lengths).fold(f64::INFINITY, f64::min)
}

/// More cells than this only cost memory: almost all of them would be empty. Enough to spread over the ranks.
fn cell_limit(atoms: u64, ranks: usize) -> u64 {
    const PER_ATOM: u64 = 8;
    const PER_RANK: u64 = 1000;
    (PER_ATOM * atoms).max(PER_RANK * ranks as u64)
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

fn located(source: &ScenarioSource, scenario: &Scenario, error: &GridError) -> ScenarioError {
    let message = error.to_string();
    match error {
        GridError::BoxTooSmall { dim, .. } => ScenarioError::at(
            source,
            "interaction.cutoff",
            message,
            format!("a larger box along {}, a smaller cutoff or a smaller skin", axis(*dim)),
        ),
        GridError::WrongGrid(..) => {
            ScenarioError::at(source, "parallel.grid", message, "a grid whose product is the number of ranks")
        }
        _ => {
            let chosen = scenario.parallel.grid.is_some();
            let key = if chosen { "parallel.grid" } else { "parallel.partition" };
            ScenarioError::at(source, key, message, "fewer ranks, another partition or a larger box")
        }
    }
}

fn divide(
    scenario: &Scenario,
    domain: &Domain,
    most: [i32; 3],
    ranks: usize,
) -> Result<(CellGrid, Partition), GridError> {
    match scenario.parallel.partition {
        scenario::Partition::Stripe => {
            let grid = CellGrid::new(*domain, most);
            let stripe = Stripe::new(&grid, ranks)?;
            Ok((grid, Partition::Stripe(stripe)))
        }
        // Validation has refused the partitions to come.
        _ => {
            let rank_grid = match scenario.parallel.grid {
                Some(grid) => grid,
                None => choose_grid(domain, most, ranks)?,
            };
            let rect = Rect::new(rank_grid, most, ranks)?;
            let counts = [0, 1, 2].map(|dim| balanced_count(most[dim], rank_grid[dim] as i32));
            Ok((CellGrid::new(*domain, counts), Partition::Rect(rect)))
        }
    }
}

fn domain(scenario: &Scenario, particles: &ParticleSource) -> Domain {
    let (origin, lengths) = match particles {
        ParticleSource::Lattice(lattice) => ([0.0; 3], lattice.lengths()),
        ParticleSource::File(file) => (file.origin, file.lengths),
    };
    Domain {
        dimension: if scenario.simulation.dimension == 2 { Dimension::Two } else { Dimension::Three },
        origin,
        lengths,
        boundary: scenario.system.boundary.map(|boundary| match boundary {
            scenario::Boundary::Periodic => Boundary::Periodic,
            scenario::Boundary::Reflecting => Boundary::Reflecting,
        }),
    }
}

fn lattice(source: &ScenarioSource, scenario: &Scenario) -> Result<Lattice, ScenarioError> {
    let Some(lattice) = &scenario.system.lattice else {
        return Err(ScenarioError::at(
            source,
            "system",
            "no source of particles",
            "give `lattice` or `file`",
        ));
    };
    let kind = match lattice.kind {
        scenario::LatticeKind::Fcc => LatticeKind::Fcc,
        scenario::LatticeKind::Bcc => LatticeKind::Bcc,
        scenario::LatticeKind::Sc => LatticeKind::Sc,
        scenario::LatticeKind::Hex => LatticeKind::Hex,
        scenario::LatticeKind::Sq => LatticeKind::Sq,
    };
    let spacing = lattice.spacing.or_else(|| lattice.density.map(|density| kind.spacing(density)));
    Ok(Lattice::new(kind, spacing.unwrap_or(1.0), lattice.cells))
}

fn shell(shell: scenario::Shell) -> Shell {
    match shell {
        scenario::Shell::Full => Shell::Full,
        scenario::Shell::Half => Shell::Half,
        scenario::Shell::Eighth => Shell::Eighth,
    }
}

/// Masses of the scenario, or of the file where it has some; 1 where neither gives one. A mass given in both places must
/// agree.
fn masses(
    source: &ScenarioSource,
    scenario: &Scenario,
    file: Option<&InputParticles>,
) -> Result<Vec<f64>, ScenarioError> {
    const DEFAULT_MASS: f64 = 1.0;
    let of_species: Vec<Option<f64>> = scenario.species.iter().map(|species| species.mass).collect();
    let Some(file) = file else {
        return Ok(of_species.into_iter().map(|mass| mass.unwrap_or(DEFAULT_MASS)).collect());
    };
    let types = file.types.iter().map(|&kind| kind as usize).max().unwrap_or(0).max(file.masses.len());
    if types > of_species.len() {
        let message = format!("the file has {types} atom types, the scenario {} species", of_species.len());
        return Err(ScenarioError::at(
            source,
            "species",
            message,
            "give one [[species]] per atom type, in order",
        ));
    }
    let choose = |(index, &own): (usize, &Option<f64>)| match (own, file.masses.get(index)) {
        (Some(mass), Some(&in_file)) if mass != in_file => {
            let message = format!("mass {mass} of species {} contradicts {in_file} in the file", index + 1);
            Err(ScenarioError::at(
                source,
                &format!("species[{index}].mass"),
                message,
                "remove one of the two",
            ))
        }
        (_, Some(&in_file)) => Ok(in_file),
        (own, None) => Ok(own.unwrap_or(DEFAULT_MASS)),
    };
    of_species.iter().enumerate().map(choose).collect()
}

fn potential(source: &ScenarioSource, scenario: &Scenario) -> Result<Potential, ScenarioError> {
    let interaction = &scenario.interaction;
    let wells: Vec<Well> =
        scenario.species.iter().map(|s| Well { epsilon: s.epsilon, sigma: s.sigma }).collect();
    let index = |name: &str| scenario.species.iter().position(|s| s.name == name).unwrap_or(usize::MAX);
    let overrides: Vec<_> = interaction
        .pair
        .iter()
        .map(|pair| {
            let well = Well { epsilon: pair.epsilon, sigma: pair.sigma };
            (index(&pair.species[0]), index(&pair.species[1]), well)
        })
        .collect();
    let mixing = match interaction.mixing {
        scenario::Mixing::LorentzBerthelot => Mixing::LorentzBerthelot,
        scenario::Mixing::Geometric => Mixing::Geometric,
    };
    let shift = match interaction.shift {
        scenario::Shift::None => Shift::None,
        scenario::Shift::Energy => Shift::Energy,
        scenario::Shift::Force => Shift::Force,
    };
    let potential =
        LennardJones::new(&wells, mixing, &overrides, interaction.cutoff, shift).map_err(|error| {
            ScenarioError::at(source, "interaction.pair", error.to_string(), "name existing species")
        })?;
    if scenario.neighbor.precision == scenario::Precision::Mixed && !potential.fits_single_precision() {
        let message =
            "`neighbor.precision = \"mixed\"` cannot hold the pair forces of this epsilon and sigma";
        let help = "units in which epsilon and sigma are not far from 1, or precision `double`";
        return Err(ScenarioError::at(source, "neighbor.precision", message, help));
    }
    Ok(Potential::LennardJones(potential))
}
