//! Translation of LAMMPS scripts to scenarios: commands that have an equivalent are taken, and for
//! the others there is a remark, by line, that states why not.
//!
//! The syntax of scripts is in <https://docs.lammps.org/Commands_input.html>. Scripts with `units
//! lj`, `atom_style atomic` and Lennard-Jones pairs are supported; commands are carried out in
//! order, as in LAMMPS, and the scenario is the final state.

#![forbid(unsafe_code)]

mod analyses;
mod commands;
mod created;
mod data_file;
mod dump;
mod expression;
mod faces;
mod fixes;
mod frames;
mod in_time;
mod integrators;
mod kinds;
mod lattice;
mod lines;
mod motion;
mod numbers;
mod outcome;
mod pairs;
mod printf;
mod space;
mod system;
mod variables;
mod velocities;

use analyses::Analyses;
use lines::{commands as lines_of, words};
use motion::Motion;
pub use outcome::{Fate, Remark};
use outcome::{Outcome, Taken, one_line};
use pairs::Pairs;
use system::System;
use variables::Variables;

use md_files::input::lammps_data::Summary;
use md_files::text_file::LONGEST_SCENARIO;
use md_scenario::{ScenarioSource, load};

/// A scenario and the remarks on the script.
#[derive(Debug, Clone, PartialEq)]
pub struct Translation {
    /// TOML that can be run.
    pub scenario: String,
    /// Remarks in the order of the lines.
    pub remarks: Vec<Remark>,
}

/// Functions that read the files named by a script.
#[derive(Clone, Copy)]
pub struct Files<'f> {
    /// Returns the contents of a data file except its particles.
    pub data: &'f dyn Fn(&str) -> Result<Summary, String>,
    /// Returns the text of another script.
    pub script: &'f dyn Fn(&str) -> Result<String, String>,
}

/// Whether a script continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    GoesOn,
    HasQuit,
}

/// State after the commands so far.
struct Script<'f> {
    files: Files<'f>,
    variables: Variables,
    system: System,
    pairs: Pairs,
    motion: Motion,
    analyses: Analyses,
    /// Whether a `run` was not taken.
    lacks_a_run: bool,
    remarks: Vec<Remark>,
    /// Names of the included scripts that are being read.
    included: Vec<String>,
    /// Work done so far, in commands.
    work: usize,
}

/// Translates a script, given the variables of the command line (`-var NAME VALUE`).
///
/// # Errors
/// The missing or wrong part of the scenario, with the remarks so far.
pub fn translate(
    name: &str,
    script: &str,
    variables: &[(String, String)],
    files: Files<'_>,
) -> Result<Translation, (String, Vec<Remark>)> {
    let mut state = Script::new(files, Variables::given(variables));
    if let Err(reason) = state.carry_out_lines(script) {
        return Err((reason, state.remarks));
    }
    let mut remarks = std::mem::take(&mut state.remarks);
    remarks.extend(state.without_run(script));
    let scenario = match state.scenario(name, script) {
        Ok(tables) => format!("{}{tables}", head(name, &remarks)),
        Err(missing) => return Err((missing, remarks)),
    };
    if scenario.len() as u64 >= LONGEST_SCENARIO {
        let reason = format!("the scenario would be longer than {} MB", LONGEST_SCENARIO >> 20);
        return Err((reason, remarks));
    }
    let source =
        ScenarioSource { name: "scenario".to_owned(), text: scenario.clone(), overrides: Vec::new() };
    match load(&source) {
        Ok(_) => Ok(Translation { scenario, remarks }),
        Err(error) => Err((format!("the scenario would not be one:\n{}", error.render()), remarks)),
    }
}

/// Returns the origin of the scenario and its gaps, as comments.
fn head(name: &str, remarks: &[Remark]) -> String {
    let mut text = format!("# From the LAMMPS script {}\n", one_line(name));
    text.extend(remarks.iter().map(Remark::comment));
    text + "\n"
}

impl<'f> Script<'f> {
    fn new(files: Files<'f>, variables: Variables) -> Self {
        Self {
            files,
            variables,
            system: System::default(),
            pairs: Pairs::default(),
            motion: Motion::default(),
            analyses: Analyses::default(),
            lacks_a_run: false,
            remarks: Vec::new(),
            included: Vec::new(),
            work: 0,
        }
    }

