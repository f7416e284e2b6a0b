//! The trajectory of a run, where the scenario asks for one. The extension of its file gives the format: one file beside this one, and
//! a line in [`FORMATS`].
//!
//! Every rank makes rows of its particles, with what the scenario wants of them; the format decides whether they come together on
//! rank 0 (`records`) or are written where they are.

mod columns;
mod extxyz;
mod frame;
mod gzip;
mod lammpstrj;
mod netcdf;
mod records;
mod text;
mod xtc;

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use md_core::Domain;
use md_engine::{Needs, Observer, ObserverError, Snapshot};

use super::OutputError;
use super::run_output::{Closing, Kept, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use crate::checkpoint::OutputMark;
use crate::error::RunError;
use crate::input::{Contents, FrameReader, Source};
use crate::memory::Gathers;
use crate::messages::note;
use crate::scenario::{TrajectoryColumn, TrajectoryPrecision};

pub use columns::{columns_of, expect_same_kind};
use frame::{Frame, FrameLayout, OwnParticles};

/// Frames of all particles. Its file has the name that the scenario gives it.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &[], open };

/// The formats, in the order in which they are offered.
pub const FORMATS: [Format; 4] = [extxyz::FORMAT, lammpstrj::FORMAT, netcdf::FORMAT, xtc::FORMAT];

/// What formats hold that know no momenta beside velocities.
const COLUMNS_BUT_MOMENTUM: &[TrajectoryColumn] = &[
    TrajectoryColumn::Velocity,
    TrajectoryColumn::Mass,
    TrajectoryColumn::Images,
    TrajectoryColumn::Force,
    TrajectoryColumn::Energy,
];

/// What is appended to the extension of a format of text.
const COMPRESSED: &str = ".gz";

/// A format of trajectories.
pub struct Format {
    /// With its dot.
    pub extension: &'static str,
    /// Whether a file of it may be compressed.
    pub compression: Compressible,
    /// What it can hold of each particle beside id, type and position.
    pub columns: &'static [TrajectoryColumn],
    /// What it holds where the scenario does not say.
    pub default_columns: &'static [TrajectoryColumn],
    /// How it writes real numbers where the scenario does not say; `None` where there is no choice.
    pub default_precision: Option<TrajectoryPrecision>,
    /// What comes together on rank 0 for a frame.
    pub gathers: Gathers,
    /// What a file holds.
    pub(crate) contents: fn(&Source<'_>) -> Result<Contents, RunError>,
    /// How its frames are read, one after the other.
    pub(crate) frames: FrameReader,
    /// The largest coordinate that it can hold, \[length\].
    farthest: f64,
    /// Whether a file that begins like this was written here.
    is_own: fn(&[u8]) -> bool,
    open: for<'a> fn(&Opening<'a>, FrameLayout, Compression) -> OpenedSink<'a>,
}

impl Format {
    /// Why a box cannot be written, if it cannot.
    pub fn box_problem(&self, domain: &Domain) -> Option<String> {
        let longest = domain.lengths[..domain.dimension.count()].iter().copied().fold(0.0, f64::max);
        let Self { extension, farthest, .. } = self;
        (longest > *farthest).then(|| {
            format!("a trajectory `{extension}` holds coordinates up to {farthest:?}, but the box is {longest:?} long")
        })
    }
}

/// A file that has been opened on this rank.
type OpenedSink<'a> = Result<Box<dyn FrameSink + 'a>, OutputError>;

/// Whether files of a format may be compressed by gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressible {
    /// Text.
    Yes,
    /// Dense already.
    No,
}

/// Whether a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// By gzip, block by block: frames can be cut off again.
    Gzip,
}

/// The format that a file's name asks for.
pub fn format_of(path: &str) -> Option<(&'static Format, Compression)> {
    let (plain, compression) = match path.strip_suffix(COMPRESSED) {
        Some(plain) => (plain, Compression::Gzip),
        None => (path, Compression::None),
    };
    let format = FORMATS.iter().find(|format| plain.ends_with(format.extension))?;
    let fits = compression == Compression::None || format.compression == Compressible::Yes;
    fits.then_some((format, compression))
}

/// Where frames go. There is one on every rank.
trait FrameSink {
    /// Appends a frame of these particles and those of the other ranks. *Collective.*
    fn write(&mut self, frame: &Frame, own: &OwnParticles) -> Result<(), ObserverError>;

    /// How far the file has come, on rank 0; from then on that is on disk. *Collective.*
    fn mark(&self) -> Result<Option<OutputMark>, ObserverError>;

    /// Makes sure that all frames have reached the disk.
    fn finish(self: Box<Self>) -> Result<(), OutputError>;
}

struct Frames<'a> {
    interval: Option<u64>,
    columns: Vec<TrajectoryColumn>,
    masses: &'a [f64],
    format: &'static Format,
    sink: Box<dyn FrameSink + 'a>,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Some(trajectory) = &opening.scenario.output.trajectory else { return Ok(Vec::new()) };
    let Some((format, compression)) = format_of(&trajectory.path) else { return Ok(Vec::new()) };
    let layout = FrameLayout::new(opening, trajectory);
    if opening.root.is_some() {
        layout.lost_digits(format, opening.subject.domain).iter().for_each(|text| note(text));
    }
    let columns = layout.columns.clone();
    let sink = (format.open)(opening, layout, compression)?;
    let (interval, masses) = (Some(trajectory.every), opening.subject.masses);
    Ok(vec![Box::new(Frames { interval, columns, masses, format, sink })])
}

impl Observer for Frames<'_> {
    fn due(&self, step: u64) -> Option<Needs> {
        let needs = |all, column: &TrajectoryColumn| all | frame::needs(*column);
        let is_due = self.interval.is_some_and(|interval| step.is_multiple_of(interval));
        is_due.then(|| self.columns.iter().fold(Needs::NOTHING, needs))
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        let (origin, lengths) = (now.domain.origin, now.domain.lengths);
        let frame = Frame { step: now.step, time: now.time, origin, lengths };
        self.sink.write(&frame, &OwnParticles { now, masses: self.masses })
    }

    fn box_problem(&self, domain: &Domain) -> Option<String> {
        self.format.box_problem(domain)
    }
}

impl RunOutput for Frames<'_> {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.interval = stage.plan.trajectory;
    }

    fn kept(&mut self) -> Result<Kept, ObserverError> {
        Ok(Kept { mark: self.sink.mark()?, ..Kept::default() })
    }

    fn finish(self: Box<Self>, _: &mut Closing) -> Result<(), RunError> {
        Ok(self.sink.finish()?)
    }
}

/// Whether a file is a trajectory that was written here: it begins as one in the format that its name asks for.
pub(super) fn is_own_trajectory(path: &Path) -> bool {
    /// More than the first lines have.
    const HEAD_BYTES: u64 = 1024;
    // Whoever opens a named pipe waits for its writer.
    if !std::fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return false;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (Some((format, compression)), Ok(file)) = (format_of(&name), std::fs::File::open(path)) else {
        return false;
    };
    let mut head = Vec::new();
    let read = match compression {
        Compression::None => file.take(HEAD_BYTES).read_to_end(&mut head),
        Compression::Gzip => MultiGzDecoder::new(file).take(HEAD_BYTES).read_to_end(&mut head),
    };
    read.is_ok() && (format.is_own)(&head)
}

#[cfg(test)]
mod tests;
