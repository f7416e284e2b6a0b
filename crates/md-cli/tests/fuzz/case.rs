//! A case: a trial and its checks.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::inputs::Inputs;
use md_cli::setup::{self, room};
use md_comm::local;
use md_core::force::{MethodKind, Precision};
use md_core::rebuild::RebuildPolicy;
use md_core::{Domain, Particle};
use md_engine::{EngineError, ParticleRow, ParticleSource, RowVector, Setup, Simulation};
use md_files::input::{InputError, Problem};
use md_files::memory;
use md_lab::machine::MachineError;
use md_lab::predict::PredictError;
use md_lab::trace::TraceError;
use md_scenario::ScenarioError;
use md_scenario::failure::{RunError, Unreadable};

/// Time limit of a case.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// Larger systems are not run.
const MOST_ATOMS: u64 = 600;
/// More threads than this are not started.
const MOST_THREADS: usize = 8;
/// Number of steps of an accepted case.
pub(crate) const STEPS: u64 = 3;

/// An input that is tried.
pub(crate) trait Trial: Sized + Send + 'static {
    /// Tries it in this thread.
    fn check_here(&self) -> Result<(), String>;

    /// Tries it in another thread; returns what is wrong with the program's reaction.
    fn check(self) -> Result<(), String> {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || tell.send(self.check_here()));
        match told.recv_timeout(LIMIT) {
            Ok(checked) => checked,
            Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("no end after {LIMIT:?}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err("a panic".to_owned()),
        }
    }
}

/// A scenario, its overrides, and the particle file `particles`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Case {
    pub(crate) scenario: Vec<u8>,
    pub(crate) overrides: Vec<String>,
    pub(crate) particles: Vec<u8>,
}

impl Case {
    pub(crate) fn of_scenario(scenario: Vec<u8>) -> Self {
        Self { scenario, ..Self::default() }
    }

    /// Returns the set-up, or why there is none.
    pub(crate) fn accepted(&self) -> Result<Setup, String> {
        self.with_files(|scenario| self.set_up(scenario).map_err(|error| error.shown()))
    }

    pub(crate) fn with_files<T>(&self, act: impl FnOnce(&Path) -> Result<T, String>) -> Result<T, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let scenario = folder.path().join("fuzz.toml");
        std::fs::write(&scenario, &self.scenario).map_err(|error| error.to_string())?;
        std::fs::write(folder.path().join("particles"), &self.particles)
            .map_err(|error| error.to_string())?;
        act(&scenario)
    }

    /// Does what `run` does before it computes.
    fn set_up(&self, scenario: &Path) -> Result<Setup, RunError> {
        let (inputs, setup) = self.inputs(scenario)?;
        room::expect(&inputs, &setup, memory::available(setup.ranks))?;
        Ok(setup)
    }

    /// Returns the inputs and their set-up.
    pub(crate) fn inputs(&self, scenario: &Path) -> Result<(Inputs, Setup), RunError> {
        let mut words = vec!["md-cli".into(), "check".into(), scenario.as_os_str().to_owned()];
        words.extend(self.overrides.iter().map(|text| format!("--set={text}").into()));
        let Ok(Cli { command: Command::Check(args) }) = Cli::try_parse_from(words) else {
            unreachable!("`check` takes any override")
        };
        let inputs = Inputs::read(&args.scenario())?;
        let setup = setup::of_inputs(&inputs, inputs.scenario.parallel.ranks)?;
        Ok((inputs, setup))
    }

    /// Runs an accepted case; checks the refusal of any other.
    pub(crate) fn check_with(
        &self,
        check_refusal: impl FnOnce(&RunError) -> Result<(), String>,
    ) -> Result<(), String> {
        self.with_files(|scenario| match self.set_up(scenario) {
            Err(error) => check_refusal(&error),
            Ok(setup) if is_small(&setup) => check_run(&setup),
            Ok(_) => Ok(()),
        })
    }
}

impl Trial for Case {
    fn check_here(&self) -> Result<(), String> {
        self.check_with(check_refusal)
    }
}

/// Returns whether the set-up can be run quickly.
pub(crate) fn is_small(setup: &Setup) -> bool {
    setup.atoms() <= MOST_ATOMS && setup.ranks * setup.config.parallel.threads <= MOST_THREADS
}

/// Checks that a refusal names a key or a line, or what is missing in a file, and that its text
/// does not act on a terminal.
pub(crate) fn check_refusal(error: &RunError) -> Result<(), String> {
    let text = error.shown();
    let is_placed = if let Some(error) = error.find::<ScenarioError>() {
        !error.key_path().is_empty() || text.contains("fuzz.toml:") || text.contains("command line:")
    } else if let Some(error) = error.find::<InputError>() {
        let is_of_all = matches!(error.problem, Problem::Empty | Problem::CutGzip { .. });
        error.line.is_some() || is_of_all || error.problem.to_string().contains('`')
    } else if let Some(Unreadable { path, reason }) = error.find() {
        let names = ["particles", "fuzz.toml", "machine.toml", "fuzz.json"];
        names.iter().any(|name| path.ends_with(name)) && !reason.is_empty()
    } else if error.find::<MachineError>().is_some() {
        text.contains("machine.toml, line ")
    } else if error.find::<TraceError>().is_some() {
        text.contains("fuzz.json:")
    } else {
        error.find::<PredictError>().is_some()
    };
    refused(error, is_placed)
}

/// Checks that a refusal is one of input, with its place, and does not act on a terminal.
pub(crate) fn refused(error: &RunError, is_placed: bool) -> Result<(), String> {
    let text = error.shown();
    match (error.exit_code(), is_placed, is_harmless(&text)) {
        (2, true, true) => Ok(()),
        (code, ..) => Err(format!("refused with exit code {code} and these words: {text}")),
    }
}

