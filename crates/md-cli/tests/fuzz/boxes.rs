//! Boxes that run away: barostats with hostile keys. Such a run either ends well, with finite
//! numbers in all its tables; or ends in order, with a checkpoint after its last step; or is
//! refused before it begins.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use crate::case::{Case, Trial, is_harmless};
use crate::checkpoints::program;

const SYSTEMS: [&str; 4] = [
    "[simulation]\nsteps = STEPS\nseed = 3\n[system]\nlattice = { kind = \"fcc\", density = 0.8442, cells = [3, 3, 3] }\ntemperature = 1.0\n",
    "[simulation]\nsteps = STEPS\nseed = 3\n[system]\ngas = { atoms = 20, box = [9.0, 6.0, 7.0] }\ntemperature = 1.5\n",
    "[simulation]\nsteps = STEPS\nseed = 3\ndimension = 2\n[system]\nlattice = { kind = \"hex\", density = 0.5, cells = [8, 6, 1] }\n\
     temperature = 0.7\n",
    "[simulation]\nsteps = STEPS\nseed = 3\n[system]\ngas = { atoms = 60, box = [7.0, 9.0, 8.0], minimal_distance = 0.8 }\n\
     boundary = [\"periodic\", \"periodic\", \"reflecting\"]\ntemperature = 1.0\n",
];

const INTEGRATORS: [&str; 5] = [
    "kind = \"velocity-verlet\"",
    "kind = \"langevin\"\ntemperature = 1.0\nfriction = 1.0",
    "kind = \"csvr\"\ntemperature = 1.0\nrelaxation = 0.1",
    "kind = \"nose-hoover\"\ntemperature = 1.0\nrelaxation = 0.5",
    "kind = \"berendsen\"\ntemperature = 1.0\nrelaxation = 0.2",
];

const REST: [&str; 10] = [
    "",
    "rdf = { every = 7, bins = 20, max = 2.9 }",
    "rdf = { every = 7, bins = 20, max = 2.9, start = 90 }\nmsd = { every = 5 }\nvacf = { every = 5, length = 0.2 }",
    "trajectory = { path = \"t.xtc\", every = 9 }",
    "trajectory = { path = \"t.nc\", every = 9 }\nprofile = [{ axis = \"y\", bins = 5, every = 4 }]",
    "viscosity = { every = 4, length = 0.2 }\naverages = { start = 0 }",
    "[neighbor]\nprecision = \"mixed\"",
    "[neighbor]\nmethod = \"cells\"\nrebuild = { every = 3 }\nskin = 0.5",
    "[parallel]\npartition = \"rcb\"\nbalance = { every = 5, threshold = 1.0, weights = \"pairs\" }",
    "[parallel]\nprotocol = \"dist\"\n[neighbor]\nmethod = \"cells\"",
];

/// A run with a barostat.
#[derive(Debug, Clone)]
pub(crate) struct Runaway {
    system: usize,
    integrator: &'static str,
    kind: &'static str,
    pressure: f64,
    relaxation: f64,
    compressibility: f64,
    axes: &'static str,
    every: Option<u64>,
    rest: &'static str,
    steps: u64,
    ranks: u64,
}

impl Runaway {
    fn scenario(&self) -> String {
        let Self { integrator, kind, pressure, relaxation, compressibility, axes, rest, .. } = self;
        let every = self.every.map_or(String::new(), |every| format!(", every = {every}"));
        let system = SYSTEMS[self.system].replace("STEPS", &self.steps.to_string());
        format!(
            "{system}[integrator]\n{integrator}\nbarostat = {{ kind = \"{kind}\", pressure = {pressure:?}, relaxation = {relaxation:?}, \
             compressibility = {compressibility:?}, axes = \"{axes}\"{every} }}\n[output]\nthermo = {{ every = 5 }}\n{rest}\n"
        )
    }

