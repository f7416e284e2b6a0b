//! `predict` with machines and options made from valid ones.

use clap::Parser;
use md_cli::args::{Cli, Command};
use md_cli::commands::predict::{PredictionChoices, predict};
use md_cli::inputs::Inputs;
use md_cli::setup;
use md_scenario::failure::RunError;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use toml::{Table, Value};

use crate::case::{Case, Trial, check_numbers, check_refusal, is_small};
use crate::scenarios::{self, VALUES, damaged};

/// Machine from which the changes start.
const MACHINE: &str = include_str!("machine.toml");
const TABLES: [&str; 6] = ["provenance", "message", "collective", "overlap", "negotiation", "compute"];
const KEYS: [&str; 26] = [
    "host",
    "commands",
    "backend",
    "distance",
    "from_bytes",
    "below_bytes",
    "latency_s",
    "overhead_s",
    "seconds_per_byte",
    "serial_share",
    "rms_residual",
    "operation",
    "base_s",
    "per_doubling_s",
    "hidden_share",
    "progress_call_s",
    "method",
    "precision",
    "threads",
    "two_ranks_s",
    "per_computed_pair_s",
    "per_cell_forces_s",
    "per_list_entry_s",
    "per_particle_s",
    "per_ghost_packed_s",
    "force_scatter",
];
/// Values for a machine, in addition to those for a scenario.
const COSTS: [&str; 14] = [
    "1e-7",
    "1e-320",
    "1e308",
    "1e6",
    "4096",
    "100",
    "\"p2p\"",
    "\"shm\"",
    "\"rma-fence\"",
    "\"hybrid\"",
    "\"network\"",
    "\"barrier\"",
    "\"direct-sum\"",
    "{ seconds = 1e-9 }",
];
const OPTIONS: [&str; 23] = [
    "--ranks=1",
    "--ranks=2",
    "--ranks=3,1,3",
    "--ranks=8",
    "--ranks=27",
    "--ranks=0",
    "--ranks=1048577",
    "--ranks=",
    "--ranks-per-node=1",
    "--ranks-per-node=3",
    "--ranks-per-node=4294967295",
    "--placement=round-robin",
    "--placement=\u{1b}",
    "--weak",
    "--backends=p2p",
    "--backends=hybrid,rma-fence",
    "--backends=local,auto",
    "--shells=all",
    "--exchanges=all",
    "--steps=1",
    "--steps=1001",
    "--seed=18446744073709551615",
    "--set=parallel.second_share=1",
];

/// A call of `predict`.
#[derive(Debug, Clone)]
pub(crate) struct Prediction {
    pub(crate) case: Case,
    pub(crate) machine: Vec<u8>,
    pub(crate) options: Vec<&'static str>,
}

pub(crate) fn valid() -> Prediction {
    let case = scenarios::valid(0);
    Prediction { case, machine: MACHINE.into(), options: vec!["--ranks=1,2,8", "--ranks-per-node=4"] }
}

impl Prediction {
    /// Returns whether the prediction is accepted.
    pub(crate) fn accepted(&self) -> Result<(), String> {
        self.play(|error| Err(error.shown()))
    }

    fn play(&self, refused: impl FnOnce(&RunError) -> Result<(), String>) -> Result<(), String> {
        self.case.with_files(|scenario| {
            let folder = scenario.parent().unwrap_or(scenario);
            let (machine, out) = (folder.join("machine.toml"), folder.join("out"));
            std::fs::write(&machine, &self.machine).map_err(|error| error.to_string())?;
            let mut words = vec!["md-cli".into(), "predict".into(), scenario.as_os_str().to_owned()];
            words.extend(["--quiet".into(), "--output".into(), out.clone().into()]);
            words.extend(["--machine".into(), machine.into()]);
            words.extend(self.case.overrides.iter().map(|text| format!("--set={text}").into()));
            words.extend(self.options.iter().map(Into::into));
            // Clap refuses such options itself.
            let Ok(Cli { command: Command::Predict(args) }) = Cli::try_parse_from(words) else {
                return Ok(());
            };
            let Ok(wish) = PredictionChoices::read(&args) else { return Ok(()) };
            let inputs = match Inputs::read(&args.scenario) {
                Err(error) => return refused(&error),
                Ok(inputs) => inputs,
            };
            if setup::of_inputs(&inputs, 1).is_ok_and(|setup| !is_small(&setup)) {
                return Ok(());
            }
            match predict(inputs, &args, &wish) {
                Err(error) => refused(&error),
                Ok(()) => {
                    let csv = std::fs::read_to_string(out.join("predict.csv"));
                    check_numbers(&csv.map_err(|error| error.to_string())?)
                }
            }
        })
    }
}

