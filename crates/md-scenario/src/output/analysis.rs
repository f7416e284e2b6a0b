//! `[output]`: quantities that are computed from the particles during a run.
//!
//! An analysis that samples a run has a file here with its keys, its checks and the columns of its
//! table, a line in [`Analyses`], `Analyses::sampled` and [`ANALYSES`], and a file in
//! `md_files::output::analyses`, which computes it.

mod hash;
mod msd;
mod profile;
mod rdf;
mod vacf;
mod viscosity;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use hash::Hash;
pub use msd::Msd;
pub use profile::Profile;
pub use rdf::Rdf;
pub use vacf::Vacf;
pub use viscosity::Viscosity;

use crate::defaults::number;
use crate::finding::{Checked, Finding};
use crate::known_file::KnownFile;
use crate::system::Axis;

/// All kinds of analyses that sample a run.
pub static ANALYSES: [&AnalysisKind; 6] =
    [&Rdf::KIND, &Msd::KIND, &Vacf::KIND, &Viscosity::KIND, &Hash::KIND, &Profile::KIND];

/// Help for intervals.
const SAMPLES: &str = "steps between two looks";
/// Help for the lengths of correlations.
const CORRELATION_TIME: &str = "a time after which nothing is remembered, for example 2.0";

/// Keys of `[output]` for quantities that are computed from the particles during a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analyses {
    /// Means of the columns of thermo.csv, in summary.json. By default they cover the last of
    /// several stages; a run of one stage has none, because it begins out of equilibrium.
    pub averages: Option<Averages>,
    /// Radial distribution functions g(r) of all pairs of species: rdf.csv.
    pub rdf: Option<Rdf>,
    /// Mean squared displacements by species, with diffusion coefficients: msd.csv.
    pub msd: Option<Msd>,
    /// Velocity autocorrelation functions by species: vacf.csv.
    pub vacf: Option<Vacf>,
    /// Shear viscosity by the Green-Kubo relation: viscosity.csv.
    pub viscosity: Option<Viscosity>,
    /// Hashes of ids, positions, velocities and image counts of all particles: hash.csv. They do
    /// not depend on the order or the owners of the particles; with `simulation.reproducible` the
    /// state does not either.
    pub hash: Option<Hash>,
    /// Density, temperature, pressure and velocity along an axis, in slabs that fill the box:
    /// `profile_x.csv`, `profile_y.csv`, `profile_z.csv`. A list with an entry per axis, such as
    /// `[{ axis = "z", every = 10 }]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<Profile>,
    /// Surface tension from the pressure tensor, over the rows of thermo.csv that `averages` uses:
    /// in summary.json.
    pub surface_tension: Option<SurfaceTension>,
}

impl Analyses {
    /// Returns the keys of all requested analyses that sample the run.
    fn sampled(&self) -> impl Iterator<Item = &dyn AnalysisSettings> {
        let Self { rdf, msd, vacf, viscosity, hash, profile, averages: _, surface_tension: _ } = self;
        let profiles = profile.iter().map(|profile| profile as &dyn AnalysisSettings);
        [one(rdf), one(msd), one(vacf), one(viscosity), one(hash)].into_iter().flatten().chain(profiles)
    }

    /// Returns what all requested analyses have in their keys.
    pub fn keys(&self) -> Vec<AnalysisKeys> {
        self.sampled().map(AnalysisSettings::keys).collect()
    }

    pub(super) fn check(&self, particles: &Particles) -> Checked {
        self.sampled().try_for_each(|analysis| analysis.check(particles))?;
        profile::check_profiles(&self.profile, particles)?;
        self.surface_tension.map_or(Ok(()), |_| check_surface_tension(particles.dimension))
    }
}

fn one<A: AnalysisSettings>(keys: &Option<A>) -> Option<&dyn AnalysisSettings> {
    keys.as_ref().map(|keys| keys as &dyn AnalysisSettings)
}

/// Keys of an analysis that samples a run, and writes a table at its end.
trait AnalysisSettings {
    /// Returns what all analyses have in their keys.
    fn keys(&self) -> AnalysisKeys;

    /// Checks the keys against the particles.
    fn check(&self, particles: &Particles) -> Checked;
}

/// Properties of the particles that limit the keys of analyses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Particles {
    /// Number of species.
    pub(super) species: usize,
    /// Number of dimensions.
    pub(super) dimension: u8,
    /// Time step.
    pub(super) timestep: f64,
}

/// A kind of analysis.
#[derive(Debug)]
pub struct AnalysisKind {
    /// Key in `[output]`.
    pub key: &'static str,
    /// Files that it may write.
    pub files: &'static [KnownFile],
    /// Returns all columns that a table may have, for species of these names.
    pub columns: fn(&[String]) -> Vec<String>,
    /// Quantities in the tables, for pictures.
    pub quantities: &'static [Quantity],
}

