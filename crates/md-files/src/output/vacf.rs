//! `vacf.csv`: velocity autocorrelation functions by species, as defined by LAMMPS's
//! `compute vacf`, and their integrals.

use md_comm::World;
use md_engine::analysis::{Quantity, Tracks, Windows};
use md_engine::{Needs, Observer, ObserverError, Snapshot};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::{CentreOfMass, species_columns};

use super::analysis::{SampleSchedule, recalled};
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use super::tables::named_table;
use crate::checkpoint::{OutputMemory, OutputState, ParticleMemory, ParticleRows};
use crate::store::OutputError;

/// Output of velocity autocorrelation functions.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &[KnownFile::VACF], open };

const NAME: &str = "vacf";

struct Vacf<'a> {
    world: &'a dyn World,
    looks: SampleSchedule,
    names: Vec<String>,
    masses: Vec<f64>,
    centre_of_mass: CentreOfMass,
    dimensions: usize,
    /// Time between two samples, \[time\].
    interval: f64,
    tracks: Tracks,
    /// Rows of a checkpoint that have not been sent to their ranks yet.
    restored: Option<&'a ParticleRows>,
    /// Values that are equal on all ranks: one per species, then one per species for the motion
    /// relative to the centre of mass.
    windows: Windows,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { world, scenario, subject, .. } = *opening;
    let Some(keys) = scenario.output.analyses.vacf else { return Ok(Vec::new()) };
    let names: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    let (length, most, width) =
        (keys.lags(scenario.simulation.timestep) as u64, keys.origins, 2 * names.len());
    let interval = keys.every as f64 * scenario.simulation.timestep;
    let read = |words: &[u64]| {
        let (&[then, centre], words) = words.split_first_chunk()?;
        let is_same = then == interval.to_bits() && centre == keys.centre_of_mass as u64;
        let windows = Windows::from_words(words, length, most, width).filter(|_| is_same)?;
        let restored = opening.particle_rows(NAME)?;
        (restored.width == 1 + 3 * windows.open()).then_some((windows, restored))
    };
    let (windows, restored) = match recalled(opening, NAME, read) {
        Some((windows, restored)) => (windows, Some(restored)),
        None => (Windows::new(length, most, width), None),
    };
    Ok(vec![Box::new(Vacf {
        world,
        looks: SampleSchedule::new(keys.every, keys.start),
        names,
        masses: subject.masses.to_vec(),
        centre_of_mass: keys.centre_of_mass,
        dimensions: subject.domain.dimension.count(),
        interval,
        tracks: Tracks::default(),
        restored,
        windows,
    })])
}

/// Number of sums of a species: the number of particles, the products of velocities, the three
/// components of the present velocities, and those of the velocities at the origin.
const SUMS: usize = 8;

impl Vacf<'_> {
    /// Sends the origins of a checkpoint to their ranks, in the first call. *Collective.*
    fn recall(&mut self) -> Result<(), ObserverError> {
        self.restored.take().map_or(Ok(()), |rows| self.tracks.recall(rows, self.world))
    }

    /// Returns the sums of all species for an origin, on this rank.
    fn sums(&self, then: &[[f64; 3]]) -> Vec<f64> {
        let Tracks { species, now, .. } = &self.tracks;
        let mut sums = vec![[0.0; SUMS]; self.names.len()];
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

    /// Returns a table with one row per lag.
    fn csv(&self) -> Result<Vec<u8>, OutputError> {
        let count = self.names.len();
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
        let row = |lag: usize| {
            let of_species = functions.iter().zip(&relative).map(|(function, relative)| {
                let (at, of) = (function[lag], relative[lag]);
                [at.value, at.error, factor * of.integral, factor * of.integral_error]
            });
            (lag as f64 * self.interval, of_species.collect::<Vec<_>>())
        };
        named_table(KnownFile::VACF, &species_columns::vacf(&self.names), (0..lags).map(row))
    }
}

impl Observer for Vacf<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.looks.are_due(step).then_some(Needs::VELOCITIES)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        self.recall()?;
        let begins = self.windows.advance();
        self.tracks.look(Quantity::Velocity, now.particles, now.domain, self.world)?;
        if begins {
            self.tracks.remember();
        }
        let mut sums: Vec<f64> = self.tracks.then.iter().flat_map(|then| self.sums(then)).collect();
        self.world.sum(&mut sums)?;
        let removed = self.centre_of_mass.removed_axes(now.conserved_momentum.0);
        let width = SUMS * self.names.len();
        let means: Vec<f64> = sums.chunks_exact(width).flat_map(|sums| self.means(sums, removed)).collect();
        if self.windows.record(means) {
            self.tracks.then.remove(0);
        }
        Ok(())
    }
}

impl RunOutput for Vacf<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        let keys = [self.interval.to_bits(), self.centre_of_mass as u64];
        let words = keys.into_iter().chain(self.windows.words()).collect();
        Ok(OutputState {
            memory: Some(OutputMemory { name: NAME.to_owned(), words }),
            ..OutputState::default()
        })
    }

    fn particle_memory(&mut self, now: &Snapshot) -> Result<Option<ParticleMemory>, ObserverError> {
        self.recall()?;
        let words = self.tracks.rows(now.particles, self.world)?;
        Ok(Some(ParticleMemory { name: NAME.to_owned(), width: 3 * self.tracks.then.len(), words }))
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        Ok(closing.write_whole(KnownFile::VACF, || self.csv())?)
    }
}
