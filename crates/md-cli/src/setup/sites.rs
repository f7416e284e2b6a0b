//! Sites of particles that a scenario describes, and the species on them.

use md_core::lattice::Lattice;
use md_core::thinned::ThinnedLattice;
use md_engine::ParticleSource;
use md_scenario::{self as scenario, Scenario, ScenarioError, ScenarioSource, Species};

use super::Detail;

/// Largest number of sites that are quickly counted.
const FEW_SITES: u64 = 1 << 22;

/// Returns a gas, lattices in parts of the box, all sites of one lattice, or a liquid and its
/// vapour.
pub(super) fn sites(
    source: &ScenarioSource,
    scenario: &Scenario,
    detail: Detail,
) -> Result<ParticleSource, ScenarioError> {
    if let Some(gas) = scenario::gas(scenario) {
        return Ok(ParticleSource::Gas(gas));
    }
    if let Some(regions) = scenario::regions(source, scenario)? {
        return Ok(ParticleSource::Regions(regions));
    }
    let made = lattice(source, scenario)?;
    let of_scenario = scenario.system.lattice.as_ref();
    let Some((lattice, vapour)) = of_scenario.and_then(|lattice| Some((lattice, lattice.vapour.as_ref()?)))
    else {
        return Ok(made.into());
    };
    let dimensions = lattice.kind.dimension().count();
    let volume: f64 = made.lengths()[..dimensions].iter().product();
    let share = vapour.density * volume / made.len() as f64;
    let thinned = match detail {
        Detail::Estimate if is_large(&made, scenario) => ThinnedLattice::estimated,
        Detail::Estimate | Detail::All => ThinnedLattice::new,
    };
    let thinned = thinned(made, dimensions, vapour.regions(), share, scenario.simulation.seed);
    if thinned.is_empty() {
        let message =
            "no site of the lattice is taken: the liquid has no site, and the vapour none by chance";
        let help = "larger regions, a denser vapour or more cells";
        return Err(ScenarioError::at(source, "system.lattice.vapour", message.to_owned(), help));
    }
    Ok(ParticleSource::Thinned(thinned))
}

/// Returns whether it takes long to determine which sites of a lattice are occupied.
pub(super) fn is_large(lattice: &Lattice, scenario: &Scenario) -> bool {
    let vapour = scenario.system.lattice.as_ref().and_then(|lattice| lattice.vapour.as_ref());
    let regions = vapour.map_or(0, |vapour| vapour.droplets.len() + vapour.slabs.len());
    lattice.len().saturating_mul(regions.max(1) as u64) > FEW_SITES
}

fn lattice(source: &ScenarioSource, scenario: &Scenario) -> Result<Lattice, ScenarioError> {
    let Some(lattice) = &scenario.system.lattice else {
        let help = "give `lattice` or `file`";
        return Err(ScenarioError::at(source, "system", "no source of particles", help));
    };
    let spacing = lattice.spacing.or_else(|| lattice.density.map(|density| lattice.kind.spacing(density)));
    let made = Lattice::new(lattice.kind, spacing.unwrap_or(1.0), lattice.cells);
    if made.lengths().iter().all(|length| length.is_finite()) {
        return Ok(made);
    }
    let name = if lattice.density.is_some() { "density" } else { "spacing" };
    let value = lattice.density.or(lattice.spacing).unwrap_or_default();
    let message = format!("`system.lattice.{name}` is {value:?}, which makes the box infinitely long");
    Err(ScenarioError::at(source, &format!("system.lattice.{name}"), message, "a number not far from 1"))
}

/// Returns the share of each species; the one without a `fraction` gets what the others leave.
pub(super) fn shares(species: &[Species]) -> Vec<f64> {
    let given: f64 = species.iter().filter_map(|species| species.fraction).sum();
    species.iter().map(|species| species.fraction.unwrap_or(1.0 - given)).collect()
}
