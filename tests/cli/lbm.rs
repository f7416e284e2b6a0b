//! `md-cli lbm`: flows, their files, their errors.

use insta::assert_snapshot;
use md_core::SimdLevel;
use serde_json::Value;

use crate::compare::rows_of;
use crate::support::{Said, Start, Workdir, error, error_everywhere, p2p_available, repository, starts};

const FLOW: &str = r#"[lbm]
grid = [12, 10, 20]
collision = "trt"
viscosity = 0.05
steps = 25
boundary = ["periodic", "wall", "periodic"]
body_force = [1e-5, 0.0, 0.0]
wall_velocity = { y_high = [0.0, 0.0, 0.05] }
obstacle = { kind = "sphere", center = [5.0, 4.0, 9.5], radius = 2.5 }

[output]
thermo = { every = 10 }
probe = { every = 5, nodes = [[5, 8, 9], [0, 0, 0], [5, 4, 9]] }
"#;

pub(crate) fn flow() -> Workdir {
    Workdir::new(FLOW)
}

pub(crate) fn with(from: &str, to: &str) -> Workdir {
    assert!(FLOW.contains(from), "nothing to replace: {from}");
    Workdir::new(&FLOW.replacen(from, to, 1))
}

#[test]
fn probes_have_the_same_bits_on_any_ranks_with_any_pattern_and_exchange() {
    let workdir = flow();
    let mut probes = Vec::new();
    for (number, start) in starts().into_iter().enumerate() {
        workdir.succeed(start, &format!("lbm melt.toml --quiet --output {number}"));
        probes.push(workdir.read(&format!("{number}/probe.csv")));
    }
    let others =
        "--set lbm.pattern=two-grid --set parallel.exchange=staged --set parallel.overlap=false --threads 2";
    workdir.succeed(Start::Threads(2), &format!("lbm melt.toml --quiet --output other {others}"));
    probes.push(workdir.read("other/probe.csv"));
    assert_eq!(probes[0].lines().count(), 7);
    let begin = "step,density_5_8_9,velocity_x_5_8_9,velocity_y_5_8_9,velocity_z_5_8_9,density_0_0_0,";
    assert!(probes[0].starts_with(begin), "{}", probes[0]);
    assert!(probes[0].lines().last().unwrap().ends_with(",0.0,0.0,0.0,0.0"), "a solid node has no state");
    assert!(probes.iter().all(|probe| *probe == probes[0]), "{probes:?}");
}

#[test]
fn the_summary_says_how_fast_it_was_and_that_mass_stays() {
    let workdir = flow();
    let said = workdir.succeed(Start::Threads(2), "lbm melt.toml --output out");
    assert!(said.stdout.contains("million updates of a node per second"), "{}", said.stdout);
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let number = |key: &str| summary[key].as_f64().unwrap_or_else(|| panic!("{key}: {summary}"));
    assert!(number("mass_drift").abs() < 1e-13 && number("mlups") > 0.0);
    assert_eq!(number("bytes_per_update"), 304.0);
    assert!(number("fluid_nodes") < 2400.0 && number("fluid_nodes") > 2300.0);
    let moved = number("bytes_per_update") * number("mlups") * 1e6;
    assert!((number("bytes_per_s") / moved - 1.0).abs() < 1e-9);
    assert_eq!((&summary["pattern"], &summary["collision"]), (&"single-grid".into(), &"trt".into()));
    assert_eq!(summary["magic"], 0.1875);
    assert!(summary["phases"]["integrate"]["calls"].as_u64().unwrap() >= 25);
    // In each step, each rank sends a message across each of the two faces and four edges along x
    // and z that lead to the other rank.
    assert!(number("messages_sent") > 0.0 && number("bytes_sent") > 0.0);
    assert_eq!(workdir.read("out/thermo.csv").lines().count(), 5);
}

