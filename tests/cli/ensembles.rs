//! Temperatures, computed with the right number of degrees of freedom and relative to the velocity
//! of the whole system.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::fs;

use serde_json::Value;

use crate::analysis::{Columns, assert_near};
use crate::support::{MELT, Start, Workdir, from_file, starts};

fn summary(workdir: &Workdir, folder: &str) -> Value {
    serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap()
}

fn degrees(workdir: &Workdir, folder: &str) -> u64 {
    summary(workdir, folder)["degrees_of_freedom"].as_u64().unwrap()
}

/// Thermostats that scale velocities, with a relaxation time.
const MULTIPLYING: [&str; 4] = [
    "kind=\"csvr\",relaxation=0.2",
    "kind=\"nose-hoover\",relaxation=0.2",
    "kind=\"berendsen\",relaxation=0.2",
    "kind=\"rescale\",every=10",
];

const NOTE: &str = "note: the whole system moves at [3, 0, 0]: `temperature` and `pressure` are about this velocity, which \
                    thermostats and barostats leave as it is; `kinetic_per_atom` includes it\n";

/// Three particles in a box with walls on all sides have nine degrees of freedom, and 3/2 kT each
/// on average.
#[test]
fn three_particles_between_walls_have_their_temperature() {
    let workdir = Workdir::new(
        "[simulation]\nsteps = 60000\ntimestep = 0.003\n\
         [system]\ngas = { atoms = 3, box = [5.0, 5.0, 5.0] }\ntemperature = 1.0\n\
         boundary = [\"reflecting\", \"reflecting\", \"reflecting\"]\n\
         [interaction]\nshift = \"force\"\n\
         [output]\nthermo = { every = 50 }\naverages = { start = 5000 }\n",
    );
    let langevin = ["kind=\"langevin\",friction=2.0", "kind=\"langevin\",friction=2.0,scheme=\"gjf\""];
    for keys in MULTIPLYING.iter().chain(&langevin) {
        let option = format!("--set integrator={{temperature=1.0,{keys}}}");
        workdir.succeed(Start::Plain, &format!("run melt.toml --quiet --output out {option}"));
        assert_eq!(degrees(&workdir, "out"), 9, "{keys}");
        let kinetic = summary(&workdir, "out")["averages"]["kinetic_per_atom"]["mean"].as_f64().unwrap();
        // Samples are independent about every 0.4 tau, so this is 4.5 standard errors.
        assert!((2.0 / 3.0 * kinetic - 1.0).abs() < 0.1, "{keys}: {}", 2.0 / 3.0 * kinetic);
        let rows = Columns::read(&workdir, "out/thermo.csv");
        assert_near(&rows.of("temperature")[..1], &[1.0], 1e-12, "as asked for at the start");
        let twice_over_degrees: Vec<f64> =
            rows.of("kinetic_per_atom").iter().map(|k| 6.0 * k / 9.0).collect();
        assert_near(&rows.of("temperature"), &twice_over_degrees, 1e-12, keys);
    }
}

#[test]
fn degrees_of_freedom_of_walls_dimensions_and_integrators() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 2"));
    let walls = |flags: [&str; 3]| {
        format!("--set system.boundary=[{}]", flags.map(|it| format!("\"{it}\"")).join(","))
    };
    let langevin = "--set integrator={kind=\"langevin\",temperature=1.44,friction=1.0}".to_owned();
    let flat = "--set simulation.dimension=2 --set system.lattice={kind=\"sq\",density=0.8,cells=[20,20,1]}";
    for (options, expected) in [
        (String::new(), 1797),
        (walls(["periodic", "periodic", "reflecting"]), 1798),
        (walls(["reflecting"; 3]), 1800),
        (langevin.clone(), 1800),
        (flat.to_owned(), 798),
        (format!("{flat} {}", walls(["periodic", "reflecting", "periodic"])), 799),
        (format!("{flat} {langevin}"), 800),
    ] {
        for start in [Start::Threads(1), Start::Threads(3)] {
            workdir.succeed(start, &format!("run melt.toml --quiet --output out {options}"));
            assert_eq!(degrees(&workdir, "out"), expected, "{options}");
            let rows = Columns::read(&workdir, "out/thermo.csv");
            let atoms = if options.contains("dimension") { 400.0 } else { 600.0 };
            let of = |kinetic: &f64| 2.0 * atoms * kinetic / expected as f64;
            let from_kinetic: Vec<f64> = rows.of("kinetic_per_atom").iter().map(of).collect();
            assert_near(&rows.of("temperature"), &from_kinetic, 1e-12, &options);
            assert_near(&rows.of("temperature")[..1], &[1.44], 1e-12, &options);
        }
    }
}

