//! Scenarios of `stencil` and `lbm` made from valid ones and their JSON Schemas, and masks of
//! obstacles. Accepted cases are run on their own number of ranks and on one: the bits of all
//! values must be equal, and the mass of a flow must be conserved.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clap::Parser;
use md_cli::args::{Cli, ScenarioKind};
use md_cli::grid_inputs::AnyInputs;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::{Trial, is_harmless};
use crate::scenarios::{Setting, damaged, edited, setting};

/// Larger grids are not run.
const MOST_NODES: usize = 10_000;
/// More ranks or threads than this are not started.
const MOST_THREADS: usize = 8;
/// Scenarios with a shorter watchdog are not run, because it may rightly end them.
const LEAST_WATCHDOG_S: f64 = 10.0;

/// Scenarios from which the changes start.
const BASES: [(&str, ScenarioKind, &str); 4] = [
    (
        "stencil",
        ScenarioKind::Stencil,
        "[stencil]\nkind = \"swap\"\ngrid = [12, 9, 8]\nfields = 3\ndepth = 2\nsteps = 3\n\
         [parallel]\nbackend = \"local\"\nranks = 2\ndecomposition = \"2d\"\n",
    ),
    (
        "stencil",
        ScenarioKind::Stencil,
        "[stencil]\nkind = \"tvd\"\ngrid = [12, 10, 8]\nfields = 2\ncourant = [0.5, -0.3, 0.2]\nsteps = 3\n\
         [parallel]\nbackend = \"local\"\nranks = 3\n",
    ),
    (
        "stencil",
        ScenarioKind::Stencil,
        "[stencil]\nkind = \"poisson\"\ngrid = [8, 6, 4]\nboundary = [\"periodic\", \"open\", \"open\"]\n\
         [parallel]\nbackend = \"local\"\nranks = 2\n",
    ),
    (
        "lbm",
        ScenarioKind::Lbm,
        "[lbm]\ngrid = [6, 5, 4]\ncollision = \"trt\"\nviscosity = 0.05\nsteps = 3\n\
         boundary = [\"wall\", \"wall\", \"periodic\"]\nbody_force = [1e-5, 0.0, 0.0]\n\
         wall_velocity = { x_low = [0.0, 0.02, 0.01], y_high = [-0.03, 0.0, 0.02] }\n\
         obstacle = { kind = \"mask\", path = \"mask.vti\" }\n[parallel]\nbackend = \"local\"\nranks = 2\n\
         [output]\nprobe = { every = 1, nodes = [[0, 0, 0]] }\ndrag = { every = 1 }\nfields = { every = 2 }\n",
    ),
];

/// Words that replace others in a mask.
const WORDS: [&str; 20] = [
    "0",
    "1",
    "2",
    "-1",
    "6",
    "120",
    "nan",
    "1e400",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "WholeExtent=\"0",
    "type=\"Float64\"",
    "type=\"UInt8\"",
    "format=\"ascii\"",
    "offset=\"18446744073709551615\"",
    "Name=\"solid\"",
    "</DataArray>",
    "\u{1b}[2J",
];

/// Format of a mask.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MaskFormat {
    Text,
    Ascii,
    Raw,
}

/// A scenario with changes, and a mask with changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    base: usize,
    settings: Vec<Setting>,
    damage: Vec<(usize, usize, bool)>,
    mask: MaskFormat,
    /// Determines the solid nodes.
    solid: u64,
    words: Vec<(usize, usize)>,
    mask_damage: Vec<(usize, usize, bool)>,
}

fn damage() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    prop_oneof![
        4 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3),
    ]
}

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    (0..BASES.len(), vec(setting(), 0..4), damage()).prop_map(|(base, settings, damage)| Changed {
        settings,
        damage,
        ..valid(base, MaskFormat::Raw)
    })
}

