//! The commands and their options in normal use.

use crate::support::{MELT, Said, Start, Workdir, md_cli, p2p_available, starts};
use md_cli::scenario::{ScenarioSource, effective_toml, load};
use serde_json::Value;

const HEADER: &str = "      Step           Temp         PotEng         KinEng         TotEng          Press";

#[test]
fn check_prints_a_scenario_that_reproduces_itself_and_moves_nothing() {
    let workdir = Workdir::new(&MELT.replace("[output]", "[parallel]\nbackend = \"local\"\n\n[output]"));
    let first = workdir.succeed(Start::Plain, "check melt.toml");
    assert_eq!(first.stderr, "");
    assert_eq!(workdir.files("."), ["melt.toml"], "no output directory");
    let source = ScenarioSource { text: workdir.read("melt.toml"), ..ScenarioSource::default() };
    let effective = effective_toml(&load(&source).unwrap());
    assert_eq!(first.stdout, format!("{effective}\n# needs about 12 MB of memory per rank\n"));
    workdir.write("effective.toml", &first.stdout);
    assert_eq!(workdir.succeed(Start::Plain, "check effective.toml"), first);
    workdir.succeed(Start::Plain, "run melt.toml --quiet --output first");
    workdir.succeed(Start::Plain, "run effective.toml --quiet --output second");
    assert_eq!(workdir.read("first/thermo.csv"), workdir.read("second/thermo.csv"));
    assert_eq!(workdir.read("first/scenario.toml").replace("first", "out"), effective);
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
}

/// What a build has need not be usable where it runs.
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

/// The last `--set` of a key wins; options of their own win over `--set`; both win over the file.
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

/// The numbers on screen are those of thermo.csv, rounded.
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
    // Lines come every few seconds, later than this run ends.
    for mode in ["never", "auto", "always"] {
        let said = workdir.succeed(Start::Threads(1), &format!("run melt.toml --quiet --progress {mode}"));
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", ""), "{mode}");
    }
}

/// On a terminal (that of `script`) there is a bar, unless it is not wanted.
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
