//! `md-cli trace-summary`: waits between ranks, and the critical path that determines the length of
//! a run.

use std::path::Path;

use md_files::memory;
use md_files::store::OutputDirectory;
use md_files::text_file::open_text;
use md_lab::EncodeError;
use md_lab::plot::Picture;
use md_lab::trace::{
    CriticalPath, Summary, Timeline, edges_csv, path_csv, sizes_csv, sizes_picture, traffic_picture,
    waits_csv,
};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;

use super::note_lock;
use crate::args::TraceSummaryArgs;
use crate::report::timeline::summary_text;

/// Returns the summary for the user, and writes the requested files.
///
/// # Errors
/// See [`RunError`].
pub fn trace_summary(args: &TraceSummaryArgs) -> Result<String, RunError> {
    let timeline = read(&args.trace)?;
    let (summary, path) = (Summary::of(&timeline), CriticalPath::of(&timeline));
    if let Some(directory) = &args.output {
        let svg = |drawn: Result<String, EncodeError>| drawn.map(String::into_bytes);
        let contents = [
            (KnownFile::MESSAGES, edges_csv(&summary)),
            (KnownFile::MESSAGES_SVG, svg(traffic_picture(&summary).svg())),
            (KnownFile::MESSAGE_SIZES, sizes_csv(&summary)),
            (KnownFile::MESSAGE_SIZES_SVG, svg(sizes_picture(&summary).svg())),
            (KnownFile::WAITS, waits_csv(&summary)),
            (KnownFile::CRITICAL_PATH, path_csv(&path)),
        ];
        let results = contents.each_ref().map(|(file, _)| *file);
        let directory = OutputDirectory::without_scenario(directory.clone(), &results, &[&args.trace], &[])?;
        note_lock(&directory);
        contents.into_iter().try_for_each(|(file, content)| directory.write_encoded(file, content))?;
    }
    Ok(summary_text(&timeline, &summary, &path))
}

/// Largest memory of a timeline and its summary in bytes per byte of text.
const BYTES_PER_BYTE: u64 = 5;

fn read(path: &Path) -> Result<Timeline, RunError> {
    let unreadable = |reason| RunError::unreadable(path.display().to_string(), reason);
    let (text, bytes) = open_text(path).map_err(unreadable)?;
    memory::expect_text(bytes, BYTES_PER_BYTE)
        .map_err(|reason| unreadable(format!("{reason}: record fewer events (--trace-events)")))?;
    Ok(Timeline::from_reader(path, text)?)
}
