//! Content of a frame, independent of the format.

use bytemuck::{Pod, Zeroable};
use md_core::Domain;
use md_engine::{Needs, Snapshot};
use md_scenario::{Positions, Trajectory, TrajectoryColumn, TrajectoryPrecision};

use super::super::run_output::Opening;
use super::Format;

/// Properties that are equal in all frames.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FrameLayout {
    /// File name.
    pub(super) path: String,
    /// Which dimensions are periodic.
    pub(super) periodic: [bool; 3],
    /// Labels of the species, in the order of the type numbers.
    pub(super) species: Vec<SpeciesLabel>,
    /// Columns of each particle other than id, type and position.
    pub(super) columns: Vec<TrajectoryColumn>,
    /// Whether positions are wrapped into the box.
    pub(super) positions: Positions,
    /// Precision of real numbers, if the format offers a choice.
    pub(super) precision: TrajectoryPrecision,
}

/// Properties of a species in a trajectory.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpeciesLabel {
    pub(super) name: String,
    pub(super) mass: f64,
}

impl FrameLayout {
    pub(super) fn new(opening: &Opening, trajectory: &Trajectory) -> Self {
        let domain = opening.subject.domain;
        let names = opening.scenario.species.iter().map(|species| species.name.clone());
        let labels = names.zip(opening.subject.masses).map(|(name, &mass)| SpeciesLabel { name, mass });
        Self {
            path: trajectory.path.clone(),
            periodic: [0, 1, 2].map(|dim| domain.is_periodic(dim)),
            species: labels.collect(),
            columns: trajectory.all_columns(),
            positions: trajectory.positions,
            precision: trajectory.precision(),
        }
    }

    /// Returns a message about the precision that coordinates lose as f32, if the box is so large
    /// that it matters.
    pub(super) fn lost_digits(&self, format: &Format, domain: &Domain) -> Option<String> {
        /// Resolution of coordinates in `.xtc`, \[length\].
        const STEP: f64 = 1e-3;
        let is_single = self.precision == TrajectoryPrecision::Single || format.farthest.is_finite();
        let longest = domain.lengths[..domain.dimension.count()].iter().copied().fold(0.0, f64::max);
        let spacing = longest * f64::from(f32::EPSILON);
        (is_single && spacing > STEP).then(|| {
            format!(
                "`{}` holds coordinates as f32: in a box {longest:.3e} long they are {spacing:.1e} apart",
                self.path
            )
        })
    }

    /// Returns the position of a particle as it is written: inside the box, or as it would be
    /// without wrapping.
    pub(super) fn position(&self, frame: &Frame, row: &FrameRow) -> [f64; 3] {
        match self.positions {
            Positions::Wrapped => row.position,
            Positions::Unwrapped => {
                [0, 1, 2].map(|dim| row.position[dim] + f64::from(row.images[dim]) * frame.lengths[dim])
            }
        }
    }
}

/// Time and box of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Frame {
    pub(super) step: u64,
    /// Time of the frame, \[time\].
    pub(super) time: f64,
    /// Lower corner of the box.
    pub(super) origin: [f64; 3],
    /// Edge lengths of the box.
    pub(super) lengths: [f64; 3],
}

/// A particle of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct FrameRow {
    pub(super) id: u64,
    /// Type number, from 1.
    pub(super) kind: u32,
    pub(super) images: [i32; 3],
    /// Position inside the box.
    pub(super) position: [f64; 3],
    pub(super) velocity: [f64; 3],
    pub(super) force: [f64; 3],
    pub(super) mass: f64,
    /// Half the energy of the pairs of the particle.
    pub(super) energy: f64,
}

impl FrameRow {
    pub(super) fn momentum(&self) -> [f64; 3] {
        self.velocity.map(|velocity| self.mass * velocity)
    }
}

/// Returns the quantities that a column requires.
pub(super) fn needs(column: TrajectoryColumn) -> Needs {
    match column {
        TrajectoryColumn::Velocity | TrajectoryColumn::Momentum => Needs::VELOCITIES,
        TrajectoryColumn::Energy => Needs::PARTICLE_ENERGIES,
        TrajectoryColumn::Mass | TrajectoryColumn::Force | TrajectoryColumn::Images => Needs::NOTHING,
    }
}

/// The particles of this rank, in no particular order.
pub(super) struct OwnParticles<'a> {
    pub(super) now: &'a Snapshot<'a>,
    /// Masses of the species.
    pub(super) masses: &'a [f64],
}

impl OwnParticles<'_> {
    pub(super) fn ids(&self) -> &[u64] {
        &self.now.particles.id[..self.now.particles.owned()]
    }

    pub(super) fn row(&self, index: usize) -> FrameRow {
        let Snapshot { particles, domain, .. } = self.now;
        let (position, images) =
            domain.wrap_counting(particles.position_of(index), particles.images_of(index));
        let particle = particles.get(index);
        FrameRow {
            id: particle.id,
            kind: particle.species + 1,
            images: images.0,
            position,
            velocity: particle.velocity,
            force: particles.force_of(index),
            mass: self.mass(index),
            energy: self.energy(index),
        }
    }

    pub(super) fn mass(&self, index: usize) -> f64 {
        self.masses.get(self.now.particles.species[index] as usize).copied().unwrap_or_default()
    }

    pub(super) fn energy(&self, index: usize) -> f64 {
        self.now.particle_energies.and_then(|energies| energies.get(index)).copied().unwrap_or_default()
    }
}

/// Reserves memory, so that a lack of memory is an error and does not kill the process.
///
/// # Errors
/// Returns an error if there is not enough memory.
pub(super) fn make_room<T>(block: &mut Vec<T>, more: usize) -> Result<(), String> {
    let size = md_lab::in_words((more * size_of::<T>()) as f64);
    block
        .try_reserve_exact(more)
        .map_err(|_| format!("out of memory: there is no room for a frame of the trajectory ({size})"))
}

/// Fills `rows` in the order of the ids. Each id must occur once. If no id is missing, the id gives
/// the place of the row directly.
///
/// # Errors
/// Returns an error if there is not enough memory for the rows.
pub(super) fn put_in_order(
    ids: impl Iterator<Item = u64> + Clone,
    all: impl Iterator<Item = FrameRow>,
    rows: &mut Vec<FrameRow>,
) -> Result<(), String> {
    let first = ids.clone().next().unwrap_or_default();
    let bounds = |(count, low, high): (usize, u64, u64), id: u64| (count + 1, low.min(id), high.max(id));
    let (count, lowest, highest) = ids.fold((0, first, first), bounds);
    rows.clear();
    make_room(rows, count)?;
    if highest - lowest >= count as u64 {
        rows.extend(all);
        rows.sort_unstable_by_key(|row| row.id);
        return Ok(());
    }
    rows.resize(count, FrameRow::default());
    all.for_each(|row| rows[(row.id - lowest) as usize] = row);
    Ok(())
}