/// Returns the mean velocity, and the temperature relative to it, of the last frame.
fn thermal(workdir: &Workdir, file: &str) -> ([f64; 3], f64) {
    let text = workdir.read(file);
    let atoms: usize = text.lines().next().unwrap().parse().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let frame = &lines[lines.len() - atoms..];
    let properties = lines[lines.len() - atoms - 1];
    let before = properties.split_once("velo:R:3").unwrap().0.split_once("Properties=").unwrap().1;
    let fields: Vec<&str> = before.trim_end_matches(':').split(':').collect();
    let first: usize = fields.chunks(3).map(|field| field[2].parse::<usize>().unwrap()).sum();
    let velocity = |line: &&str| -> [f64; 3] {
        let words: Vec<&str> = line.split_whitespace().collect();
        [0, 1, 2].map(|dim| words[first + dim].parse().unwrap())
    };
    let all: Vec<[f64; 3]> = frame.iter().map(velocity).collect();
    let mean = [0, 1, 2].map(|dim: usize| all.iter().map(|v| v[dim]).sum::<f64>() / atoms as f64);
    let square = |v: &[f64; 3]| (0..3).map(|dim| (v[dim] - mean[dim]).powi(2)).sum::<f64>();
    (mean, all.iter().map(square).sum::<f64>() / (3 * atoms - 3) as f64)
}

/// A liquid that moves as a whole has the same temperature as one at rest, and keeps its velocity.
#[test]
fn a_thermostat_is_about_the_velocity_of_the_whole_system() {
    let workdir =
        Workdir::new(&MELT.replace("temperature = 1.44", "temperature = 1.0\ndrift = [3.0, 0.0, 0.0]"));
    let frames = "--steps 400 --set output.trajectory={path=\"t.extxyz\",every=400}";
    for keys in MULTIPLYING {
        let option = format!("--set integrator={{temperature=1.0,{keys}}} {frames}");
        let said = workdir.succeed(Start::Threads(2), &format!("run melt.toml --output out {option}"));
        assert_eq!(said.stderr, NOTE, "{keys}");
        let (mean, temperature) = thermal(&workdir, "out/t.extxyz");
        assert_near(&mean, &[3.0, 0.0, 0.0], 1e-9, keys);
        let rows = Columns::read(&workdir, "out/thermo.csv");
        assert_near(&rows.of("temperature")[..1], &[1.0], 1e-12, keys);
        let last = rows.of("temperature").pop().unwrap();
        assert!((last / temperature - 1.0).abs() < 1e-9, "{keys}: {last}, by the velocities {temperature}");
        // For 1797 degrees of freedom this is more than six standard deviations.
        assert!((temperature - 1.0).abs() < 0.2, "{keys}: {temperature}");
        assert_eq!(summary(&workdir, "out")["warnings"], Value::Array(Vec::new()), "{keys}");
    }
}

