//! The commands and their options in normal use.

use crate::support::{MELT, Said, Start, Workdir, md_cli, p2p_available, starts};
use md_core::words::counted;
use md_scenario::{ScenarioSource, effective_toml, load};
use serde_json::Value;

const HEADER: &str = "      Step          Temp        PotEng        KinEng        TotEng         Press";

#[test]
fn check_prints_a_scenario_that_reproduces_itself_and_moves_nothing() {
    let workdir = Workdir::new(&MELT.replace("[output]", "[parallel]\nbackend = \"local\"\n\n[output]"));
    let first = workdir.succeed(Start::Plain, "check melt.toml");
    assert_eq!(first.stderr, "");
    assert_eq!(workdir.files("."), ["melt.toml"], "no output directory");
    let source = ScenarioSource { text: workdir.read("melt.toml"), ..ScenarioSource::default() };
    let effective = effective_toml(&load(&source).unwrap());
    assert_eq!(first.stdout, format!("{effective}\n# needs about 16 MB of memory per rank\n"));
    workdir.write("effective.toml", &first.stdout);
    assert_eq!(workdir.succeed(Start::Plain, "check effective.toml"), first);
    workdir.succeed(Start::Plain, "run melt.toml --quiet --output first");
    workdir.succeed(Start::Plain, "run effective.toml --quiet --output second");
    assert_eq!(workdir.read("first/thermo.csv"), workdir.read("second/thermo.csv"));
    // A run names the skin that it has chosen.
    let named = effective.replace("skin = \"auto\"", "skin = 0.4");
    assert_eq!(workdir.read("first/scenario.toml").replace("first", "out"), named);
}

#[test]
fn check_under_mpirun_speaks_once() {
    if p2p_available() {
        let workdir = Workdir::new(MELT);
        assert_eq!(
            workdir.succeed(Start::Mpirun(3), "check melt.toml"),
            workdir.succeed(Start::Mpirun(1), "check melt.toml")
        );
    }
}

#[test]
fn the_schema_is_json() {
    let said = Workdir::new(MELT).succeed(Start::Plain, "schema");
    assert_eq!(said.stderr, "");
    let schema: Value = serde_json::from_str(&said.stdout).unwrap();
    let tables =
        ["simulation", "system", "species", "interaction", "neighbor", "integrator", "parallel", "output"];
    for table in tables {
        assert!(schema["properties"].get(table).is_some(), "{table}");
    }
    for kind in ["stencil", "lbm"] {
        let said = Workdir::new(MELT).succeed(Start::Plain, &format!("schema {kind}"));
        let schema: Value = serde_json::from_str(&said.stdout).unwrap();
        let tables: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(tables.len(), 3, "{tables:?}");
        assert!(schema["properties"].get(kind).is_some(), "{tables:?}");
    }
}

/// A backend of the build need not be usable where it runs.
#[test]
fn backends_that_cannot_be_used_by_these_ranks() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    let mut command = workdir.under_mpirun(2, &md_cli());
    command.arg("backends").env("MD_RANKS_PER_NODE", "1");
    let said = Said::of(command);
    let states = ["shm", "hybrid"].map(|name| {
        let line = said.stdout.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
        line.split_once(' ').unwrap().1.trim()
    });
    assert!(states[0].starts_with("not available: the ranks are on 2 nodes"), "{said:?}");
    assert_eq!(states[1], "available");
}

#[test]
fn backends_are_listed() {
    let said = Workdir::new(MELT).succeed(Start::Plain, "backends");
    assert_eq!(said.stderr, "");
    let lines: Vec<&str> = said.stdout.lines().collect();
    let state = |name: &str| {
        let line = lines.iter().find(|line| line.split(' ').next() == Some(name));
        line.unwrap().split_once(' ').unwrap().1.trim()
    };
    assert_eq!(state("local"), "available");
    let library = lines.iter().find_map(|line| line.strip_prefix("MPI library: ")).unwrap();
    if cfg!(feature = "mpi") {
        assert_eq!(state("p2p"), "available");
        assert!(library.contains("MPI"), "{library}");
        for finding in ["memory model: ", "thread level: MPI_THREAD_", "ranks: 1 on 1 node"] {
            assert!(lines.iter().any(|line| line.starts_with(finding)), "{finding} in {}", said.stdout);
        }
    } else {
        assert!(
            state("p2p").starts_with("not available: this program was built without MPI"),
            "{}",
            state("p2p")
        );
        assert_eq!(library, "none (built without MPI)");
    }
    assert_eq!([state("hybrid"), state("auto")], [state("p2p"); 2]);
    assert!(lines.iter().any(|line| line.starts_with("RMA component: ")));
}

