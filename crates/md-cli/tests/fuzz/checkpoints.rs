//! Checkpoints made from one written by a run: numbers of the header, of the index and of particles
//! are replaced and the checksums recomputed, so that the later checks are reached; and bytes are
//! damaged, which the checksums must detect.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use md_comm::local;
use md_core::Domain;
use md_engine::{EngineError, ParticleRow, RowVector, Setup, Simulation};
use md_files::checkpoint::{self, CheckpointError};
use md_scenario::failure::RunError;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::case::{Case, LIMIT, STEPS, Trial, check_failure, check_forces};
use crate::grids;
use crate::scenarios::damaged;

const SCENARIO: &str = "[simulation]\ntimestep = 0.002\nsteps = 20\n[system]\ntemperature = 1.0\n\
    lattice = { kind = \"fcc\", density = 0.8442, cells = [4, 4, 4] }\n[integrator]\nkind = \"csvr\"\ntemperature = 1.0\nrelaxation = 0.5\n[neighbor]\nskin = 0.3\n\
    [parallel]\nbackend = \"local\"\nranks = 1\n[output]\ndirectory = \"out\"\ncheckpoint = { every = 10 }\n";

/// A droplet off centre in 27 cells, whose work is balanced before the checkpoint.
const BALANCED: &str = "[simulation]\ntimestep = 0.002\nsteps = 20\n[system]\ntemperature = 1.0\n\
    [system.lattice]\nkind = \"fcc\"\ndensity = 0.8\ncells = [6, 6, 6]\n\
    vapour = { density = 0.02, droplets = [{ centre = [0.3, 0.5, 0.6], radius = 3.0 }] }\n[neighbor]\nskin = 0.3\n\
    [parallel]\nbackend = \"local\"\nranks = 2\n[output]\ndirectory = \"out\"\ncheckpoint = { every = 10 }\n";
/// Partition, and weights of the cells, of each base made from [`BALANCED`].
const DIVISIONS: [[&str; 2]; 5] =
    [["rect", "time"], ["stripe", "pairs"], ["rcb", "pairs"], ["hilbert", "time"], ["metis", "pairs"]];
/// Commands that compute on a grid, and their scenarios.
const GRIDS: [(&str, &str); 2] = [
    ("stencil", "[stencil]\nkind = \"swap\"\ngrid = [8, 6, 6]\nfields = 2\ndepth = 2\nsteps = 20\n"),
    ("lbm", "[lbm]\ngrid = [8, 6, 6]\nviscosity = 0.05\nsteps = 20\nbody_force = [1e-5, 0.0, 0.0]\n"),
];
const ON_A_GRID: &str = "[parallel]\nbackend = \"local\"\nranks = 2\n[output]\ndirectory = \"out\"\ncheckpoint = { every = 10 }\n";
/// Number of bases with particles: one rank, and each of the divisions.
const OF_PARTICLES: usize = 1 + DIVISIONS.len();
/// Number of all bases.
const BASES: usize = OF_PARTICLES + GRIDS.len();
/// Number of words, equal on all ranks, before those of the division.
const WORDS_BEFORE: usize = 39;

/// Bytes before the header's text, and of the text with its padding here.
const PREAMBLE: usize = 16;
const TEXT: usize = 16 << 10;

/// Bits of numbers that no particle, box or count has.
const WORDS: [u64; 12] = [
    0,
    1,
    1 << 32,
    u64::MAX,
    u64::MAX - 7,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7fe0_0000_0000_0000,
    0x4376_3457_85d8_a000,
    0xc000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
];

/// Parts of a checkpoint: each rank's rows in one block.
#[derive(Debug, Clone)]
struct Parts {
    header: Value,
    slabs: Vec<Vec<u8>>,
}

/// Returns command and grid of a base without particles.
fn grid_of(base: usize) -> Option<(&'static str, &'static str)> {
    GRIDS.get(base.checked_sub(OF_PARTICLES)?).copied()
}

/// Runs the program in a folder.
pub(crate) fn program(folder: &Path, words: &[&str]) -> Result<Output, String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_md-cli"));
    program.args(words).current_dir(folder).output().map_err(|error| error.to_string())
}