pub(crate) fn masks() -> impl Strategy<Value = Changed> {
    let format = prop_oneof![Just(MaskFormat::Text), Just(MaskFormat::Ascii), Just(MaskFormat::Raw)];
    let words = vec(any::<(usize, usize)>(), 0..3);
    (format, any::<u64>(), words, damage()).prop_map(|(format, solid, words, mask_damage)| Changed {
        solid,
        words,
        mask_damage,
        ..valid(BASES.len() - 1, format)
    })
}

fn valid(base: usize, mask: MaskFormat) -> Changed {
    let (settings, damage, words, mask_damage) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    Changed { base, settings, damage, mask, solid: 1, words, mask_damage }
}

/// Returns all scenarios, and all masks, without changes.
pub(crate) fn all_valid() -> impl Iterator<Item = Changed> {
    let masks = [MaskFormat::Text, MaskFormat::Ascii, MaskFormat::Raw];
    let with_masks = masks.map(|mask| valid(BASES.len() - 1, mask));
    (0..BASES.len()).map(|base| valid(base, MaskFormat::Raw)).chain(with_masks)
}

impl Changed {
    fn scenario(&self) -> Vec<u8> {
        let (_, kind, base) = BASES[self.base];
        let name = if matches!(self.mask, MaskFormat::Text) { "mask.txt" } else { "mask.vti" };
        let text = edited(&base.replace("mask.vti", name), kind, &self.settings);
        damaged(text.into_bytes(), &self.damage)
    }