/// The last `--set` of a key takes precedence. Separate options take precedence over `--set`, and
/// both over the file.
#[test]
fn precedence_of_overrides() {
    let workdir = Workdir::new(MELT);
    let value = |arguments: &str, key: &str| {
        let said = workdir.succeed(Start::Threads(1), &format!("check melt.toml {arguments}"));
        let line = said.stdout.lines().find(|line| line.starts_with(&format!("{key} = ")));
        line.unwrap().split_once(" = ").unwrap().1.to_owned()
    };
    assert_eq!(value("", "steps"), "20");
    assert_eq!(value("--set simulation.steps=5", "steps"), "5");
    assert_eq!(value("--set simulation.steps=5 --set simulation.steps=6", "steps"), "6");
    assert_eq!(value("--steps 7 --set simulation.steps=5", "steps"), "7");
    assert_eq!(value("--output there --set output.directory=\"here\"", "directory"), "\"there\"");
    assert_eq!(value("--threads 1", "threads"), "1");
    workdir.succeed(Start::Threads(1), "run melt.toml --steps 3 --output a/b/c --quiet");
    assert_eq!(workdir.read("a/b/c/thermo.csv").lines().last().unwrap().split(',').next(), Some("3"));
    assert!(!workdir.path("out").exists());
}

#[test]
fn quiet_prints_nothing() {
    let workdir = Workdir::new(MELT);
    for start in starts() {
        for command in ["run", "forces"] {
            let said = workdir.succeed(start, &format!("{command} melt.toml --quiet"));
            assert_eq!(said, Said { code: Some(0), stdout: String::new(), stderr: String::new() });
        }
    }
}

#[test]
fn the_table_and_the_performance_are_printed_once() {
    let workdir = Workdir::new(MELT);
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml");
        assert_eq!(said.stderr, "", "no progress bar where there is no terminal");
        let lines: Vec<&str> = said.stdout.lines().collect();
        assert_eq!(lines[0], HEADER);
        let steps: Vec<&str> =
            lines[1..5].iter().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert_eq!(steps, ["0", "7", "14", "20"]);
        assert_eq!(lines[5], "");
        for begin in ["Performance:", "Loop time of ", "Lost particles: 0", "      Step "] {
            assert_eq!(
                lines.iter().filter(|line| line.starts_with(begin)).count(),
                1,
                "{begin}\n{}",
                said.stdout
            );
        }
    }
}

#[test]
fn what_is_printed_fits_a_terminal() {
    const COLUMNS: usize = 80;
    let workdir = Workdir::new(MELT);
    workdir.write("swap.toml", "[stencil]\nkind = \"swap\"\ngrid = [12, 9, 8]\nsteps = 6\n");
    for command in [
        "run melt.toml",
        "run melt.toml --set neighbor.rebuild.every=10",
        "run melt.toml --set integrator={kind=\"csvr\",temperature=1.0,relaxation=0.5}",
        "minimise melt.toml --steps 5",
        "forces melt.toml",
        "partition melt.toml --ranks 4",
        "stencil swap.toml",
    ] {
        for start in [Start::Threads(1), Start::Threads(3)] {
            let printed = workdir.call(start, command).stdout;
            assert!(!printed.is_empty(), "{command}");
            let long: Vec<&str> = printed.lines().filter(|line| line.chars().count() > COLUMNS).collect();
            assert!(long.is_empty(), "{command}: {long:#?}");
        }
    }
}

