//! LAMMPS scripts as scenarios: commands that have an equivalent are taken, and of the others is said, line by line, why not.
//!
//! What a script is: <https://docs.lammps.org/Commands_input.html>. Read here are those of `units lj` and `atom_style atomic` with
//! Lennard-Jones pairs; commands are carried out in order, as LAMMPS does, and the scenario is what they have come to.

mod analyses;
mod commands;
mod data_file;
mod dump;
mod expression;
mod fixes;
mod frames;
mod in_time;
mod integrators;
mod kinds;
mod lines;
mod motion;
mod outcome;
mod pairs;
mod system;
mod velocities;

use analyses::Analyses;
use lines::{Variables, commands as lines_of, words};
use motion::Motion;
pub(crate) use outcome::{Fate, Remark};
use outcome::{Outcome, Taken, one_line};
use pairs::Pairs;
use system::System;

use crate::input::lammps_data::Summary;
use crate::scenario::{ScenarioSource, load};

/// A scenario and what is to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Translation {
    /// TOML that can be run.
    pub(crate) scenario: String,
    /// In the order of the lines.
    pub(crate) remarks: Vec<Remark>,
}

/// Finds out what a data file says, or why nothing.
pub(crate) type DataOf<'f> = &'f dyn Fn(&str) -> Result<Summary, String>;

/// All that the commands have said so far.
struct Script<'f> {
    data_of: DataOf<'f>,
    variables: Variables,
    system: System,
    pairs: Pairs,
    motion: Motion,
    analyses: Analyses,
    /// Whether a `run` was not taken.
    lacks_a_run: bool,
}

/// Translates a script, with variables of its command line (`-var NAME VALUE`).
///
/// # Errors
/// What is missing for a scenario, or wrong with it, with the remarks so far.
pub(crate) fn translate(
    name: &str,
    script: &str,
    variables: &[(String, String)],
    data_of: DataOf,
) -> Result<Translation, (String, Vec<Remark>)> {
    let mut state = Script::new(data_of, Variables::given(variables));
    let mut remarks = Vec::new();
    for line in lines_of(script) {
        if line.text == "clear" {
            let refused = |reason| (format!("line {}: `clear`: {reason}", line.number), remarks.clone());
            state.clear().map_err(refused)?;
            continue;
        }
        let taken = state.take(&line.text);
        remarks.extend(Remark::about(line.number, line.text, taken));
    }
    remarks.extend(state.without_run(script));
    let scenario = match state.scenario(name, script) {
        Ok(tables) => format!("{}{tables}", head(name, &remarks)),
        Err(missing) => return Err((missing, remarks)),
    };
    let source =
        ScenarioSource { name: "scenario".to_owned(), text: scenario.clone(), overrides: Vec::new() };
    match load(&source) {
        Ok(_) => Ok(Translation { scenario, remarks }),
        Err(error) => Err((format!("the scenario would not be one:\n{}", error.render()), remarks)),
    }
}

/// Where the scenario comes from and what it lacks, as comments.
fn head(name: &str, remarks: &[Remark]) -> String {
    let mut text = format!("# From the LAMMPS script {}\n", one_line(name));
    text.extend(remarks.iter().map(Remark::comment));
    text + "\n"
}

impl<'f> Script<'f> {
    fn new(data_of: DataOf<'f>, variables: Variables) -> Self {
        Self {
            data_of,
            variables,
            system: System { is_periodic: [true; 3], ..System::default() },
            pairs: Pairs::default(),
            motion: Motion::default(),
            analyses: Analyses::default(),
            lacks_a_run: false,
        }
    }

    /// Settings as at the beginning; variables stay.
    fn forget(&mut self) {
        let variables = std::mem::take(&mut self.variables);
        *self = Self::new(self.data_of, variables);
    }

    /// Number of types.
    fn types(&self) -> usize {
        self.system.types.max(self.pairs.masses.keys().copied().max().unwrap_or(1))
    }

    fn take(&mut self, text: &str) -> Taken {
        let taken = self.take_line(text);
        self.lacks_a_run |= taken.is_err() && text.split_whitespace().next() == Some("run");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [command, arguments @ ..] = &words[..] else { return taken };
        match taken {
            Err(reason) if kinds::is_observing(command, arguments) => Ok(Outcome::NoEffect(reason)),
            taken => taken,
        }
    }

    fn take_line(&mut self, text: &str) -> Taken {
        if let Some(("variable", rest)) = text.split_once(char::is_whitespace) {
            let put_in = self.variables.put_in(rest);
            let set = put_in.and_then(|put_in| self.variables.set(&words(&put_in)));
            if set.is_err() {
                // What it was before is not what a later line means.
                self.variables.forget(rest.split_whitespace().next().unwrap_or_default());
            }
            return set.map(|()| Outcome::Same);
        }
        if let Some(why) = text.split_whitespace().next().and_then(kinds::no_effect) {
            return Ok(Outcome::NoEffect(why.to_owned()));
        }
        let put_in = self.variables.put_in(text)?;
        let words = words(&put_in);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let [command, arguments @ ..] = &words[..] else { return Ok(Outcome::Same) };
        self.carry_out_in_time(command, arguments)
    }

    /// What becomes of a script that only prepares a run.
    fn without_run(&self, script: &str) -> Option<Remark> {
        let line = lines_of(script).pop().filter(|_| !self.lacks_a_run && !self.motion.has_run())?;
        let reason = "there is no `run` with steps: the scenario makes one step".to_owned();
        Some(Remark { line: line.number, text: line.text, fate: Fate::Differs, reason })
    }

    fn scenario(&self, name: &str, script: &str) -> Result<String, String> {
        if self.lacks_a_run && !self.motion.has_run() {
            return Err("none of its runs could be taken".to_owned());
        }
        let title = script.lines().find_map(|line| line.strip_prefix('#')).map(str::trim);
        let title = title.filter(|title| !title.is_empty()).unwrap_or(name);
        let dimensions = self.system.dimensions.unwrap_or(3);
        Ok(format!(
            "{}\n{}{}{}{}",
            self.motion.simulation(title, dimensions),
            self.system.table()?,
            self.pairs.tables(self.types())?,
            self.motion.tables(),
            self.analyses.keys(self.motion.timestep, self.motion.last_run())
        ))
    }
}
