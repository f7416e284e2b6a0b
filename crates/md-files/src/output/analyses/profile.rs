//! `profile_z.csv`: density, temperature, pressure and velocity in slabs along an axis, as defined
//! by LAMMPS's `compute chunk/atom bin/1d` and `fix ave/chunk`.

use md_comm::World;
use md_core::analysis::Batches;
use md_engine::analysis::{SlabSums, Slabs};
use md_engine::{Needs, ObserverError, Snapshot};
use md_scenario::{AnalysisKeys, AnalysisKind, Profile as ProfileKeys};
use serde::Serialize;

use super::super::run_output::Opening;
use super::Analysis;

/// Averages over the samples so far, which are equal on all ranks.
pub(super) struct Profile {
    slabs: Slabs,
    species: Vec<String>,
    masses: Vec<f64>,
    dimensions: usize,
    /// Whether the virial of the particles is known.
    has_pressure: bool,
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

const AXES: [&str; 3] = ["x", "y", "z"];

/// How a column is computed from the quantities of a slab.
enum Column {
    /// The mean of a quantity.
    Mean(usize),
    /// The sum of a quantity over particles, divided by a factor and by the number of particles.
    PerParticle(usize, f64),
}

impl Analysis for Profile {
    const KIND: AnalysisKind = ProfileKeys::KIND;
    const NEEDS: Needs = Needs::VELOCITIES.with(Needs::PARTICLE_VIRIALS);

    fn new(keys: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let keys = opening.scenario.output.analyses.profile.iter().find(|it| it.file() == keys.file)?;
        let slabs = Slabs { axis: keys.axis as usize, bins: keys.bins as usize };
        let species = opening.species();
        let width = slabs.bins * (DENSITIES + species.len()) + 2;
        let batches = match words {
            None => Batches::new(width),
            Some(words) => {
                let (shape, words) = words.split_first_chunk()?;
                let is_same = *shape == [slabs.bins as u64, species.len() as u64];
                Batches::from_words(words, width).filter(|_| is_same)?
            }
        };
        let (masses, dimensions) =
            (opening.subject.masses.to_vec(), opening.subject.domain.dimension.count());
        Some(Self { slabs, species, masses, dimensions, has_pressure: true, batches })
    }

    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError> {
        let slabs = self.slabs.sums(now, &self.masses, world)?;
        let Slabs { axis, bins } = self.slabs;
        let ends = [now.domain.origin[axis], now.domain.lengths[axis]];
        let volume = now.domain.volume() / bins as f64;
        let of_slab = |slab: &SlabSums| {
            let SlabSums { counts, twice_kinetic, velocity: [vx, vy, vz], stress, .. } = slab;
            let count: f64 = counts.iter().sum();
            let [xx, yy, zz] = stress.map(|sum| sum / volume);
            let mut all = vec![count / volume, xx, yy, zz, count, *twice_kinetic, *vx, *vy, *vz];
            all.extend(counts.iter().map(|count| count / volume));
            all
        };
        self.has_pressure = now.particle_virials.is_some();
        self.batches.add(slabs.iter().flat_map(of_slab).chain(ends));
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let shape = [self.slabs.bins as u64, self.species.len() as u64];
        shape.into_iter().chain(self.batches.words()).collect()
    }

    fn columns(&self, _: &AnalysisKeys, _: &[String]) -> Vec<String> {
        let means: Vec<String> = self.quantities().into_iter().map(|(name, _)| name).collect();
        let errors: Vec<String> = means.iter().map(|name| ProfileKeys::error_column(name)).collect();
        [vec![AXES[self.slabs.axis].to_owned()], means, errors].concat()
    }

    /// Returns a row per slab: the middle of the slab, then means and their errors.
    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        let (means, errors) = (self.batches.means(), self.batches.errors());
        let (bins, species) = (self.slabs.bins, self.species.len());
        let ends = bins * (DENSITIES + species);
        let (low, length) = (means[ends], means[ends + 1]);
        let columns = self.quantities();
        let known = if self.batches.samples() > 0 { bins } else { 0 };
        (0..known).map(move |slab| {
            let first = slab * (DENSITIES + species);
            let value = |(_, column): &(String, Column)| match *column {
                Column::Mean(at) => (means[first + at], errors[first + at]),
                Column::PerParticle(at, parts) => {
                    let (ratio, error) = self.batches.ratio(first + at, first + PARTICLES);
                    (ratio / parts, error / parts)
                }
            };
            let (values, errors): (Vec<f64>, Vec<f64>) = columns.iter().map(value).unzip();
            (low + (slab as f64 + 0.5) * length / bins as f64, values, errors)
        })
    }
}

impl Profile {
    /// Returns the columns between the first one and the errors.
    fn quantities(&self) -> Vec<(String, Column)> {
        let Self { dimensions, ref species, .. } = *self;
        let mut columns = vec![
            ("density".to_owned(), Column::Mean(DENSITY)),
            ("temperature".to_owned(), Column::PerParticle(TWICE_KINETIC, dimensions as f64)),
        ];
        let axes = || AXES.iter().enumerate().take(dimensions);
        if self.has_pressure {
            columns.extend(
                axes().map(|(dim, axis)| (format!("pressure_{axis}{axis}"), Column::Mean(PRESSURES + dim))),
            );
        }
        columns.extend(
            axes()
                .map(|(dim, axis)| (format!("velocity_{axis}"), Column::PerParticle(VELOCITIES + dim, 1.0))),
        );
        if species.len() > 1 {
            let named = |(kind, name): (usize, &String)| {
                (ProfileKeys::density_column(name), Column::Mean(DENSITIES + kind))
            };
            columns.extend(species.iter().enumerate().map(named));
        }
        columns
    }
}