/// Returns the scenario of a base, and its number of ranks.
fn scenario(base: usize) -> (String, usize) {
    if let Some((_, grid)) = grid_of(base) {
        return (format!("{grid}{ON_A_GRID}"), 2);
    }
    let Some([partition, weights]) = base.checked_sub(1).map(|number| DIVISIONS[number]) else {
        return (SCENARIO.to_owned(), 1);
    };
    let keys = format!(
        "[parallel]\npartition = \"{partition}\"\nbalance = {{ every = 4, threshold = 1.0, weights = \"{weights}\" }}\n"
    );
    (BALANCED.replace("[parallel]\n", &keys), 2)
}

/// Returns the checkpoint of a run.
fn valid_parts(base: usize) -> &'static Parts {
    static PARTS: [OnceLock<Parts>; BASES] = [const { OnceLock::new() }; BASES];
    PARTS[base].get_or_init(|| {
        let (scenario, ranks) = scenario(base);
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("fuzz.toml"), scenario).expect("a scenario");
        let command = grid_of(base).map_or("run", |(command, _)| command);
        let words = [command, "fuzz.toml", "--quiet", "--steps", "10"];
        let ended = program(folder.path(), &words).expect("the program starts");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let bytes = fs::read(folder.path().join("out/checkpoint-10.mdc")).expect("a checkpoint");
        let text = PREAMBLE + word(&bytes[8..]) as usize;
        let header: Value = serde_json::from_slice(&bytes[PREAMBLE..text]).expect("a header");
        // After the text: its checksum, the index of every rank, its rows, their checksum.
        let row_bytes = header["row_words"].as_u64().expect("a number") as usize * 8;
        let slab = |rank: usize| {
            let entry = &bytes[text + 8 + 24 * rank..];
            let (at, rows) = (word(entry) as usize, word(&entry[8..]) as usize);
            bytes[at..at + rows * row_bytes].to_vec()
        };
        Parts { slabs: (0..ranks).map(slab).collect(), header }
    })
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|at| bytes[at]))
}

fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = u64::from(crc32fast::hash(&bytes));
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// A change that checksums do not reveal.
#[derive(Debug, Clone)]
enum Change {
    /// Another value in the header.
    Header(usize, Value),
    /// Another offset or number of rows in the index.
    Index(usize, u64),
    /// Another word of a particle.
    Row(usize, u64),
    /// Another of the words that are equal on all ranks, from those of the division on.
    Division(usize, u64),
}

/// A word of the index, of the rows, or of the division.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Index(usize),
    Row(usize),
    Division(usize),
}

/// A file, and the number of ranks that read it.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    base: usize,
    changes: Vec<Change>,
    damage: Vec<(usize, usize, bool)>,
    ranks: usize,
}

/// Returns unchanged checkpoints of every base, some with another number of ranks.
pub(crate) fn valid() -> Vec<Changed> {
    let with = |(base, ranks)| Changed { base, changes: Vec::new(), damage: Vec::new(), ranks };
    let alike = (0..BASES).map(|base| (base, scenario(base).1));
    alike.chain([(0, 2), (1, 1), (OF_PARTICLES, 3), (OF_PARTICLES + 1, 1)]).map(with).collect()
}

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    changed_from(0..OF_PARTICLES)
}

pub(crate) fn changed_on_grids() -> impl Strategy<Value = Changed> {
    changed_from(OF_PARTICLES..BASES)
}

fn changed_from(bases: Range<usize>) -> impl Strategy<Value = Changed> {
    let values = [
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(-1),
        json!(2.5),
        json!(1e308),
        json!(1_u64 << 32),
        json!(1_u64 << 61),
        json!(u64::MAX),
        json!("\u{1b}[2J"),
        json!(""),
        json!([]),
        Value::Null,
    ];
    let at = any::<usize>;
    let change = prop_oneof![
        3 => (at(), select(values.to_vec())).prop_map(|(place, value)| Change::Header(place, value)),
        2 => (at(), select(WORDS.to_vec())).prop_map(|(place, word)| Change::Index(place, word)),
        3 => (at(), select(WORDS.to_vec())).prop_map(|(place, word)| Change::Row(place, word)),
        3 => (at(), select(WORDS.to_vec())).prop_map(|(place, word)| Change::Division(place, word)),
        2 => (at(), 0..30_u64).prop_map(|(place, word)| Change::Division(place, word)),
    ];
    let damage =
        prop_oneof![5 => Just(Vec::new()), 1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3)];
    let ranks = prop_oneof![2 => Just(None), 1 => (1..3_usize).prop_map(Some)];
    (bases, vec(change, 0..3), damage, ranks).prop_map(|(base, changes, damage, ranks)| {
        let ranks = ranks.unwrap_or(scenario(base).1);
        Changed { base, changes, damage, ranks }
    })
}