    fn run(&self, folder: &Path) -> Result<(), String> {
        let ranks = format!("parallel.ranks={}", self.ranks);
        let call = ["run", "fuzz.toml", "--quiet", "--set", "parallel.backend=local", "--set", &ranks];
        let ended = program(folder, &call)?;
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        if !is_harmless(&stderr) {
            return Err(format!("control characters in {stderr:?}"));
        }
        let out = folder.join("out");
        match ended.status.code() {
            Some(0) => check_tables(&out),
            Some(1) => {
                check_tables(&out).and_then(|()| check_end(&out)).map_err(|why| format!("{why}\n{stderr}"))
            }
            Some(2) if !out.join("thermo.csv").exists() && stderr.starts_with("error") => Ok(()),
            code => Err(format!("exit code {code:?}: {stderr}")),
        }
    }
}

/// Checks that the numbers of tables are finite.
fn check_tables(out: &Path) -> Result<(), String> {
    for entry in fs::read_dir(out).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let of_results = ["thermo", "rdf", "msd", "vacf", "viscosity", "profile"];
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !(name.ends_with(".csv") && of_results.iter().any(|start| name.starts_with(start))) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        // Error estimates from one sample are not numbers.
        let header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
        let is_value = |(column, it): &(&&str, &str)| !column.contains("error") && !it.is_empty();
        let rows = text.lines().skip(1).flat_map(|row| header.iter().zip(row.split(',')));
        let mut numbers = rows.filter(is_value).map(|(_, number)| number);
        if let Some(number) = numbers.find(|number| !number.parse::<f64>().is_ok_and(f64::is_finite)) {
            return Err(format!("{number} in {name}"));
        }
    }
    Ok(())
}

/// Checks that a run that ended in order has a summary with the reason, and a checkpoint of its
/// last step.
fn check_end(out: &Path) -> Result<(), String> {
    let summary = fs::read(out.join("summary.json")).map_err(|_| "no summary.json".to_owned())?;
    let summary: Value = serde_json::from_slice(&summary).map_err(|error| error.to_string())?;
    let (ended, steps) = (&summary["ended"], &summary["steps"]);
    let checkpoint = format!("checkpoint-{steps}.mdc");
    match ended == "box" && out.join(&checkpoint).exists() {
        true => Ok(()),
        false => Err(format!("ended by {ended}, {checkpoint}")),
    }
}

impl Trial for Runaway {
    fn check_here(&self) -> Result<(), String> {
        let scenario = self.scenario();
        let case = Case::of_scenario(scenario.clone().into_bytes());
        case.with_files(|path| self.run(&path.with_file_name(""))).map_err(|why| format!("{why}\n{scenario}"))
    }
}

/// Returns values of the barostat's keys, from usual to absurd.
fn sizes() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.05..5.0_f64, 2 => (-3.0..3.0_f64).prop_map(|power| 10_f64.powf(power)), 1 => (-90.0..90.0_f64).prop_map(|power| 10_f64.powf(power))]
}

pub(crate) fn hostile() -> impl Strategy<Value = Runaway> {
    let barostat = (
        select(vec!["berendsen", "stochastic-cell-rescaling"]),
        (sizes(), any::<bool>()).prop_map(|(size, is_negative)| if is_negative { -size } else { size }),
        sizes(),
        sizes(),
        select(vec!["isotropic", "xyz", "x", "y", "xy"]),
        prop_oneof![Just(None), (1..30_u64).prop_map(Some)],
    );
    let run = (0..SYSTEMS.len(), select(INTEGRATORS.to_vec()), select(REST.to_vec()), 20..600_u64, 1..4_u64);
    (barostat, run).prop_map(
        |(
            (kind, pressure, relaxation, compressibility, axes, every),
            (system, integrator, rest, steps, ranks),
        )| Runaway {
            system,
            integrator,
            kind,
            pressure,
            relaxation,
            compressibility,
            axes,
            every,
            rest,
            steps,
            ranks,
        },
    )
}

/// Returns a usual barostat, whose run prints no warning.
pub(crate) fn valid() -> Runaway {
    Runaway {
        system: 1,
        integrator: INTEGRATORS[2],
        kind: "stochastic-cell-rescaling",
        pressure: 0.1,
        relaxation: 1.0,
        compressibility: 1.0,
        axes: "isotropic",
        every: None,
        rest: REST[0],
        steps: 50,
        ranks: 1,
    }
}
