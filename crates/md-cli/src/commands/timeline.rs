//! Files of timelines: one of a run, or one per strategy of a comparison.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use md_comm::{CommError, World};
use md_files::memory::available_to_all;
use md_files::store::{OutputError, RecordFile};
use md_lab::in_words;
use md_lab::trace::{EVENT_BYTES, TracedWorld};
use md_scenario::failure::{Failure, RunError};
use serde::Serialize;

use crate::args::TraceArgs;
use crate::report::timeline::trace_line;

/// There is no memory for the timeline.
#[derive(Debug, thiserror::Error)]
#[error("--trace-events {events} takes {needed} of memory per rank, but there are {there} per rank here")]
struct TooManyEvents {
    events: u64,
    needed: String,
    there: String,
}

impl Failure for TooManyEvents {}

/// Checks that every rank has room for the events of a timeline, if one is requested. *Collective.*
///
/// # Errors
/// [`TooManyEvents`]; communication.
pub(super) fn expect_timeline(world: &dyn World, args: &TraceArgs) -> Result<(), RunError> {
    if args.trace.is_none() {
        return Ok(());
    }
    let (needed, events) = (args.trace_events as f64 * EVENT_BYTES as f64, args.trace_events);
    match available_to_all(world)? {
        Some(there) if needed > there => {
            Err(TooManyEvents { events, needed: in_words(needed), there: in_words(there) }.into())
        }
        _ => Ok(()),
    }
}

/// Returns a world that records a timeline, if one is requested. *Collective.*
///
/// # Errors
/// Returns an error if there is no memory for the events, or if communication fails.
pub(super) fn traced<'w>(
    world: &'w dyn World,
    wanted: &TraceArgs,
) -> Result<Option<TracedWorld<'w>>, RunError> {
    expect_timeline(world, wanted)?;
    let events = wanted.trace.as_ref().map(|_| wanted.trace_events as usize);
    Ok(events.map(|events| TracedWorld::new(world, events)).transpose()?)
}

/// Writes the timeline of a run of `done` steps, if there is one, and returns the line about it.
/// The inner result is that of the file on rank 0. *Collective.*
///
/// # Errors
/// Returns an error if communication fails.
pub(super) fn write_timeline(
    traced: Option<&TracedWorld>,
    mut file: Option<RecordFile>,
    context: &impl Serialize,
    done: u64,
) -> Result<Result<String, OutputError>, CommError> {
    let Some(traced) = traced else { return Ok(Ok(String::new())) };
    let sink = |bytes: &[u8]| file.as_mut().map_or(Ok(()), |file| file.append(bytes, done));
    let written = traced.write(context, sink)?;
    let Some(file) = file else { return Ok(Ok(String::new())) };
    Ok(written.and_then(|written| {
        let text = trace_line(file.path(), &written);
        file.finish().map(|()| text)
    }))
}

/// The names of a strategy, and the file of its timeline.
type Present = (Vec<String>, RecordFile);

/// Timelines of strategies on rank 0, one file per strategy, written one after the other.
pub(super) struct Timelines<'c> {
    wanted: &'c TraceArgs,
    /// File of the present strategy, or the first error.
    file: RefCell<Result<Option<Present>, OutputError>>,
}

impl<'c> Timelines<'c> {
    pub(super) fn new(wanted: &'c TraceArgs) -> Self {
        Self { wanted, file: RefCell::new(Ok(None)) }
    }

    /// Returns the number of events that each rank keeps, if timelines are requested.
    pub(super) fn events(&self) -> Option<usize> {
        self.wanted.trace.as_ref().map(|_| self.wanted.trace_events as usize)
    }

    /// Returns the paths of the timelines of strategies with these names, if they are requested.
    pub(super) fn files(
        wanted: &TraceArgs,
        names: impl Iterator<Item = Vec<String>>,
    ) -> impl Iterator<Item = PathBuf> {
        names.filter_map(|names| Some(timeline_of(&names, wanted.trace.as_deref()?)))
    }

    /// Writes the next part of a strategy's timeline.
    pub(super) fn take(&self, names: &[String], part: &[u8]) {
        if let Err(error) = self.append(names, part) {
            *self.file.borrow_mut() = Err(error);
        }
    }

    fn append(&self, names: &[String], part: &[u8]) -> Result<(), OutputError> {
        let mut place = self.file.borrow_mut();
        let Ok(present) = &mut *place else { return Ok(()) };
        let mut file = match present.take() {
            Some((of, file)) if of == names => file,
            last => {
                last.map_or(Ok(()), |(_, file)| file.finish())?;
                let wanted = self.wanted.trace.as_deref().unwrap_or(Path::new("trace.json"));
                RecordFile::create(timeline_of(names, wanted), b"")?
            }
        };
        file.append(part, 0)?;
        *present = Some((names.to_vec(), file));
        Ok(())
    }

    /// Completes the last file.
    ///
    /// # Errors
    /// Returns the first error of any of the files.
    pub(super) fn finish(&self) -> Result<(), OutputError> {
        self.file.replace(Ok(None))?.map_or(Ok(()), |(_, file)| file.finish())
    }
}

/// Returns the path of a strategy's timeline: `t.json` becomes `t-p2p-half-direct-rect.json`.
fn timeline_of(names: &[String], wanted: &Path) -> PathBuf {
    let stem = wanted.file_stem().unwrap_or_default().to_string_lossy();
    let extension = wanted.extension().map_or("json".into(), |extension| extension.to_string_lossy());
    wanted.with_file_name(format!("{stem}-{}.{extension}", names.join("-")))
}
