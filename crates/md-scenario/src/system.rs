//! `[system]`: source of the particles, and the faces of their box.

pub(crate) mod generators;
pub(crate) mod wall;

use md_core::lattice::{Lattice as CoreLattice, LatticeKind};
use md_core::thinned::Region;
use md_core::{Boundary, Dimension};
use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::atom_style::AtomStyle;
use super::finding::{Checked, Finding};
use super::simulation::Simulation;
use generators::{Gas, Regions, check_gas, check_regions};
use wall::WallPair;

/// Help for densities of lattices.
const DENSITY: &str = "particles per volume, for example 0.8442";
/// Help for lattice constants.
const SPACING: &str = "the edge of the unit cell, for example 1.68";
/// Help for places in the box.
const PLACE: &str = "in box lengths: 0.5 is the middle";

/// `[system]`: exactly one of `lattice`, `regions`, `gas` and `file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Particles on a lattice that fills the box.
    pub lattice: Option<Lattice>,
    /// Lattices in parts of a box.
    pub regions: Option<Regions>,
    /// A gas of particles at random positions.
    pub gas: Option<Gas>,
    /// Particles from a file.
    pub file: Option<InputFile>,
    /// Reduced temperature of Maxwell-Boltzmann velocities with zero total momentum, which are
    /// scaled to this temperature exactly.
    #[schemars(extend("minimum" = 0, "$comment" = "leave the key out for particles at rest"))]
    pub temperature: Option<f64>,
    /// Velocity of the whole system, in sigma / tau, which is added to all velocities.
    #[schemars(extend("$comment" = "a velocity in sigma / tau"))]
    pub drift: Option<[f64; 3]>,
    /// Boundary per dimension.
    #[serde(default)]
    pub boundary: [Boundary; 3],
    /// Solid walls at faces with the boundary `reflecting`; they attract and repel by a 9-3
    /// potential.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<WallPair>,
}

/// `system.lattice`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lattice {
    /// Kind of the unit cell.
    pub kind: LatticeKind,
    /// Reduced number density; exactly one of `density` and `spacing`.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = DENSITY))]
    pub density: Option<f64>,
    /// Lattice constant in units of sigma.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = SPACING))]
    pub spacing: Option<f64>,
    /// Unit cells per dimension (in 2D the third is 1).
    #[schemars(inner(range(min = 1)), extend("$comment" = "unit cells along x, y and z, for example [20, 20, 20]"))]
    pub cells: [u32; 3],
    /// Fill only some regions with liquid; elsewhere most lattice sites stay empty.
    pub vapour: Option<Vapour>,
}

/// `system.lattice.vapour`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vapour {
    /// Reduced number density outside of the regions, on lattice sites that are drawn by the seed.
    #[schemars(extend("minimum" = 0, "$comment" = "particles per volume outside of the liquid, for example 0.02"))]
    pub density: f64,
    /// Spheres of liquid (discs in 2D).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub droplets: Vec<Droplet>,
    /// Layers of liquid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slabs: Vec<Slab>,
}

/// `system.lattice.vapour.droplets`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Droplet {
    /// Centre, in box lengths from 0 to 1.
    #[schemars(inner(range(min = 0, max = 1)), extend("$comment" = PLACE))]
    pub centre: [f64; 3],
    /// Radius in units of sigma.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "in sigma"))]
    pub radius: f64,
}

/// `system.lattice.vapour.slabs`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slab {
    /// Axis perpendicular to the layer.
    pub axis: Axis,
    /// Position of the middle of the layer, in box lengths from 0 to 1.
    #[schemars(range(min = 0, max = 1), extend("$comment" = PLACE))]
    pub centre: f64,
    /// Thickness in units of sigma.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "in sigma"))]
    pub thickness: f64,
}

/// Axes of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
}

