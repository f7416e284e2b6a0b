//! `md-cli stencil`, and `check` and `compare` on its scenarios.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::compare::rows_of;
use crate::support::{Start, Workdir, error, p2p_available, repository, starts, text_of};
use insta::assert_snapshot;

/// MONC's halo on a small grid.
pub(crate) const SWAP: &str = r#"[stencil]
kind = "swap"
grid = [12, 9, 8]
fields = 3
depth = 2
steps = 6

[parallel]
decomposition = "2d"

[output]
thermo = { every = 3 }
"#;

const LBM: &str = "[lbm]\ngrid = [12, 8, 8]\nviscosity = 0.05\nsteps = 6\n";

pub(crate) const TVD: &str =
    "[stencil]\nkind = \"tvd\"\ngrid = [12, 10, 8]\nfields = 2\ncourant = [0.5, -0.3, 0.2]\nsteps = 8\n";
pub(crate) const POISSON: &str =
    "[stencil]\nkind = \"poisson\"\ngrid = [12, 10, 8]\nboundary = [\"periodic\", \"open\", \"open\"]\n";

/// Returns a value of summary.json.
fn summary(workdir: &Workdir, key: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    all[key].clone()
}

/// Returns the rows of thermo.csv and the fingerprint of all values at the end.
fn outcome(workdir: &Workdir) -> (String, String) {
    (workdir.read("out/thermo.csv"), summary(workdir, "fingerprint").as_str().unwrap().to_owned())
}

#[test]
fn all_starts_give_the_same_bits() {
    for scenario in [SWAP, TVD, POISSON] {
        let workdir = Workdir::new(scenario);
        let mut starts = starts();
        if p2p_available() {
            starts.extend([Start::Mpirun(2), Start::Mpirun(4)]);
        }
        let mut outcomes = starts.into_iter().map(|start| {
            workdir.succeed(start, "stencil melt.toml --quiet");
            outcome(&workdir)
        });
        let first = outcomes.next().unwrap();
        assert!(outcomes.all(|other| other == first), "{scenario}");
    }
}