    fn mask(&self) -> Vec<u8> {
        let solid = |node: usize| {
            let mixed = (self.solid ^ node as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
            u8::from((mixed >> 60) < self.solid % 8)
        };
        let (head, tail) = (
            "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n\
             <ImageData WholeExtent=\"0 6 0 5 0 4\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n<Piece Extent=\"0 6 0 5 0 4\">\n<CellData>\n\
             <DataArray type=\"UInt8\" Name=\"solid\" format=",
            "</CellData>\n</Piece>\n</ImageData>\n",
        );
        let digits =
            |between: &str| (0..120).map(|node| format!("{}{between}", solid(node))).collect::<String>();
        let mut text = match self.mask {
            MaskFormat::Text => format!("6 5 4\n{}", digits("")),
            MaskFormat::Ascii => format!("{head}\"ascii\">\n{}</DataArray>\n{tail}</VTKFile>\n", digits(" ")),
            MaskFormat::Raw => {
                format!("{head}\"appended\" offset=\"0\"/>\n{tail}<AppendedData encoding=\"raw\">\n_")
            }
        };
        for &(place, word) in &self.words {
            let mut words: Vec<&str> = text.split(' ').collect();
            let place = place % words.len();
            words[place] = WORDS[word % WORDS.len()];
            text = words.join(" ");
        }
        let mut bytes = text.into_bytes();
        if matches!(self.mask, MaskFormat::Raw) {
            bytes.extend(120_u64.to_le_bytes());
            bytes.extend((0..120).map(solid));
            bytes.extend(b"\n</AppendedData>\n</VTKFile>\n");
        }
        damaged(bytes, &self.mask_damage)
    }

    /// Returns the bits of all values at the end, if the case was small enough to be run, or the
    /// message of the refusal.
    fn play(&self, folder: &Path, options: &[&str]) -> Result<Result<Option<String>, String>, String> {
        let (command, ..) = BASES[self.base];
        let scenario = folder.join("fuzz.toml");
        let words = ["md-cli", "check"].map(Into::into).into_iter().chain([scenario.as_os_str().to_owned()]);
        let Ok(Cli { command: md_cli::args::Command::Check(args) }) = Cli::try_parse_from(words) else {
            unreachable!("`check` takes any scenario")
        };
        let is_small = AnyInputs::read_file(&args.scenario()).as_ref().is_ok_and(is_small);
        // The solver must have time to find a solution.
        let steps = ["--quiet", "--steps", if command == "lbm" { "3" } else { "40" }];
        let command = if is_small { command } else { "check" };
        let ended = Command::new(env!("CARGO_BIN_EXE_md-cli"))
            .args([command, "fuzz.toml", "--set", "output.directory=out"])
            .args(options)
            .args(if is_small { &steps[..] } else { &[] })
            .current_dir(folder)
            .output()
            .map_err(|error| error.to_string())?;
        match ended.status.code() {
            Some(0) if is_small && command == "lbm" => {
                expect_mass(folder).and_then(|()| fingerprint(folder)).map(|bits| Ok(Some(bits)))
            }
            Some(0) if is_small => fingerprint(folder).map(|bits| Ok(Some(bits))),
            Some(0) => Ok(Ok(None)),
            _ => check_refusal(&ended).map(Err),
        }
    }
}

fn is_small(inputs: &AnyInputs) -> bool {
    let (grid, parallel) = match inputs {
        AnyInputs::Stencil(inputs) => {
            let stencil = &inputs.scenario.stencil;
            (stencil.grid.or(stencil.grid_per_rank).unwrap_or_default(), &inputs.scenario.parallel)
        }
        AnyInputs::Lbm(inputs) => (inputs.scenario.lbm.grid, &inputs.scenario.parallel),
        AnyInputs::Particles(_) => return false,
    };
    let nodes = grid.into_iter().try_fold(1_usize, usize::checked_mul);
    nodes.is_some_and(|nodes| nodes <= MOST_NODES)
        && parallel.ranks.saturating_mul(parallel.threads) <= MOST_THREADS
        && parallel.watchdog_s >= LEAST_WATCHDOG_S
}

/// Returns the message of a refusal, which must locate the fault in a file; the message of a failed
/// run must give the step.
pub(crate) fn check_refusal(ended: &Output) -> Result<String, String> {
    let text = String::from_utf8_lossy(&ended.stderr).into_owned();
    let is_placed = ["fuzz.toml:", "command line:", "mask.vti", "mask.txt", "fuzz.toml", "`"]
        .iter()
        .any(|place| text.contains(place));
    match ended.status.code() {
        Some(2) if is_placed && is_harmless(&text) => Ok(text),
        Some(1) if text.contains("step ") && is_harmless(&text) => Ok(text),
        code => Err(format!("ended with {code:?} and these words: {text}")),
    }
}

fn summary(folder: &Path) -> Result<serde_json::Value, String> {
    let text = fs::read_to_string(folder.join("out/summary.json")).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Checks that a flow has the mass with which it began, up to rounding.
fn expect_mass(folder: &Path) -> Result<(), String> {
    let summary = summary(folder)?;
    let most = if summary["precision"] == "single" { 1e-4 } else { 1e-10 };
    match summary["mass_drift"].as_f64() {
        Some(drift) if drift.abs() > most => Err(format!("mass has changed by {drift} of what it was")),
        _ => Ok(()),
    }
}

pub(crate) fn fingerprint(folder: &Path) -> Result<String, String> {
    let summary = summary(folder)?;
    Ok(summary["fingerprint"].to_string())
}

impl Trial for Changed {
    fn check_here(&self) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let write = |name: &str, bytes: Vec<u8>| {
            fs::write(folder.path().join(name), bytes).map_err(|error| error.to_string())
        };
        write("fuzz.toml", self.scenario())?;
        write(if matches!(self.mask, MaskFormat::Text) { "mask.txt" } else { "mask.vti" }, self.mask())?;
        let own = self.play(folder.path(), &[])?;
        let is_unchanged = self.settings.is_empty()
            && [&self.damage, &self.mask_damage].into_iter().all(Vec::is_empty)
            && self.words.is_empty();
        match own {
            Ok(Some(bits)) => match self.play(folder.path(), &["--set", "parallel.ranks=1"])? {
                Ok(Some(alone)) if alone != bits => Err(format!("{bits}, and {alone} on one rank")),
                _ => Ok(()),
            },
            Err(refusal) if is_unchanged => Err(format!("a valid scenario is refused: {refusal}")),
            _ => Ok(()),
        }
    }
}
