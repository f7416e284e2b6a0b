//! The scripts of Debian's `lammps-examples`: those that can be translated have LAMMPS's particles,
//! temperature, energies and pressure.
#![expect(clippy::unwrap_used, reason = "these are tests")]
#![expect(clippy::print_stderr, reason = "what is skipped is told")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Said, Start, Workdir, repository, text_of};

const EXAMPLES: &str = "/usr/share/lammps/examples";

/// A row of thermodynamic output: temperature, potential and kinetic energy per particle, pressure.
type Row = [f64; 4];

/// Returns whether LAMMPS and its examples are installed. They must be installed where everything
/// is tested.
fn are_installed() -> bool {
    let has_program = Command::new("lmp").arg("-help").output().is_ok();
    let are_there = has_program && Path::new(EXAMPLES).join("melt/in.melt").exists();
    assert!(are_there || std::env::var_os("CI").is_none(), "lmp or {EXAMPLES} is missing");
    if !are_there {
        eprintln!("skipped: lmp or {EXAMPLES} is missing");
    }
    are_there
}

/// Returns all scripts below a folder, sorted.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if name.starts_with("in.") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns a folder with the script and the files next to it, and the output of `from-lammps`.
fn translated(script: &Path) -> (Workdir, Said) {
    let workdir = Workdir::new("");
    for entry in fs::read_dir(script.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            // Links only to existing files, because some links are broken.
            std::os::unix::fs::symlink(&path, workdir.path(&path.file_name().unwrap().to_string_lossy()))
                .unwrap();
        }
    }
    let name = script.file_name().unwrap().to_string_lossy();
    let said = workdir.call(Start::Plain, &format!("from-lammps {name}"));
    (workdir, said)
}

/// Returns the commands before the first run, each in one line, without those that do not affect
/// the particles and their forces.
fn system_of(script: &str) -> String {
    let joined = script.replace("&\n", " ");
    let commands = joined.lines().take_while(|line| {
        let first = line.split_whitespace().next().unwrap_or_default();
        !matches!(first, "run" | "minimize")
    });
    let is_kept = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["fix", _, _, style, ..] => style.starts_with("wall/") || style == "enforce2d",
            [command, ..] => !["compute", "dump", "fix", "unfix", "thermo", "min_", "balance"]
                .iter()
                .any(|other| command.starts_with(other)),
            [] => false,
        }
    };
    commands.filter(is_kept).map(|line| format!("{line}\n")).collect()
}

/// Returns LAMMPS's rows of steps 0 and 10 at constant energy, or the reason why there are none.
/// Writes the particles at step 0 to `start.lammpstrj`.
fn by_lammps(workdir: &Workdir, script: &str) -> Result<([Row; 2], u64), String> {
    let ending = "write_dump all custom start.lammpstrj id type x y z vx vy vz modify sort id format float %.17g\n\
        fix constant_energy all nve\nneigh_modify every 1 delay 0 check yes\nthermo 10\n\
        thermo_style custom step atoms temp pe ke press\nthermo_modify norm yes format float %.17g\nrun 10\n";
    workdir.write("in.system", &format!("{}{ending}", system_of(script)));
    let mut command = Command::new("lmp");
    command.args(["-in", "in.system", "-log", "none"]).current_dir(workdir.path("."));
    let said = command.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("Step")).skip(1);
    let numbers = |line: &str| line.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>().ok();
    let rows: Vec<Vec<f64>> = table.map_while(numbers).collect();
    match &rows[..] {
        [first, last] => {
            let row = |row: &Vec<f64>| [row[2], row[3], row[4], row[5]];
            Ok(([row(first), row(last)], first[1] as u64))
        }
        _ => Err(text.lines().find(|line| line.starts_with("ERROR")).unwrap_or("no rows").to_owned()),
    }
}

/// Returns the rows of the first and the last step of a scenario, and the number of particles.
fn by_md(workdir: &Workdir, scenario: &toml::Table, steps: u64) -> ([Row; 2], u64) {
    workdir.write("own.toml", &scenario.to_string());
    workdir.succeed(Start::Threads(1), &format!("run own.toml --quiet --steps {steps} --output out"));
    let thermo = workdir.read("out/thermo.csv");
    let mut lines = thermo.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let columns = ["temperature", "potential_per_atom", "kinetic_per_atom", "pressure"]
        .map(|column| names.iter().position(|name| *name == column).unwrap());
    let rows: Vec<Row> = lines.map(|fields| columns.map(|column| fields[column].parse().unwrap())).collect();
    let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    ([rows[0], *rows.last().unwrap()], summary["atoms"].as_u64().unwrap())
}

