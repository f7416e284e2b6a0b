//! `profile_z.csv`: density, temperature, pressure and velocity in slabs along an axis, as defined
//! by LAMMPS's `compute chunk/atom bin/1d` and `fix ave/chunk`.

use md_comm::World;
use md_core::analysis::Batches;
use md_engine::analysis::{SlabSums, Slabs};
use md_engine::{Needs, Observer, ObserverError, Snapshot};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::name_of;
use md_scenario::species_columns::{density, error_of};

use super::analysis::{SampleSchedule, recalled};
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use super::tables::named_table;
use crate::checkpoint::{OutputMemory, OutputState};
use crate::store::OutputError;

/// Output of profiles.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &KnownFile::PROFILES, open };

struct Profile<'a> {
    world: &'a dyn World,
    looks: SampleSchedule,
    slabs: Slabs,
    axis: String,
    species: Vec<String>,
    masses: &'a [f64],
    dimensions: usize,
    /// Averages, which are equal on all ranks.
    averages: Averages,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { world, scenario, subject, .. } = *opening;
    let species: Vec<String> = scenario.species.iter().map(|species| species.name.clone()).collect();
    let profile = |keys: &md_scenario::Profile| {
        let slabs = Slabs { axis: keys.axis as usize, bins: keys.bins as usize };
        let axis = name_of(keys.axis);
        let read = |words: &[u64]| Averages::from_words(words, slabs.bins, species.len());
        let averages = recalled(opening, &memory_name(&axis), read);
        let averages = averages.unwrap_or_else(|| Averages::new(slabs.bins, species.len()));
        let looks = SampleSchedule::new(keys.every, keys.start);
        let (species, dimensions) = (species.clone(), subject.domain.dimension.count());
        let masses = subject.masses;
        Box::new(Profile { world, looks, slabs, axis, species, masses, dimensions, averages }) as Box<_>
    };
    Ok(scenario.output.analyses.profile.iter().map(profile).collect())
}

fn memory_name(axis: &str) -> String {
    format!("profile_{axis}")
}

impl Observer for Profile<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        self.looks.are_due(step).then_some(Needs::VELOCITIES | Needs::PARTICLE_VIRIALS)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let sums = self.slabs.sums(now, self.masses, self.world)?;
        let Slabs { axis, bins } = self.slabs;
        let ends = [now.domain.origin[axis], now.domain.lengths[axis]];
        let pressure = if now.particle_virials.is_some() { Pressure::Known } else { Pressure::Unknown };
        self.averages.add(&sums, now.domain.volume() / bins as f64, ends, pressure);
        Ok(())
    }
}

impl RunOutput for Profile<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        let memory = OutputMemory { name: memory_name(&self.axis), words: self.averages.words() };
        Ok(OutputState { memory: Some(memory), ..OutputState::default() })
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        let file = KnownFile::PROFILES[self.slabs.axis];
        Ok(closing.write_whole(file, || self.averages.csv(file, &self))?)
    }
}

/// Whether the virial of the particles is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pressure {
    Known,
    Unknown,
}

/// Averages over samples.
#[derive(Debug, Clone, PartialEq)]
struct Averages {
    bins: usize,
    species: usize,
    pressure: Pressure,
    /// The quantities of each slab, then the lower end and the length of the box.
    batches: Batches,
}

/// Indices of the quantities of a slab: density, pressures, number of particles, twice their
/// kinetic energy, their velocities; then densities by species.
const DENSITY: usize = 0;
const PRESSURES: usize = 1;
const PARTICLES: usize = 4;
const TWICE_KINETIC: usize = 5;
const VELOCITIES: usize = 6;
const DENSITIES: usize = 9;

/// How a column is computed from the quantities of a slab.
enum Column {
    /// The mean of a quantity.
    Mean(usize),
    /// The sum of a quantity over particles, divided by a factor and by the number of particles.
    PerParticle(usize, f64),
}

