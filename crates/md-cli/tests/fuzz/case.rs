//! One case: what is tried with it, and what must hold.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::error::{RunError, Unreadable};
use md_cli::input::{InputError, Problem};
use md_cli::inputs::Inputs;
use md_cli::memory;
use md_cli::scenario::ScenarioError;
use md_cli::setup::{self, room};
use md_comm::local;
use md_core::force::{MethodKind, Precision};
use md_core::rebuild::RebuildPolicy;
use md_core::{Domain, Particle};
use md_engine::{EngineError, ParticleRow, ParticleSource, RowVector, Setup, Simulation};
use md_lab::machine::MachineError;
use md_lab::predict::PredictError;
use md_lab::trace::TraceError;

/// No case takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
/// Larger systems are not run.
const MOST_ATOMS: u64 = 600;
/// More threads than this are not started.
const MOST_THREADS: usize = 8;
/// Steps of what was accepted.
pub(crate) const STEPS: u64 = 3;

/// Something that is tried.
pub(crate) trait Trial: Sized + Send + 'static {
    /// Tries it.
    fn check_here(&self) -> Result<(), String>;

    /// What is wrong with how it was dealt with.
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

    /// What is set up, or why nothing is.
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

    /// What `run` does before it computes.
    fn set_up(&self, scenario: &Path) -> Result<Setup, RunError> {
        let (inputs, setup) = self.inputs(scenario)?;
        room::expect(&inputs, &setup, memory::available(setup.ranks))?;
        Ok(setup)
    }

    /// What is read and set up.
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

    /// Runs what is accepted; what is not says so as it should.
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

/// Whether it can be run in a moment.
pub(crate) fn is_small(setup: &Setup) -> bool {
    setup.atoms() <= MOST_ATOMS && setup.ranks * setup.config.parallel.threads <= MOST_THREADS
}

/// A refusal names a key or a line, and of a file what is missing in it, and nothing of it acts on a terminal.
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

/// Whether a refusal is one of input, with its place, that does not act on a terminal.
pub(crate) fn refused(error: &RunError, is_placed: bool) -> Result<(), String> {
    let text = error.shown();
    match (error.exit_code(), is_placed, is_harmless(&text)) {
        (2, true, true) => Ok(()),
        (code, ..) => Err(format!("refused with exit code {code} and these words: {text}")),
    }
}

/// Whether nothing in a text acts on a terminal.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Runs what was accepted, and compares its forces with the direct sum, at the start and at the end; of a lattice with
/// displaced sites, as it has none else.
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
    // Lists that are kept for longer than particles need to leave them are the user's own wish.
    if matches!(setup.config.neighbor.rebuild, RebuildPolicy::Every(steps) if steps > 1) {
        return Ok(());
    }
    check_forces(&setup, &found).map_err(|why| format!("after {STEPS} steps: {why}"))
}

/// Whether the forces of these rows, sorted by id, are those of the direct sum at the same places.
pub(crate) fn check_forces(setup: &Setup, found: &[ParticleRow]) -> Result<(), String> {
    match play(&direct(&at(setup, found)?), 0)? {
        Ok(expected) => compare(setup, found, &expected),
        // What explodes goes on for a while, but nothing starts from there.
        Err(error) => check_failure(&error).map(drop),
    }
}

/// The same by the direct sum.
fn direct(setup: &Setup) -> Setup {
    let mut direct = setup.clone();
    direct.config.neighbor.method = MethodKind::DirectSum;
    direct.config.neighbor.precision = Precision::Double;
    direct
}

/// The same with the particles where these rows are.
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

/// Whether these are the same forces, on all particles.
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

/// Only the steps themselves show that particles are on top of each other, or a time step too large; everything else was to be
/// seen before.
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

/// The forces after so many steps.
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

/// Makes sure that all numbers of a table are some that a measurement or a prediction may have.
pub(crate) fn check_numbers(csv: &str) -> Result<(), String> {
    let fields = csv.lines().skip(1).flat_map(|line| line.split(','));
    let mut numbers = fields.filter_map(|field| field.parse::<f64>().ok());
    match numbers.find(|number| !(number.is_finite() && *number >= 0.0)) {
        Some(number) => Err(format!("{number} in a table:\n{csv}")),
        None => Ok(()),
    }
}
