//! `md-cli from-lammps`: a scenario from a LAMMPS script, and what of the script is not in it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::refused;
use crate::args::FromLammpsArgs;
use crate::error::RunError;
use crate::lammps_script::{Remark, translate};
use crate::session::note;
use crate::text_file::read_text;

/// The scenario, as text. What could not be taken, or only in another way, is said line by line on standard error, and stands at the
/// head of the scenario.
///
/// # Errors
/// A script that cannot be read, or does not come to a scenario.
pub fn from_lammps(args: &FromLammpsArgs) -> Result<String, RunError> {
    let (path, name) = (&args.script, args.script.display().to_string());
    let text =
        read_text(path, "script").map_err(|reason| RunError::Unreadable { path: name.clone(), reason })?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let translated = translate(&name, &text, &args.variables, &|file| types_in(&folder.join(file)));
    let tell = |remarks: &[Remark]| remarks.iter().for_each(|remark| note(&remark.shown(&name)));
    match translated {
        Ok(translation) => {
            tell(&translation.remarks);
            Ok(translation.scenario)
        }
        Err((missing, remarks)) => {
            tell(&remarks);
            Err(refused(format!("{name} does not come to a scenario: {missing}")))
        }
    }
}

/// The number of atom types in the header of a LAMMPS data file.
fn types_in(path: &Path) -> Option<usize> {
    /// A header has fewer lines, and shorter ones.
    const MOST_LINES: usize = 100;
    let lines = BufReader::new(File::open(path).ok()?).lines().take(MOST_LINES).map_while(Result::ok);
    let types =
        |line: String| line.trim().strip_suffix("atom types").and_then(|number| number.trim().parse().ok());
    lines.into_iter().find_map(types)
}
