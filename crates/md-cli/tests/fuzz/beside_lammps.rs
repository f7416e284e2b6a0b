//! Scripts from the grammar, run by LAMMPS and by md: particles, box, energy and pressure of step 0
//! must be equal.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fmt::Write;
use std::process::Command;

use md_comm::local;
use md_engine::Simulation;

use crate::case::{Case, LIMIT};
use crate::scripts::{Script, translated};

/// Results of one script.
#[derive(Debug, Clone, Copy)]
struct Step {
    atoms: f64,
    energy_per_atom: f64,
    pressure: f64,
    lengths: [f64; 3],
}

/// Prints the results of a step.
const TAIL: &str = "thermo_style custom step atoms pe press lx ly lz\nthermo_modify norm yes format float %20.15g\nrun 0\nclear\n";

/// Returns what LAMMPS prints for a script; `None` where it is not installed, which is an error in
/// CI.
fn by_lammps(script: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.lammps"), script).unwrap();
    let mut command = Command::new("lmp");
    command.args(["-in", "in.lammps", "-log", "none", "-nocite"]).current_dir(folder.path());
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    match command.output() {
        Ok(said) => Some(String::from_utf8_lossy(&said.stdout).into_owned()),
        Err(error) => {
            let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!is_ci, "CI must not skip what needs LAMMPS: lmp: {error}");
            println!("skipped: LAMMPS (lmp) is not installed: {error}");
            None
        }
    }
}

fn steps_by_lammps(scripts: &[Script]) -> Option<Vec<Step>> {
    let all = scripts.iter().fold(String::new(), |all, script| all + &script.text + TAIL);
    let said = by_lammps(&all)?;
    let rows =
        said.lines().zip(said.lines().skip(1)).filter(|(head, _)| head.trim_start().starts_with("Step "));
    let step = |row: &str| {
        let numbers: Vec<f64> = row.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let [_, atoms, energy_per_atom, pressure, x, y, z] = numbers[..] else { panic!("{row}") };
        Step { atoms, energy_per_atom, pressure, lengths: [x, y, z] }
    };
    let steps: Vec<Step> = rows.map(|(_, row)| step(row)).collect();
    assert_eq!(
        steps.len(),
        scripts.len(),
        "LAMMPS ended early: {}",
        &said[said.len().saturating_sub(2000)..]
    );
    Some(steps)
}

fn step_by_md(script: &Script) -> Result<Step, String> {
    let scenario = translated(&script.text, &[])?;
    let overrides = vec!["system.temperature=0.0".to_owned()];
    let case = Case { overrides, ..Case::of_scenario(scenario.into_bytes()) };
    let setup = case.accepted()?;
    let lengths = setup.domain.lengths;
    let ended = local::run(1, LIMIT, |world| {
        let mut simulation = Simulation::new(world, &setup)?;
        let sums = simulation.system_sums()?;
        let totals = simulation.force_totals(&sums);
        simulation.finalise()?;
        Ok::<_, md_engine::EngineError>((totals, setup.atoms() as f64))
    });
    let totals = ended.into_iter().next().ok_or("no rank")?.map_err(|panic| panic.to_string())?;
    let (totals, atoms) = totals.map_err(|error| error.to_string())?;
    Ok(Step { atoms, energy_per_atom: totals.potential_energy / atoms, pressure: totals.pressure, lengths })
}

/// Describes the difference, if there is one.
fn difference(found: &Step, expected: &Step, dimensions: usize) -> Option<String> {
    let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-8 * expected.abs().max(1.0);
    let is_same = found.atoms == expected.atoms
        && close(found.energy_per_atom, expected.energy_per_atom)
        && close(found.pressure, expected.pressure)
        && (0..dimensions).all(|dim| close(found.lengths[dim], expected.lengths[dim]));
    (!is_same).then(|| format!("{found:?}, by LAMMPS {expected:?}"))
}

/// Returns the choices of `count` scripts, which are always the same.
fn choices(count: usize) -> Vec<Vec<u32>> {
    let numbers = |seed: u64| {
        (0..80)
            .map(move |index| (md_core::random::uniform(seed, index) * f64::from(u32::MAX)) as u32)
            .collect()
    };
    (0..count as u64).map(numbers).collect()
}

#[test]
fn scripts_begin_as_in_lammps() {
    let scripts: Vec<Script> = choices(150)
        .iter()
        .enumerate()
        .map(|(number, choices)| Script::valid(choices, &format!("v{number}_")))
        .collect();
    let Some(expected) = steps_by_lammps(&scripts) else { return };
    let (mut same, mut refused, mut faults) = (0, String::new(), String::new());
    for (script, expected) in scripts.iter().zip(&expected) {
        match step_by_md(script) {
            Ok(found) => match difference(&found, expected, script.dimensions) {
                None => same += 1,
                Some(difference) => writeln!(faults, "{difference}:\n{}", script.text).unwrap(),
            },
            Err(_) if expected.atoms == 0.0 => same += 1,
            Err(reason) => writeln!(refused, "{reason}\n{}", script.text).unwrap(),
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(same * 10 >= scripts.len() * 8, "{same} of {}: {refused}", scripts.len());
    println!("{same} of {} scripts begin as in LAMMPS", scripts.len());
}
