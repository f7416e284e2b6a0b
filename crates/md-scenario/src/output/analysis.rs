//! `[output]`: quantities that are computed from the particles during a run.

use md_core::analysis::PairCounts;
use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::defaults::number;
use crate::finding::{Checked, Finding};
use crate::known_file::KnownFile;
use crate::system::Axis;

/// Help for intervals.
const LOOKS: &str = "steps between two looks";
/// Help for the lengths of correlations.
const FORGOTTEN: &str = "a time after which nothing is remembered, for example 2.0";

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
    /// Density, temperature, pressure and velocity along an axis, in slabs that fill the box:
    /// `profile_x.csv`, `profile_y.csv`, `profile_z.csv`. A list with an entry per axis, such as
    /// `[{ axis = "z", every = 10 }]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<Profile>,
    /// Surface tension from the pressure tensor, over the rows of thermo.csv that `averages` uses:
    /// in summary.json.
    pub surface_tension: Option<SurfaceTension>,
}

/// What all analyses have in their keys. An analysis samples a run, and writes a table at its end.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisKeys {
    /// Key in `[output]`.
    pub key: &'static str,
    /// File of the table.
    pub file: KnownFile,
    /// Returns all columns that the table may have, for species of these names.
    pub columns: fn(&[String]) -> Vec<String>,
    /// Steps between two samples.
    pub every: u64,
    /// Step at which sampling begins, if it is given.
    pub start: Option<u64>,
    /// Time up to which samples are correlated, if they are.
    pub length: Option<f64>,
    /// Treatment of the motion of the centre of mass, if it matters.
    pub centre_of_mass: Option<CentreOfMass>,
}

impl Analyses {
    /// Returns what all requested analyses have in their keys.
    pub fn keys(&self) -> Vec<AnalysisKeys> {
        let new = |key, file, columns, every, start| {
            let (length, centre_of_mass) = (None, None);
            AnalysisKeys { key, file, columns, every, start, length, centre_of_mass }
        };
        let rdf = self.rdf.map(|it| new("rdf", KnownFile::RDF, Rdf::columns, it.every, it.start));
        let msd = self.msd.map(|it| AnalysisKeys {
            centre_of_mass: Some(it.centre_of_mass),
            ..new("msd", KnownFile::MSD, Msd::columns, it.every, it.start)
        });
        let vacf = self.vacf.map(|it| AnalysisKeys {
            length: Some(it.length),
            centre_of_mass: Some(it.centre_of_mass),
            ..new("vacf", KnownFile::VACF, Vacf::columns, it.every, it.start)
        });
        let viscosity = self.viscosity.map(|it| AnalysisKeys {
            length: Some(it.length),
            ..new("viscosity", KnownFile::VISCOSITY, Viscosity::columns, it.every, it.start)
        });
        let profile = self.profile.iter().map(|it| {
            new("profile", KnownFile::PROFILES[it.axis as usize], Profile::columns, it.every, it.start)
        });
        [rdf, msd, vacf, viscosity].into_iter().flatten().chain(profile).collect()
    }
}

impl AnalysisKeys {
    /// Returns the number of samples up to `length`, at least one.
    pub fn lags(&self, timestep: f64) -> usize {
        lags(self.every, self.length.unwrap_or_default(), timestep)
    }
}

/// `output.averages`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Averages {
    /// Step at which the averages begin.
    pub start: u64,
}

/// `output.rdf`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rdf {
    /// Steps between two samples.
    #[schemars(range(min = 1), extend("$comment" = LOOKS))]
    pub every: u64,
    /// Number of distance bins.
    #[serde(default = "number::<200>")]
    #[schemars(range(min = 1), extend("$comment" = "number of classes of distances"))]
    pub bins: u64,
    /// Largest distance, at most half of each periodic side of the box; the default is the cutoff.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "a distance, for example 5.0"))]
    pub max: Option<f64>,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Rdf {
    fn columns(names: &[String]) -> Vec<String> {
        let pairs = || PairCounts::pairs(names.len());
        let column = |kind: &str, [a, b]: [usize; 2]| format!("{kind}_{}_{}", names[a], names[b]);
        let both_orders = pairs().flat_map(|[a, b]| [Some([a, b]), (a != b).then_some([b, a])]).flatten();
        let mut columns = vec!["r".to_owned()];
        columns.extend(pairs().map(|pair| column("g", pair)));
        columns.extend(both_orders.map(|pair| column("n", pair)));
        columns.extend(pairs().map(|pair| column("error", pair)));
        columns
    }
}

