//! The trajectory of a run, if the scenario requests one. The extension of its file gives the
//! format. A format is one file beside this one and a variant of [`TrajectoryFormat`].
//!
//! Every rank makes rows of its particles with the requested columns. The format decides whether
//! they are gathered on rank 0 (`records`) or written by the ranks that have them.

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
use md_scenario::failure::RunError;
use md_scenario::messages::note;
use md_scenario::{Compression, FormatProperties, TrajectoryColumn, TrajectoryFormat};

use super::gathers::Gathers;
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use crate::checkpoint::OutputState;
use crate::input::{Contents, FrameReader, Source};
use crate::store::{OutputError, OutputMark};

pub use columns::expect_same_kind;
use frame::{Frame, FrameLayout, OwnParticles};

/// Output of frames of all particles, in a file with a name given in the scenario.
pub static KIND: OutputKind =
    OutputKind { scope: Scope::Stage, files: &[], needs: Needs::NOTHING, has_tracks: false, open };

/// A format of trajectories.
pub struct Format {
    /// Its properties, as far as scenarios depend on them.
    pub properties: FormatProperties,
    /// Data that are gathered on rank 0 for a frame.
    pub gathers: Gathers,
    /// Returns the contents of a file.
    pub contents: fn(&Source<'_>) -> Result<Contents, RunError>,
    /// Reads its frames in turn.
    pub frames: FrameReader,
    /// The largest coordinate that it supports, \[length\].
    farthest: f64,
    /// Returns whether a file with this beginning was written by this program.
    is_own: fn(&[u8]) -> bool,
    open: for<'a> fn(&Opening<'a>, FrameLayout, Compression) -> OpenedSink<'a>,
}

impl Format {
    /// Returns why a box cannot be written, or `None` if it can.
    pub fn box_problem(&self, domain: &Domain) -> Option<String> {
        let longest = domain.lengths[..domain.dimension.count()].iter().copied().fold(0.0, f64::max);
        let Self { properties: FormatProperties { extension, .. }, farthest, .. } = self;
        (longest > *farthest).then(|| {
            format!("a trajectory `{extension}` holds coordinates up to {farthest:?}, but the box is {longest:?} long")
        })
    }
}

/// Result of opening a file on this rank.
type OpenedSink<'a> = Result<Box<dyn FrameSink + 'a>, OutputError>;

/// Returns the format and the compression that the name of a file stands for.
pub fn format_of(path: &str) -> Option<(&'static Format, Compression)> {
    let (format, compression) = TrajectoryFormat::of_path(path)?;
    let format = match format {
        TrajectoryFormat::Extxyz => &extxyz::FORMAT,
        TrajectoryFormat::Lammpstrj => &lammpstrj::FORMAT,
        TrajectoryFormat::Netcdf => &netcdf::FORMAT,
        TrajectoryFormat::Xtc => &xtc::FORMAT,
    };
    Some((format, compression))
}

/// Writer of frames. Every rank has one.
trait FrameSink {
    /// Appends a frame of these particles and those of the other ranks. *Collective.*
    fn write(&mut self, frame: &Frame, own: &OwnParticles) -> Result<(), ObserverError>;

    /// Returns the current state of the file, which has reached the disk, as a mark on rank 0.
    /// *Collective.*
    fn mark(&self) -> Result<Option<OutputMark>, ObserverError>;

    /// Checks that all frames have reached the disk.
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

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        Ok(OutputState { mark: self.sink.mark()?, ..OutputState::default() })
    }

    fn finish(self: Box<Self>, _: &mut Closing) -> Result<(), RunError> {
        Ok(self.sink.finish()?)
    }
}

/// Returns whether a file is a trajectory that this program wrote, which means that it begins like
/// one in the format of its name.
pub(super) fn is_own_trajectory(path: &Path) -> bool {
    /// Number of bytes that contains the first lines.
    const HEAD_BYTES: u64 = 1024;
    // Opening a named pipe would wait for its writer.
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