/// As with particles. A flow also has the same bits with all instruction sets.
#[test]
fn the_instruction_set_that_is_asked_for_is_used() {
    let workdir = flow();
    let asked = |level: &str, call: &str| {
        let mut command = workdir.command(Start::Threads(2), call);
        command.env("MD_SIMD", level);
        Said::of(command)
    };
    let mut probes = Vec::new();
    for level in SimdLevel::available().map(SimdLevel::name) {
        let said = asked(level, &format!("lbm melt.toml --quiet --output {level}"));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{level}");
        let summary: Value = serde_json::from_str(&workdir.read(&format!("{level}/summary.json"))).unwrap();
        assert_eq!(summary["simd"], level);
        probes.push(workdir.read(&format!("{level}/probe.csv")));
    }
    assert!(probes.iter().all(|probe| *probe == probes[0]), "{probes:?}");
    for call in ["lbm melt.toml --quiet --output none", "check melt.toml"] {
        let said = asked("mmx", call);
        assert_eq!(said.code, Some(2), "{call}");
        assert!(said.stderr.starts_with("error: MD_SIMD is `mmx`, but this CPU has "), "{}", said.stderr);
    }
    assert!(!workdir.files(".").contains(&"none".to_owned()), "nothing is created");
}

/// The lengths of a grid's messages never change, so that its contexts have no other reason to
/// negotiate again.
#[test]
fn auto_chooses_on_grids_too() {
    if !p2p_available() {
        return;
    }
    let workdir = flow();
    let mut command =
        workdir.command(Start::Mpirun(2), "lbm melt.toml --quiet --output out --set lbm.steps=4000");
    command.args(["--set", "parallel.backend=auto"]);
    let said = Said::of(command);
    assert_eq!(said.code, Some(0), "{said:?}");
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    let choices = summary["choices"].as_array().unwrap();
    assert!(!choices.is_empty(), "{summary}");
    for choice in choices {
        assert!(choice["chosen"].is_string(), "{choice}");
    }
}

#[test]
fn vortices_lose_energy_as_the_viscosity_says() {
    let text = "[lbm]\ngrid = [1, 32, 32]\nviscosity = 0.05\nsteps = 200\n\
                initial = { kind = \"taylor-green\", velocity = 0.01 }\n[output]\nthermo = { every = 200 }\n";
    let workdir = Workdir::new(text);
    for precision in ["double", "single"] {
        workdir.succeed(Start::Plain, &format!("lbm melt.toml --quiet --set lbm.precision={precision}"));
        let thermo = workdir.read("out/thermo.csv");
        let energy: Vec<f64> =
            thermo.lines().skip(1).map(|row| row.split(',').nth(5).unwrap().parse().unwrap()).collect();
        let wavenumber = std::f64::consts::TAU / 32.0;
        let exact = (-4.0 * 0.05 * wavenumber * wavenumber * 200.0).exp();
        assert!((energy[1] / energy[0] / exact - 1.0).abs() < 5e-3, "{precision}: {energy:?}, {exact}");
    }
}

/// The values of an image are those of the flow, in VTK's order.
#[test]
fn an_image_holds_the_velocities_of_its_nodes() {
    let workdir = flow();
    workdir.succeed(Start::Threads(1), "lbm melt.toml --quiet --set output.fields.every=25");
    let probe = workdir.read("out/probe.csv");
    let last: Vec<f64> = probe.lines().last().unwrap().split(',').map(|word| word.parse().unwrap()).collect();
    let image = std::fs::read(workdir.path("out/fields_00000025.vti")).unwrap();
    let start = image.windows(2).position(|two| two == b"\n_").unwrap() + 2;
    let number = |at: usize| f64::from_le_bytes(image[at..at + 8].try_into().unwrap());
    let length = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap()) as usize;
    let nodes = 12 * 10 * 20;
    assert_eq!(length(start), 8 * nodes);
    let velocities = start + 8 + 8 * nodes;
    assert_eq!(length(velocities), 24 * nodes);
    let node = (9 * 10 + 8) * 12 + 5;
    assert_eq!(number(start + 8 + 8 * node), last[1]);
    assert_eq!([0, 1, 2].map(|axis| number(velocities + 8 + 24 * node + 8 * axis)), last[2..5]);
}

