//! `vacf.csv`: velocity autocorrelation functions by species, as LAMMPS's `compute vacf` defines them, and their integrals.

use md_comm::World;
use md_engine::analysis::{Quantity, Tracks, Windows};
use md_engine::{Needs, Observer, ObserverError, Snapshot};

use super::analysis::{Looks, recalled};
use super::run_output::{
    Closing, Kept, Opened, Opening, OutputKind, ParticleMemory, RunOutput, Scope, StageBegin,
};
use super::tables::named_table;
use super::{KnownFile, OutputError, species_columns};
use crate::checkpoint::{OutputMemory, ParticleRows};
use crate::error::RunError;

/// How long velocities last.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &[KnownFile::VACF], open };

const NAME: &str = "vacf";

struct Vacf<'a> {
    world: &'a dyn World,
    looks: Looks,
    names: Vec<String>,
    dimensions: usize,
    /// Time between two looks, \[time\].
    interval: f64,
    tracks: Tracks,
    /// Rows of a checkpoint, which have not come to their ranks yet.
    restored: Option<&'a ParticleRows>,
    /// The same on all ranks: a value per species.
    windows: Windows,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { world, scenario, subject, .. } = *opening;
    let Some(keys) = scenario.output.vacf else { return Ok(Vec::new()) };
    let names: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    let (length, most, width) = (keys.lags(scenario.simulation.timestep) as u64, keys.origins, names.len());
    let interval = keys.every as f64 * scenario.simulation.timestep;
    let read = |words: &[u64]| {
        let (&[then], words) = words.split_first_chunk()?;
        let is_same = then == interval.to_bits();
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
        looks: Looks::new(keys.every, keys.start),
        names,
        dimensions: subject.domain.dimension.count(),
        interval,
        tracks: Tracks::default(),
        restored,
        windows,
    })])
}

/// Sums of a species: particles, products of velocities.
const SUMS: usize = 2;

impl Vacf<'_> {
    /// Brings the origins of a checkpoint to their ranks, the first time. *Collective.*
    fn recall(&mut self) -> Result<(), ObserverError> {
        self.restored.take().map_or(Ok(()), |rows| self.tracks.recall(rows, self.world))
    }

    /// Sums of all species since an origin, on this rank.
    fn sums(&self, then: &[[f64; 3]]) -> Vec<f64> {
        let Tracks { species, now, .. } = &self.tracks;
        let mut sums = vec![0.0; SUMS * self.names.len()];
        for ((now, then), &species) in now.iter().zip(then).zip(species) {
            let product: f64 = now.iter().zip(then).map(|(now, then)| now * then).sum();
            let place = SUMS * species as usize;
            sums[place] += 1.0;
            sums[place + 1] += product;
        }
        sums
    }

    /// One row per lag.
    fn csv(&self) -> Result<Vec<u8>, OutputError> {
        let functions: Vec<_> = (0..self.names.len()).map(|species| self.windows.function(species)).collect();
        let lags = functions.first().filter(|_| self.windows.ended() > 0).map_or(0, Vec::len);
        // Green and Kubo: the integral over the number of dimensions.
        let factor = self.interval / self.dimensions as f64;
        let row = |lag: usize| {
            let of_species = functions.iter().map(|function| {
                let at = function[lag];
                [at.value, at.error, factor * at.integral, factor * at.integral_error]
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
        if self.windows.record(sums.chunks_exact(SUMS).map(|sums| sums[1] / sums[0].max(1.0))) {
            self.tracks.then.remove(0);
        }
        Ok(())
    }
}

impl RunOutput for Vacf<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<Kept, ObserverError> {
        let words = std::iter::once(self.interval.to_bits()).chain(self.windows.words()).collect();
        Ok(Kept { memory: Some(OutputMemory { name: NAME.to_owned(), words }), ..Kept::default() })
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
