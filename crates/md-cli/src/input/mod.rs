//! Particle files: every reader returns the same thing.
//!
//! Readers look at lines one after the other, twice: at first at what stands where, then at the particles.

mod coefficients;
mod error;
pub mod extxyz;
mod fields;
mod frames;
pub mod lammps_data;
pub mod lammpstrj;
pub(crate) mod mask;
mod masses;
pub(crate) mod netcdf;
mod overview;
mod source;
pub(crate) mod xtc;

use std::collections::BTreeMap;
use std::fmt;

pub use coefficients::adopt;
pub use error::{InputError, NoRoom, Problem};
use fields::AXES;
pub(crate) use frames::{FrameReader, Next, TextFormat, TrajectoryFrames};
use md_core::ImageCounts;
use md_engine::Share;
pub(crate) use source::Source;

/// Particles as a file gives them. Where several ranks read it together, each keeps some, until every particle goes to its owner.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InputParticles {
    /// Lower corner of the box.
    pub origin: [f64; 3],
    /// Edge lengths of the box.
    pub lengths: [f64; 3],
    /// `pbc` of an extended XYZ file.
    pub periodic: Option<[bool; 3]>,
    /// Masses from the file by type number - 1, `None` for a type that the file has none for (then the scenario's species
    /// give them).
    pub masses: Vec<Option<f64>>,
    /// Of particles that several ranks keep, what all know of all; else the following are all.
    pub share: Option<Share>,
    /// The largest type number, of all particles.
    pub largest_type: u32,
    /// Global ids (from 1, unique, sorted ascending).
    pub ids: Vec<u64>,
    /// Whether the file does not know types: then all are of the first.
    pub lacks_types: bool,
    /// Type numbers from 1, per particle.
    pub types: Vec<u32>,
    /// Whether the file does not know ids: then particles are numbered in its order.
    pub lacks_ids: bool,
    /// Positions per particle.
    pub positions: Vec<[f64; 3]>,
    /// Box lengths from each position to where the particle would be without having been wrapped: 0 where
    /// positions are unwrapped, or where the file does not tell.
    pub images: Vec<ImageCounts>,
    /// Along which axes the file tells that, by image counts or because its positions are unwrapped.
    pub tells_images: [bool; 3],
    /// Velocities per particle, if the file has some.
    pub velocities: Option<Vec<[f64; 3]>>,
    /// Momenta per particle, if the file has some.
    pub momenta: Option<Vec<[f64; 3]>>,
    /// Lennard-Jones parameters of a LAMMPS data file by pair of types.
    pub coefficients: BTreeMap<TypePair, PairCoefficients>,
    /// Style of coefficients in a LAMMPS data file that are not those of `lj/cut`, empty where the file does not say.
    pub other_pair_style: Option<String>,
    /// The step of a frame, if it says.
    pub step: Option<u64>,
    /// The time of a frame, if it says.
    pub time: Option<FrameTime>,
    /// Units other than reduced ones, if the file names some.
    pub units: Option<String>,
    /// Which frame they are, if the file has several.
    pub frame: Option<u64>,
    /// What the user should know about the file, for standard error.
    pub notes: Vec<String>,
    /// Where each particle stands.
    pub lines: Vec<ParticleLines>,
}

/// The time of a frame, by the precision that the file has it with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameTime {
    /// Of an f32.
    Single(f64),
    /// Of an f64, or of a text.
    Double(f64),
}

impl FrameTime {
    /// The time, \[time\].
    pub fn value(self) -> f64 {
        match self {
            Self::Single(time) | Self::Double(time) => time,
        }
    }

    /// Distance to the nearest other time that the file could have, \[time\].
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

/// What a trajectory holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contents {
    /// Name of the format.
    pub(crate) format: &'static str,
    /// Number of frames.
    pub(crate) frames: u64,
    /// Particles of the last frame.
    pub(crate) particles: u64,
    /// Its step, if it says.
    pub(crate) step: Option<String>,
    /// Its time, if it says.
    pub(crate) time: Option<String>,
    /// Units other than reduced ones, if it names some.
    pub(crate) units: Option<String>,
    /// Lower corner of its box.
    pub(crate) origin: [f64; 3],
    /// Edges of its box.
    pub(crate) lengths: [f64; 3],
    /// What it has of particles, by its own names.
    pub(crate) columns: String,
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
    /// Cutoff, where the file has one per pair.
    pub cutoff: Option<f64>,
}

/// Lines of a particle, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParticleLines {
    /// Of its position.
    pub position: u32,
    /// Of its velocity.
    pub velocity: u32,
}

impl InputParticles {
    /// Takes down which frame they are, if the file has several, and its step, if it says.
    fn note_frame(&mut self, number: u64, count: u64, step: Option<&str>) {
        if count > 1 {
            let step = step.map_or_else(String::new, |step| format!(" (step {step})"));
            self.frame = Some(number);
            self.notes.push(format!("the particles are those of frame {number} of {count}{step}"));
        }
    }

    /// What is taken in the place of what the file lacks; `species` are the scenario's names.
    pub(crate) fn notes_of_lacks(&self, species: &[String]) -> Vec<String> {
        let first = species.first().map_or("", |name| name.as_str());
        let types = format!("the file has no types: all particles are of species `{first}`");
        let ids = "the file has no ids: particles are numbered in the order of the file".to_owned();
        let notes = [(self.lacks_types, types), (self.lacks_ids, ids)];
        notes.into_iter().filter_map(|(lacks, note)| lacks.then_some(note)).collect()
    }

    /// The axes among these along which the file does not tell how often particles have crossed the faces.
    pub(crate) fn untold_axes(&self, is_periodic: [bool; 3]) -> Option<String> {
        let untold = (0..3).filter(|&dim| is_periodic[dim] && !self.tells_images[dim]);
        let names: Vec<String> = untold.map(|dim| AXES[dim].to_string()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// What becomes of the units that the file names.
    pub(crate) fn note_of_units(&self) -> Option<String> {
        let units = self.units.as_ref()?;
        Some(format!("the file has {units}: its numbers are taken as they are, as reduced units"))
    }

    /// Whether anything says how the particles move.
    pub fn has_velocities(&self) -> bool {
        self.velocities.is_some() || self.momenta.is_some()
    }
}
