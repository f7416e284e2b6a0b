//! `msd.csv`: mean squared displacements by species, as defined by LAMMPS's `compute msd`, and
//! diffusion coefficients.

use md_comm::World;
use md_core::analysis::{Origins, error_of_mean, mean};
use md_engine::analysis::{Quantity, Tracks};
use md_engine::{Needs, ObserverError, Snapshot};
use md_scenario::{AnalysisKeys, AnalysisKind, CentreOfMass};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::super::run_output::Opening;
use super::Analysis;

/// Mean squared displacements over the samples so far.
pub(super) struct Msd {
    /// Number of species.
    species: usize,
    masses: Vec<f64>,
    centre_of_mass: CentreOfMass,
    dimensions: usize,
    /// Time between two samples, \[time\].
    interval: f64,
    tracks: Tracks,
    /// Values that are equal on all ranks: one per species, then one per species for the motion
    /// relative to the centre of mass.
    origins: Origins,
}

impl Analysis for Msd {
    const KIND: AnalysisKind = md_scenario::Msd::KIND;
    const NEEDS: Needs = Needs::NOTHING;
    const HAS_TRACKS: bool = true;

    fn new(keys: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let (species, most) =
            (opening.scenario.species.len(), opening.scenario.output.analyses.msd?.origins as usize);
        let (interval, centre_of_mass) =
            (keys.every as f64 * opening.scenario.simulation.timestep, keys.centre_of_mass?);
        let origins = match words {
            None => Origins::new(most, 2 * species),
            Some(words) => {
                let (found, words) = words.split_first_chunk()?;
                let is_same = *found == [interval.to_bits(), centre_of_mass as u64];
                Origins::from_words(words, most, 2 * species).filter(|_| is_same)?
            }
        };
        Some(Self {
            species,
            masses: opening.subject.masses.to_vec(),
            centre_of_mass,
            dimensions: opening.subject.domain.dimension.count(),
            interval,
            tracks: Tracks::default(),
            origins,
        })
    }

    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError> {
        let look = self.origins.advance();
        look.dropped.iter().for_each(|&place| drop(self.tracks.then.remove(place)));
        if !look.is_sample {
            return Ok(());
        }
        self.tracks.look(Quantity::UnwrappedPosition, now.particles, now.domain, world)?;
        if look.begins {
            self.tracks.remember();
        }
        let mut sums = self.sums();
        world.sum(&mut sums)?;
        let width = SUMS * self.species;
        let removed = self.centre_of_mass.removed_axes(now.conserved_momentum.0);
        let means = sums.chunks_exact(width).flat_map(|sums| self.mean_squares(sums, removed));
        let means: Vec<f64> = means.collect();
        self.origins.record(means);
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let keys = [self.interval.to_bits(), self.centre_of_mass as u64];
        keys.into_iter().chain(self.origins.words()).collect()
    }

    fn tracks(&mut self) -> Option<(&mut Tracks, usize)> {
        Some((&mut self.tracks, self.origins.count()))
    }

    /// Returns a row per lag.
    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        let first = if self.centre_of_mass.is_removed_from_columns() { self.species } else { 0 };
        (0..self.origins.lags()).map(move |lag| {
            let species = first..first + self.species;
            let found: Vec<_> = species.map(|species| self.origins.at(lag, species)).collect();
            let means: Vec<f64> = found.iter().map(|found| found.mean).collect();
            let errors: Vec<f64> = found.iter().map(|found| found.error).collect();
            let origins = found.first().map_or(0, |found| found.origins);
            (self.time(lag), means, errors, origins)
        })
    }

    /// Returns the diffusion coefficients by Einstein's relation, from a straight line through the
    /// mean squared displacements of each block.
    fn summary(&self, names: &[String]) -> Option<(&'static str, Value)> {
        let of_species = |(species, name): (usize, &String)| {
            let (lags, slopes) = self.origins.slopes(self.species + species)?;
            let per_slope = 1.0 / (2.0 * self.dimensions as f64 * self.time(1));
            let coefficients: Vec<f64> = slopes.iter().map(|slope| slope * per_slope).collect();
            let mut entry = json!({
                "coefficient": mean(&coefficients),
                "blocks": coefficients.len(),
                "fit_from": self.time(*lags.start()),
                "fit_to": self.time(*lags.end()),
            });
            if coefficients.len() > 1 {
                entry["error"] = error_of_mean(&coefficients).into();
            }
            Some((name.clone(), entry))
        };
        let entries: Map<String, Value> = names.iter().enumerate().filter_map(of_species).collect();
        (!entries.is_empty()).then_some(("diffusion", Value::Object(entries)))
    }
}