/// `output.msd`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Msd {
    /// Steps between two samples. In long runs the samples become rarer, so that msd.csv has at
    /// most 2048 rows.
    #[schemars(range(min = 1), extend("$comment" = LOOKS))]
    pub every: u64,
    /// Largest number of time origins in use at once. Each needs 24 bytes per particle.
    #[serde(default = "number::<10>")]
    #[schemars(range(min = 1, max = 100))]
    pub origins: u64,
    /// Treatment of the motion of the centre of mass of all particles: `"diffusion"` (part of the
    /// columns, removed from the diffusion coefficients), `"kept"` or `"removed"`.
    #[serde(default)]
    pub centre_of_mass: CentreOfMass,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Msd {
    fn columns(names: &[String]) -> Vec<String> {
        let columns = |kind: &'static str| names.iter().map(move |name| format!("{kind}_{name}"));
        let time = ["time".to_owned()].into_iter();
        time.chain(columns("msd")).chain(columns("error")).chain(["origins".to_owned()]).collect()
    }
}

/// `output.vacf`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vacf {
    /// Steps between two samples.
    #[schemars(range(min = 1), extend("$comment" = LOOKS))]
    pub every: u64,
    /// Time up to which velocities are correlated: at most 10,000 samples divided by the number of
    /// species.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = FORGOTTEN))]
    pub length: f64,
    /// Number of overlapping intervals of this length. Each needs 24 bytes per particle.
    #[serde(default = "number::<10>")]
    #[schemars(range(min = 1, max = 100))]
    pub origins: u64,
    /// Treatment of the motion of the centre of mass, as in `output.msd`.
    #[serde(default)]
    pub centre_of_mass: CentreOfMass,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

/// ```
/// use md_scenario::{CentreOfMass, Vacf};
///
/// let (centre_of_mass, start) = (CentreOfMass::default(), None);
/// let vacf = Vacf { every: 5, length: 1.0, origins: 10, centre_of_mass, start };
/// // Samples every 5 x 0.002, up to 1.
/// assert_eq!(vacf.lags(0.002), 100);
/// ```
impl Vacf {
    fn columns(names: &[String]) -> Vec<String> {
        const KINDS: [&str; 4] = ["vacf", "error", "diffusion", "diffusion_error"];
        let columns = names.iter().flat_map(|name| KINDS.map(|kind| format!("{kind}_{name}")));
        ["time".to_owned()].into_iter().chain(columns).collect()
    }

    /// Returns the number of samples up to `length`.
    pub fn lags(&self, timestep: f64) -> usize {
        lags(self.every, self.length, timestep)
    }
}

/// `output.viscosity`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Viscosity {
    /// Steps between two samples of the pressure tensor. Each sample needs a step that computes
    /// energy and virial.
    #[schemars(range(min = 1), extend("$comment" = LOOKS))]
    pub every: u64,
    /// Time up to which the stress is correlated and the correlation is integrated: at most 10,000
    /// samples.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = FORGOTTEN))]
    pub length: f64,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

/// ```
/// let viscosity = md_scenario::Viscosity { every: 2, length: 4.0, start: None };
/// // Samples every 2 x 0.005, up to 4.
/// assert_eq!(viscosity.lags(0.005), 400);
/// ```
impl Viscosity {
    fn columns(_: &[String]) -> Vec<String> {
        ["time", "stress_correlation", "stress_correlation_error", "viscosity", "viscosity_error"]
            .map(str::to_owned)
            .into()
    }

    /// Returns the number of samples up to `length`.
    pub fn lags(&self, timestep: f64) -> usize {
        lags(self.every, self.length, timestep)
    }
}

/// Returns the number of samples in the time `length`, at least one.
fn lags(every: u64, length: f64, timestep: f64) -> usize {
    ((length / (every as f64 * timestep)).round() as usize).clamp(1, MOST_LAGS)
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

/// An entry of `output.profile`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Axis perpendicular to the slabs.
    pub axis: Axis,
    /// Number of slabs of equal width.
    #[serde(default = "number::<100>")]
    #[schemars(range(min = 1), extend("$comment" = "number of slabs"))]
    pub bins: u64,
    /// Steps between two samples. Each sample computes the virial of every particle.
    #[schemars(range(min = 1), extend("$comment" = LOOKS))]
    pub every: u64,
    /// Step at which sampling begins; by default the first step of the last stage.
    pub start: Option<u64>,
}