impl Averages {
    fn new(bins: usize, species: usize) -> Self {
        Self { bins, species, pressure: Pressure::Known, batches: Batches::new(width(bins, species)) }
    }

    fn add(&mut self, slabs: &[SlabSums], volume: f64, ends: [f64; 2], pressure: Pressure) {
        self.pressure = pressure;
        let of_slab = |slab: &SlabSums| {
            let SlabSums { counts, twice_kinetic, velocity: [vx, vy, vz], stress, .. } = slab;
            let count: f64 = counts.iter().sum();
            let [xx, yy, zz] = stress.map(|sum| sum / volume);
            let mut all = vec![count / volume, xx, yy, zz, count, *twice_kinetic, *vx, *vy, *vz];
            all.extend(counts.iter().map(|count| count / volume));
            all
        };
        self.batches.add(slabs.iter().flat_map(of_slab).chain(ends));
    }

    /// Returns the columns after the first one.
    fn columns(&self, dimensions: usize, species: &[String]) -> Vec<(String, Column)> {
        const AXES: [&str; 3] = ["x", "y", "z"];
        let mut columns = vec![
            ("density".to_owned(), Column::Mean(DENSITY)),
            ("temperature".to_owned(), Column::PerParticle(TWICE_KINETIC, dimensions as f64)),
        ];
        let axes = || AXES.iter().enumerate().take(dimensions);
        if self.pressure == Pressure::Known {
            columns.extend(
                axes().map(|(dim, axis)| (format!("pressure_{axis}{axis}"), Column::Mean(PRESSURES + dim))),
            );
        }
        columns.extend(
            axes()
                .map(|(dim, axis)| (format!("velocity_{axis}"), Column::PerParticle(VELOCITIES + dim, 1.0))),
        );
        if species.len() > 1 {
            let named = |(kind, name): (usize, &String)| (density(name), Column::Mean(DENSITIES + kind));
            columns.extend(species.iter().enumerate().map(named));
        }
        columns
    }

    /// Returns a table with one row per slab, if there are samples: the middle of the slab, then
    /// means and their errors.
    fn csv(&self, file: KnownFile, profile: &Profile) -> Result<Vec<u8>, OutputError> {
        let (means, errors) = (self.batches.means(), self.batches.errors());
        let ends = self.bins * (DENSITIES + self.species);
        let (low, length) = (means[ends], means[ends + 1]);
        let columns = self.columns(profile.dimensions, &profile.species);
        let row = |slab: usize| {
            let first = slab * (DENSITIES + self.species);
            let value = |(_, column): &(String, Column)| match *column {
                Column::Mean(at) => (means[first + at], errors[first + at]),
                Column::PerParticle(at, parts) => {
                    let (ratio, error) = self.batches.ratio(first + at, first + PARTICLES);
                    (ratio / parts, error / parts)
                }
            };
            let (values, errors): (Vec<f64>, Vec<f64>) = columns.iter().map(value).unzip();
            (low + (slab as f64 + 0.5) * length / self.bins as f64, values, errors)
        };
        let mut header = vec![profile.axis.clone()];
        header.extend(columns.iter().map(|(name, _)| name.clone()));
        header.extend(columns.iter().map(|(name, _)| error_of(name)));
        let known = if self.batches.samples() > 0 { self.bins } else { 0 };
        named_table(file, &header, (0..known).map(row))
    }

    fn words(&self) -> Vec<u64> {
        [self.bins as u64, self.species as u64].into_iter().chain(self.batches.words()).collect()
    }

    fn from_words(words: &[u64], bins: usize, species: usize) -> Option<Self> {
        let (shape, words) = words.split_first_chunk::<2>()?;
        let batches = Batches::from_words(words, width(bins, species))?;
        (*shape == [bins as u64, species as u64]).then(|| Self { batches, ..Self::new(bins, species) })
    }
}

fn width(bins: usize, species: usize) -> usize {
    bins * (DENSITIES + species) + 2
}