/// Values relative to the velocity of the whole system do not depend on that velocity.
#[test]
fn a_drift_changes_no_temperature_and_no_pressure() {
    let workdir = Workdir::new(&MELT.replace("every = 7", "every = 1"));
    let profile = "--set output.profile=[{axis=\"y\",bins=1,every=1}] --set interaction.shift=force";
    let barostat = |kind: &str| {
        format!("barostat={{kind=\"{kind}\",pressure=2.0,relaxation=0.1,compressibility=0.05,every=2}}")
    };
    let csvr = "kind=\"csvr\",temperature=1.44,relaxation=0.1,every=1";
    let options = [
        "kind=\"velocity-verlet\"".to_owned(),
        csvr.to_owned(),
        "kind=\"nose-hoover\",temperature=1.0,relaxation=0.1,every=1".to_owned(),
        "kind=\"berendsen\",temperature=1.0,relaxation=0.1,every=1".to_owned(),
        "kind=\"rescale\",temperature=1.0,every=3".to_owned(),
        format!("{csvr},{}", barostat("stochastic-cell-rescaling")),
        format!("{csvr},{}", barostat("berendsen")),
    ];
    for (keys, start) in options.iter().zip(starts().into_iter().cycle()) {
        let run = |folder: &str, drift: &str| {
            let drift = format!("--set system.drift={drift} --set integrator={{{keys}}}");
            workdir.succeed(start, &format!("run melt.toml --quiet --output {folder} {profile} {drift}"));
            Columns::read(&workdir, &format!("{folder}/thermo.csv"))
        };
        let (still, moving) = (run("still", "[0.0,0.0,0.0]"), run("moving", "[2.0,0.0,-1.0]"));
        let names = ["temperature", "potential_per_atom", "pressure", "pressure_xx", "pressure_xz", "volume"];
        for name in names {
            assert_near(&moving.of(name), &still.of(name), 1e-9, &format!("{keys}: {name}"));
        }
        for name in ["kinetic_per_atom", "total_per_atom", "conserved_per_atom"] {
            let expected: Vec<f64> = still.of(name).iter().map(|energy| energy + 2.5).collect();
            assert_near(&moving.of(name), &expected, 1e-9, &format!("{keys}: {name}"));
        }
        let [still, moving] =
            ["still", "moving"].map(|folder| Columns::read(&workdir, &format!("{folder}/profile_y.csv")));
        for name in ["temperature", "pressure_xx", "pressure_zz"] {
            assert_near(&moving.of(name), &still.of(name), 1e-9, &format!("profile, {keys}: {name}"));
        }
        assert_near(&moving.of("velocity_x"), &[2.0], 1e-9, "it has the velocity of the particles");
    }
}

/// Momentum across walls is not conserved, so a drift across walls counts as thermal motion. A
/// drift along walls does not.
#[test]
fn a_drift_along_and_across_walls() {
    let slit = "boundary = [\"periodic\", \"periodic\", \"reflecting\"]\ntemperature";
    let workdir = Workdir::new(&MELT.replace("temperature", slit));
    let temperature = |drift: &str| {
        workdir.succeed(
            Start::Threads(1),
            &format!("run melt.toml --quiet --steps 1 --output out --set system.drift={drift}"),
        );
        Columns::read(&workdir, "out/thermo.csv").of("temperature")[0]
    };
    assert_near(&[temperature("[2.0,0.0,0.0]")], &[1.44], 1e-12, "along");
    let across = 1.44 + 600.0 * 4.0 / 1798.0;
    assert_near(&[temperature("[0.0,0.0,2.0]")], &[across], 1e-12, "across");
    assert_near(&[temperature("[2.0,0.0,2.0]")], &[across], 1e-12, "both");
}