/// Number of sums of a species: the number of particles, the squared displacements, and the three
/// components of the displacements.
const SUMS: usize = 5;

impl Msd {
    /// Returns the sums of all species for each origin, on this rank.
    fn sums(&self) -> Vec<f64> {
        /// Number of particles for which the current positions stay in the innermost cache during
        /// the loop over all origins.
        const BLOCK: usize = 1024;
        let Tracks { species, now, then, .. } = &self.tracks;
        let width = SUMS * self.species;
        let mut sums = vec![0.0; width * then.len()];
        for start in (0..now.len()).step_by(BLOCK) {
            let block = start..now.len().min(start + BLOCK);
            let (species, now) = (&species[block.clone()], &now[block.clone()]);
            for (then, sums) in then.iter().zip(sums.chunks_exact_mut(width)) {
                let then = &then[block.clone()];
                match width {
                    SUMS => add_all(sums, now, then),
                    _ => add_by_species(sums, species, now, then),
                }
            }
        }
        sums
    }

    /// Returns the mean squared displacements by species from sums over all ranks: first as they
    /// are, then relative to the displacement of the centre of mass along the `removed` axes.
    fn mean_squares(&self, sums: &[f64], removed: [bool; 3]) -> Vec<f64> {
        let mass: f64 = sums.chunks_exact(SUMS).zip(&self.masses).map(|(sums, mass)| sums[0] * mass).sum();
        let along = |at: usize| -> f64 {
            sums.chunks_exact(SUMS).zip(&self.masses).map(|(sums, mass)| sums[at] * mass).sum()
        };
        let centre = [0, 1, 2].map(|dim: usize| if removed[dim] { along(2 + dim) / mass } else { 0.0 });
        let about = |centre: [f64; 3]| {
            move |sums: &[f64]| {
                let count = sums[0].max(1.0);
                let mean = [2, 3, 4].map(|at: usize| sums[at] / count);
                // This is part of the mean of (d - c)^2.
                let shifted = |(c, mean): (f64, f64)| c * (c - 2.0 * mean);
                sums[1] / count + centre.into_iter().zip(mean).map(shifted).sum::<f64>()
            }
        };
        let species = || sums.chunks_exact(SUMS);
        species().map(about([0.0; 3])).chain(species().map(about(centre))).collect()
    }

    /// Returns the time of a lag, \[time\].
    fn time(&self, lag: usize) -> f64 {
        lag as f64 * (self.origins.thinning() as f64 * self.interval)
    }
}

/// Adds the displacements of particles to the sums of their species.
fn add_by_species(sums: &mut [f64], species: &[u32], now: &[[f64; 3]], then: &[[f64; 3]]) {
    /// Number of partial sums that are used in turn, so that no addition waits for the previous
    /// one.
    const TURNS: usize = 4;
    let mut turns = vec![[[0.0; SUMS]; TURNS]; sums.len() / SUMS];
    for (index, ((now, then), &species)) in now.iter().zip(then).zip(species).enumerate() {
        let [x, y, z] = [now[0] - then[0], now[1] - then[1], now[2] - then[2]];
        let terms = [1.0, x * x + y * y + z * z, x, y, z];
        let sums = &mut turns[species as usize][index % TURNS];
        (0..SUMS).for_each(|place| sums[place] += terms[place]);
    }
    let of_species = |turns: &[[f64; SUMS]; TURNS], place: usize| turns.iter().map(|sums| sums[place]).sum();
    let found =
        turns.iter().flat_map(|turns| (0..SUMS).map(move |place| -> f64 { of_species(turns, place) }));
    sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
}

/// Does what `add_by_species` does for a single species, in a loop without species that the
/// compiler can vectorise.
fn add_all(sums: &mut [f64], now: &[[f64; 3]], then: &[[f64; 3]]) {
    /// Number of components of four particles.
    const LANES: usize = 12;
    let (mut distances, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |now: &[f64], then: &[f64]| {
        for (lane, (now, then)) in now.iter().zip(then).enumerate() {
            let distance = now - then;
            distances[lane] += distance;
            squares[lane] += distance * distance;
        }
    };
    let (now_fours, now_rest) = now.as_flattened().as_chunks::<LANES>();
    let (then_fours, then_rest) = then.as_flattened().as_chunks::<LANES>();
    now_fours.iter().zip(then_fours).for_each(|(now, then)| add(now, then));
    add(now_rest, then_rest);
    let along = |dim: usize| distances.iter().skip(dim).step_by(3).sum();
    let found = [now.len() as f64, squares.iter().sum(), along(0), along(1), along(2)];
    sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
}
