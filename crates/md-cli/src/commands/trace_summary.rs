//! `md-cli trace-summary`: who waited for whom, and what the length of a run consists of.

use md_lab::EncodeError;
use md_lab::plot::Picture;
use md_lab::trace::{
    CriticalPath, Summary, Timeline, edges_csv, path_csv, sizes_csv, sizes_picture, traffic_picture,
    waits_csv,
};

use crate::args::TraceSummaryArgs;
use crate::error::RunError;
use crate::output::timeline::summary_text;
use crate::output::{KnownFile, OutputDirectory};

/// What is to be shown; writes the files that are asked for.
///
/// # Errors
/// See [`RunError`].
pub fn trace_summary(args: &TraceSummaryArgs) -> Result<String, RunError> {
    let timeline = Timeline::read(&args.trace)?;
    let (summary, path) = (Summary::of(&timeline), CriticalPath::of(&timeline));
    if let Some(directory) = &args.output {
        let directory = OutputDirectory::without_scenario(directory.clone(), &[])?;
        let svg = |drawn: Result<String, EncodeError>| drawn.map(String::into_bytes);
        let contents = [
            (KnownFile::MESSAGES, edges_csv(&summary)),
            (KnownFile::MESSAGES_SVG, svg(traffic_picture(&summary).svg())),
            (KnownFile::MESSAGE_SIZES, sizes_csv(&summary)),
            (KnownFile::MESSAGE_SIZES_SVG, svg(sizes_picture(&summary).svg())),
            (KnownFile::WAITS, waits_csv(&summary)),
            (KnownFile::CRITICAL_PATH, path_csv(&path)),
        ];
        contents.into_iter().try_for_each(|(file, content)| directory.write_encoded(file, content))?;
    }
    Ok(summary_text(&timeline, &summary, &path))
}