/// ```
/// use md_scenario::{ScenarioSource, load};
///
/// let text = r#"
///     [simulation]
///     steps = 1
///     [system]
///     gas = { atoms = 1000, density = 0.01 }
///     temperature = 1.0
///     boundary = ["periodic", "periodic", "reflecting"]
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// assert_eq!(load(&source)?.system.size_key(), "system.gas");
/// // A system has exactly one source of particles.
/// let file = "file = { path = \"gas.xyz\", format = \"extxyz\" }";
/// let text = text.replace("[system]", &format!("[system]\n{file}"));
/// let both = load(&ScenarioSource { text, ..ScenarioSource::default() });
/// assert!(both.is_err());
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
impl System {
    /// Returns the keys of the sources that are given.
    fn sources(&self) -> Vec<&'static str> {
        let Self { lattice, regions, gas, file, .. } = self;
        let given = [
            (lattice.is_some(), "system.lattice"),
            (regions.is_some(), "system.regions"),
            (gas.is_some(), "system.gas"),
            (file.is_some(), "system.file"),
        ];
        given.into_iter().filter_map(|(is_given, key)| is_given.then_some(key)).collect()
    }

    /// Returns the key that gives the size of the system.
    pub fn size_key(&self) -> &'static str {
        match self.sources()[..] {
            ["system.lattice", ..] => "system.lattice.cells",
            [key, ..] => key,
            [] => "system",
        }
    }

    /// Returns whether species are drawn by their fractions.
    pub(super) fn draws_species(&self) -> bool {
        let region = |regions: &Regions| regions.lattices.iter().any(|lattice| lattice.species.is_none());
        self.lattice.is_some() || self.gas.is_some() || self.regions.as_ref().is_some_and(region)
    }
}

impl Vapour {
    /// Returns the regions of the liquid.
    pub fn regions(&self) -> Vec<Region> {
        let droplet = |&Droplet { centre, radius }: &Droplet| Region::Droplet { centre, radius };
        let slab = |&Slab { axis, centre, thickness }: &Slab| Region::Slab {
            axis: axis as usize,
            centre,
            thickness,
        };
        self.droplets.iter().map(droplet).chain(self.slabs.iter().map(slab)).collect()
    }
}

/// `system.file`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// Path relative to the folder of the scenario file. Text files may be compressed by gzip.
    pub path: String,
    /// Format of the file.
    pub format: InputFormat,
    /// Atom style of a LAMMPS data file, if the heading `Atoms` does not give it. Without this key
    /// the style follows from the number of columns.
    pub style: Option<AtomStyle>,
    /// Number of the frame of a trajectory, counted from 1; the default is the last frame.
    #[schemars(range(min = 1), extend("$comment" = "frames are counted from 1"))]
    pub frame: Option<u64>,
    /// Number of copies of the box and its particles side by side along x, y and z. They keep the
    /// velocities of the file unless there is a temperature.
    #[schemars(inner(range(min = 1)), extend("$comment" = "copies along x, y and z"))]
    pub replicate: Option<[u32; 3]>,
}

/// Formats of particle files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputFormat {
    /// LAMMPS data file of the atom styles `atomic`, `charge`, `molecular` (`bond`, `angle`) and
    /// `full`, optionally with velocities.
    LammpsData,
    /// Extended XYZ with a `Lattice` and a `Properties` entry.
    Extxyz,
    /// Text dump of LAMMPS (`dump custom`).
    Lammpstrj,
    /// `NetCDF` with the AMBER convention, in the classic format.
    Netcdf,
    /// XTC of GROMACS: positions with the precision that the file gives, without velocities, types
    /// and ids.
    Xtc,
}

pub(super) fn check(system: &System, simulation: &Simulation) -> Checked {
    match system.sources()[..] {
        [_] => check_source(system, simulation)?,
        [first, second, ..] => {
            let message = format!("both `{first}` and `{second}` are given");
            let finding = Finding::new(second, message, "keep one source of particles");
            return Err(finding.at_key().or_at(first));
        }
        [] => {
            let help = "give `lattice = { kind = \"fcc\", density = 0.8442, cells = [20, 20, 20] }` \
                        or `file = { path = \"data.lammps\", format = \"lammps-data\" }`";
            return Err(Finding::new("system", "[system] has no source of particles", help));
        }
    }
    check_drift(system.drift, simulation)?;
    check_boundary(&system.boundary, simulation)?;
    wall::check(system, simulation)
}

fn check_source(system: &System, simulation: &Simulation) -> Checked {
    let System { lattice, regions, gas, file, .. } = system;
    lattice.as_ref().map_or(Ok(()), |lattice| check_lattice(lattice, simulation))?;
    regions.as_ref().map_or(Ok(()), |regions| check_regions(regions, simulation))?;
    gas.as_ref().map_or(Ok(()), |gas| check_gas(gas, system, simulation))?;
    file.as_ref().map_or(Ok(()), |file| check_file(file, simulation))
}

fn check_drift(drift: Option<[f64; 3]>, simulation: &Simulation) -> Checked {
    if simulation.dimension == 2 && drift.unwrap_or_default()[2] != 0.0 {
        let message = "a 2D simulation has no motion in z";
        return Err(Finding::new("system.drift[2]", message, "write 0").or_at("simulation.dimension"));
    }
    Ok(())
}