/// Returns the scenario at constant energy, with an output of the last step.
fn at_constant_energy(scenario: &str) -> toml::Table {
    let mut scenario: toml::Table = scenario.parse().unwrap();
    scenario.remove("stage");
    scenario
        .insert("integrator".to_owned(), "kind = \"velocity-verlet\"".parse::<toml::Table>().unwrap().into());
    scenario.insert("output".to_owned(), "thermo = { every = 10 }".parse::<toml::Table>().unwrap().into());
    scenario["simulation"].as_table_mut().unwrap().insert("steps".to_owned(), 10.into());
    let every = "displacement = true".parse::<toml::Table>().unwrap();
    scenario["neighbor"].as_table_mut().unwrap().insert("rebuild".to_owned(), every.into());
    scenario
}

/// Returns the scenario with LAMMPS's particles and velocities.
fn with_particles_of_lammps(mut scenario: toml::Table) -> toml::Table {
    let system = scenario["system"].as_table_mut().unwrap();
    for source in ["lattice", "regions", "gas", "file", "temperature", "drift"] {
        system.remove(source);
    }
    let file = "path = \"start.lammpstrj\"\nformat = \"lammpstrj\"".parse::<toml::Table>().unwrap();
    system.insert("file".to_owned(), file.into());
    scenario
}

/// Checks that rows agree. The tolerance is relative, and absolute below 1.
fn assert_rows(name: &str, found: Row, expected: Row, allowed: f64) {
    let agree =
        |(found, expected): (&f64, &f64)| (found - expected).abs() <= allowed * expected.abs().max(1.0);
    assert!(found.iter().zip(&expected).all(agree), "{name}: md {found:?}, LAMMPS {expected:?}");
}

/// Returns the scripts of the rows of the guide's table that contain `yes` or `no`.
fn of_the_guide(is_taken: &str) -> BTreeSet<String> {
    let guide = text_of(&repository("docs/guide/from-lammps.md"));
    let rows = guide
        .lines()
        .map(|line| line.split(" | ").collect::<Vec<_>>())
        .filter(|row| row.get(1) == Some(&is_taken));
    rows.flat_map(|row| row[0].split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn those_that_become_a_scenario_are_those_of_lammps() {
    if !are_installed() {
        return;
    }
    let [mut taken, mut refused, mut compared] = [(); 3].map(|()| BTreeSet::new());
    for script in scripts(Path::new(EXAMPLES)) {
        let name = script.strip_prefix(EXAMPLES).unwrap().display().to_string();
        let (workdir, said) = translated(&script);
        if said.code != Some(0) {
            assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{name}: {said:?}");
            refused.insert(name);
            continue;
        }
        taken.insert(name.clone());
        let (expected, atoms) = match by_lammps(&workdir, &fs::read_to_string(&script).unwrap()) {
            Ok(found) => found,
            Err(reason) => {
                eprintln!("skipped: {name}: LAMMPS ends with: {reason}");
                continue;
            }
        };
        let own = at_constant_energy(&said.stdout);
        // Velocities are drawn differently. Values that depend on individual velocities are
        // computed from LAMMPS's own.
        let (rows, found) = by_md(&workdir, &own, 1);
        assert_eq!(found, atoms, "{name}: particles");
        assert_rows(&format!("{name}, step 0"), rows[0], expected[0], 1e-6);
        let (rows, _) = by_md(&workdir, &with_particles_of_lammps(own), 10);
        assert_rows(&format!("{name}, LAMMPS's velocities, step 0"), rows[0], expected[0], 1e-6);
        assert_rows(&format!("{name}, LAMMPS's velocities, step 10"), rows[1], expected[1], 1e-5);
        compared.insert(name);
    }
    assert!(compared.len() >= 15, "{compared:?}");
    assert_eq!(taken, of_the_guide("yes"));
    let missing: Vec<_> = of_the_guide("no").difference(&refused).cloned().collect();
    assert!(missing.is_empty(), "the guide says that these are not taken: {missing:?}");
}