#[test]
fn timelines_of_runs_and_strategies() {
    for (scenario, command, kind) in [(SWAP, "stencil", "swap"), (LBM, "lbm", "lbm")] {
        let workdir = Workdir::new(scenario);
        let said = workdir.succeed(Start::Threads(2), &format!("{command} melt.toml --trace t.json"));
        assert!(said.stdout.contains("Timeline: "), "{}", said.stdout);
        let summary = workdir.succeed(Start::Plain, "trace-summary t.json").stdout;
        let head = format!("2 ranks, {kind} local direct, 6 steps; clocks within ");
        assert!(summary.starts_with(&head), "{summary}");
        for part in ["\nWho waited for whom", "\nWaits by cause", "\nCritical path: "] {
            assert!(summary.contains(part), "{summary}");
        }
        // The duration of each phase is random, but each rank must have computed and sent in every
        // step.
        let timeline = workdir.read("t.json");
        let count = |part: &str| timeline.matches(part).count();
        assert!(count(r#""name":"integrate""#) >= 2 * 6, "{}", count(r#""name":"integrate""#));
        assert!(count(r#""ph":"s""#) >= 2 * 6, "{}", count(r#""ph":"s""#));
        let refused = error(&workdir, &format!("{command} melt.toml --trace out/summary.json"), Start::Plain);
        assert!(refused.contains("exit code 2"), "{refused}");
    }
    if p2p_available() {
        let workdir = Workdir::new(SWAP);
        let call = "compare melt.toml --repeat 1 --steps 6 --backends p2p,rma-fence --trace t.json";
        workdir.succeed(Start::Mpirun(2), call);
        for backend in ["p2p", "rma-fence"] {
            let call = format!("trace-summary t-{backend}-direct.json");
            let summary = workdir.succeed(Start::Plain, &call).stdout;
            assert!(summary.starts_with(&format!("2 ranks, swap {backend} direct, 6 steps; ")), "{summary}");
        }
    }
}

#[test]
fn files_and_columns() {
    let workdir = Workdir::new(SWAP);
    let said = workdir.succeed(Start::Threads(2), "stencil melt.toml");
    assert!(
        said.stdout.contains("swap on 12x9x8 nodes, 3 fields, double precision: 6 steps"),
        "{}",
        said.stdout
    );
    let files = ["scenario.toml", "summary.json", "thermo.csv", "timing.csv", "timing_ranks.csv"];
    assert_eq!(workdir.files("out"), files);
    let thermo = workdir.read("out/thermo.csv");
    let steps: Vec<&str> = thermo.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["step", "0", "3", "6"]);
    let timing = workdir.read("out/timing.csv");
    let phases: Vec<&str> = timing.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let expected = [
        "integrate",
        "halo_pack",
        "halo_transfer",
        "halo_wait",
        "halo_hidden",
        "halo_unpack",
        "reduce",
        "output",
        "other",
        "total",
    ];
    assert_eq!(phases, expected);
    assert!(timing.starts_with(
        "phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent,backend,exchange,field_messages,kind,nodes,fields,depth,\
         grid,ranks,threads,precision,steps,mpi_library,host,version\n"
    ));
    // Two ranks, each with 26 neighbours, 18 of which are the other rank, in each of 6 steps.
    assert_eq!(summary(&workdir, "messages_sent"), 2 * 18 * 6);
    workdir.succeed(Start::Threads(2), "stencil melt.toml --set parallel.messages=per-field --quiet");
    assert_eq!(summary(&workdir, "messages_sent"), 2 * 18 * 6 * 3);
    // The scenario that was written can be run again.
    let again = workdir.succeed(Start::Plain, "check out/scenario.toml").stdout;
    assert!(again.contains("kind = \"swap\"") && again.contains("needs about"), "{again}");
}

#[test]
fn an_update_moves_what_each_pass_over_the_fields_reads_and_writes() {
    let of = |scenario: &str| {
        let workdir = Workdir::new(scenario);
        workdir.succeed(Start::Plain, "stencil melt.toml --quiet");
        summary(&workdir, "bytes_per_update")
    };
    assert_eq!(of(SWAP), 6 * 8);
    assert_eq!(of(&SWAP.replace("steps", "precision = \"single\"\nsteps")), 6 * 4);
    assert_eq!(of(&SWAP.replace("steps", "compute = \"nothing\"\nsteps")), 0);
    assert_eq!(of(TVD), 3 * 6 * 8);
    assert_eq!(of(&TVD.replace("0.2]", "0.0]")), 2 * 6 * 8);
    assert_eq!(of(POISSON), 15 * 8);
}

#[test]
fn fields_beyond_the_memory_are_told_from_a_grid_beyond_it() {
    let at = |scenario: &str| {
        let text = error(&Workdir::new(scenario), "stencil melt.toml", Start::Plain);
        let (text, there) = text.split_once("help: there are ").unwrap();
        assert!(there.ends_with(" of memory per rank here\n"), "{there}");
        text.to_owned()
    };
    assert_snapshot!(at(&SWAP.replace("fields = 3", "fields = 30000000000")), @r#"
    exit code 2
    error: × the fields need about 599 TB of memory per rank
       ╭─[melt.toml:4:10]
     3 │ grid = [12, 9, 8]
     4 │ fields = 30000000000
       ·          ───────────
     5 │ depth = 2
       ╰────
    "#);
    for huge in [SWAP.to_owned(), SWAP.replace("fields = 3\n", "")] {
        let text = at(&huge.replace("[12, 9, 8]", "[30000, 30000, 30000]"));
        assert!(text.contains(" │ grid = [30000, 30000, 30000]\n   ·        ────"), "{text}");
    }
}

#[test]
fn a_solver_ends_when_the_solution_is_found_and_fails_where_it_is_not() {
    let workdir = Workdir::new(POISSON);
    workdir.succeed(Start::Threads(2), "stencil melt.toml --quiet");
    assert_eq!(summary(&workdir, "ended"), "converged");
    // Two scalar products per iteration.
    let calls = |phase: &str| summary(&workdir, "phases")[phase]["calls"].as_u64().unwrap();
    assert_eq!(calls("reduce"), 2 * calls("total"));
    assert!(summary(&workdir, "last")["error"].as_f64().unwrap() < 1e-10);
    assert_snapshot!(error(&workdir, "stencil melt.toml --steps 5", Start::Threads(2)), @r"
    exit code 1
    error: step 5: the solution is not found: the residual is 4.9e-2, above the tolerance of 1e-12
    ");
    assert_eq!(summary(&workdir, "ended"), "steps");
}

#[test]
fn every_backend_gives_the_same_bits() {
    if !p2p_available() {
        return;
    }
    let columns = "boundary = [\"periodic\", \"periodic\", \"open\"]\nsteps";
    let workdir = Workdir::new(&SWAP.replace("steps", columns));
    let options = "--backends all --steps 2 --repeat 2 --quiet --set parallel.messages=per-field";
    workdir.succeed(Start::Mpirun(2), &format!("compare melt.toml {options}"));
    let table = workdir.read("out/compare.csv");
    let rows = rows_of(&table);
    assert!(rows.len() >= 10, "{table}");
    for row in &rows {
        assert_eq!((row.text("correct"), row.text("status")), ("true", "ok"), "{table}");
        assert_eq!(row.text("messages_per_exchange").parse(), Ok(18.0), "{table}");
    }
}

#[test]
fn options_of_one_sided_backends_can_be_varied() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(SWAP);
    let vary =
        "--vary parallel.rma.epoch=all --vary parallel.rma.arrivals=all --vary parallel.rma.notice=all";
    let said = workdir.succeed(
        Start::Mpirun(2),
        &format!("compare melt.toml --backends rma-pscw,rma-lock {vary} --steps 2 --repeat 2"),
    );
    // If a key has no effect on a backend, its row has a dash.
    expect_rows(&said.stdout, &["rma-pscw direct complete", "rma-pscw direct initiate", "rma-lock direct -"]);
}

/// Checks that rows of the table on the screen begin with these words, however wide their columns
/// are.
fn expect_rows(said: &str, beginnings: &[&str]) {
    let rows: Vec<String> =
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for beginning in beginnings {
        assert!(rows.iter().any(|row| row.starts_with(beginning)), "{beginning}: {said}");
    }
}

#[test]
fn messages_of_fields_can_be_varied() {
    let workdir = Workdir::new(SWAP);
    let call = "compare melt.toml --vary parallel.messages=all --steps 2 --repeat 2";
    let said = workdir.succeed(Start::Threads(2), call);
    expect_rows(&said.stdout, &["local direct aggregated", "local direct per-field"]);
    // A recommendation names strategies by the keys of a grid.
    let advice = workdir.read("out/recommendation.txt");
    assert!(said.stdout.ends_with(&advice), "{}", said.stdout);
    assert!(advice.contains("local direct messages=") && !advice.contains(" rect"), "{advice}");
    let table = workdir.read("out/compare.csv");
    assert!(
        table.contains("local,direct,aggregated,") && table.contains("local,direct,per-field,"),
        "{table}"
    );
}

/// Datatypes read and write the same places as copies.
#[test]
fn messages_as_datatypes_give_the_same_bits() {
    if !p2p_available() {
        return;
    }
    for (scenario, exchange) in [(SWAP, "direct"), (SWAP, "staged"), (TVD, "direct"), (POISSON, "staged")] {
        for ranks in [2, 3] {
            let workdir = Workdir::new(scenario);
            let call = format!(
                "compare melt.toml --backends p2p --exchanges {exchange} --vary parallel.messages=all --steps 3 --repeat 2 \
                 --quiet"
            );
            workdir.succeed(Start::Mpirun(ranks), &call);
            let table = workdir.read("out/compare.csv");
            let rows = |messages: &str| {
                table.lines().filter(|row| row.contains(&format!("p2p,{exchange},{messages},"))).count()
            };
            for messages in ["aggregated", "per-field", "aggregated-datatypes", "per-field-datatypes"] {
                assert_eq!(rows(messages), 1, "{table}");
            }
            assert_eq!(table.matches(",true,ok,").count(), 4, "{table}");
        }
    }
}

#[test]
fn messages_as_datatypes_of_other_backends() {
    let text = SWAP.replace("\"2d\"", "\"2d\"\nmessages = \"per-field-datatypes\"");
    assert_snapshot!(error(&Workdir::new(&text), "stencil melt.toml", Start::Threads(2)), @r"
    exit code 2
    error: × backend `local` does not take messages as MPI datatypes
       ╭─[command line:1:24]
     1 │ --set parallel.backend=local
       ·                        ─────
       ╰────
      help: `p2p` does (`auto` then takes it); others need `aggregated` or `per-field`
    ");
    // A backend without datatypes is left out of a comparison.
    let said = Workdir::new(SWAP).succeed(
        Start::Threads(2),
        "compare melt.toml --vary parallel.messages=aggregated,aggregated-datatypes --steps 2 --repeat 2",
    );
    assert!(said.stdout.contains("backend `p2p`"), "{}", said.stdout);
}

/// Runs the scenarios in configs/ on a grid that takes no time.
#[test]
fn every_config_of_a_grid_runs() {
    for name in ["monc-weak", "monc-strong", "tvd", "poisson"] {
        let text = text_of(&repository(&format!("configs/{name}.toml")));
        let workdir = Workdir::new(&text);
        workdir.succeed(Start::Threads(1), "check melt.toml");
        let key = if name == "monc-weak" { "grid_per_rank" } else { "grid" };
        let small = format!("stencil melt.toml --quiet --output out --set stencil.{key}=[8,8,8]");
        let steps = if name == "poisson" { "" } else { " --steps 2" };
        workdir.succeed(Start::Threads(4), &format!("{small}{steps}"));
        assert_eq!(summary(&workdir, "ranks"), 4, "{name}");
    }
}
