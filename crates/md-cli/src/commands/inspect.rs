//! `md-cli inspect`: contents of a checkpoint or a trajectory.

use std::fs;
use std::path::Path;

use crate::checkpoint::{self, Inspected};
use crate::error::RunError;
use crate::input::{Contents, Source};
use crate::output::trajectory::format_of;
use crate::printable::escaped;

/// Returns a description of the contents of a file. The file name determines the format.
///
/// # Errors
/// Returns the fault of the file.
pub fn inspect(path: &Path) -> Result<String, RunError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((format, _)) = format_of(&name) else {
        return checkpoint::inspect(path).map_err(|error| Inspected(error).into());
    };
    let shown = path.display().to_string();
    let contents = (format.contents)(&Source::file(&shown, path, None))?;
    let bytes = fs::metadata(path).map_or(0, |there| there.len());
    Ok(described(&shown, &contents, bytes))
}

fn described(path: &str, contents: &Contents, bytes: u64) -> String {
    let Contents { format, frames, particles, step, time, units, origin, lengths, columns } = contents;
    let entry = |name: &str, value: &Option<String>| {
        value.as_ref().map_or_else(String::new, |value| format!("{name:14}{value}\n"))
    };
    escaped(&format!(
        "trajectory    {path}\nformat        {format}\nframes        {frames}\nparticles     {particles}\n{}{}{}\
         box           {lengths:?} from {origin:?}\ncolumns       {columns}\nsize          {bytes} bytes\n",
        entry("last step", step),
        entry("last time", time),
        entry("units", units),
    ))
}
