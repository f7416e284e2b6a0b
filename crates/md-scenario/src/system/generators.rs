//! `system.regions` and `system.gas`: generated particles, other than a lattice that fills the box.

use md_core::Boundary;
use md_core::lattice::LatticeKind;
use md_engine::{GasKeys, LatticeRegion, LatticeRegions, RandomGas};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{DENSITY, SPACING, System, check_kind, check_spacing};
use crate::finding::{Checked, Finding, not_negative};
use crate::simulation::Simulation;
use crate::{Scenario, ScenarioError, ScenarioSource};

/// `system.regions`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regions {
    /// Side lengths of the box, from the origin, in units of sigma (in 2D the third is ignored).
    #[serde(rename = "box")]
    #[schemars(transform = lengths)]
    pub lengths: [f64; 3],
    /// Lattices in parts of the box.
    pub lattices: Vec<RegionLattice>,
}

/// `system.regions.lattices`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionLattice {
    /// Kind of the unit cell.
    pub kind: LatticeKind,
    /// Reduced number density; exactly one of `density` and `spacing`.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = DENSITY))]
    pub density: Option<f64>,
    /// Lattice constant in units of sigma.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = SPACING))]
    pub spacing: Option<f64>,
    /// Lower corner of the region, at which a lattice site lies, in units of sigma.
    pub low: [f64; 3],
    /// Upper corner; sites on the upper faces are left out (in 2D the third component is ignored).
    pub high: [f64; 3],
    /// Species of the particles; by default it is drawn by the fractions of the species.
    pub species: Option<String>,
}

/// `system.gas`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gas {
    /// Number of particles.
    #[schemars(range(min = 1), extend("$comment" = "the number of particles"))]
    pub atoms: u64,
    /// Reduced number density in a cubic box; exactly one of `density` and `box`.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "particles per volume, for example 0.1"))]
    pub density: Option<f64>,
    /// Side lengths of the box in units of sigma.
    #[serde(rename = "box")]
    #[schemars(transform = lengths)]
    pub lengths: Option<[f64; 3]>,
    /// Smallest distance between two particles, and between a particle and a face that is not
    /// periodic, in units of sigma.
    #[serde(default = "usual_distance")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "in sigma, for example 0.9"))]
    pub minimal_distance: f64,
}

/// Adds the range of the side lengths of a box to their schema.
fn lengths(schema: &mut Schema) {
    schema.insert("$comment".to_owned(), "a side length in sigma".into());
    if let Some(length) = schema.get_mut("items") {
        length["exclusiveMinimum"] = 0.into();
    }
}

fn usual_distance() -> f64 {
    0.9
}

impl RegionLattice {
    fn spacing(&self) -> f64 {
        self.spacing.or(self.density.map(|density| self.kind.spacing(density))).unwrap_or(1.0)
    }
}

impl Gas {
    fn made(&self, system: &System, simulation: &Simulation) -> RandomGas {
        let dimensions = usize::from(simulation.dimension);
        let density = self.density.unwrap_or(1.0);
        let side = (self.atoms as f64 / density).powf(1.0 / f64::from(simulation.dimension));
        let cube = if dimensions == 2 { [side, side, 1.0] } else { [side; 3] };
        RandomGas::new(GasKeys {
            atoms: self.atoms,
            lengths: self.lengths.unwrap_or(cube),
            is_periodic: system.boundary.map(|boundary| boundary == Boundary::Periodic),
            dimensions,
            least_distance: self.minimal_distance,
            seed: simulation.seed,
        })
    }
}

/// Returns the gas of a scenario, or `None` if it has no gas.
///
/// ```
/// use md_scenario::{ScenarioSource, gas, load};
///
/// let text = r#"
///     [simulation]
///     steps = 1
///     [system]
///     gas = { atoms = 8, density = 0.1 }
///     temperature = 1.0
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let scenario = load(&source)?;
/// assert!(gas(&scenario).is_some());
/// assert_eq!(scenario.system.gas.map(|gas| gas.minimal_distance), Some(0.9));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
pub fn gas(scenario: &Scenario) -> Option<RandomGas> {
    let Scenario { system, simulation, .. } = scenario;
    system.gas.as_ref().map(|gas| gas.made(system, simulation))
}

