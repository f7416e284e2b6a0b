//! `output.rdf` and `output.msd`: comparison with LAMMPS and with exact values, on any number of
//! ranks and in a run that was stopped.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use serde_json::Value;

use crate::support::{
    MELT, Start, Workdir, data, error, error_everywhere, numbers, p2p_available, starts, table,
};

/// Returns the mixture of the reference data, with one frame every 20 steps.
pub(crate) fn mixture() -> Workdir {
    let path = data("mix864").join("data.lammps");
    Workdir::new(&format!(
        "[simulation]\nsteps = 40\ntimestep = 0.005\n\
         [system]\nfile = {{ path = {path:?}, format = \"lammps-data\" }}\n\
         [[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\nepsilon = 0.5\nsigma = 0.9\n\
         [interaction]\ncutoff = 2.5\n\
         [neighbor]\nrebuild = {{ displacement = true }}\n\
         [output]\nrdf = {{ every = 20, bins = 80, max = 4.0, start = 20 }}\nmsd = {{ every = 10, origins = 1 }}\n"
    ))
}

pub(crate) fn ranks() -> Vec<Start> {
    let mut starts = vec![Start::Threads(1), Start::Threads(2), Start::Threads(3)];
    if p2p_available() {
        starts.push(Start::Mpirun(4));
    }
    starts
}

/// Columns of a table that a run has written.
pub(crate) struct Columns {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<Vec<f64>>,
}

impl Columns {
    pub(crate) fn read(workdir: &Workdir, name: &str) -> Self {
        let text = workdir.read(name);
        let mut lines = text.lines();
        let names = lines.next().unwrap().split(',').map(str::to_owned).collect();
        let rows = lines.map(|row| row.split(',').map(|field| field.parse().unwrap()).collect()).collect();
        Self { names, rows }
    }

    pub(crate) fn of(&self, name: &str) -> Vec<f64> {
        let at = self.names.iter().position(|other| other == name);
        let at = at.unwrap_or_else(|| panic!("no column {name}: {:?}", self.names));
        self.rows.iter().map(|row| row[at]).collect()
    }
}

pub(crate) fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(near, "{what}, row {row}: {found} instead of {expected}");
    }
}

#[test]
fn distances_and_displacements_are_those_of_lammps() {
    let names = ["g_A_A", "n_A_A", "g_A_B", "n_A_B", "g_B_A", "n_B_A", "g_B_B", "n_B_B"];
    let columns =
        ["step", "row", "r", "g_A_A", "n_A_A", "g_A_B", "n_A_B", "g_B_A", "n_B_A", "g_B_B", "n_B_B"];
    let printed: Vec<[f64; 11]> = table("analysis864/rdf.csv", columns).iter().map(numbers).collect();
    let (first, second) = printed.split_at(80);
    let rdf = |column: usize| -> Vec<f64> {
        first.iter().zip(second).map(|(first, second)| 0.5 * (first[column] + second[column])).collect()
    };
    let moved = ["step", "msd_A", "msd_B", "msd_without_centre"];
    let moved: Vec<[f64; 4]> = table("analysis864/msd.csv", moved).iter().map(numbers).collect();
    let column = |at: usize| -> Vec<f64> { moved.iter().map(|row| row[at]).collect() };
    let workdir = mixture();
    for start in ranks() {
        workdir.succeed(start, "run melt.toml --quiet --output out");
        let found = Columns::read(&workdir, "out/rdf.csv");
        assert_near(&found.of("r"), &rdf(2), 1e-14, "r");
        for (column, name) in names.iter().enumerate().filter(|(_, name)| **name != "g_B_A") {
            assert_near(&found.of(name), &rdf(3 + column), 1e-10, name);
        }
        // Up to the cutoff, the pairs come from the lists of the forces.
        for options in ["", "--set parallel.shell=eighth --threads 2", "--set neighbor.precision=mixed"] {
            let keys = "--set output.rdf.max=2.5 --set output.rdf.bins=50";
            workdir.succeed(start, &format!("run melt.toml --quiet --output near {keys} {options}"));
            let near = Columns::read(&workdir, "near/rdf.csv");
            // In f32, forces differ in the seventh digit, and after 40 steps a pair may be in the
            // next bin.
            let tolerance = if options.contains("mixed") { 3e-2 } else { 1e-10 };
            for (column, name) in names.iter().enumerate().filter(|(_, name)| **name != "g_B_A") {
                assert_near(&near.of(name), &rdf(3 + column)[..50], tolerance, name);
            }
        }
        let found = Columns::read(&workdir, "out/msd.csv");
        assert_eq!(found.of("time"), [0.0, 0.05, 0.1, 0.15000000000000002, 0.2]);
        assert_near(&found.of("msd_A"), &column(1), 1e-10, "msd_A");
        assert_near(&found.of("msd_B"), &column(2), 1e-10, "msd_B");
        workdir.succeed(start, "run melt.toml --quiet --output out --set output.msd.centre_of_mass=removed");
        let found = Columns::read(&workdir, "out/msd.csv");
        // LAMMPS averages over all atoms.
        let numbers = species_of_mixture();
        let all = numbers[0] + numbers[1];
        let mean = |(a, b): (f64, f64)| (numbers[0] * a + numbers[1] * b) / all;
        let together: Vec<f64> = found.of("msd_A").into_iter().zip(found.of("msd_B")).map(mean).collect();
        assert_near(&together, &column(3), 1e-10, "without the centre of mass");
    }
}