/// A total momentum of the particles in a file acts like a drift. `forces` and `analyse` take it
/// into account too.
#[test]
fn a_file_with_a_total_momentum() {
    let workdir = Workdir::new(MELT);
    let frames = "--set output.trajectory={path=\"t.extxyz\",every=20} --set system.drift=[3.0,0.0,0.0]";
    workdir.succeed(Start::Threads(1), &format!("run melt.toml --quiet --output first {frames}"));
    workdir.write("file.toml", &from_file("first/t.extxyz").replace("temperature = 1.44\n", ""));
    let csvr = "--set integrator={kind=\"csvr\",temperature=1.0,relaxation=0.1}";
    let said = workdir.succeed(Start::Threads(2), &format!("run file.toml --output out {csvr}"));
    assert_eq!(said.stderr, format!("note: the particles are those of frame 2 of 2 (step 20)\n{NOTE}"));
    let last = |folder: &str, name: &str| {
        Columns::read(&workdir, &format!("{folder}/thermo.csv")).of(name).pop().unwrap()
    };
    let (_, temperature) = thermal(&workdir, "first/t.extxyz");
    assert_near(&[last("first", "temperature")], &[temperature], 1e-9, "of the run that wrote it");
    let first = Columns::read(&workdir, "out/thermo.csv");
    assert_near(&first.of("temperature")[..1], &[temperature], 1e-9, "at the start");
    let said = workdir.succeed(Start::Threads(2), "forces file.toml --output forces");
    assert_eq!(said.stderr, format!("note: the particles are those of frame 2 of 2 (step 20)\n{NOTE}"));
    let pressure = summary(&workdir, "forces")["pressure"].as_f64().unwrap();
    assert_near(&[pressure], &first.of("pressure")[..1], 1e-9, "of the forces");
    let said = workdir.succeed(Start::Plain, "analyse first/t.extxyz --set output.averages.start=0");
    assert_eq!(said.stderr, NOTE);
    let found = last("first/analysis", "temperature");
    assert_near(&[found], &[temperature], 1e-9, "of the frames");
    assert_near(&[last("first/analysis", "pressure")], &[last("first", "pressure")], 1e-9, "of the frames");
}

/// Every stage counts degrees of freedom for its own integrator: in the rows, in the summaries, and
/// in the analysis of frames.
#[test]
fn degrees_of_freedom_change_from_stage_to_stage() {
    let stages = "averages = { start = 0 }\ntrajectory = { path = \"t.extxyz\", every = 5 }\n\
                  [[stage]]\nname = \"bath\"\nsteps = 10\nthermo = { every = 5 }\n\
                  integrator = { kind = \"langevin\", temperature = 1.0, friction = 5.0 }\n\
                  output = { averages = { start = 0 } }\n\
                  [[stage]]\nname = \"free\"\nsteps = 10\nthermo = { every = 5 }\n\
                  integrator = { kind = \"csvr\", temperature = 1.0, relaxation = 0.1 }\n\
                  output = { averages = { start = 0 } }\n";
    let workdir = Workdir::new(&format!("{}{stages}", MELT.replace("steps = 20\n", "")));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    let found = ["out", "out/bath", "out/free"].map(|folder| degrees(&workdir, folder));
    assert_eq!(found, [1797, 1800, 1797]);
    let rows = Columns::read(&workdir, "out/thermo.csv");
    let (temperature, kinetic) = (rows.of("temperature"), rows.of("kinetic_per_atom"));
    assert_eq!(rows.of("step"), [0.0, 5.0, 10.0, 15.0, 20.0]);
    let plain: Vec<f64> = kinetic[..3].iter().map(|kinetic| kinetic / 1.5).collect();
    assert_near(&temperature[..3], &plain, 1e-12, "under langevin");
    // By then the centre of mass has some of the thermal energy.
    let (mean, about) = thermal(&workdir, "out/t.extxyz");
    let share = mean.iter().map(|v| v * v).sum::<f64>() / (2.0 * kinetic[4]);
    assert!(share > 1e-6, "{mean:?}");
    assert_near(&temperature[4..], &[about], 1e-9, "after it");
    workdir.succeed(Start::Plain, "analyse out/t.extxyz");
    let found = Columns::read(&workdir, "out/analysis/thermo.csv");
    assert_near(&found.of("temperature"), &temperature, 1e-9, "of the frames");
}