/// Returns the lattices in parts of the box, or `None` if the scenario has none.
///
/// # Errors
/// Returns an error if a species does not exist or the regions contain no site.
///
/// ```
/// use md_scenario::{ScenarioSource, load, regions};
///
/// let text = r#"
///     [simulation]
///     steps = 1
///     [system]
///     temperature = 1.0
///     [system.regions]
///     box = [8.0, 8.0, 8.0]
///     lattices = [{ kind = "sc", spacing = 2.0, low = [0.0, 0.0, 0.0], high = [8.0, 8.0, 4.0] }]
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// // 4 x 4 sites in each of two layers.
/// let sites = regions(&source, &load(&source)?)?.map(|regions| regions.len());
/// assert_eq!(sites, Some(32));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
pub fn regions(
    source: &ScenarioSource,
    scenario: &Scenario,
) -> Result<Option<LatticeRegions>, ScenarioError> {
    let Some(regions) = &scenario.system.regions else { return Ok(None) };
    let species = |number: usize, name: &str| {
        let found = scenario.species.iter().position(|species| species.name == name);
        found.map(|index| index as u32).ok_or_else(|| {
            let names: Vec<_> =
                scenario.species.iter().map(|species| format!("`{}`", species.name)).collect();
            let help = format!("one of {}", names.join(", "));
            let key = format!("system.regions.lattices[{number}].species");
            ScenarioError::at(source, &key, format!("there is no species `{name}`"), help)
        })
    };
    let region = |(number, lattice): (usize, &RegionLattice)| {
        let species = lattice.species.as_deref().map(|name| species(number, name)).transpose()?;
        let RegionLattice { kind, low, high, .. } = *lattice;
        Ok(LatticeRegion::new(kind, lattice.spacing(), [low, high], species))
    };
    let parts = regions.lattices.iter().enumerate().map(region).collect::<Result<Vec<_>, ScenarioError>>()?;
    let made = LatticeRegions::new(regions.lengths, parts);
    if made.is_empty() {
        let message = "no region has a site of its lattice".to_owned();
        return Err(ScenarioError::at(source, "system.regions.lattices", message, "larger regions"));
    }
    Ok(Some(made))
}

pub(super) fn check_regions(regions: &Regions, simulation: &Simulation) -> Checked {
    if regions.lattices.is_empty() {
        let message = "`system.regions` has no lattices";
        return Err(Finding::new("system.regions.lattices", message, "one per part of the box"));
    }
    for (number, lattice) in regions.lattices.iter().enumerate() {
        let path = format!("system.regions.lattices[{number}]");
        check_kind(&path, lattice.kind, simulation)?;
        check_spacing(&path, lattice.density, lattice.spacing)?;
        for dim in 0..usize::from(simulation.dimension) {
            let (low, high, length) = (lattice.low[dim], lattice.high[dim], regions.lengths[dim]);
            not_negative(&format!("{path}.low[{dim}]"), low, "in sigma, from the lower corner of the box")?;
            if !(high > low && high <= length) {
                let key = format!("{path}.high[{dim}]");
                let message = format!(
                    "`{key}` is {high:?}, not between {low:?}, where the region begins, and {length:?}"
                );
                let help = "a region lies in the box and has its lower corner below its upper one";
                return Err(Finding::new(key, message, help));
            }
            if (high - low) / lattice.spacing() > f64::from(u32::MAX) {
                let message = format!("`{path}` has more unit cells than can be counted");
                return Err(Finding::new(path, message, "a smaller region, or a larger lattice constant"));
            }
        }
        if simulation.dimension == 2 && lattice.low[2] != 0.0 {
            let message = "all particles of a 2D simulation lie in one plane";
            return Err(Finding::new(format!("{path}.low[2]"), message, "write 0"));
        }
    }
    Ok(())
}

pub(super) fn check_gas(gas: &Gas, system: &System, simulation: &Simulation) -> Checked {
    match (gas.density, gas.lengths) {
        (Some(_), None) | (None, Some(_)) => (),
        (Some(_), Some(_)) => {
            let message = "both `density` and `box` of the gas are given";
            let finding = Finding::new("system.gas.box", message, "keep one: each follows from the other");
            return Err(finding.at_key().or_at("system.gas.density"));
        }
        (None, None) => {
            let message = "the gas has neither `density` nor `box`";
            return Err(Finding::new("system.gas", message, "give one, for example `density = 0.1`"));
        }
    }
    let filled = gas.made(system, simulation).filled();
    if filled > RandomGas::MOST_FILLED {
        let message = format!(
            "{} particles {:?} apart would fill {filled:.2} of the box (particles times the distance to the power of {}, \
             per volume), more than {}",
            gas.atoms,
            gas.minimal_distance,
            simulation.dimension,
            RandomGas::MOST_FILLED
        );
        let help = "a smaller distance, a lower density, or a lattice";
        return Err(Finding::new("system.gas.minimal_distance", message, help).or_at("system.gas"));
    }
    Ok(())
}
