//! `md-cli from-lammps`: a scenario from a LAMMPS script, with remarks on the parts of the script
//! that it lacks.

use std::path::Path;

use md_files::input::{Source, lammps_data};
use md_files::text_file::{is_open_already, read_text};
use md_lammps::{Fate, Files, Remark, translate};
use md_scenario::failure::RunError;
use md_scenario::messages::note;

use super::refused;
use crate::args::FromLammpsArgs;

/// Returns the text of the scenario. Commands that were not translated, or only approximately, are
/// listed line by line on standard error and at the head of the scenario.
///
/// # Errors
/// Returns an error if the script cannot be read or does not give a scenario. A necessary line that
/// was not translated is an error too, unless `--partial` is given.
pub fn from_lammps(args: &FromLammpsArgs) -> Result<String, RunError> {
    let (path, name) = (&args.script, args.script.display().to_string());
    let text = read_text(path, "script").map_err(|reason| RunError::unreadable(name.clone(), reason))?;
    // A file that another process opened for this one (`/dev/stdin`) has no folder.
    let folder = path.parent().filter(|_| !is_open_already(path)).unwrap_or_else(|| Path::new(""));
    let files = Files {
        data: &|file| data_file(&folder.join(file)),
        script: &|file| read_text(&folder.join(file), "script"),
    };
    let translated = translate(&name, &text, &args.variables, files);
    let tell = |remarks: &[Remark]| remarks.iter().for_each(|remark| note(&remark.shown(&name)));
    match translated {
        Ok(translation) => {
            tell(&translation.remarks);
            let not_taken = lines(&translation.remarks, Fate::NotTaken);
            if args.partial || not_taken.is_empty() {
                return Ok(translation.scenario);
            }
            Err(refused(format!(
                "{name} does not come to a scenario: particles would move in another way without what is not taken (line {not_taken}); \
                 `--partial` writes the scenario without it"
            )))
        }
        Err((missing, remarks)) => {
            tell(&remarks);
            Err(refused(format!("{name} does not come to a scenario: {missing}")))
        }
    }
}

/// Returns the numbers of the lines with a fate, for a message.
fn lines(remarks: &[Remark], fate: Fate) -> String {
    const MOST: usize = 20;
    let mut places: Vec<_> = remarks.iter().filter(|remark| remark.fate == fate).map(Remark::place).collect();
    places.dedup();
    let others = places.len().saturating_sub(MOST);
    places.truncate(MOST);
    if others > 0 {
        places.push(format!("and {others} others"));
    }
    places.join(", ")
}

/// Returns the data of a data file that the script needs.
fn data_file(path: &Path) -> Result<lammps_data::Summary, String> {
    let name = path.display().to_string();
    lammps_data::summary(&Source::file(&name, path, None)).map_err(|error| error.to_string())
}
