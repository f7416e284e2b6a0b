//! Modified copies of balance.csv for `--replay`: a run that accepts one ends, and a refusal names
//! the faulty line.

use std::fs;

use proptest::prelude::*;

use crate::case::{Case, Trial, is_harmless};
use crate::checkpoints::program;
use crate::tables::edits;

/// A droplet off centre, whose work is balanced by time.
const SCENARIO: &str = "[simulation]\ntimestep = 0.002\nsteps = 12\n[system]\ntemperature = 1.0\n\
    [system.lattice]\nkind = \"fcc\"\ndensity = 0.8\ncells = [6, 6, 6]\n\
    vapour = { density = 0.02, droplets = [{ centre = [0.3, 0.5, 0.6], radius = 3.0 }] }\n\
    [parallel]\nbackend = \"local\"\nranks = 2\npartition = \"stripe\"\n\
    balance = { every = 4, threshold = 1.0, weights = \"time\" }\n[output]\ndirectory = \"out\"\n";

/// Content of a file.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) Vec<u8>);

/// As written by a run, with its measured times.
const TABLE: &str = "step,imbalance_before,imbalance_after,particles_moved,spent_s,won_s,division,ranks,partition,balancings\n\
    4,1.3505972377752893,1.262254158598325,18,0.000554367,1.894e-6,13+2:0,2,stripe,3\n\
    8,1.1206469714474336,1.0260942915298994,4,0.000359657,2.579e-6,15+1:0,2,stripe,3\n\
    12,1.2935014427298959,1.1014583660028225,24,0.000355991,3.062e-6,13+3:1,2,stripe,3\n";

pub(crate) fn valid() -> Text {
    Text(TABLE.into())
}

pub(crate) fn changed() -> impl Strategy<Value = Text> {
    edits().prop_map(|edits| Text(edits.of(&valid().0)))
}

impl Text {
    /// Returns whether a run divides its work accordingly, or the message of its refusal.
    pub(crate) fn accepted(&self) -> Result<Result<(), String>, String> {
        Case::of_scenario(SCENARIO.into()).with_files(|scenario| {
            let folder = scenario.with_file_name("");
            fs::write(folder.join("told.csv"), &self.0).map_err(|error| error.to_string())?;
            let ended = program(&folder, &["run", "fuzz.toml", "--quiet", "--replay", "told.csv"])?;
            let text = String::from_utf8_lossy(&ended.stderr).into_owned();
            let places = ["line ", "it is empty", "it has no rows", "UTF-8"];
            let is_placed = text.contains("`told.csv`") && places.iter().any(|place| text.contains(place));
            match ended.status.code() {
                Some(0) => Ok(Ok(())),
                Some(2) if is_placed && is_harmless(&text) => Ok(Err(text)),
                code => Err(format!("ended with {code:?} and these words: {text}")),
            }
        })
    }
}

impl Trial for Text {
    fn check_here(&self) -> Result<(), String> {
        match self.accepted()? {
            Err(refusal) if self.0 == valid().0 => Err(format!("a valid table is refused: {refusal}")),
            _ => Ok(()),
        }
    }
}
