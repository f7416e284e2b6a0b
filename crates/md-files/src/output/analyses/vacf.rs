//! `vacf.csv`: velocity autocorrelation functions by species, as defined by LAMMPS's
//! `compute vacf`, and their integrals.

use md_comm::World;
use md_engine::analysis::{Quantity, Tracks, Windows};
use md_engine::{Needs, ObserverError, Snapshot};
use md_scenario::{AnalysisKeys, AnalysisKind, CentreOfMass};
use serde::Serialize;

use super::super::run_output::Opening;
use super::Analysis;

/// Velocity autocorrelation functions over the samples so far.
pub(super) struct Vacf {
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
    windows: Windows,
}

impl Analysis for Vacf {
    const KIND: AnalysisKind = md_scenario::Vacf::KIND;
    const NEEDS: Needs = Needs::VELOCITIES;
    const HAS_TRACKS: bool = true;

    fn new(keys: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let timestep = opening.scenario.simulation.timestep;
        let species = opening.scenario.species.len();
        let (length, most) = (keys.lags(timestep) as u64, opening.scenario.output.analyses.vacf?.origins);
        let (interval, centre_of_mass) = (keys.every as f64 * timestep, keys.centre_of_mass?);
        let windows = match words {
            None => Windows::new(length, most, 2 * species),
            Some(words) => {
                let (found, words) = words.split_first_chunk()?;
                let is_same = *found == [interval.to_bits(), centre_of_mass as u64];
                Windows::from_words(words, length, most, 2 * species).filter(|_| is_same)?
            }
        };
        Some(Self {
            species,
            masses: opening.subject.masses.to_vec(),
            centre_of_mass,
            dimensions: opening.subject.domain.dimension.count(),
            interval,
            tracks: Tracks::default(),
            windows,
        })
    }

    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError> {
        let begins = self.windows.advance();
        self.tracks.look(Quantity::Velocity, now.particles, now.domain, world)?;
        if begins {
            self.tracks.remember();
        }
        let mut sums: Vec<f64> = self.tracks.then.iter().flat_map(|then| self.sums(then)).collect();
        world.sum(&mut sums)?;
        let removed = self.centre_of_mass.removed_axes(now.conserved_momentum.0);
        let width = SUMS * self.species;
        let means: Vec<f64> = sums.chunks_exact(width).flat_map(|sums| self.means(sums, removed)).collect();
        if self.windows.record(means) {
            self.tracks.then.remove(0);
        }
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let keys = [self.interval.to_bits(), self.centre_of_mass as u64];
        keys.into_iter().chain(self.windows.words()).collect()
    }

    fn tracks(&mut self) -> Option<(&mut Tracks, usize)> {
        Some((&mut self.tracks, self.windows.open()))
    }

    /// Returns a row per lag.
    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        let count = self.species;
        let function = |value: usize| self.windows.function(value);
        let relative: Vec<_> = (count..2 * count).map(function).collect();
        let functions: Vec<_> = match self.centre_of_mass.is_removed_from_columns() {
            true => relative.clone(),
            false => (0..count).map(function).collect(),
        };
        let lags = functions.first().filter(|_| self.windows.ended() > 0).map_or(0, Vec::len);
        // By the Green-Kubo relation the diffusion coefficient is the integral over the number of
        // dimensions.
        let factor = self.interval / self.dimensions as f64;
        (0..lags).map(move |lag| {
            let of_species = functions.iter().zip(&relative).map(|(function, relative)| {
                let (at, of) = (function[lag], relative[lag]);
                [at.value, at.error, factor * of.integral, factor * of.integral_error]
            });
            (lag as f64 * self.interval, of_species.collect::<Vec<_>>())
        })
    }
}

/// Number of sums of a species: the number of particles, the products of velocities, the three
/// components of the present velocities, and those of the velocities at the origin.
const SUMS: usize = 8;

impl Vacf {
    /// Returns the sums of all species for an origin, on this rank.
    fn sums(&self, then: &[[f64; 3]]) -> Vec<f64> {
        let Tracks { species, now, .. } = &self.tracks;
        let mut sums = vec![[0.0; SUMS]; self.species];
        for ((now, then), &species) in now.iter().zip(then).zip(species) {
            let product: f64 = now.iter().zip(then).map(|(now, then)| now * then).sum();
            let [[x, y, z], [x0, y0, z0]] = [*now, *then];
            let terms = [1.0, product, x, y, z, x0, y0, z0];
            sums[species as usize].iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        sums.into_flattened()
    }

    /// Returns the mean products of velocities by species from sums over all ranks: first as they
    /// are, then relative to the velocity of the centre of mass along the `removed` axes.
    fn means(&self, sums: &[f64], removed: [bool; 3]) -> Vec<f64> {
        let species = || sums.chunks_exact(SUMS);
        let mass: f64 = species().zip(&self.masses).map(|(sums, mass)| sums[0] * mass).sum();
        let centre = |at: usize| -> f64 {
            let momentum: f64 = species().zip(&self.masses).map(|(sums, mass)| sums[at] * mass).sum();
            momentum / mass
        };
        let axes: Vec<usize> = (0..3).filter(|&dim| removed[dim]).collect();
        let [now, then] = [2, 5].map(|first| axes.iter().map(|dim| centre(first + dim)).collect::<Vec<_>>());
        let relative = |sums: &[f64]| {
            // This is part of the sum of (v - V) (v0 - V0).
            let change = axes
                .iter()
                .zip(now.iter().zip(&then))
                .map(|(dim, (now, then))| sums[0] * now * then - now * sums[5 + dim] - then * sums[2 + dim]);
            (sums[1] + change.sum::<f64>()) / sums[0].max(1.0)
        };
        species().map(|sums| sums[1] / sums[0].max(1.0)).chain(species().map(relative)).collect()
    }
}