/// Returns the number of atoms of each species in the data file.
fn species_of_mixture() -> [f64; 2] {
    let rows: Vec<_> = table("mix864/forces.csv", ["id", "type", "x", "y", "z", "fx", "fy", "fz"]);
    let count = |kind: &str| rows.iter().filter(|row| row[1] == kind).count() as f64;
    [count("1"), count("2")]
}

/// Without forces the results are exact: msd = v^2 t^2 with a mean of 3 kT. With so few rows no
/// diffusion is stated.
#[test]
fn free_particles_go_straight_on() {
    let gas = MELT.replace("density = 0.8442", "density = 1e-6").replace(
        "thermo",
        "msd = { every = 2, origins = 3 }\nrdf = { every = 5, bins = 10, max = 100.0 }\nthermo",
    );
    let workdir = Workdir::new(&gas);
    workdir.succeed(Start::Threads(3), "run melt.toml --quiet --output out --set neighbor.skin=30.0");
    let found = Columns::read(&workdir, "out/msd.csv");
    // The total momentum is zero, so there are 3 (N - 1) degrees of freedom.
    let per_time2 = 3.0 * 1.44 * 599.0 / 600.0;
    let expected: Vec<f64> = found.of("time").iter().map(|time| per_time2 * time * time).collect();
    assert_near(&found.of("msd_A"), &expected, 1e-9, "msd");
    assert_eq!(found.of("origins"), [3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
    // No particle is nearer than the first neighbours of the lattice, 112 away.
    let found = Columns::read(&workdir, "out/rdf.csv");
    assert_eq!((found.of("g_A_A"), found.of("n_A_A")), (vec![0.0; 10], vec![0.0; 10]));
}

/// Two parts of a run give the same bits as one run, and on other ranks numbers that agree within
/// rounding.
#[test]
fn analyses_go_on() {
    let workdir = Workdir::new(&MELT.replace(
        "thermo",
        "rdf = { every = 3, bins = 40, max = 3.0 }\nmsd = { every = 2, origins = 3 }\n\
         viscosity = { every = 2, length = 0.05 }\nvacf = { every = 2, length = 0.04, origins = 3 }\nsurface_tension = { axis = \"z\" }\n\
         profile = [{ axis = \"x\", bins = 5, every = 2 }, { axis = \"z\", bins = 3, every = 3, start = 4 }]\nthermo",
    ));
    let summary = |folder: &str| -> Vec<Value> {
        let all: Value = serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap();
        ["diffusion", "averages", "surface_tension", "viscosity"].map(|key| all[key].clone()).to_vec()
    };
    let parts = |start, options: &str| {
        let call = |folder: &str, steps: u64, more: &str| {
            workdir.succeed(
                start,
                &format!("run melt.toml --quiet --output {folder} --steps {steps} {options} {more}"),
            );
        };
        call("whole", 40, "");
        call("parts", 17, "--set output.checkpoint.every=10");
        call("parts", 40, "--resume parts");
    };
    for (start, options) in [
        (Start::Threads(1), ""),
        (Start::Threads(3), ""),
        (Start::Threads(2), "--set parallel.partition=scattered"),
        (Start::Threads(2), "--set output.msd.centre_of_mass=removed"),
    ] {
        parts(start, options);
        for file in ["rdf.csv", "msd.csv", "vacf.csv", "viscosity.csv", "profile_x.csv", "profile_z.csv"] {
            let [whole, parts] = ["whole", "parts"].map(|folder| workdir.read(&format!("{folder}/{file}")));
            assert_eq!(whole, parts, "{start:?} {options} {file}");
        }
        assert!(summary("whole")[0]["A"]["coefficient"].is_f64(), "{:?}", summary("whole"));
        assert_eq!(summary("whole"), summary("parts"));
    }
    workdir.succeed(
        Start::Threads(3),
        "run melt.toml --quiet --output other --steps 40 --resume parts/checkpoint-17.mdc \
         --set output.msd.centre_of_mass=removed",
    );
    for (file, columns) in [
        ("rdf.csv", ["g_A_A", "n_A_A"]),
        ("msd.csv", ["msd_A", "origins"]),
        ("profile_x.csv", ["temperature", "pressure_xx"]),
    ] {
        let [whole, other] =
            ["whole", "other"].map(|folder| Columns::read(&workdir, &format!("{folder}/{file}")));
        columns.iter().for_each(|name| assert_near(&other.of(name), &whole.of(name), 1e-8, name));
    }
}

/// Data of another analysis in a checkpoint is not continued.
#[test]
fn that_of_another_time_step_begins_anew() {
    let keys = "msd = { every = 5 }\nvacf = { every = 5, length = 0.05 }\nviscosity = { every = 5, length = 0.05 }\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --set output.checkpoint.every=10");
    let call = "run melt.toml --quiet --output out --steps 40 --resume out --set simulation.timestep=0.0051";
    let said = workdir.succeed(Start::Threads(2), call).stderr;
    for name in ["msd", "vacf", "viscosity"] {
        let note = format!("note: `output.{name}` is not as it was at the checkpoint: it begins anew\n");
        assert!(said.contains(&note), "{said}");
    }
    // Samples at steps 25, 30, 35, 40.
    let times = Columns::read(&workdir, "out/msd.csv").of("time");
    assert_near(&times, &[0.0, 0.0255, 0.051, 0.0765], 1e-12, "time");
}

#[test]
fn another_analysis_begins_anew() {
    let workdir = Workdir::new(&MELT.replace("thermo", "rdf = { every = 5 }\nmsd = { every = 5 }\nthermo"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --set output.checkpoint.every=10");
    let call = "run melt.toml --quiet --output out --steps 30 --resume out --set output.rdf.bins=7 --set output.msd.origins=2";
    let said = workdir.succeed(Start::Threads(2), call).stderr;
    let notes: Vec<&str> = said.lines().filter(|line| line.contains("anew")).collect();
    assert_eq!(
        notes,
        [
            "note: `output.rdf` is not as it was at the checkpoint: it begins anew",
            "note: `output.msd` is not as it was at the checkpoint: it begins anew"
        ]
    );
    assert_eq!(Columns::read(&workdir, "out/msd.csv").of("time").len(), 2);
}

/// LAMMPS's `compute vacf` is the mean of v(0) v(t). Here it is averaged over all windows of full
/// length, and compared with a calculation from a trajectory of every step.
#[test]
fn velocities_are_correlated_by_definition() {
    const LAGS: usize = 6;
    let keys = "vacf = { every = 1, length = 0.03, origins = 2 }\n\
                trajectory = { path = \"traj.extxyz\", every = 1 }\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys));
    let mut tables = Vec::new();
    for start in ranks() {
        workdir.succeed(start, "run melt.toml --quiet --output out");
        let text = workdir.read("out/traj.extxyz");
        let frames: Vec<Vec<[f64; 3]>> = text
            .split("600\n")
            .skip(1)
            .map(|frame| frame.lines().skip(1).map(velocity_of_row).collect())
            .collect();
        assert_eq!(frames.len(), 21);
        // Windows begin at every third sample. Those that begin at 0, 3, ... 12 are complete at the
        // last sample.
        let at = |lag: usize| {
            let products = (0..=12).step_by(3).flat_map(|first: usize| {
                let (then, now) = (&frames[first], &frames[first + lag]);
                then.iter().zip(now).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>())
            });
            products.sum::<f64>() / (5.0 * 600.0)
        };
        let expected: Vec<f64> = (0..=LAGS).map(at).collect();
        let found = Columns::read(&workdir, "out/vacf.csv");
        assert_near(&found.of("vacf_A"), &expected, 1e-12, "vacf");
        let integral = expected.iter().sum::<f64>() - 0.5 * (expected[0] + expected[LAGS]);
        let last = *found.of("diffusion_A").last().unwrap();
        assert!((last - integral * 0.005 / 3.0).abs() < 1e-12, "{last}");
        tables.push(found.of("vacf_A"));
    }
    tables.iter().for_each(|table| assert_near(table, &tables[0], 1e-9, "ranks"));
}

/// Returns `velo`, which follows the species, the position and three numbers.
fn velocity_of_row(row: &str) -> [f64; 3] {
    let fields: Vec<&str> = row.split_whitespace().collect();
    [7, 8, 9].map(|at: usize| fields[at].parse().unwrap())
}

/// Viscosity and diffusion describe the motion of particles relative to each other, and do not
/// depend on a common velocity.
#[test]
fn a_drift_of_the_whole_is_no_diffusion() {
    let keys = "msd = { every = 4, origins = 1 }\nvacf = { every = 4, length = 0.2, origins = 1 }\nviscosity = { every = 2, length = 0.1 }\n";
    let workdir = Workdir::new(&format!("{}{keys}", MELT.replace("steps = 20", "steps = 80")));
    let found = |options: &str| {
        workdir.succeed(Start::Threads(2), &format!("run melt.toml --quiet --output out {options}"));
        let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
        let last = |name: &str| *Columns::read(&workdir, "out/vacf.csv").of(name).last().unwrap();
        let diffusion = summary["diffusion"]["A"]["coefficient"].as_f64().unwrap();
        [diffusion, summary["viscosity"]["value"].as_f64().unwrap(), last("diffusion_A"), last("vacf_A")]
    };
    let drift = "--set system.drift=[2.0,0.0,0.0]";
    let (at_rest, moving) = (found(""), found(drift));
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * b.abs();
    assert!((0..3).all(|at| near(moving[at], at_rest[at])), "{moving:?} {at_rest:?}");
    assert!(near(moving[3], at_rest[3] + 4.0), "the column has the whole motion: {moving:?} {at_rest:?}");
    let kept =
        found(&format!("{drift} --set output.msd.centre_of_mass=kept --set output.vacf.centre_of_mass=kept"));
    assert!(kept[0] > moving[0] + 0.1 && near(kept[2], moving[2] + 4.0 * 0.2 / 3.0), "{kept:?}");
    let removed = found(&format!("{drift} --set output.vacf.centre_of_mass=removed"));
    assert!(near(removed[3], at_rest[3]) && near(removed[2], at_rest[2]), "{removed:?}");
}

/// A run begins out of equilibrium, so averages from its first step on are printed only on request,
/// or after earlier stages.
#[test]
fn averages_are_of_what_may_be_equilibrium() {
    let rows = |text: &str| {
        let workdir = Workdir::new(text);
        workdir.succeed(Start::Threads(1), "run melt.toml --quiet --output out");
        let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
        summary.get("averages").map(|averages| averages["rows"].as_u64().unwrap())
    };
    assert_eq!(rows(MELT), None);
    assert_eq!(rows(&MELT.replace("thermo", "averages = { start = 0 }\nthermo")), Some(3), "steps 0, 7, 14");
    let stages = "[[stage]]\nsteps = 10\n[[stage]]\nsteps = 10\n";
    assert!(rows(&format!("{}{stages}", MELT.replace("steps = 20\n", ""))).is_some());
}

/// Averages, surface tension and viscosity follow from the rows of thermo.csv by their definitions.
#[test]
fn averages_and_viscosity_are_those_of_the_rows() {
    const LAGS: usize = 10;
    let keys = "viscosity = { every = 1, length = 0.05, start = 8 }\naverages = { start = 8 }\n\
                surface_tension = { axis = \"y\" }\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys).replace("every = 7", "every = 1"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --steps 60");
    let thermo = Columns::read(&workdir, "out/thermo.csv");
    let column = |name: &str| thermo.of(name)[8..].to_vec();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    assert_eq!(summary["averages"]["rows"], 53);
    for name in &thermo.names[2..] {
        let found = &summary["averages"][name];
        let expected = mean(&column(name));
        let near = |found: f64| (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
        assert!(near(found["mean"].as_f64().unwrap()), "{name}: {found}, expected {expected}");
        assert!(found["standard_error"].as_f64().unwrap() >= 0.0, "{name}: {found}");
        assert_eq!(
            found.get("correlation_time").is_some(),
            !["volume", "box_x", "box_y", "box_z", "density"].contains(&name.as_str())
        );
    }
    let [xx, yy, zz, xy, xz, yz] =
        ["xx", "yy", "zz", "xy", "xz", "yz"].map(|name| column(&format!("pressure_{name}")));
    let length = column("box_y")[0];
    let tension = 0.5 * length * (mean(&yy) - 0.5 * (mean(&xx) + mean(&zz)));
    let found = summary["surface_tension"]["mean"].as_f64().unwrap();
    assert!((found - tension).abs() <= 1e-11 * tension.abs(), "{found}, expected {tension}");
    let rows = 0..xx.len();
    let stress =
        |row: usize| [xy[row], xz[row], yz[row], 0.5 * (xx[row] - yy[row]), 0.5 * (yy[row] - zz[row])];
    // Over every row that has at least `lag` rows before it.
    let correlation = |lag: usize| {
        let products = rows
            .clone()
            .skip(LAGS)
            .flat_map(|now| stress(now).into_iter().zip(stress(now - lag)).map(|(now, then)| now * then));
        mean(&products.collect::<Vec<_>>())
    };
    let expected: Vec<f64> = (0..=LAGS).map(correlation).collect();
    let found = Columns::read(&workdir, "out/viscosity.csv");
    assert_near(&found.of("stress_correlation"), &expected, 1e-10, "correlation");
    let sum = expected.iter().sum::<f64>() - 0.5 * (expected[0] + expected[LAGS]);
    let viscosity = column("volume")[0] / mean(&column("temperature")) * sum * 0.005;
    let last = *found.of("viscosity").last().unwrap();
    assert!((last - viscosity).abs() <= 1e-10 * viscosity.abs(), "{last}, expected {viscosity}");
    assert_eq!(summary["viscosity"]["value"], last);
}

#[test]
fn what_cannot_be_analysed() {
    let workdir = Workdir::new(MELT);
    for (keys, message, help) in [
        ("rdf={every=0}", "`output.rdf.every` must be at least 1, found 0", "steps between two looks"),
        (
            "rdf={every=10,bins=0}",
            "`output.rdf.bins` must be at least 1, found 0",
            "number of classes of distances",
        ),
        (
            "rdf={every=10,bins=40001}",
            "`output.rdf.bins` is 40001, for each of 1 pairs of species: more than 40000 classes",
            "at most 40000",
        ),
        (
            "rdf={every=10,max=-1.0}",
            "`output.rdf.max` must be a finite number above 0, found -1.0",
            "a distance, for example 5.0",
        ),
        ("msd={every=0}", "`output.msd.every` must be at least 1, found 0", "steps between two looks"),
        (
            "msd={every=10,origins=0}",
            "`output.msd.origins` must be from 1 to 100, found 0",
            "each of them needs 24 bytes per particle",
        ),
        (
            "viscosity={every=0,length=1.0}",
            "`output.viscosity.every` must be at least 1, found 0",
            "steps between two looks",
        ),
        (
            "viscosity={every=10,length=0.0}",
            "`output.viscosity.length` must be a finite number above 0, found 0.0",
            "a time after which nothing is remembered, for example 2.0",
        ),
        (
            "viscosity={every=1,length=1e6}",
            "`output.viscosity.length` is 200000000.0 looks, but must be from 1 to 10000",
            "a time step times `every` is the time between two looks",
        ),
        (
            "surface_tension={axis=\"z\",surfaces=0}",
            "`output.surface_tension.surfaces` must be at least 1, found 0",
            "two of a slab in a periodic box",
        ),
    ] {
        let text = error(&workdir, &format!("run melt.toml --set output.{keys}"), Start::Plain);
        let (first, rest) = text.split_once("\n   ╭─").unwrap();
        assert_eq!(first, format!("exit code 2\nerror: × {message}"));
        assert!(rest.contains(&format!("--set output.{keys}\n")), "{text}");
        assert!(rest.trim_end().ends_with(&format!("  help: {help}")), "{text}");
    }
    let text = error_everywhere(&workdir, "run melt.toml --set output.rdf={every=10,max=4.3}", &starts());
    let message = "`output.rdf.max` is 4.3, more than half the shortest periodic side of the box";
    assert!(text.starts_with(&format!("exit code 2\nerror: × {message}\n")), "{text}");
    assert!(text.trim_end().ends_with("  help: at most 4.198990478456269"), "{text}");
}

/// Rows of two intervals, or of two surfaces, are not averaged together.
#[test]
fn averages_of_something_else_begin_anew() {
    let keys = "averages = { start = 0 }\nsurface_tension = { axis = \"z\" }\ncheckpoint = { every = 20 }\n";
    let workdir = Workdir::new(&format!("{MELT}{keys}"));
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet --set output.thermo.every=4");
    let rows = |output: &str, options: &str| {
        let call = format!("run melt.toml --resume out --steps 40 --output {output} {options}");
        let said = workdir.succeed(Start::Threads(1), &call).stderr;
        let summary: Value = serde_json::from_str(&workdir.read(&format!("{output}/summary.json"))).unwrap();
        let anew = said.lines().filter(|line| line.contains("anew")).collect::<Vec<_>>().join("\n");
        (summary["averages"]["rows"].as_u64().unwrap(), anew)
    };
    assert_eq!(rows("same", "--set output.thermo.every=4"), (11, String::new()));
    let interval =
        "note: rows of thermo.csv have another interval from here on: `output.averages` begins anew";
    assert_eq!(rows("rarer", "--set output.thermo.every=5"), (4, interval.to_owned()));
    let surface = "note: `output.averages` is not as it was at the checkpoint: it begins anew";
    let options = "--set output.thermo.every=4 --set output.surface_tension.axis=x";
    assert_eq!(rows("other", options), (5, surface.to_owned()));
}

/// With bins that are too narrow or too wide, volumes are 0 or infinite.
#[test]
fn distances_whose_volumes_are_no_numbers_are_refused() {
    let workdir = Workdir::new(MELT);
    for (max, width) in [("1e-300", "5e-303"), ("1e-59", "5e-62"), ("2e300", "1.0000000000000001e298")] {
        let said =
            workdir.call(Start::Plain, &format!("check melt.toml --set output.rdf={{every=50,max={max}}}"));
        assert_eq!(said.code, Some(2), "{said:?}");
        let text = said.stderr.replace("\n  │ ", " ");
        let expected =
            format!("`output.rdf.max` is {max}: each of its 200 classes is {width} wide, but must be");
        assert!(text.contains(&expected), "{text}");
    }
}
