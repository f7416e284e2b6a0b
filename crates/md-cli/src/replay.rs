//! Reading balance.csv, to repeat the balancings of another run.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use md_comm::World;
use md_engine::balance::replay::Replayed;
use md_engine::{EngineError, Simulation};
use md_files::text_file::{broadcast_read, read_text};
use md_scenario::failure::RunError;
use md_scenario::name_of;

use crate::inputs::Inputs;
use crate::report::tables::BALANCING_COLUMNS;

/// Line number of the first row.
const FIRST_ROW: usize = 2;

/// The balancings of a file.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    all: Vec<Replayed>,
}

/// Conditions under which they can be repeated.
struct Place {
    ranks: usize,
    /// Name of the partition.
    partition: String,
}

/// Reads a file on rank 0, for a run of the scenario of `inputs`. *Collective.*
///
/// # Errors
/// [`md_scenario::failure::Unreadable`], with the line if there is one.
pub fn read(path: &Path, world: &dyn World, inputs: &Inputs) -> Result<Replay, RunError> {
    let text = broadcast_read(Some(world), path, || read_text(path, "table of balancings").map(Some))?;
    let here = Place { ranks: world.ranks(), partition: name_of(inputs.scenario.parallel.partition) };
    let all = balancings(&text.unwrap_or_default(), &here).map_err(|reason| unreadable(path, reason))?;
    Ok(Replay { path: path.to_owned(), all })
}

impl Replay {
    /// Makes a simulation repeat the balancings.
    ///
    /// # Errors
    /// [`md_scenario::failure::Unreadable`], with the line of the first balancing that cannot be
    /// repeated.
    pub fn begin(self, simulation: &mut Simulation) -> Result<(), RunError> {
        simulation.replay_balancing(self.all).map_err(|error| match error {
            EngineError::Replay { index, problem } => {
                let line = index + FIRST_ROW;
                let reason = format!("line {line}: {problem}; it is of a run of another scenario");
                unreadable(&self.path, reason)
            }
            error => error.into(),
        })
    }
}

fn unreadable(path: &Path, reason: String) -> RunError {
    RunError::unreadable(path.display().to_string(), reason)
}

fn balancings(text: &str, here: &Place) -> Result<Vec<Replayed>, String> {
    if text.is_empty() {
        return Err("it is empty: it has no line of column names".to_owned());
    }
    if !text.ends_with('\n') {
        return Err(format!("line {} ends without a newline: the file is cut", text.lines().count()));
    }
    let mut lines = text.lines();
    if lines.next() != Some(BALANCING_COLUMNS) {
        return Err(format!("line 1 does not have the columns of balance.csv, `{BALANCING_COLUMNS}`"));
    }
    let rows: Vec<&str> = lines.collect();
    if rows.is_empty() {
        return Err("it has no rows: nothing was balanced in that run".to_owned());
    }
    let number = |(index, row): (usize, &&str)| {
        balancing(row, rows.len(), here).map_err(|problem| format!("line {}: {problem}", index + FIRST_ROW))
    };
    rows.iter().enumerate().map(number).collect()
}

/// Parses a row of a file that has `rows` rows.
fn balancing(row: &str, rows: usize, here: &Place) -> Result<Replayed, String> {
    let fields: Vec<&str> = row.split(',').collect();
    let &[step, _, _, moved, _, _, division, ranks, partition, balancings] = &fields[..] else {
        let columns = BALANCING_COLUMNS.split(',').count();
        return Err(format!("there are {} columns, not {columns}", fields.len()));
    };
    let count = |name: &str, text: &str| {
        text.parse::<u64>().map_err(|_| format!("`{name}` is `{text}`, not a whole number"))
    };
    let (step, ranks) = (count("step", step)?, count("ranks", ranks)?);
    let (moved, balancings) = (count("particles_moved", moved)?, count("balancings", balancings)?);
    let Place { ranks: own_ranks, partition: own_partition } = here;
    if (ranks, partition) != (*own_ranks as u64, own_partition) {
        return Err(format!(
            "it is of a run on {ranks} ranks with partition `{partition}`, and this one has {own_ranks} with `{own_partition}`"
        ));
    }
    if balancings != rows as u64 {
        return Err(format!("that run had {balancings} balancings, and the file has {rows}: it is cut"));
    }
    if division.is_empty() {
        return Err(format!(
            "the row of step {step} ({moved} particles moved) has no `division`: that is written for \
             `parallel.balance.weights = \"time\"`; a run with weights \"pairs\" repeats itself"
        ));
    }
    Ok(Replayed { step, division: division.to_owned() })
}

/// Adds this file to the inputs of a run that reads it, so that it is not overwritten.
pub fn inputs_with<'i>(inputs: &'i Inputs, path: Option<&Path>) -> Cow<'i, Inputs> {
    let Some(path) = path else { return Cow::Borrowed(inputs) };
    let mut inputs = inputs.clone();
    inputs.beside.push(path.to_owned());
    Cow::Owned(inputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "10,1.5,1.1,7,0.1,0.2,1+2:1,2,stripe,2\n20,1.5,1.1,7,0.1,0.2,1+1:0,2,stripe,2\n";

    #[test]
    fn files_of_other_runs_and_files_that_are_cut() {
        let here = Place { ranks: 2, partition: "stripe".to_owned() };
        let whole = format!("{BALANCING_COLUMNS}\n{ROWS}");
        let said = |text: &str| balancings(text, &here).unwrap_err();
        let replayed = |step, division: &str| Replayed { step, division: division.to_owned() };
        assert_eq!(balancings(&whole, &here), Ok(vec![replayed(10, "1+2:1"), replayed(20, "1+1:0")]));
        assert_eq!(said(""), "it is empty: it has no line of column names");
        assert_eq!(
            said(&format!("{BALANCING_COLUMNS}\n")),
            "it has no rows: nothing was balanced in that run"
        );
        assert_eq!(said(whole.trim_end()), "line 3 ends without a newline: the file is cut");
        assert!(
            said("step,time\n1,2\n").starts_with("line 1 does not have the columns of balance.csv, `step,")
        );
        let first = whole.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
        assert_eq!(said(&first), "line 2: that run had 2 balancings, and the file has 1: it is cut");
        assert_eq!(said(&whole.replace("20,", "x,")), "line 3: `step` is `x`, not a whole number");
        assert_eq!(said(&whole.replace(",1+1:0,", ",")), "line 3: there are 9 columns, not 10");
        assert_eq!(
            said(&whole.replace("1+1:0", "")),
            "line 3: the row of step 20 (7 particles moved) has no `division`: that is written for \
             `parallel.balance.weights = \"time\"`; a run with weights \"pairs\" repeats itself"
        );
        let elsewhere = Place { ranks: 3, partition: "rect".to_owned() };
        assert_eq!(
            balancings(&whole, &elsewhere).unwrap_err(),
            "line 2: it is of a run on 2 ranks with partition `stripe`, and this one has 3 with `rect`"
        );
    }
}
