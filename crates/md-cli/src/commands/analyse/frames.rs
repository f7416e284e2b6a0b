//! Frames of a trajectory in the order of their steps. Frames that a killed and restarted job
//! leaves are skipped: a frame that is cut off at the end of the file, and frames of steps up to
//! the highest one that has been read.

use std::path::Path;

use md_core::words::counted;
use md_files::input::{InputParticles, Next, TrajectoryFrames};
use md_files::output::trajectory::format_of;
use md_scenario::failure::RunError;
use md_scenario::{Scenario, TrajectoryFormat};

use super::steps::Steps;
use crate::args::AnalyseArgs;
use crate::commands::refused;

/// A frame and its step.
pub(super) struct Stepped {
    /// Name of the frame in messages.
    pub(super) name: String,
    pub(super) step: u64,
    pub(super) frame: InputParticles,
}

/// Reader of the frames of a trajectory.
pub(super) struct Frames<'a> {
    path: &'a Path,
    is_strict: bool,
    frames: TrajectoryFrames,
    steps: Steps,
    /// Step and positions of the last frame that was returned.
    last: Option<(u64, Vec<[f64; 3]>)>,
    /// Step of the first frame.
    first: Option<u64>,
    repeated: Repeated,
    /// Reason why the last frame of the file cannot be read.
    cut: Option<String>,
}

/// Frames that were skipped because later steps had been read before.
#[derive(Default)]
struct Repeated {
    count: usize,
    /// Lowest and highest step of these frames.
    steps: Option<(u64, u64)>,
    /// Largest difference of a coordinate from that in the first frame of the same step.
    difference: f64,
}

impl<'a> Frames<'a> {
    /// Opens a trajectory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if its name does not give its format.
    pub(super) fn open(args: &'a AnalyseArgs, scenario: &Scenario) -> Result<Self, RunError> {
        let path = &*args.trajectory;
        let Some((format, _)) = format_of(&path.to_string_lossy()) else {
            let formats = TrajectoryFormat::extensions();
            return Err(refused(format!("`{}`: the extension gives the format: {formats}", path.display())));
        };
        let species = scenario.species.iter().map(|species| species.name.clone()).collect();
        let frames = TrajectoryFrames::open(path, format.frames, species)?;
        let steps = Steps::new(scenario.simulation.timestep, args.frame_steps);
        let (last, first, repeated, cut) = Default::default();
        Ok(Self { path, is_strict: args.strict, frames, steps, last, first, repeated, cut })
    }

    /// Returns the next frame whose step is later than all before.
    ///
    /// # Errors
    /// Returns the first fault of the file; a step before that of the first frame is one. With
    /// `--strict`, a frame that is cut off and a frame of an earlier step are errors too.
    pub(super) fn next(&mut self) -> Result<Option<Stepped>, RunError> {
        loop {
            let (name, frame) = match self.frames.next_frame()? {
                Next::Frame(name, frame) => (name, *frame),
                Next::Cut(error) if self.is_strict || self.last.is_none() => return Err(error),
                Next::Cut(error) => {
                    self.cut = Some(error.to_string());
                    return Ok(None);
                }
                Next::End => return Ok(None),
            };
            let step = self.steps.next(&name, &frame)?;
            match &self.last {
                Some((last, _)) if step <= *last && self.is_strict => {
                    return Err(refused(format!(
                        "{name}: its step is {step}, but that of the frame before is {last}"
                    )));
                }
                Some((last, _)) if self.first.is_some_and(|first| step < first) => {
                    return Err(refused(format!(
                        "{name}: its step is {step}, after step {last} and before that of the first frame: the file \
                         holds several runs, which must be analysed one by one"
                    )));
                }
                Some((last, positions)) if step <= *last => {
                    let is_last = step == *last;
                    self.repeated.note(step, is_last.then(|| difference(&frame, positions)));
                }
                _ => {
                    self.first.get_or_insert(step);
                    self.last = Some((step, frame.positions.clone()));
                    return Ok(Some(Stepped { name, step, frame }));
                }
            }
        }
    }

    /// Returns notes for the user about the frames that were skipped.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let cut = self.cut.as_ref().map(|error| format!("{error}; the frame is passed over"));
        cut.into_iter().chain(self.repeated.text(self.path))
    }
}

impl Repeated {
    fn note(&mut self, step: u64, difference: Option<f64>) {
        let (lowest, highest) = self.steps.unwrap_or((step, step));
        (self.count, self.steps) = (self.count + 1, Some((lowest.min(step), highest.max(step))));
        self.difference = self.difference.max(difference.unwrap_or(0.0));
    }

    fn text(&self, path: &Path) -> Option<String> {
        let (lowest, highest) = self.steps?;
        let steps =
            if lowest == highest { format!("step {lowest}") } else { format!("steps {lowest} to {highest}") };
        let differs = match self.difference {
            0.0 => String::new(),
            by => {
                format!("; positions of step {highest} differ by up to {by:e}: results join two runs there")
            }
        };
        let frames = counted(self.count, "frame");
        Some(format!(
            "{}: {frames} of {steps} passed over: frames of these or later steps come before, as a restart leaves them{differs}",
            path.display()
        ))
    }
}

/// Returns the largest difference of a coordinate from that of the same particle, by the nearest
/// image.
fn difference(frame: &InputParticles, positions: &[[f64; 3]]) -> f64 {
    let along = |dim: usize, now: &[f64; 3], then: &[f64; 3]| {
        let (apart, length) = (now[dim] - then[dim], frame.lengths[dim]);
        (apart - length * (apart / length).round()).abs()
    };
    let pairs = frame.positions.iter().zip(positions);
    pairs.flat_map(|(now, then)| [0, 1, 2].map(|dim| along(dim, now, then))).fold(0.0, f64::max)
}
