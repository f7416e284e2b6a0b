//! Reading balance.csv, to divide the work again as another run did.

use std::borrow::Cow;
use std::path::Path;

use md_comm::World;
use md_engine::balance::replay::Replayed;
use serde::Deserialize;

use crate::error::RunError;
use crate::inputs::Inputs;
use crate::text_file::{read_text, told};

/// What is read of a row; the other columns are for people.
#[derive(Deserialize)]
struct Row {
    step: u64,
    particles_moved: u64,
    #[serde(default)]
    division: String,
}

/// The balancings of a file, read on rank 0. *Collective.*
///
/// # Errors
/// [`RunError::Unreadable`]: with the line, where there is one.
pub fn read(path: &Path, world: &dyn World) -> Result<Vec<Replayed>, RunError> {
    let text = told(Some(world), path, || read_text(path, "table of balancings").map(Some))?;
    let unreadable = |reason: String| RunError::Unreadable { path: path.display().to_string(), reason };
    let text = text.unwrap_or_default();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut balancings = Vec::new();
    for row in reader.deserialize() {
        let row: Row = row.map_err(|error| unreadable(error.to_string()))?;
        if row.division.is_empty() && row.particles_moved > 0 {
            let step = row.step;
            return Err(unreadable(format!(
                "the row of step {step} has no `division`: that is written for `parallel.balance.weights = \"time\"`; \
                 a run with weights \"pairs\" repeats itself"
            )));
        }
        balancings.push(Replayed { step: row.step, division: row.division });
    }
    Ok(balancings)
}

/// The inputs of a run that reads this file too: it is not to be overwritten.
pub fn inputs_with<'i>(inputs: &'i Inputs, path: Option<&Path>) -> Cow<'i, Inputs> {
    let Some(path) = path else { return Cow::Borrowed(inputs) };
    let mut inputs = inputs.clone();
    inputs.beside.push(path.to_owned());
    Cow::Owned(inputs)
}