/// A quantity in the table of an analysis. The first one has its errors in the columns `error_A`
/// of the species, others in columns with `_error` in their names.
#[derive(Debug)]
pub struct Quantity {
    /// First word of the names of its columns.
    pub columns: &'static str,
    /// Title.
    pub title: &'static str,
    /// Unit in reduced units. V is the volume of a cube of side sigma, in two dimensions the area
    /// of a square.
    pub unit: &'static str,
}

/// What all analyses have in their keys.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisKeys {
    /// Kind of the analysis.
    pub kind: &'static AnalysisKind,
    /// File of the table.
    pub file: KnownFile,
    /// Steps between two samples.
    pub every: u64,
    /// Step at which sampling begins, if it is given.
    pub start: Option<u64>,
    /// Time up to which samples are correlated, if they are.
    pub length: Option<f64>,
    /// Treatment of the motion of the centre of mass, if it matters.
    pub centre_of_mass: Option<CentreOfMass>,
}

impl AnalysisKeys {
    /// Returns the keys of an analysis without correlations, which writes the first file of its
    /// kind.
    fn new(kind: &'static AnalysisKind, every: u64, start: Option<u64>) -> Self {
        Self { kind, file: kind.files[0], every, start, length: None, centre_of_mass: None }
    }

    /// Returns the number of samples up to `length`, at least one.
    pub fn lags(&self, timestep: f64) -> usize {
        let samples = self.length.unwrap_or_default() / (self.every as f64 * timestep);
        (samples.round() as usize).clamp(1, MOST_LAGS)
    }
}

/// `output.averages`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Averages {
    /// Step at which the averages begin.
    pub start: u64,
}

/// `output.surface_tension`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SurfaceTension {
    /// Axis perpendicular to the surfaces.
    pub axis: Axis,
    /// Number of surfaces: two for a slab in a periodic box.
    #[serde(default = "number::<2>")]
    #[schemars(range(min = 1), extend("$comment" = "two of a slab in a periodic box"))]
    pub surfaces: u64,
}

/// Largest number of samples that are correlated. A checkpoint can hold no more.
const MOST_LAGS: usize = 10_000;

/// Treatment of the motion of the centre of mass of all particles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CentreOfMass {
    /// The columns contain it, as LAMMPS defines them. It is removed from the diffusion
    /// coefficients, which describe the motion of particles relative to each other, along the axes
    /// on which momentum is conserved.
    #[default]
    Diffusion,
    /// It is part of the columns and of the coefficients.
    Kept,
    /// It is removed from the columns and the coefficients.
    Removed,
}

/// ```
/// use md_scenario::CentreOfMass;
///
/// // A wall at z takes up momentum.
/// let conserved = [true, true, false];
/// assert_eq!(CentreOfMass::Diffusion.removed_axes(conserved), conserved);
/// assert_eq!(CentreOfMass::Kept.removed_axes(conserved), [false; 3]);
/// ```
impl CentreOfMass {
    /// Returns the axes along which the motion of the centre of mass is removed from the relative
    /// motion.
    pub fn removed_axes(self, conserved: [bool; 3]) -> [bool; 3] {
        match self {
            Self::Diffusion => conserved,
            Self::Kept => [false; 3],
            Self::Removed => [true; 3],
        }
    }

    /// Returns whether the columns of a table contain relative motion.
    pub fn is_removed_from_columns(self) -> bool {
        self == Self::Removed
    }
}

/// Largest number of time origins. The memory grows with it.
const MOST_ORIGINS: u64 = 100;

fn check_origins(key: &str, origins: u64) -> Checked {
    if (1..=MOST_ORIGINS).contains(&origins) {
        return Ok(());
    }
    let message = format!("`{key}` must be from 1 to {MOST_ORIGINS}, found {origins}");
    Err(Finding::new(key, message, "each of them needs 24 bytes per particle"))
}

/// Checks that `length` spans at least one sample and at most `most`.
fn check_length(keys: &AnalysisKeys, particles: &Particles, most: usize) -> Checked {
    let key = format!("output.{}.length", keys.kind.key);
    let looks = keys.length.unwrap_or_default() / (keys.every as f64 * particles.timestep);
    if (0.5..=most as f64).contains(&looks) {
        return Ok(());
    }
    let message = format!("`{key}` is {looks:.1} looks, but must be from 1 to {most}");
    Err(Finding::new(key, message, "a time step times `every` is the time between two looks"))
}

fn check_surface_tension(dimension: u8) -> Checked {
    if dimension == 2 {
        let message = "`output.surface_tension` is for three dimensions";
        return Err(Finding::new("output.surface_tension", message, "leave it out").at_key());
    }
    Ok(())
}