/// The numbers on the screen are those of thermo.csv, rounded.
#[test]
fn the_table_agrees_with_the_file() {
    let workdir = Workdir::new(MELT);
    let said = workdir.succeed(Start::Threads(1), "run melt.toml");
    let file = workdir.read("out/thermo.csv");
    for (shown, written) in said.stdout.lines().skip(1).zip(file.lines().skip(1)) {
        let shown: Vec<f64> = shown.split_whitespace().map(|field| field.parse().unwrap()).collect();
        let written: Vec<f64> = written.split(',').map(|field| field.parse().unwrap()).collect();
        for (shown, written) in shown[1..].iter().zip(&written[2..]) {
            assert!((shown - written).abs() <= 1e-7 * written.abs(), "{shown} {written}");
        }
    }
}

#[test]
fn progress_where_there_is_no_terminal() {
    let workdir = Workdir::new(MELT);
    // A line is printed every few seconds, after the end of this run.
    for mode in ["never", "auto", "always"] {
        let said = workdir.succeed(Start::Threads(1), &format!("run melt.toml --quiet --progress {mode}"));
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""), "{mode}");
    }
}

/// On a terminal (that of `script`) there is a progress bar, unless it is switched off.
#[test]
fn progress_on_a_terminal() {
    let workdir = Workdir::new(&MELT.replace("steps = 20", "steps = 400"));
    if !Said::of(workdir.shell("script --version")).stdout.contains("util-linux") {
        return;
    }
    let on_terminal = |mode: &str| {
        let local = "--set parallel.backend=local";
        let call = format!(
            "TERM=xterm script -qec \"$md run melt.toml --quiet {local} --progress {mode}\" /dev/null"
        );
        let said = Said::of(workdir.shell(&call));
        assert_eq!(said.code, Some(0), "{said:?}");
        said.stdout
    };
    assert!(on_terminal("auto").contains("/400 steps"));
    assert!(on_terminal("always").contains("/400 steps"));
    assert_eq!(on_terminal("never"), "");
}

#[test]
fn forces_shows_totals_and_the_largest_force() {
    let workdir = Workdir::new(&MELT.replace(
        "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }",
        "file = { path = \"start.extxyz\", format = \"extxyz\" }",
    ));
    workdir.write(
        "start.extxyz",
        "3\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 4 1 1\nA 1 1 1\nA 2 1 1\n",
    );
    let said = workdir.succeed(Start::Threads(1), "forces melt.toml");
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(said.stdout, @r"
    3 particles
    Potential energy: -0.061523438, of which tail correction: 0
    Virial: 23.636719
    Pressure: 0.014758445
    Largest force: 24.181641 on particle 3
      at (2, 1, 1)
    ");
}

#[test]
fn forces_has_no_options_that_mean_nothing() {
    let workdir = Workdir::new(MELT);
    let help = workdir.succeed(Start::Plain, "forces --help").stdout;
    for option in ["--steps", "--progress", "--resume", "--wall-time"] {
        assert!(!help.contains(option), "{help}");
        assert_eq!(workdir.call(Start::Plain, &format!("forces melt.toml {option} 1")).code, Some(2));
    }
}

#[test]
fn an_interval_longer_than_the_run_is_a_warning() {
    let workdir = Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 21 }}\n"));
    let warning = "warning: `output.trajectory.every` is 21, but the run has 20 steps: no frame after step 0 will be written\n";
    assert_eq!(workdir.succeed(Start::Plain, "check melt.toml").stderr, warning);
    assert_eq!(workdir.succeed(Start::Plain, "check melt.toml --steps 21").stderr, "");
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml --quiet");
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", warning));
        assert_eq!(workdir.read("out/traj.extxyz").lines().count(), 602);
    }
    assert_eq!(workdir.succeed(Start::Threads(1), "run melt.toml --quiet --steps 21").stderr, "");
    let analyses = Workdir::new(&format!("{MELT}rdf = {{ every = 21 }}\nmsd = {{ every = 20 }}\n"));
    let warning = "warning: `output.rdf.every` is 21, but the run has 20 steps: nothing after step 0 will be looked at\n";
    assert_eq!(analyses.succeed(Start::Plain, "check melt.toml").stderr, warning);
    assert_eq!(analyses.succeed(Start::Threads(2), "run melt.toml --quiet").stderr, warning);
}