impl Profile {
    /// Returns the columns after the first one, which is named after the axis.
    fn columns(names: &[String]) -> Vec<String> {
        const OF_ALL: [&str; 8] = [
            "density",
            "temperature",
            "pressure_xx",
            "pressure_yy",
            "pressure_zz",
            "velocity_x",
            "velocity_y",
            "velocity_z",
        ];
        // With one species, the total density is that of the species.
        let densities = names.iter().filter(|_| names.len() > 1).map(|name| Self::density_column(name));
        let means: Vec<String> = OF_ALL.map(str::to_owned).into_iter().chain(densities).collect();
        let errors: Vec<String> = means.iter().map(|column| Self::error_column(column)).collect();
        [means, errors].concat()
    }

    /// Returns the column of the density of a species.
    pub fn density_column(species: &str) -> String {
        format!("density_{species}")
    }

    /// Returns the column of the error of another column.
    pub fn error_column(column: &str) -> String {
        format!("{column}_error")
    }
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
/// Largest number of bins of all pairs of species together. A checkpoint can hold no more.
const MOST_CLASSES: u64 = 40_000;

/// Largest number of values in the slabs of all profiles together. A checkpoint can hold no more.
const MOST_IN_SLABS: u64 = 15_000;

pub(super) fn check_rdf(rdf: &Rdf, species: usize) -> Checked {
    let pairs = (species * (species + 1) / 2).max(1) as u64;
    if rdf.bins > MOST_CLASSES / pairs {
        let message = format!(
            "`output.rdf.bins` is {}, for each of {pairs} pairs of species: more than {MOST_CLASSES} classes",
            rdf.bins
        );
        let help = format!("at most {}", MOST_CLASSES / pairs);
        return Err(Finding::new("output.rdf.bins", message, help));
    }
    Ok(())
}

pub(super) fn check_origins(key: &str, origins: u64) -> Checked {
    if (1..=MOST_ORIGINS).contains(&origins) {
        return Ok(());
    }
    let message = format!("`{key}` must be from 1 to {MOST_ORIGINS}, found {origins}");
    Err(Finding::new(key, message, "each of them needs 24 bytes per particle"))
}

pub(super) fn check_vacf(vacf: &Vacf, species: usize, timestep: f64) -> Checked {
    check_origins("output.vacf.origins", vacf.origins)?;
    check_length("output.vacf.length", vacf.length, vacf.every as f64 * timestep, MOST_LAGS / species.max(1))
}

pub(super) fn check_viscosity(viscosity: &Viscosity, timestep: f64) -> Checked {
    check_length("output.viscosity.length", viscosity.length, viscosity.every as f64 * timestep, MOST_LAGS)
}

/// Checks that `length` spans at least one sample and at most `most`.
fn check_length(key: &str, length: f64, interval: f64, most: usize) -> Checked {
    let looks = length / interval;
    if (0.5..=most as f64).contains(&looks) {
        return Ok(());
    }
    let message = format!("`{key}` is {looks:.1} looks, but must be from 1 to {most}");
    Err(Finding::new(key, message, "a time step times `every` is the time between two looks"))
}

pub(super) fn check_profiles(profiles: &[Profile], species: usize, dimension: u8) -> Checked {
    let per_slab = 9 + species as u64;
    let mut left = MOST_IN_SLABS / per_slab;
    for (number, profile) in profiles.iter().enumerate() {
        let path = |key: &str| format!("output.profile[{number}].{key}");
        let axis = name_of(profile.axis);
        if profile.axis as usize >= usize::from(dimension) {
            let message = "a 2D simulation is one layer in z: there is no profile across it";
            return Err(Finding::new(path("axis"), message, "\"x\" or \"y\"").or_at("simulation.dimension"));
        }
        if profiles[..number].iter().any(|other| other.axis == profile.axis) {
            let message = format!("two profiles across {axis} would be one file, `profile_{axis}.csv`");
            return Err(Finding::new(path("axis"), message, "one profile per axis"));
        }
        if profile.bins > left {
            let message = format!("`{}` is {}, more than a checkpoint can hold", path("bins"), profile.bins);
            return Err(Finding::new(path("bins"), message, format!("at most {left}")));
        }
        left -= profile.bins;
    }
    Ok(())
}

pub(super) fn check_surface_tension(dimension: u8) -> Checked {
    if dimension == 2 {
        let message = "`output.surface_tension` is for three dimensions";
        return Err(Finding::new("output.surface_tension", message, "leave it out").at_key());
    }
    Ok(())
}