impl Changed {
    fn bytes(&self) -> Vec<u8> {
        let Parts { mut header, mut slabs } = valid_parts(self.base).clone();
        let row_bytes = header["row_words"].as_u64().unwrap_or_default() as usize * 8;
        let mut end = PREAMBLE + TEXT + 8 + 24 * slabs.len();
        let mut index = Vec::new();
        for slab in &slabs {
            index.extend([end as u64, (slab.len() / row_bytes) as u64]);
            end += slab.len() + 8;
        }
        header["bytes"] = json!(end);
        for change in &self.changes {
            match change {
                Change::Header(place, value) => {
                    let mut leaves = Vec::new();
                    collect(&mut header, &mut leaves);
                    let place = place % leaves.len();
                    *leaves.swap_remove(place) = value.clone();
                }
                Change::Index(place, word) => {
                    let place = place % index.len();
                    index[place] = *word;
                }
                Change::Row(place, word) => {
                    let slab = &mut slabs[place % 2 % scenario(self.base).1];
                    let place = place % (slab.len() / 8) * 8;
                    slab[place..place + 8].copy_from_slice(&word.to_le_bytes());
                }
                Change::Division(place, word) => {
                    if let Some(shared) = header["shared"].as_array_mut().filter(|it| it.len() > WORDS_BEFORE)
                    {
                        let place = WORDS_BEFORE + place % (shared.len() - WORDS_BEFORE);
                        shared[place] = json!(word);
                    }
                }
            }
        }
        let mut text = serde_json::to_vec(&header).expect("it is JSON");
        text.resize(TEXT, b' ');
        let mut bytes = sealed([&b"md-ckpt3"[..], &(TEXT as u64).to_le_bytes(), &text].concat());
        for entry in index.chunks(2) {
            bytes.extend(sealed(entry.iter().flat_map(|word| word.to_le_bytes()).collect()));
        }
        slabs.into_iter().for_each(|rows| bytes.extend(sealed(rows)));
        damaged(bytes, &self.damage)
    }

    /// Returns whether a run can be resumed from it, for some steps.
    pub(crate) fn goes_on(&self) -> Result<Result<(), String>, String> {
        Case::of_scenario(scenario(self.base).0.into_bytes()).with_files(|scenario| {
            let file = scenario.with_file_name("checkpoint-10.mdc");
            fs::write(&file, self.bytes()).map_err(|error| error.to_string())?;
            match checkpoint::inspect(&file) {
                Ok(text) => check_harmless(&text)?,
                Err(error) => check_refusal(&error.into())?,
            }
            match grid_of(self.base) {
                Some((command, _)) => self.play(command, &scenario.with_file_name("")),
                None => self.resume(scenario, &file),
            }
        })
    }

    /// Returns the refusal of a checkpoint of a base in which one word is replaced.
    pub(crate) fn refusal(base: usize, place: Place, word: u64) -> Result<(), String> {
        let change = match place {
            Place::Index(number) => Change::Index(number, word),
            Place::Row(number) => Change::Row(number, word),
            Place::Division(number) => Change::Division(number, word),
        };
        Self { base, changes: vec![change], damage: Vec::new(), ranks: scenario(base).1 }.goes_on()?
    }