    /// Carries out the commands of a script.
    ///
    /// # Errors
    /// The command that makes a scenario impossible.
    fn carry_out_lines(&mut self, script: &str) -> Result<Flow, String> {
        for line in lines_of(script) {
            self.count_work()?;
            let taken = match line.text.split_whitespace().next() {
                Some("clear") => {
                    self.clear().map_err(|reason| format!("line {}: `clear`: {reason}", line.number))?;
                    Ok(Outcome::Same)
                }
                Some("quit") => return Ok(Flow::HasQuit),
                Some("include") => match self.included_script(&line.text) {
                    Ok((name, text)) => {
                        self.included.push(name);
                        let flow = self.carry_out_lines(&text)?;
                        self.included.pop();
                        if flow == Flow::HasQuit {
                            return Ok(flow);
                        }
                        Ok(Outcome::Same)
                    }
                    Err(reason) => Err(reason),
                },
                _ => self.take(&line.text),
            };
            let file = self.included.last().cloned();
            self.remarks
                .extend(Remark::about(line.number, line.text, taken).map(|remark| Remark { file, ..remark }));
        }
        Ok(Flow::GoesOn)
    }

    /// Counts a command; its cost grows with everything defined so far.
    fn count_work(&mut self) -> Result<(), String> {
        const MOST_COMMANDS: usize = 1_000_000;
        /// Number of regions, pairs and the like that cost as much as a command.
        const PER_COMMAND: usize = 10;
        let size = self.system.size() + self.pairs.size() + self.motion.fixes.len();
        self.work += 1 + size / PER_COMMAND;
        match self.work > MOST_COMMANDS {
            true => Err(format!(
                "it has more than {MOST_COMMANDS} commands, or too many for the pairs, regions and particles that it makes"
            )),
            false => Ok(()),
        }
    }

    /// Returns the name and the text of the script named by `include`.
    fn included_script(&self, line: &str) -> Result<(String, String), String> {
        const DEEPEST: usize = 16;
        let words = words(&self.variables.put_in(line, &|name| self.constant(name))?)?;
        let [_, name] = &words[..] else { return Err("one file was expected".to_owned()) };
        if self.included.contains(name) {
            return Err(format!("`{name}` includes itself"));
        }
        if self.included.len() >= DEEPEST {
            return Err(format!("scripts include each other more than {DEEPEST} deep"));
        }
        Ok((name.clone(), (self.files.script)(name)?))
    }

    /// Resets all settings to their initial state; variables stay.
    fn forget(&mut self) {
        self.system = System::default();
        self.pairs = Pairs::default();
        self.motion = Motion::default();
        self.analyses = Analyses::default();
        self.lacks_a_run = false;
    }

    /// Returns the number of types.
    fn types(&self) -> usize {
        self.system.types.max(self.pairs.masses.keys().copied().max().unwrap_or(1))
    }

    fn take(&mut self, text: &str) -> Taken {
        let taken = self.take_line(text);
        let mut first_words = text.split_whitespace();
        if let (Err(_), Some("variable"), Some(name)) = (&taken, first_words.next(), first_words.next()) {
            // Later lines must not use its previous value.
            self.variables.forget(name);
        }
        self.lacks_a_run |= taken.is_err() && text.split_whitespace().next() == Some("run");
        let words: Vec<&str> = text.split_whitespace().collect();
        let [command, arguments @ ..] = &words[..] else { return taken };
        match taken {
            Err(reason) if kinds::is_observing(command, arguments) => Ok(Outcome::NoEffect(reason)),
            taken => taken,
        }
    }

    fn take_line(&mut self, text: &str) -> Taken {
        let first = text.split_whitespace().next().unwrap_or_default();
        if let Some(why) = kinds::no_effect(first) {
            return Ok(Outcome::NoEffect(why.to_owned()));
        }
        let put_in = self.variables.put_in(text, &|name| self.constant(name))?;
        let words = words(&put_in)?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match &words[..] {
            ["variable", arguments @ ..] => self.variable(arguments),
            [command, arguments @ ..] => self.carry_out_in_time(command, arguments),
            [] => Ok(Outcome::Same),
        }
    }

    /// Carries out `variable NAME STYLE ...`.
    fn variable(&mut self, words: &[&str]) -> Taken {
        let mut variables = std::mem::take(&mut self.variables);
        let set = variables.set(words, &|name| self.constant(name));
        self.variables = variables;
        set.map(|()| Outcome::Same)
    }

    /// Returns the remark on a script that only prepares a run.
    fn without_run(&self, script: &str) -> Option<Remark> {
        let line = lines_of(script).pop().filter(|_| !self.lacks_a_run && !self.motion.has_run())?;
        let reason =
            "the script ends without a `run` that has steps; its scenario would make one step".to_owned();
        Remark::about(line.number, line.text, Ok(Outcome::Differs(reason)))
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