#[test]
fn check_finds_what_a_flow_would_be_refused_for() {
    let workdir = flow();
    let checked = workdir.succeed(Start::Plain, "check melt.toml");
    assert!(checked.stdout.contains("# needs about "), "{}", checked.stdout);
    let said = |options: &str| {
        let said = workdir.call(Start::Plain, &format!("check melt.toml {options}"));
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        said.stderr
    };
    assert_snapshot!(said("--set parallel.grid=[13,1,1]"), @r"
    error: × a grid of 13 x 1 x 1 ranks is not 1 rank
       ╭─[command line:1:21]
     1 │ --set parallel.grid=[13,1,1]
       ·                     ────────
       ╰────
      help: a rank has at least one node along each axis; ranks along x, y and z multiply to all ranks
    ");
    assert_snapshot!(said("--set lbm.grid=[4000000,2000000,2000000]"), @r"
    error: × 4000000 x 2000000 x 2000000 nodes are more than a rank can hold
       ╭─[command line:1:16]
     1 │ --set lbm.grid=[4000000,2000000,2000000]
       ·                ─────────────────────────
       ╰────
      help: fewer nodes, or more ranks
    ");
    workdir.write("mask.txt", "12 10 21\n");
    let mask = "--set lbm.obstacle={kind=\"mask\",path=\"mask.txt\"}";
    assert_snapshot!(said(mask), @"error: mask.txt:1: cannot make sense of `12 10 21`: the mask has 12 x 10 x 21 nodes, and `lbm.grid` has 12 x 10 x 20");
}

#[test]
fn a_relaxation_time_below_one_half() {
    let workdir = with("viscosity = 0.05", "viscosity = -0.01");
    assert_snapshot!(error_everywhere(&workdir, "lbm melt.toml", &starts()), @r#"
    exit code 2
    error: × `lbm.viscosity` is -0.01: the relaxation time tau = 3 viscosity + 1/2 would be 0.47, and must
      │ be above 1/2
       ╭─[melt.toml:4:13]
     3 │ collision = "trt"
     4 │ viscosity = -0.01
       ·             ─────
     5 │ steps = 25
       ╰────
      help: a viscosity above 0, for example 0.01
    "#);
}

#[test]
fn what_a_flow_cannot_have() {
    let said = |from: &str, to: &str| error(&with(from, to), "lbm melt.toml", Start::Threads(3));
    assert_snapshot!(said("collision = \"trt\"", "collision = \"bgk\"\nmagic = 0.25"), @r#"
    exit code 2
    error: × collision `bgk` takes no `magic`
       ╭─[melt.toml:4:1]
     3 │ collision = "bgk"
     4 │ magic = 0.25
       · ─────
     5 │ viscosity = 0.05
       ╰────
      help: leave it out, or use `collision = "trt"`
    "#);
    let rest = "collision = \"trt\"\ninitial = { kind = \"rest\", velocity = 0.2 }";
    assert_snapshot!(said("collision = \"trt\"", rest), @r#"
    exit code 2
    error: × a flow that starts at `rest` takes no `velocity`
       ╭─[melt.toml:4:28]
     3 │ collision = "trt"
     4 │ initial = { kind = "rest", velocity = 0.2 }
       ·                            ────────
     5 │ viscosity = 0.05
       ╰────
      help: leave it out, or use `kind = "taylor-green"`
    "#);
    // The flow would be at rest, and this would not be noticed.
    let still = "collision = \"trt\"\ninitial = { kind = \"taylor-green\" }";
    assert_snapshot!(said("collision = \"trt\"", still), @r#"
    exit code 2
    error: × a flow that starts as `taylor-green` needs `velocity`
       ╭─[melt.toml:4:11]
     3 │ collision = "trt"
     4 │ initial = { kind = "taylor-green" }
       ·           ─────────────────────────
     5 │ viscosity = 0.05
       ╰────
      help: greatest speed in nodes per step, as 0.05
    "#);
    let line = FLOW.replace(
        "grid = [12, 10, 20]",
        "grid = [1, 1, 20]\ninitial = { kind = \"taylor-green\", velocity = 0.1 }",
    );
    assert_snapshot!(error(&Workdir::new(&line), "lbm melt.toml", Start::Threads(3)), @r#"
    exit code 2
    error: × vortices of `taylor-green` need two axes of more than one node
       ╭─[melt.toml:2:8]
     1 │ [lbm]
     2 │ grid = [1, 1, 20]
       ·        ──────────
     3 │ initial = { kind = "taylor-green", velocity = 0.1 }
       ╰────
      help: a longer second axis, or `kind = "rest"`
    "#);
    assert_snapshot!(said("y_high = [0.0, 0.0, 0.05]", "x_low = [0.0, 0.0, 0.05]"), @r#"
    exit code 2
    error: × `lbm.wall_velocity.x_low` is the velocity of a wall, but there is none: that boundary is
      │ periodic
       ╭─[melt.toml:8:19]
     7 │ body_force = [1e-5, 0.0, 0.0]
     8 │ wall_velocity = { x_low = [0.0, 0.0, 0.05] }
       ·                   ─────
     9 │ obstacle = { kind = "sphere", center = [5.0, 4.0, 9.5], radius = 2.5 }
       ╰────
      help: leave it out, or make `lbm.boundary[0]` "wall"
    "#);
    assert_snapshot!(said("y_high = [0.0, 0.0, 0.05]", "y_high = [0.0, 0.1, 0.05]"), @r#"
    exit code 2
    error: × `lbm.wall_velocity.y_high` has a component of 0.1 across the wall
       ╭─[melt.toml:8:34]
     7 │ body_force = [1e-5, 0.0, 0.0]
     8 │ wall_velocity = { y_high = [0.0, 0.1, 0.05] }
       ·                                  ───
     9 │ obstacle = { kind = "sphere", center = [5.0, 4.0, 9.5], radius = 2.5 }
       ╰────
      help: walls slide: the component along their own axis is 0
    "#);
    assert_snapshot!(said("grid = [12, 10, 20]", "grid = [2, 1, 2]\nobstacl = 1"), @r#"
    exit code 2
    error: × unknown key `obstacl` in [lbm]
       ╭─[melt.toml:3:1]
     2 │ grid = [2, 1, 2]
     3 │ obstacl = 1
       · ───┬───
       ·    ╰── unknown key
     4 │ collision = "trt"
       ╰────
      help: did you mean `obstacle`?
    "#);
    assert_snapshot!(said("[[5, 8, 9], [0, 0, 0], [5, 4, 9]]", "[[5, 8, 20]]"), @r#"
    exit code 2
    error: × `output.probe.nodes[0][2]` is 20, but that axis has 20 nodes
        ╭─[melt.toml:13:38]
     12 │ thermo = { every = 10 }
     13 │ probe = { every = 5, nodes = [[5, 8, 20]] }
        ·                                      ──
        ╰────
      help: nodes are counted from 0
    "#);
    assert_snapshot!(said("radius = 2.5", "path = \"a\""), @r#"
    exit code 2
    error: × an obstacle of kind `sphere` takes no `path`
        ╭─[melt.toml:9:57]
      8 │ wall_velocity = { y_high = [0.0, 0.0, 0.05] }
      9 │ obstacle = { kind = "sphere", center = [5.0, 4.0, 9.5], path = "a" }
        ·                                                         ────
     10 │ 
        ╰────
      help: an obstacle of kind `sphere` has center and radius
    "#);
    let thin =
        FLOW.replace("[output]", "[parallel]\ngrid = [1, 1, 3]\n[output]").replace("10, 20]", "10, 2]");
    let thin = thin.replace("[5, 8, 9], [0, 0, 0], [5, 4, 9]", "[0, 0, 0]");
    assert_snapshot!(error(&Workdir::new(&thin), "lbm melt.toml", Start::Threads(3)), @r#"
    exit code 2
    error: × 2 nodes along z cannot be divided among 3 ranks
        ╭─[melt.toml:12:8]
     11 │ [parallel]
     12 │ grid = [1, 1, 3]
        ·        ─────────
     13 │ [output]
        ╰────
      help: a rank has at least one node along each axis; ranks along x, y and z multiply to all ranks
    "#);
}

#[test]
fn high_velocities_are_warned_of_and_unstable_flows_end_the_run() {
    let workdir = with("[0.0, 0.0, 0.05]", "[0.0, 0.0, 0.25]");
    let said = workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet");
    assert_snapshot!(said.stderr, @r#"
    warning: 0.250 nodes per step is Mach 0.43: above 0.3 the flow is compressible, with errors of about Mach squared, and may become unstable; take a lower velocity and more steps
    "#);
    let workdir = with("viscosity = 0.05", "viscosity = 0.0001");
    let force = "--steps 3000 --set lbm.body_force=[0.01,0.0,0.0]";
    let said = workdir.call(Start::Threads(2), &format!("lbm melt.toml --quiet {force}"));
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("the flow is unstable"), "{said:?}");
}

#[test]
fn the_flows_that_come_with_md_run() {
    let configs = repository("configs").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let flows: Vec<_> =
        configs.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("lbm-")).collect();
    assert!(flows.len() >= 4);
    for path in flows {
        let workdir = Workdir::new(&std::fs::read_to_string(path).unwrap());
        workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --steps 2 --output out");
        assert_eq!(workdir.read("out/thermo.csv").lines().count(), 3);
    }
}

/// Every strategy of a flow gives the bits of the reference, also next to an obstacle.
#[test]
fn strategies_of_a_flow_are_compared() {
    let workdir = flow();
    let mut calls = vec![(Start::Threads(2), "--exchanges all", vec!["local direct", "local staged"])];
    if p2p_available() {
        let names = vec!["p2p direct", "p2p staged", "rma-fence direct", "rma-fence staged"];
        calls.push((Start::Mpirun(2), "--exchanges all --backends p2p,rma-fence", names));
        // As MPI datatypes, from each of two grids in turn.
        let datatypes = "--exchanges all --backends p2p --vary parallel.messages=per-field-datatypes";
        for options in [
            datatypes,
            "--exchanges all --backends p2p --set lbm.pattern=two-grid --vary parallel.messages=aggregated-datatypes",
        ] {
            calls.push((Start::Mpirun(3), options, vec!["p2p direct", "p2p staged"]));
        }
    }
    for (start, options, expected) in calls {
        let call = format!("compare melt.toml --repeat 2 --steps 2 --set lbm.precision=single {options}");
        let said = workdir.succeed(start, &call);
        assert!(said.stdout.contains("\nlbm on 12x10x20 nodes, 1 field,"), "{}", said.stdout);
        let files = ["compare.csv", "compare.png", "compare.svg", "recommendation.txt", "scenario.toml"];
        assert_eq!(workdir.files("out"), files);
        // Two repetitions are not enough for a recommendation. The text names a strategy in the
        // terms of a grid.
        let advice = workdir.read("out/recommendation.txt");
        assert!(advice.contains("So nothing is recommended.") && !advice.contains(" rect"), "{advice}");
        let table = workdir.read("out/compare.csv");
        let rows = rows_of(&table);
        let names: Vec<String> =
            rows.iter().map(|row| format!("{} {}", row.text("backend"), row.text("exchange"))).collect();
        assert_eq!(names, expected);
        for row in &rows {
            assert_eq!((row.text("correct"), row.text("status")), ("true", "ok"), "{table}");
            assert!(row.text("bytes_per_exchange").parse::<f64>().unwrap() > 0.0, "{table}");
        }
    }
}