    /// Returns whether the program can be resumed on a grid; without changes, the bits must be
    /// those of an uninterrupted run.
    fn play(&self, command: &str, folder: &Path) -> Result<Result<(), String>, String> {
        let ranks = format!("parallel.ranks={}", self.ranks);
        let call = [command, "fuzz.toml", "--quiet", "--set", &ranks];
        let ended = program(folder, &[&call[..], &["--resume", "checkpoint-10.mdc"]].concat())?;
        if ended.status.code() != Some(0) {
            return grids::check_refusal(&ended).map(Err);
        }
        let bits = grids::fingerprint(folder)?;
        if self.changes.is_empty() {
            let ended = program(folder, &call)?;
            if !ended.status.success() {
                return Err(format!("at once: {}", String::from_utf8_lossy(&ended.stderr)));
            }
            let at_once = grids::fingerprint(folder)?;
            if bits != at_once {
                return Err(format!("{bits}, and {at_once} of a run at once"));
            }
        }
        Ok(Ok(()))
    }

    fn resume(&self, scenario: &Path, file: &Path) -> Result<Result<(), String>, String> {
        let case = Case {
            overrides: vec![format!("parallel.ranks={}", self.ranks)],
            ..Case::of_scenario(crate::checkpoints::scenario(self.base).0.into_bytes())
        };
        let (inputs, setup) = case.inputs(scenario).map_err(|error| error.shown())?;
        let ended = local::run(self.ranks, LIMIT, |world| {
            let (_, restored) = checkpoint::read(world, file, &inputs.scenario, &setup)?;
            let mut simulation = Simulation::resume(world, &setup, restored)?;
            simulation.run(STEPS, &mut [])?;
            let rows = simulation.gather_rows(RowVector::Force)?;
            let (report, domain) = (simulation.neighbor_report(), simulation.state().domain);
            simulation.finalise()?;
            Ok(End { rows, is_warned_of: report.first_dangerous_step.is_some(), domain })
        });
        let ended: Result<Vec<Result<End, RunError>>, _> = ended.into_iter().collect();
        let ranks: Result<Vec<End>, _> = ended.map_err(|panic| panic.to_string())?.into_iter().collect();
        match ranks {
            Ok(ends) => ends.into_iter().next().map_or(Ok(()), |end| end.check(&setup)).map(Ok),
            Err(error) => check_refusal(&error).map(|()| Err(error.shown())),
        }
    }
}

/// Final state of a resumed run on rank 0.
struct End {
    rows: Vec<ParticleRow>,
    is_warned_of: bool,
    domain: Domain,
}

impl End {
    /// Checks that the forces are those of a direct sum at the same positions, unless the run has
    /// printed a warning about them.
    fn check(mut self, setup: &Setup) -> Result<(), String> {
        if self.is_warned_of {
            return Ok(());
        }
        self.rows.sort_by_key(|row| row.id);
        let setup = Setup { domain: self.domain, ..setup.clone() };
        check_forces(&setup, &self.rows).map_err(|why| format!("{STEPS} steps after a checkpoint: {why}"))
    }
}

impl Trial for Changed {
    fn check_here(&self) -> Result<(), String> {
        let whole = Self { damage: Vec::new(), ..self.clone() };
        let is_damaged = self.bytes() != whole.bytes();
        match self.goes_on()? {
            Ok(()) if is_damaged => Err("damaged bytes are not seen".to_owned()),
            Err(refusal) if self.changes.is_empty() && !is_damaged => {
                Err(format!("a whole checkpoint is refused: {refusal}"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that a refusal states what is wrong with the checkpoint, and does not act on a terminal.
fn check_refusal(error: &RunError) -> Result<(), String> {
    let text = error.shown();
    check_harmless(&text)?;
    let is_refusal = error.exit_code() == 2;
    match error.find::<EngineError>() {
        Some(EngineError::Config(what)) if what.contains("checkpoint") && is_refusal => Ok(()),
        Some(error) => check_failure(error).map(drop),
        None if error.find::<CheckpointError>().is_some() && is_refusal => Ok(()),
        None => Err(format!("refused with exit code {} and these words: {text}", error.exit_code())),
    }
}

fn check_harmless(text: &str) -> Result<(), String> {
    let acts = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if text.contains(acts) { Err(format!("control characters in {text:?}")) } else { Ok(()) }
}

/// Collects all values of a header that contain no others.
fn collect<'a>(value: &'a mut Value, leaves: &mut Vec<&'a mut Value>) {
    if !matches!(value, Value::Array(_) | Value::Object(_)) {
        return leaves.push(value);
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, leaves)),
        Value::Object(entries) => entries.values_mut().for_each(|item| collect(item, leaves)),
        _ => (),
    }
}