#[test]
fn one_particle() {
    let workdir = Workdir::new(&from_file("one.extxyz").replace("temperature = 1.44\n", ""));
    let file = "1\nLattice=\"8 0 0 0 8 0 0 0 8\" Properties=species:S:1:pos:R:3:velo:R:3\nA 4 4 4 1 2 0\n";
    workdir.write("one.extxyz", file);
    let said = workdir.succeed(Start::Plain, "run melt.toml --quiet --output out");
    assert_eq!((said.stderr.as_str(), degrees(&workdir, "out")), ("", 0));
    let rows = Columns::read(&workdir, "out/thermo.csv");
    assert!(rows.of("temperature").iter().all(|&temperature| temperature == 0.0), "no motion about its own");
    assert_near(&rows.of("kinetic_per_atom")[..1], &[2.5], 1e-12, "but an energy");
    let bath = "--steps 40000 --set integrator={kind=\"langevin\",temperature=2.0,friction=2.0} \
                --set output.averages.start=0 --set output.thermo.every=20";
    workdir.succeed(Start::Plain, &format!("run melt.toml --quiet --output out {bath}"));
    let mean = summary(&workdir, "out")["averages"]["temperature"]["mean"].as_f64().unwrap();
    assert_eq!(degrees(&workdir, "out"), 3);
    assert!((mean - 2.0).abs() < 0.3, "{mean}");
}

/// A resumed run gives the bits of the run that was not stopped.
#[test]
fn a_system_that_moves_goes_on_to_the_last_bit() {
    let workdir = Workdir::new(&MELT.replace("temperature", "drift = [3.0, -1.0, 0.0]\ntemperature"));
    for keys in &MULTIPLYING[..2] {
        let options = format!("--quiet --set integrator={{temperature=1.0,every=3,{keys}}}");
        let run = |rest: &str| workdir.succeed(Start::Threads(2), &format!("run melt.toml {options} {rest}"));
        run("--output whole");
        run("--output parts --steps 10 --set output.checkpoint.every=10");
        run("--output parts --resume parts/checkpoint-10.mdc");
        let [whole, parts] =
            ["whole", "parts"].map(|folder| fs::read(workdir.path(&format!("{folder}/thermo.csv"))).unwrap());
        assert!(whole == parts, "{keys}");
        fs::remove_dir_all(workdir.path("parts")).unwrap();
    }
}

const COLD: &str = "give `system.temperature`, or begin with a stage of `langevin`";

#[test]
fn what_a_thermostat_cannot_heat_is_warned_of() {
    // In a simple cubic crystal all forces cancel.
    let crystal = "lattice = { kind = \"sc\", spacing = 1.2, cells = [6, 5, 5] }\ntemperature = 0.0";
    let workdir = Workdir::new(&MELT.replace(
        "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }\ntemperature = 1.44",
        crystal,
    ));
    let still = "warning: the particles are at rest relative to each other and no force moves them, so that a thermostat \
                 which multiplies their velocities has nothing to multiply but rounding errors; ";
    let fitting = starts().into_iter().filter(|start| !matches!(start, Start::Threads(3) | Start::Mpirun(3)));
    for (keys, start) in MULTIPLYING.iter().zip(fitting.collect::<Vec<_>>().into_iter().cycle()) {
        let option = format!("--set integrator={{temperature=1.0,{keys}}} --set system.drift=[1.0,0.0,0.0]");
        let said = workdir.succeed(start, &format!("run melt.toml --quiet --output out {option}"));
        assert!(said.stderr.starts_with(&format!("{still}{COLD}\n")), "{keys}: {said:?}");
        let warnings = summary(&workdir, "out")["warnings"].to_string();
        assert!(warnings.contains("nothing to multiply"), "{keys}: {warnings}");
    }
    let langevin = "--set integrator={kind=\"langevin\",temperature=1.0,friction=1.0}";
    let said = workdir.succeed(Start::Plain, &format!("run melt.toml --quiet --output out {langevin}"));
    assert_eq!(said.stderr, "");
    // At rest there is no kinetic energy to which a change of the conserved energy could be
    // compared.
    let chain = "--steps 500 --set integrator={temperature=1.0,kind=\"nose-hoover\",relaxation=0.5}";
    let said = workdir.succeed(Start::Plain, &format!("run melt.toml --quiet --output out {chain}"));
    assert!(said.stderr.starts_with("warning: ") && !said.stderr.contains("has changed by"), "{said:?}");
}