fn check_vapour(vapour: &Vapour, lattice: &Lattice) -> Checked {
    let spacing = lattice.spacing.or(lattice.density.map(|density| lattice.kind.spacing(density)));
    let made = CoreLattice::new(lattice.kind, spacing.unwrap_or(1.0), lattice.cells);
    let liquid = made.len() as f64 / volume(&made, lattice.kind);
    if vapour.density > liquid {
        const PATH: &str = "system.lattice.vapour.density";
        let message = format!("`{PATH}` is {:?}, more than the lattice's {liquid}", vapour.density);
        return Err(Finding::new(PATH, message, "the vapour takes some sites of the lattice of the liquid"));
    }
    Ok(())
}

/// Returns the volume of the box, or its area in two dimensions.
fn volume(lattice: &CoreLattice, kind: LatticeKind) -> f64 {
    lattice.lengths()[..kind.dimension().count()].iter().product()
}

fn check_file(file: &InputFile, simulation: &Simulation) -> Checked {
    if simulation.dimension == 2 && file.replicate.is_some_and(|copies| copies[2] != 1) {
        let message = "a 2D simulation has one layer";
        return Err(
            Finding::new("system.file.replicate[2]", message, "write 1").or_at("simulation.dimension")
        );
    }
    if file.path.trim().is_empty() {
        let help = "give a path, relative to the scenario's folder";
        return Err(Finding::new("system.file.path", "`system.file.path` is empty", help));
    }
    if file.style.is_some() && file.format != InputFormat::LammpsData {
        let message = "only a LAMMPS data file has an atom style";
        return Err(Finding::new("system.file.style", message, "leave `style` out").at_key());
    }
    if file.frame.is_some() && file.format == InputFormat::LammpsData {
        let message = "a LAMMPS data file has no frames";
        return Err(Finding::new("system.file.frame", message, "leave `frame` out").at_key());
    }
    Ok(())
}

fn check_lattice(lattice: &Lattice, simulation: &Simulation) -> Checked {
    check_kind("system.lattice", lattice.kind, simulation)?;
    check_spacing("system.lattice", lattice.density, lattice.spacing)?;
    if let Some(vapour) = &lattice.vapour {
        check_vapour(vapour, lattice)?;
    }
    if simulation.dimension == 2 && lattice.cells[2] != 1 {
        let message = format!("a 2D lattice has one layer, found {} cells in z", lattice.cells[2]);
        let help = format!("write `cells = [{}, {}, 1]`", lattice.cells[0], lattice.cells[1]);
        return Err(Finding::new("system.lattice.cells[2]", message, help));
    }
    Ok(())
}

pub(super) fn check_spacing(table: &str, density: Option<f64>, spacing: Option<f64>) -> Checked {
    let [density_key, spacing_key] = ["density", "spacing"].map(|key| format!("{table}.{key}"));
    match (density, spacing) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (Some(_), Some(_)) => {
            let message = "both `density` and `spacing` of the lattice are given";
            let finding = Finding::new(spacing_key, message, "keep one: each follows from the other");
            Err(finding.at_key().or_at(density_key))
        }
        (None, None) => {
            let message = "the lattice has neither `density` nor `spacing`";
            Err(Finding::new(table, message, "give one, for example `density = 0.8442`"))
        }
    }
}

pub(super) fn check_kind(table: &str, kind: LatticeKind, simulation: &Simulation) -> Checked {
    let (own_dimension, others) = match kind.dimension() {
        Dimension::Two => (2, "`fcc`, `bcc`, `sc`"),
        Dimension::Three => (3, "`hex`, `sq`, `sq2`"),
    };
    let dimension = simulation.dimension;
    if dimension == own_dimension {
        return Ok(());
    }
    let message =
        format!("lattice `{}` is {own_dimension}D, but the simulation is {dimension}D", name_of(kind));
    let help = format!("lattices in {dimension}D: {others}; or set `simulation.dimension = {own_dimension}`");
    Err(Finding::new(format!("{table}.kind"), message, help).or_at("simulation.dimension"))
}

fn check_boundary(boundary: &[Boundary; 3], simulation: &Simulation) -> Checked {
    if simulation.dimension == 2 && boundary[2] == Boundary::Reflecting {
        let message = "a 2D simulation has no motion in z, so nothing can be reflected there";
        let help = "write \"periodic\" as the third boundary";
        return Err(Finding::new("system.boundary[2]", message, help).or_at("simulation.dimension"));
    }
    Ok(())
}