/// Returns whether a text contains nothing that acts on a terminal.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Runs an accepted case, and compares its forces with the direct sum, at the start and at the end.
/// The sites of a lattice are displaced, as a perfect lattice has no forces.
fn check_run(setup: &Setup) -> Result<(), String> {
    play(setup, STEPS)?.or_else(|error| check_failure(&error))?;
    let setup = setup.displaced(1.0);
    match (play(&setup, 0)?, play(&direct(&setup), 0)?) {
        (Ok(found), Ok(expected)) => compare(&setup, &found, &expected)?,
        (Err(found), Err(expected)) => {
            return check_failure(&found).and(check_failure(&expected)).map(drop);
        }
        (Err(error), Ok(_)) => return Err(format!("only the direct sum does not say: {error}")),
        (Ok(_), Err(error)) => return Err(format!("the direct sum alone says: {error}")),
    }
    let found = match play(&setup, STEPS)? {
        Ok(found) => found,
        Err(error) => return check_failure(&error).map(drop),
    };
    // With fixed rebuild intervals, lists may be kept for too long: that is the choice of the user.
    if matches!(setup.config.neighbor.rebuild, RebuildPolicy::Every(steps) if steps > 1) {
        return Ok(());
    }
    check_forces(&setup, &found).map_err(|why| format!("after {STEPS} steps: {why}"))
}

/// Checks that the forces of these rows, sorted by id, are those of the direct sum at the same
/// positions.
pub(crate) fn check_forces(setup: &Setup, found: &[ParticleRow]) -> Result<(), String> {
    match play(&direct(&at(setup, found)?), 0)? {
        Ok(expected) => compare(setup, found, &expected),
        // An exploding run continues for a while, but no run can start from its state.
        Err(error) => check_failure(&error).map(drop),
    }
}

/// Returns the set-up with the direct sum as method.
fn direct(setup: &Setup) -> Setup {
    let mut direct = setup.clone();
    direct.config.neighbor.method = MethodKind::DirectSum;
    direct.config.neighbor.precision = Precision::Double;
    direct
}

/// Returns the set-up with the particles at the positions of these rows.
fn at(setup: &Setup, rows: &[ParticleRow]) -> Result<Setup, String> {
    let place = |row: &ParticleRow| Particle {
        id: row.id,
        species: row.kind - 1,
        position: row.position,
        ..Particle::default()
    };
    let mut config = setup.config.clone();
    let particles = rows.iter().map(place).collect();
    let Domain { origin, lengths, .. } = setup.domain;
    config.particles = ParticleSource::List { origin, lengths, particles, share: None };
    Setup::new(config, setup.ranks).map_err(|error| format!("particles of a run are refused: {error}"))
}

/// Checks that two sets of forces agree on all particles.
fn compare(setup: &Setup, found: &[ParticleRow], expected: &[ParticleRow]) -> Result<(), String> {
    let counts = [found.len(), expected.len()].map(|count| count as u64);
    if counts != [setup.atoms(); 2] {
        return Err(format!("{counts:?} forces on {} particles", setup.atoms()));
    }
    let bound = if setup.config.neighbor.precision == Precision::Mixed { 1e-4 } else { 1e-9 };
    let largest =
        expected.iter().flat_map(|row| row.vector).fold(0.0, |most: f64, force| most.max(force.abs()));
    for (own, reference) in found.iter().zip(expected) {
        let is_close = (0..3).all(|dim| (own.vector[dim] - reference.vector[dim]).abs() <= bound * largest);
        if own.id != reference.id || !is_close {
            return Err(format!("forces of the direct sum are others: {own:?}, {reference:?}"));
        }
    }
    Ok(())
}

/// Checks that an error of a run is one that only the steps can show: particles on top of each
/// other, or a time step that is too large. All other errors must be found earlier.
pub(crate) fn check_failure(error: &EngineError) -> Result<Vec<ParticleRow>, String> {
    match error {
        EngineError::Exploded { .. }
        | EngineError::Explodes { .. }
        | EngineError::Lost { .. }
        | EngineError::NotFinite { .. }
        | EngineError::Drift { .. } => Ok(Vec::new()),
        other => Err(format!("accepted, and then: {other}")),
    }
}

/// Returns the forces after `steps` steps.
pub(crate) fn play(setup: &Setup, steps: u64) -> Result<Result<Vec<ParticleRow>, EngineError>, String> {
    let ended = local::run(setup.ranks, LIMIT, |world| {
        let mut simulation = Simulation::new(world, setup)?;
        simulation.run(steps, &mut [])?;
        let mut rows = simulation.gather_rows(RowVector::Force)?;
        simulation.finalise()?;
        rows.sort_by_key(|row| row.id);
        Ok(rows)
    });
    let ended: Result<Vec<_>, _> = ended.into_iter().collect();
    let ranks = ended.map_err(|panic| panic.to_string())?;
    let all: Result<Vec<_>, _> = ranks.into_iter().collect();
    // Rank 0 has the rows.
    Ok(all.map(|ranks| ranks.into_iter().next().unwrap_or_default()))
}

/// Checks that all numbers of a table are finite and not negative, as those of measurements and
/// predictions must be.
pub(crate) fn check_numbers(csv: &str) -> Result<(), String> {
    let fields = csv.lines().skip(1).flat_map(|line| line.split(','));
    let mut numbers = fields.filter_map(|field| field.parse::<f64>().ok());
    match numbers.find(|number| !(number.is_finite() && *number >= 0.0)) {
        Some(number) => Err(format!("{number} in a table:\n{csv}")),
        None => Ok(()),
    }
}