impl Trial for Prediction {
    fn check_here(&self) -> Result<(), String> {
        self.play(check_refusal)
    }
}

/// A change of one entry of a machine; the numbers select among the existing entries.
#[derive(Debug, Clone)]
enum Change {
    Set(usize, usize, &'static str, &'static str),
    Drop(usize, usize, &'static str),
    Repeat(usize, usize),
    Remove(usize, usize),
}

/// A machine, a scenario and options, with changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    scenario: Case,
    changes: Vec<Change>,
    damage: Vec<(usize, usize, bool)>,
    options: Vec<&'static str>,
}

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    let values: Vec<&str> = COSTS.into_iter().chain(VALUES).collect();
    let at = || (0..TABLES.len(), any::<usize>());
    let change = prop_oneof![
        6 => (at(), select(KEYS.to_vec()), select(values)).prop_map(|((table, entry), key, value)| Change::Set(table, entry, key, value)),
        1 => (at(), select(KEYS.to_vec())).prop_map(|((table, entry), key)| Change::Drop(table, entry, key)),
        1 => at().prop_map(|(table, entry)| Change::Repeat(table, entry)),
        1 => at().prop_map(|(table, entry)| Change::Remove(table, entry)),
    ];
    let damage = prop_oneof![
        7 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3),
    ];
    let scenario = prop_oneof![
        3 => (0..scenarios::BASES.len()).prop_map(scenarios::valid),
        1 => scenarios::changed().prop_map(|changed| changed.case()),
    ];
    (scenario, vec(change, 0..3), damage, vec(select(OPTIONS.to_vec()), 0..4))
        .prop_map(|(scenario, changes, damage, options)| Changed { scenario, changes, damage, options })
}

impl Changed {
    pub(crate) fn case(&self) -> Prediction {
        let mut tree: Table = MACHINE.parse().expect("it is TOML");
        self.changes.iter().for_each(|change| change.make(&mut tree));
        let text = toml::to_string(&tree).expect("a tree is TOML");
        let mut options = self.options.clone();
        let is_given = |options: &[&str], name: &str| options.iter().any(|option| option.starts_with(name));
        if !is_given(&options, "--ranks=") {
            options.push("--ranks=1,4");
        }
        if !is_given(&options, "--steps=") {
            options.push("--steps=2");
        }
        Prediction { case: self.scenario.clone(), machine: damaged(text.into_bytes(), &self.damage), options }
    }
}

impl Change {
    fn make(&self, tree: &mut Table) {
        let (&Self::Set(table, entry, ..)
        | &Self::Drop(table, entry, _)
        | &Self::Repeat(table, entry)
        | &Self::Remove(table, entry)) = self;
        let Some(Value::Array(entries)) = tree.get_mut(TABLES[table]) else { return };
        let entry = entry % entries.len().max(1);
        let Some(place) = entries.get_mut(entry) else { return };
        match (self, place.as_table_mut()) {
            (Self::Set(.., key, value), Some(place)) => {
                // Integers beyond TOML's range exist only as text.
                let value =
                    format!("x = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
                place.insert((*key).to_owned(), value.unwrap_or(Value::Integer(i64::MAX)));
            }
            (Self::Drop(.., key), Some(place)) => drop(place.remove(*key)),
            (Self::Repeat(..), _) => entries.push(entries[entry].clone()),
            _ => drop(entries.remove(entry)),
        }
    }
}
