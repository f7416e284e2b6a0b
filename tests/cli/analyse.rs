//! `md-cli analyse`: the tables of a run, computed from the frames that it wrote, and trajectories
//! that cannot be analysed.

use crate::analysis::{Columns, assert_near, mixture};
use crate::support::{MELT, Start, Workdir};

/// Runs 20 steps with analyses and writes the frames that they use into a trajectory.
fn analysed(trajectory: &str) -> Workdir {
    let keys = format!(
        "trajectory = {trajectory}\nrdf = {{ every = 4, bins = 40, max = 2.5 }}\nmsd = {{ every = 2, origins = 3 }}\n\
         vacf = {{ every = 2, length = 0.04, origins = 2 }}\nprofile = [{{ axis = \"z\", bins = 3, every = 4, start = 8 }}]\nthermo"
    );
    let workdir = Workdir::new(&MELT.replace("thermo", &keys));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    workdir
}

/// Frames contain all digits, so that the same pairs are counted. Particles that have crossed a
/// face are followed.
#[test]
fn frames_give_the_tables_of_the_run() {
    for (name, options) in [
        ("traj.extxyz", ""),
        ("traj.extxyz.gz", ", columns = [\"momentum\", \"mass\"]"),
        ("traj.lammpstrj", ", columns = [\"velocity\"]"),
        ("traj.lammpstrj.gz", ", columns = [\"velocity\"], positions = \"unwrapped\""),
        ("traj.nc", ", columns = [\"velocity\"], precision = \"double\""),
    ] {
        let workdir = analysed(&format!("{{ path = \"{name}\", every = 2{options} }}"));
        let said = workdir.call(Start::Plain, &format!("analyse out/{name}"));
        let files = ["rdf.csv", "msd.csv", "vacf.csv", "profile_z.csv", "summary.json"];
        let written: String = files.iter().map(|file| format!("out/analysis/{file}\n")).collect();
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), written.as_str()), "{name} {said:?}");
        if !name.contains("extxyz.gz") && !options.contains("unwrapped") {
            assert_eq!(workdir.read("out/analysis/rdf.csv"), workdir.read("out/rdf.csv"), "{name}");
        }
        for file in &files[..4] {
            let own = Columns::read(&workdir, &format!("out/{file}"));
            let found = Columns::read(&workdir, &format!("out/analysis/{file}"));
            assert!(own.rows.len() == found.rows.len() && found.rows.len() > 2, "{name} {file}");
            assert_eq!(own.names, found.names, "{name}");
            for column in found.names.iter().filter(|column| !column.contains("error")) {
                assert_near(&found.of(column), &own.of(column), 1e-9, &format!("{name} {file} {column}"));
            }
        }
        let entry = |folder: &str, key: &str| {
            let summary: serde_json::Value =
                serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap_or_default();
            summary.pointer(key).and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN)
        };
        let [found, own] = ["out/analysis", "out"].map(|folder| entry(folder, "/diffusion/A/coefficient"));
        assert!((found - own).abs() <= 1e-9 * own.abs(), "{name}: {found}, in the run {own}");
        assert_eq!(
            ["/frames", "/atoms", "/last_step"].map(|key| entry("out/analysis", key)),
            [11.0, 600.0, 20.0]
        );
    }
}