/// The melt has 20 steps of 0.005.
#[test]
fn an_analysis_that_would_see_too_little_is_a_warning() {
    let late = "averages = { start = 21 }\nrdf = { every = 5, start = 21 }\nprofile = [{ axis = \"x\", every = 5, start = 30 }]\n";
    let warnings = "warning: `output.averages.start` is 21, but the run has 20 steps: nothing will be looked at\n\
                    warning: `output.rdf.start` is 21, but the run has 20 steps: nothing will be looked at\n\
                    warning: `output.profile.start` is 30, but the run has 20 steps: nothing will be looked at\n";
    let workdir = Workdir::new(&format!("{MELT}{late}"));
    assert_eq!(workdir.succeed(Start::Plain, "check melt.toml").stderr, warnings);
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet");
    let rows = |workdir: &Workdir, name: &str| workdir.read(&format!("out/{name}.csv")).lines().count() - 1;
    assert_eq!(
        ["rdf", "profile_x"].map(|name| rows(&workdir, name)),
        [0, 0],
        "no zeros that nobody has seen"
    );
    let correlated = "vacf = { every = 2, length = 0.1 }\nviscosity = { every = 2, length = 0.1 }\n";
    let workdir = Workdir::new(&format!("{MELT}{correlated}"));
    let rows = |name: &str| rows(&workdir, name);
    assert_eq!(workdir.succeed(Start::Threads(2), "run melt.toml --quiet").stderr, "");
    assert_eq!(["vacf", "viscosity"].map(rows), [11, 11], "all lags are known with the last step");
    let warnings = "warning: `output.vacf.length` is 10 looks, but the run has 9 after the first: vacf.csv will have no rows\n\
                    warning: `output.viscosity.length` is 10 looks, but the run has 9 after the first: viscosity.csv will have no rows\n";
    assert_eq!(workdir.succeed(Start::Plain, "run melt.toml --quiet --steps 19").stderr, warnings);
    assert_eq!(["vacf", "viscosity"].map(rows), [0, 0]);
}

/// Returns the number of cores of this machine for each of `ranks` ranks.
fn cores_per_rank(ranks: usize) -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() / ranks).max(1)
}

#[test]
fn threads_by_the_number_of_cores() {
    let workdir = Workdir::new(MELT);
    for ranks in [1, 2, 3] {
        let said = workdir.succeed(Start::Threads(ranks), "run melt.toml --threads auto");
        let cores = cores_per_rank(ranks);
        let both = [counted(ranks, "rank"), counted(cores, "thread")].join(" x ");
        assert!(said.stdout.contains(&both), "{both}: {}", said.stdout);
        assert!(!said.stdout.contains("--threads auto"), "{}", said.stdout);
        assert_eq!(said.stderr, "");
        let check = workdir.succeed(Start::Threads(ranks), "check melt.toml --threads auto").stdout;
        assert!(check.contains(&format!("\nthreads = {cores}\n")), "{check}");
        let said = workdir.succeed(Start::Threads(ranks), "run melt.toml");
        let hint = format!("\nThreads per rank: 1; --threads auto would use {cores}\n");
        assert_eq!(said.stdout.contains(&hint), cores > 1, "{}", said.stdout);
    }
    let said = workdir.call(Start::Plain, "run melt.toml --threads many");
    assert_eq!(said.code, Some(2));
    insta::assert_snapshot!(said.stderr, @r"
    error: invalid value 'many' for '--threads <N|auto>': neither a number of threads nor `auto`

    For more information, try '--help'.
    ");
}

/// On a terminal (that of `script`) errors have colours, unless these are switched off.
#[test]
fn errors_without_colours() {
    let workdir = Workdir::new(&MELT.replace("seed = 7", "sed = 7"));
    if !Said::of(workdir.shell("script --version")).stdout.contains("util-linux") {
        return;
    }
    for (environment, coloured) in
        [("TERM=xterm NO_COLOR=", true), ("TERM=xterm NO_COLOR=1", false), ("TERM=dumb NO_COLOR=", false)]
    {
        let call = format!("{environment} script -qec \"$md check melt.toml\" /dev/null");
        let said = Said::of(workdir.shell(&call));
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stdout.contains("did you mean `seed`?"), "{said:?}");
        assert_eq!(said.stdout.contains("\u{1b}["), coloured, "{environment}: {said:?}");
    }
}
