//! Particle files. All readers return the same type.
//!
//! Readers go through the lines of a text twice: first to find its layout, then to read the
//! particles.

mod coefficients;
mod error;
pub mod extxyz;
mod fields;
mod frames;
pub mod lammps_data;
pub mod lammpstrj;
pub mod mask;
mod masses;
pub mod netcdf;
mod overview;
mod source;
pub mod xtc;

use std::collections::BTreeMap;
use std::fmt;

pub use coefficients::adopt;
pub use error::{InputError, NoRoom, Problem};
use fields::AXES;
pub use frames::{FrameReader, Next, TextFormat, TrajectoryFrames};
use md_core::ImageCounts;
use md_engine::Share;
pub use source::Source;

/// Particles of a file. If several ranks read it together, each keeps some particles until every
/// particle is sent to its owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputParticles {
    /// Lower corner of the box.
    pub origin: [f64; 3],
    /// Edge lengths of the box.
    pub lengths: [f64; 3],
    /// `pbc` of an extended XYZ file.
    pub periodic: Option<[bool; 3]>,
    /// Masses from the file by type number - 1, or `None` for a type without a mass in the file
    /// (then the mass is that of the scenario's species).
    pub masses: Vec<Option<f64>>,
    /// Data about the particles of all ranks, if several ranks read the file. Otherwise, the
    /// following fields contain all particles.
    pub share: Option<Share>,
    /// Largest type number of all particles.
    pub largest_type: u32,
    /// Global ids (from 1, unique, sorted ascending).
    pub ids: Vec<u64>,
    /// Whether the file contains no types. Then all particles are of the first.
    pub lacks_types: bool,
    /// Type numbers from 1, per particle.
    pub types: Vec<u32>,
    /// Whether the file contains no ids. Then particles are numbered in the order of the file.
    pub lacks_ids: bool,
    /// Positions per particle.
    pub positions: Vec<[f64; 3]>,
    /// Image counts: box lengths from each position to the unwrapped position. They are 0 if
    /// positions are unwrapped or the file contains no counts.
    pub images: Vec<ImageCounts>,
    /// Axes along which unwrapped positions are known, from image counts or because positions are
    /// unwrapped.
    pub tells_images: [bool; 3],
    /// Velocities per particle, if the file contains them.
    pub velocities: Option<Vec<[f64; 3]>>,
    /// Momenta per particle, if the file contains them.
    pub momenta: Option<Vec<[f64; 3]>>,
    /// Lennard-Jones parameters of a LAMMPS data file by pair of types.
    pub coefficients: BTreeMap<TypePair, PairCoefficients>,
    /// Style of coefficients in a LAMMPS data file that are not those of `lj/cut`, or empty if the
    /// file names none.
    pub other_pair_style: Option<String>,
    /// Step of the frame, if the file contains it.
    pub step: Option<u64>,
    /// Time of the frame, if the file contains it.
    pub time: Option<FrameTime>,
    /// Units other than reduced ones, if the file names some.
    pub units: Option<String>,
    /// Number of the frame, if the file has several.
    pub frame: Option<u64>,
    /// Notes about the file for the user, for standard error.
    pub notes: Vec<String>,
    /// Lines of each particle.
    pub lines: Vec<ParticleLines>,
}

/// Time of a frame, by its precision in the file.
///
/// ```
/// use md_files::input::FrameTime;
///
/// // A time of 0.1 that a file has in single precision.
/// let time = FrameTime::Single(f64::from(0.1_f32));
/// assert!((time.value() - 0.1).abs() < 1e-8 && time.value() != 0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameTime {
    /// Stored as `f32`.
    Single(f64),
    /// Stored as `f64` or as text.
    Double(f64),
}

impl FrameTime {
    /// Returns the time, \[time\].
    pub fn value(self) -> f64 {
        match self {
            Self::Single(time) | Self::Double(time) => time,
        }
    }

    /// Returns the distance to the nearest other time that the file can represent, \[time\].
    pub fn resolution(self) -> f64 {
        match self {
            Self::Single(time) => time.abs() * f64::from(f32::EPSILON),
            Self::Double(time) => time.abs() * f64::EPSILON,
        }
    }
}

impl fmt::Display for FrameTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Single(time) => write!(formatter, "{:?}", time as f32),
            Self::Double(time) => write!(formatter, "{time:?}"),
        }
    }
}

/// Contents of a trajectory.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Name of the format.
    pub format: &'static str,
    /// Number of frames.
    pub frames: u64,
    /// Number of particles in the last frame.
    pub particles: u64,
    /// Step of the last frame, if the file contains it.
    pub step: Option<String>,
    /// Time of the last frame, if the file contains it.
    pub time: Option<String>,
    /// Units other than reduced ones, if the file names some.
    pub units: Option<String>,
    /// Lower corner of the box of the last frame.
    pub origin: [f64; 3],
    /// Edge lengths of the box of the last frame.
    pub lengths: [f64; 3],
    /// Data of the particles, by their names in the file.
    pub columns: String,
}

/// Type numbers from 1, the smaller one first.
pub type TypePair = [u32; 2];

/// Lennard-Jones parameters of a pair of types in a LAMMPS data file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairCoefficients {
    /// Well depth.
    pub epsilon: f64,
    /// Diameter.
    pub sigma: f64,
    /// Cutoff, if the file has one per pair.
    pub cutoff: Option<f64>,
}

/// Line numbers of a particle, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParticleLines {
    /// Line of its position.
    pub position: u32,
    /// Line of its velocity.
    pub velocity: u32,
}

impl InputParticles {
    /// Stores the number of the frame, if the file has several, and adds a note with its step.
    fn note_frame(&mut self, number: u64, count: u64, step: Option<&str>) {
        if count > 1 {
            let step = step.map_or_else(String::new, |step| format!(" (step {step})"));
            self.frame = Some(number);
            self.notes.push(format!("the particles are those of frame {number} of {count}{step}"));
        }
    }

    /// Adds a note about the columns that are left out.
    fn note_unknown_columns(&mut self, names: &[String]) {
        if !names.is_empty() {
            let names = names.join(", ");
            self.notes.push(format!("columns of the file that mean nothing here are left out: {names}"));
        }
    }

    /// Returns notes about defaults for data that the file lacks. `species` are the scenario's
    /// names.
    pub fn notes_of_lacks(&self, species: &[String]) -> Vec<String> {
        let first = species.first().map_or("", |name| name.as_str());
        let types = format!("the file has no types: all particles are of species `{first}`");
        let ids = "the file has no ids: particles are numbered in the order of the file".to_owned();
        let notes = [(self.lacks_types, types), (self.lacks_ids, ids)];
        notes.into_iter().filter_map(|(lacks, note)| lacks.then_some(note)).collect()
    }

    /// Returns the periodic axes along which the number of crossings of the faces is unknown.
    pub fn untold_axes(&self, is_periodic: [bool; 3]) -> Option<String> {
        let untold = (0..3).filter(|&dim| is_periodic[dim] && !self.tells_images[dim]);
        let names: Vec<String> = untold.map(|dim| AXES[dim].to_string()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Returns a note about the units that the file names.
    pub fn note_of_units(&self) -> Option<String> {
        let units = self.units.as_ref()?;
        Some(format!("the file has {units}, which are taken as the reduced units"))
    }

    /// Returns whether velocities or momenta are known.
    pub fn has_velocities(&self) -> bool {
        self.velocities.is_some() || self.momenta.is_some()
    }
}