/// Values that need forces are computed from the frames: the rows of the run for the steps that
/// have a frame, and the results derived from them.
#[test]
fn energies_and_pressures_are_those_of_the_run() {
    let keys = "trajectory = { path = \"traj.extxyz\", every = 2 }\nviscosity = { every = 2, length = 0.05 }\n\
                averages = { start = 4 }\nsurface_tension = { axis = \"x\" }\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys).replace("every = 7", "every = 4"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --steps 40");
    let said = workdir.succeed(Start::Plain, "analyse out/traj.extxyz");
    assert_eq!(
        said.stdout,
        "out/analysis/viscosity.csv\nout/analysis/thermo.csv\nout/analysis/summary.json\n"
    );
    for (file, rows) in [("thermo.csv", 11), ("viscosity.csv", 6)] {
        let [own, found] =
            ["out", "out/analysis"].map(|folder| Columns::read(&workdir, &format!("{folder}/{file}")));
        assert!(own.names == found.names && found.rows.len() == rows, "{file} {:?}", found.rows);
        for column in found.names.iter().filter(|column| !column.contains("error")) {
            assert_near(&found.of(column), &own.of(column), 1e-9, &format!("{file} {column}"));
        }
    }
    let entry = |folder: &str, key: &str| {
        let summary: serde_json::Value =
            serde_json::from_str(&workdir.read(&format!("{folder}/summary.json"))).unwrap_or_default();
        summary.pointer(key).and_then(serde_json::Value::as_f64).unwrap_or(f64::NAN)
    };
    for key in ["/averages/pressure/mean", "/averages/rows", "/surface_tension/mean", "/viscosity/value"] {
        let [own, found] = ["out", "out/analysis"].map(|folder| entry(folder, key));
        assert!((own - found).abs() <= 1e-9 * own.abs(), "{key}: {found}, in the run {own}");
    }
    // With fewer frames the rows lie further apart, and the correlation uses their interval as its
    // time.
    let calls = ["every=8", "every=4"].map(|every| format!("analyse out/t8.extxyz --output {every} --set output.viscosity.every=8 --set output.thermo.{every}"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --steps 40 --set output.trajectory={path=\"t8.extxyz\",every=8} --set system.drift=[0.5,0.0,0.0]");
    for call in &calls {
        workdir.succeed(Start::Plain, call);
    }
    let [rare, often] =
        ["every=8", "every=4"].map(|folder| entry(folder, "/averages/pressure/correlation_time"));
    assert!(rare > 0.0 && rare == often, "{rare} {often}");
    let [own, found] =
        ["out", "every=8"].map(|folder| Columns::read(&workdir, &format!("{folder}/thermo.csv")));
    let own: Vec<f64> = own.of("temperature").into_iter().step_by(2).collect();
    assert_near(&found.of("temperature"), &own, 1e-9, "a drift is in the velocities of the frames");
    let said =
        workdir.call(Start::Plain, "analyse out/t8.extxyz --output out --set output.viscosity.every=8");
    assert!(
        said.code == Some(2)
            && said.stderr.contains("`out` is the folder of a run, with `scenario.toml` in it"),
        "{said:?}"
    );
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out --steps 40");
    // Another potential gives other values for the same frames.
    workdir.succeed(Start::Plain, "analyse out/traj.extxyz --output softer --set species[0].epsilon=0.5");
    let [own, softer] = ["out/analysis", "softer"]
        .map(|folder| Columns::read(&workdir, &format!("{folder}/thermo.csv")).of("potential_per_atom"));
    assert_near(&softer, &own.iter().map(|energy| 0.5 * energy).collect::<Vec<_>>(), 1e-9, "half as deep");
    let positions = "--set output.trajectory.path=p.xtc --set output.trajectory.columns=[]";
    workdir.succeed(Start::Plain, &format!("run melt.toml --quiet --output out {positions}"));
    let said = workdir.call(Start::Plain, "analyse out/p.xtc");
    let why = "the trajectory has no velocities, of which temperature and pressure are made";
    assert!(
        said.code == Some(2)
            && said.stderr.contains(&format!("{why}: there can be no `viscosity.csv` and `thermo.csv`")),
        "{said:?}"
    );
    let said = workdir.succeed(Start::Plain, "analyse out/p.xtc --set output.msd.every=2");
    assert!(said.stderr.contains(&format!("{why}: `viscosity.csv` and `thermo.csv` left out")), "{said:?}");
}

/// Analyses begin with the last stage, after the number of steps that were made, not the planned
/// number.
#[test]
fn so_do_those_of_a_run_with_stages() {
    let stages = |first: &str| {
        let keys = "trajectory = { path = \"traj.extxyz\", every = 2, columns = [\"velocity\", \"mass\"] }\n\
                    rdf = { every = 4, bins = 40, max = 2.5 }\nmsd = { every = 2, origins = 3 }\n\
                    vacf = { every = 2, length = 0.04, origins = 2 }\nprofile = [{ axis = \"z\", bins = 3, every = 4 }]\nthermo";
        let melt = MELT.replace("steps = 20\n", "").replace("thermo", keys);
        format!("{melt}[[stage]]\n{first}\n[[stage]]\nsteps = 20\n")
    };
    let fire = "steps = 1000\nintegrator = { kind = \"fire\", force_tolerance = 5.0 }";
    for first in ["steps = 8", "steps = 7", fire] {
        let workdir = Workdir::new(&stages(first));
        workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
        workdir.succeed(Start::Plain, "analyse out/traj.extxyz");
        for file in ["rdf.csv", "msd.csv", "vacf.csv", "profile_z.csv"] {
            let own = Columns::read(&workdir, &format!("out/{file}"));
            let found = Columns::read(&workdir, &format!("out/analysis/{file}"));
            assert!(own.rows.len() == found.rows.len() && found.rows.len() > 2, "{first} {file}");
            for column in found.names.iter().filter(|column| !column.contains("error")) {
                assert_near(&found.of(column), &own.of(column), 1e-9, &format!("{first} {file} {column}"));
            }
        }
        std::fs::remove_file(workdir.path("out/summary.json")).unwrap();
        let said = workdir.call(Start::Plain, "analyse out/traj.extxyz");
        if first != fire {
            assert_eq!(said.code, Some(0), "{said:?}");
            continue;
        }
        let text = said.stderr.replace("\n       ", " ");
        let expected = "stage 1 is a minimisation, which may have ended early, and no `summary.json` beside the trajectory says after how \
                        many steps: give the step with which an analysis begins, for example by --set output.rdf.start=1000";
        assert!(said.code == Some(2) && text.contains(expected), "{text}");
        assert!(workdir.path("out/analysis/rdf.csv").exists(), "what is there stays");
        let starts = ["rdf", "msd", "vacf"].map(|name| format!(" --set output.{name}.start=100")).concat();
        let call = format!("analyse out/traj.extxyz{starts} --set output.profile=[]");
        let text = workdir.call(Start::Plain, &call).stderr;
        assert!(text.contains("there is none that an analysis takes"), "{text}");
    }
}

/// A run may take its masses from its particle file, and its trajectory need not contain them.
#[test]
fn masses_are_those_of_the_run() {
    let workdir = mixture();
    let keys = "trajectory = { path = \"traj.lammpstrj\", every = 20, columns = [\"velocity\", \"images\"] }\nprofile = [{ axis = \"z\", bins = 3, every = 20 }]\n";
    let scenario = workdir.read("melt.toml") + keys;
    workdir.write("mixture.toml", &scenario);
    workdir.succeed(Start::Threads(2), "run mixture.toml --quiet");
    let masses: Vec<String> = workdir
        .read("out/scenario.toml")
        .lines()
        .filter(|line| line.starts_with("mass = "))
        .map(str::to_owned)
        .collect();
    assert_eq!(masses, ["mass = 1.0", "mass = 2.0"]);
    let call = "analyse out/traj.lammpstrj --set output.msd.every=20";
    assert_eq!(workdir.succeed(Start::Plain, call).stderr, "");
    let temperature =
        |folder: &str| Columns::read(&workdir, &format!("{folder}/profile_z.csv")).of("temperature");
    assert_near(&temperature("out/analysis"), &temperature("out"), 1e-12, "temperature");
    let said = workdir.succeed(Start::Plain, &format!("{call} --scenario mixture.toml"));
    let note = |name: &str| {
        format!("note: neither scenario nor trajectory gives the mass of species `{name}`: 1.0 is taken\n")
    };
    // With masses that differ from those of the run, the particles have a total momentum.
    let expected = note("A") + &note("B") + "note: the whole system moves at [";
    assert!(said.stderr.replace("\n      ", "").starts_with(&expected), "{said:?}");
}

/// `.xtc` has positions to a thousandth and the edges of the box as `f32`. Its tables are those of
/// frames with numbers rounded in this way, and close to those of the run. Data that it lacks is
/// reported or is not a number.
#[test]
fn positions_of_xtc_are_enough_for_structure() {
    let exact = analysed("{ path = \"traj.extxyz\", every = 2 }");
    exact.write("rounded.lammpstrj", &rounded(&exact.read("out/traj.extxyz")));
    let workdir = analysed("{ path = \"traj.xtc\", every = 2 }");
    let said = workdir.call(Start::Plain, "analyse out/traj.xtc");
    let text = said.stderr.replace("\n       ", " ");
    let expected = "out/traj.xtc, frame 1: there are no velocities, of which `output.vacf` is made: leave it out, or analyse a \
                    trajectory with velocities";
    assert!(said.code == Some(2) && text.contains(expected), "{text}");
    let melt = workdir.read("melt.toml");
    let without: String = melt.split_inclusive('\n').filter(|line| !line.starts_with("vacf")).collect();
    for folder in [&exact, &workdir] {
        folder.write("positions.toml", &without);
    }
    exact.succeed(Start::Plain, "analyse rounded.lammpstrj --scenario positions.toml --output found");
    workdir.succeed(Start::Plain, "analyse out/traj.xtc --scenario positions.toml --output found");
    for file in ["rdf.csv", "msd.csv", "profile_z.csv"] {
        assert_eq!(workdir.read(&format!("found/{file}")), exact.read(&format!("found/{file}")), "{file}");
    }
    let of = |name: &str, column: &str| Columns::read(&workdir, name).of(column);
    assert_near(&of("found/msd.csv", "msd_A"), &of("out/msd.csv", "msd_A"), 2e-3, "msd");
    assert_near(&of("found/rdf.csv", "n_A_A"), &of("out/rdf.csv", "n_A_A"), 0.2, "neighbours");
    assert!(of("found/profile_z.csv", "temperature").iter().all(|value| value.is_nan()));
    let species = "--set species=[{name=\"A\",fraction=0.5},{name=\"B\",fraction=0.5}]";
    let said =
        workdir.call(Start::Plain, &format!("analyse out/traj.xtc --scenario positions.toml {species}"));
    let text = said.stderr.replace("\n       ", " ");
    let expected = "out/traj.xtc, frame 1: the file has no types, but the scenario has 2 species: give one with a single species by \
                    --scenario FILE, in which all particles count as one, or analyse a trajectory with types";
    assert!(said.code == Some(2) && text.contains(expected), "{text}");
}

/// Returns the frames of an extended XYZ file as a LAMMPS dump, with numbers rounded as in XTC.
fn rounded(frames: &str) -> String {
    let mut lines = frames.lines();
    let mut dump = String::new();
    while let (Some(count), Some(comment)) = (lines.next(), lines.next()) {
        let value =
            |key: &str| comment.split_once(key).map_or("", |(_, rest)| rest.trim_start_matches(['=', '"']));
        let numbers = |text: &str, count: usize| -> Vec<f64> {
            text.split([' ', '"']).take(count).map(|word| word.parse().unwrap_or(f64::NAN)).collect()
        };
        let lattice = numbers(value("Lattice"), 9);
        let step = numbers(value("Step"), 1)[0];
        dump +=
            &format!("ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{count}\nITEM: BOX BOUNDS pp pp pp\n");
        for axis in 0..3 {
            dump += &format!("0 {}\n", f64::from(lattice[4 * axis] as f32));
        }
        dump += "ITEM: ATOMS id type x y z\n";
        for (id, line) in (1..).zip(lines.by_ref().take(count.parse().unwrap_or(0))) {
            let place: Vec<String> = numbers(line.split_once(' ').map_or("", |(_, rest)| rest), 3)
                .into_iter()
                .map(|x| (f64::from((x as f32 * 1000.0).round()) / 1000.0).to_string())
                .collect();
            dump += &format!("{id} 1 {}\n", place.join(" "));
        }
    }
    dump
}

/// A trajectory of another program needs a scenario for its species and time step. Positions are
/// sufficient for distances and densities.
#[test]
fn a_trajectory_without_a_run() {
    let frame = |step: u64, x: f64| {
        format!(
            "ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\n\
             ITEM: ATOMS id type x y z\n2 1 2 2 2\n1 1 {x} 2 2\n"
        )
    };
    // Moves through a face, by half a length unit in each frame.
    let text: String =
        (0..9).map(|number| frame(100 * number, (9.0 + 0.5 * number as f64).rem_euclid(10.0))).collect();
    let scenario = "[simulation]\nsteps = 1\ntimestep = 0.01\n\
                    [system]\nlattice = { kind = \"sc\", density = 1.0, cells = [1, 1, 1] }\n\
                    [output]\nrdf = { every = 100, bins = 10, max = 5.0 }\nmsd = { every = 100, origins = 1 }\n\
                    profile = [{ axis = \"x\", bins = 2, every = 100 }]\n";
    let workdir = Workdir::new(scenario);
    workdir.write("dump.lammpstrj", &text);
    workdir.succeed(Start::Plain, "analyse dump.lammpstrj --scenario melt.toml --output found");
    let msd = Columns::read(&workdir, "found/msd.csv");
    assert_near(&msd.of("time"), &(0..9).map(f64::from).collect::<Vec<_>>(), 1e-12, "time");
    // One of two particles has moved by lag / 2.
    let expected: Vec<f64> = (0..9).map(|lag| f64::from(lag * lag) / 8.0).collect();
    assert_near(&msd.of("msd_A"), &expected, 1e-12, "msd");
    // Distances of 3, 2.5, ... 0 and 0.5, 1: each in one of nine frames.
    let neighbours = Columns::read(&workdir, "found/rdf.csv").of("n_A_A");
    let expected = [1.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.0, 9.0, 9.0].map(|count| count / 9.0);
    assert_near(&neighbours, &expected, 1e-12, "neighbours");
    let profile = Columns::read(&workdir, "found/profile_x.csv");
    assert_near(&profile.of("density"), &[16.0 / 9.0 / 500.0, 2.0 / 9.0 / 500.0], 1e-12, "density");
    assert!(profile.of("temperature").iter().all(|value| value.is_nan()));
}

#[test]
fn what_cannot_be_analysed() {
    let workdir = analysed("{ path = \"traj.extxyz\", every = 2 }");
    let whole = workdir.read("out/traj.extxyz");
    let cut = whole.trim_end().rsplit_once('\n').map_or("", |(rest, _)| rest);
    workdir.write("out/cut.extxyz", &format!("{cut}\n"));
    for name in ["out/empty.extxyz", "out/empty.xtc"] {
        workdir.write(name, "");
    }
    workdir.write("alone.extxyz", &whole);
    workdir.write("out/again.extxyz", &format!("{whole}{whole}"));
    workdir.write(
        "out/still.extxyz",
        &whole.replace("velo:R:3", "left:R:3").replace("momenta:R:3", "moved:R:3"),
    );
    workdir.write("out/open.extxyz", &whole.replace("pbc=\"T T T\"", "pbc=\"T F T\""));
    for (call, expected) in [
        (
            "out/traj.extxyz --set output.rdf.start=21 --set output.msd.start=21 --set output.vacf.start=21 --set output.profile=[]",
            "of 11 frames, the last of step 20, there is none that an analysis takes: see its `every` and `start`",
        ),
        (
            "out/traj.extxyz --set output.rdf.max=9.0",
            "step 0: `output.rdf.max` is 9.0, but half the shortest periodic side of the box is 4.198990478456269\na smaller `output.rdf.max`",
        ),
        ("out/empty.extxyz", "`out/empty.extxyz` has no frame"),
        ("out/empty.xtc", "`out/empty.xtc` has no frame"),
        ("out/none.xtc", "out/none.xtc: No such file or directory"),
        ("none.nc", "cannot read the trajectory none.nc: No such file or directory"),
        ("out/cut.extxyz --strict", "out/cut.extxyz, frame 11:"),
        (
            "out/again.extxyz --strict",
            "out/again.extxyz, frame 12: its step is 0, but that of the frame before is 20",
        ),
        (
            "out/still.extxyz",
            "out/still.extxyz, frame 1: there are no velocities, of which `output.vacf` is made: leave it out, or analyse a trajectory with velocities",
        ),
        (
            "out/open.extxyz",
            "out/open.extxyz, frame 1: `pbc=\"T F T\"` contradicts `system.boundary` of the scenario: give that of the run which wrote it by --scenario FILE",
        ),
        (
            "alone.extxyz",
            "there is no `scenario.toml` beside the trajectory: give species, time step and analyses by --scenario FILE",
        ),
        ("out/none.extxyz", "out/none.extxyz"),
        (
            "out/thermo.csv",
            "`out/thermo.csv`: the extension gives the format: `.extxyz[.gz]`, `.lammpstrj[.gz]`, `.nc`, `.xtc`",
        ),
        ("out/traj.extxyz --set output.rdf.bins=0", "`output.rdf.bins` must be at least 1, found 0"),
    ] {
        let said = workdir.call(Start::Plain, &format!("analyse {call}"));
        assert_eq!(said.code, Some(2), "{call}: {said:?}");
        let text = said.stderr.replace("\n       ", "\n");
        assert!(text.contains(expected), "{call}: {text}");
        assert!(!workdir.path("out/analysis/rdf.csv").exists(), "{call}");
    }
    workdir.write("melt.toml", MELT);
    let said = workdir.call(Start::Plain, "analyse out/traj.extxyz --scenario melt.toml");
    let expected = "the scenario asks for none of the analyses `rdf`, `msd`, `vacf`, `viscosity`, `profile`, `averages` and `surface_tension`";
    assert!(said.code == Some(2) && said.stderr.contains(expected), "{said:?}");
}
