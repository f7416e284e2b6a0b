//! What frames lack: values that replace it, and notes about them.

use std::path::Path;

use md_core::{Dimension, Domain};
use md_files::input::InputParticles;
use md_scenario::messages::note;
use md_scenario::{CentreOfMass, Positions, Scenario, Trajectory};

use crate::setup;

/// Mass of a species for which neither scenario nor file gives one.
const DEFAULT_MASS: f64 = 1.0;

/// Prints notes about the units of the first frame, and about the data that it lacks.
pub(super) fn note_frame(scenario: &Scenario, frame: &InputParticles) {
    frame.note_of_units().iter().for_each(|text| note(text));
    note_masses(scenario, frame);
    note_lacks(scenario, frame);
}

/// Returns the mass of each species, if scenario or frame gives one.
fn known_masses(scenario: &Scenario, frame: &InputParticles) -> impl Iterator<Item = Option<f64>> {
    let of_file = |index: usize| frame.masses.get(index).copied().flatten();
    scenario.species.iter().enumerate().map(move |(index, species)| species.mass.or(of_file(index)))
}

pub(super) fn masses(scenario: &Scenario, frame: &InputParticles) -> Vec<f64> {
    known_masses(scenario, frame).map(|mass| mass.unwrap_or(DEFAULT_MASS)).collect()
}

/// Prints a note if the run took masses from a file that is not read here, and results depend on
/// them.
fn note_masses(scenario: &Scenario, frame: &InputParticles) {
    let output = &scenario.output;
    let mut centres = output.analyses.keys().into_iter().filter_map(|keys| keys.centre_of_mass);
    let is_removed = |centre: CentreOfMass| centre != CentreOfMass::Kept;
    let has_centre = scenario.species.len() > 1 && centres.any(is_removed);
    let has_momenta = frame.velocities.is_none() && frame.momenta.is_some();
    let is_needed = !output.analyses.profile.is_empty() || has_centre || has_momenta;
    if scenario.system.file.is_none() || !is_needed {
        return;
    }
    let unknown =
        scenario.species.iter().zip(known_masses(scenario, frame)).filter(|(_, mass)| mass.is_none());
    for (species, _) in unknown {
        let name = &species.name;
        note(&format!(
            "neither scenario nor trajectory gives the mass of species `{name}`: {DEFAULT_MASS:?} is taken"
        ));
    }
}

/// Returns whether the scenario requests unwrapped positions for this trajectory. Not every format
/// marks them.
pub(super) fn is_unwrapped(scenario: &Scenario, path: &Path) -> bool {
    let same_name = |own: &Trajectory| Path::new(&own.path).file_name() == path.file_name();
    let own = scenario.output.trajectory.as_ref().filter(|own| same_name(own));
    own.is_some_and(|own| own.positions == Positions::Unwrapped)
}

/// Returns along which axes the number of crossings of the faces is known.
pub(super) fn told_images(frame: &InputParticles, is_unwrapped: bool) -> [bool; 3] {
    if frame.tells_images == [false; 3] { [is_unwrapped; 3] } else { frame.tells_images }
}

/// Prints notes about the values that replace data missing in the frames.
fn note_lacks(scenario: &Scenario, frame: &InputParticles) {
    let species: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    if species.len() > 1 && frame.lacks_types {
        // The check of the content returns an error for these frames.
        return;
    }
    frame.notes_of_lacks(&species).iter().for_each(|text| note(text));
    let untold = frame.untold_axes(setup::periodic_axes(scenario));
    if let (Some(axes), Some(_)) = (untold, scenario.output.analyses.msd) {
        note(&format!(
            "the trajectory has neither image counts nor unwrapped positions along {axes}: `output.msd` holds if no particle \
             moves by more than half of the box between two frames"
        ));
    }
}

pub(super) fn domain(scenario: &Scenario, frame: &InputParticles) -> Domain {
    let dimension = if scenario.simulation.dimension == 2 { Dimension::Two } else { Dimension::Three };
    let (origin, lengths) = (frame.origin, frame.lengths);
    Domain { dimension, origin, lengths, boundary: scenario.system.boundary }
}
