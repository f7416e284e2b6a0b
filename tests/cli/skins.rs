//! Skin and interval of neighbour lists that the program chooses itself.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use serde_json::{Value, json};

use crate::support::{MELT, Start, Workdir, error};
use insta::assert_snapshot;

fn summary(workdir: &Workdir) -> Value {
    serde_json::from_str(&workdir.read("out/summary.json")).unwrap()
}

fn list(workdir: &Workdir) -> Value {
    summary(workdir)["list"].clone()
}

/// Runs and returns thermo.csv and the messages.
fn run(workdir: &Workdir, options: &str) -> [String; 2] {
    let said = workdir.succeed(Start::Threads(1), &format!("run melt.toml --steps 60 {options}"));
    [workdir.read("out/thermo.csv"), said.stderr]
}

#[test]
fn a_run_that_names_the_chosen_skin_has_the_same_bits() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[7, 7, 7]"));
    let [chosen, messages] = run(&workdir, "");
    assert_eq!(messages, "");
    assert_eq!(
        (&list(&workdir)["skin"], &list(&workdir)["rebuild"]),
        (&json!(0.4), &json!({"displacement": true}))
    );
    assert!(list(&workdir)["interval"].as_f64().unwrap() > 5.0);
    let effective: toml::Table = workdir.read("out/scenario.toml").parse().unwrap();
    assert_eq!(effective["neighbor"]["skin"].as_float(), Some(0.4));
    assert_eq!(run(&workdir, "--set neighbor.skin=0.4"), [chosen.clone(), String::new()]);
    assert_ne!(run(&workdir, "--set neighbor.skin=0.3")[0], chosen);
    assert_eq!(run(&workdir, "--set neighbor.skin=auto")[0], chosen);
}

/// At a tenth of the time step particles move less between rebuilds.
#[test]
fn the_skin_follows_the_thermal_motion_and_the_box() {
    let skin = |cells: &str, options: &str| {
        let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", cells));
        run(&workdir, options);
        list(&workdir)["skin"].as_f64().unwrap()
    };
    let cubes = "[7, 7, 7]";
    let [usual, slow] = ["", "--set simulation.timestep=0.0005"].map(|options| skin(cubes, options));
    assert!(slow < 0.6 * usual, "{slow} {usual}");
    let thermostat = "--set integrator={kind=\"langevin\",temperature=20.0,friction=1.0}";
    assert!(skin(cubes, thermostat) > 1.5 * usual);
    // The box is 6.7 long: two cells of 3.3.
    assert_eq!(skin("[4, 4, 4]", ""), usual);
    // It is 2.52 long.
    let narrow = skin("[4, 4, 2]", "--set interaction.cutoff=3.2");
    assert!(narrow < 0.2, "{narrow}");
    // Particles at rest.
    assert_eq!(skin(cubes, "--set system.temperature=0.0"), 0.3);
}

#[test]
fn a_tolerated_drift_makes_lists_last_longer() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[7, 7, 7]"));
    let [tolerant, messages] = run(&workdir, "--set neighbor.rebuild={drift=1e-3}");
    let found = list(&workdir);
    let (interval, drift) =
        (found["rebuild"]["every"].as_u64().unwrap(), found["estimated_drift"].as_f64().unwrap());
    assert!(interval > 8 && drift > 1e-4 && drift <= 1e-3, "{found}");
    let start = format!(
        "note: lists with skin {} are rebuilt every {interval} steps: pairs that they miss",
        found["skin"]
    );
    assert!(messages.starts_with(&start), "{messages}");
    let named = format!("--set neighbor.skin={} --set neighbor.rebuild={{every={interval}}}", found["skin"]);
    assert_eq!(run(&workdir, &named)[0], tolerant);
    assert!(summary(&workdir)["largest_displacement_over_half_skin"].as_f64().unwrap() > 1.0);
    // With a given skin the interval alone is chosen.
    run(&workdir, "--set neighbor.skin=0.5 --set neighbor.rebuild={drift=1e-3}");
    assert_eq!(list(&workdir)["skin"], 0.5);
    assert!(list(&workdir)["rebuild"]["every"].as_u64().unwrap() > interval);
}

/// A crystal that is far from equilibrium becomes hotter than at its start.
#[test]
fn particles_faster_than_assumed_are_reported() {
    let cold = MELT
        .replace("\"fcc\", density = 0.8442, cells = [6, 5, 5]", "\"sc\", density = 1.0, cells = [9, 9, 9]");
    let workdir = Workdir::new(&cold.replace("1.44", "1e-3"));
    let said =
        workdir.succeed(Start::Threads(1), "run melt.toml --steps 400 --set neighbor.rebuild={drift=1e-4}");
    assert!(
        said.stderr.contains(
            "times half the skin since the last rebuild, so pairs within the cutoff may have been missed"
        ),
        "{}",
        said.stderr
    );
    assert_ne!(summary(&workdir)["dangerous_rebuilds"], 0);
}

/// Not even in the first list, which is made for present positions.
#[test]
fn usual_motion_is_not_reported() {
    let workdir = Workdir::new(MELT);
    for lists in ["neighbor.skin=0.03", "neighbor.skin=0.05", "neighbor.skin=auto"] {
        let [_, messages] =
            run(&workdir, &format!("--set {lists} --set neighbor.rebuild={{drift=1e-4}} --quiet"));
        assert_eq!((messages.as_str(), &summary(&workdir)["dangerous_rebuilds"]), ("", &json!(0)), "{lists}");
    }
    let slow = MELT.replace("1.44", "1e-3").replace("0.8442", "1.0");
    let options = "--set neighbor.skin=1.0 --set neighbor.rebuild={drift=1e-4} --steps 110 --quiet";
    let workdir = Workdir::new(&slow);
    let said = workdir.succeed(Start::Threads(1), &format!("run melt.toml {options}"));
    assert_eq!(summary(&workdir)["dangerous_rebuilds"], 0, "{}", said.stderr);
    assert_eq!(list(&workdir)["rebuild"]["every"], 100);
}

/// The time for which lists are kept follows from the temperature, also when a run is resumed.
#[test]
fn a_resumed_run_says_that_its_lists_are_others() {
    let workdir = Workdir::new(&format!("{MELT}checkpoint = {{ every = 20 }}\n"));
    let options = "--set neighbor.rebuild={drift=1e-3}";
    workdir.succeed(Start::Threads(1), &format!("run melt.toml {options}"));
    let resume = format!("run melt.toml {options} --resume out --output other --steps 40");
    let said = workdir.succeed(Start::Threads(1), &format!("{resume} --set system.temperature=3.0"));
    let expected =
        "note: results agree to rounding, not to the last bit: system.temperature was 1.44, now 3.0";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
}

/// There is no thermal motion in a minimisation.
#[test]
fn a_minimisation_misses_no_pairs() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(1), "minimise melt.toml --set neighbor.rebuild={drift=1e-3}");
    let fire = "--set integrator={kind=\"fire\",force_tolerance=1e-4} --set neighbor.rebuild={drift=1e-3}";
    assert_snapshot!(error(&workdir, &format!("run melt.toml {fire}"), Start::Plain), @r#"
    exit code 2
    error: × `neighbor.rebuild.drift` is for thermal motion, and there is a minimisation
       ╭─[command line:1:24]
     1 │ --set neighbor.rebuild={drift=1e-3}
       ·                        ────────────
       ╰────
      help: use `rebuild = { displacement = true }`
    "#);
}

#[test]
fn drifts_that_cannot_be_estimated() {
    const METAL: &str = "kind=\"sutton-chen\",epsilon=1.0,a=1.5,c=10.0,n=9,m=6,cutoff=2.5";
    let workdir = Workdir::new(MELT);
    let refused = |options: &str| {
        error(
            &workdir,
            &format!("run melt.toml --set neighbor.rebuild={{drift=1e-3}} {options}"),
            Start::Plain,
        )
    };
    assert_snapshot!(refused("--set system.temperature=0"), @r#"
    exit code 2
    error: × `neighbor.rebuild.drift` needs a temperature, that of `system.temperature` or of a thermostat
       ╭─[command line:1:24]
     1 │ --set neighbor.rebuild={drift=1e-3}
       ·                        ────────────
       ╰────
      help: use `rebuild = { displacement = true }`
    "#);
    let bath = "integrator={kind=\"csvr\",temperature=1.0,relaxation=0.1,barostat={kind=\"berendsen\",pressure=1.0,\
                relaxation=0.2,compressibility=0.3}}";
    assert_snapshot!(refused(&format!("--set {bath}")), @r#"
    exit code 2
    error: × `neighbor.rebuild.drift` is for a box that does not change, and there is a barostat
       ╭─[command line:1:24]
     1 │ --set neighbor.rebuild={drift=1e-3}
       ·                        ────────────
       ╰────
      help: use `rebuild = { displacement = true }`
    "#);
    assert_snapshot!(refused(&format!("--set interaction={{{METAL}}}")), @r#"
    exit code 2
    error: × `neighbor.rebuild.drift` estimates missed pairs of a pair potential, and these are no pair
      │ forces
       ╭─[command line:1:24]
     1 │ --set neighbor.rebuild={drift=1e-3}
       ·                        ────────────
       ╰────
      help: use `rebuild = { displacement = true }`
    "#);
    assert_snapshot!(refused("--set neighbor.rebuild.every=5"), @r#"
    exit code 2
    error: × both `every` and `drift` are given
       ╭─[command line:1:30]
     1 │ --set neighbor.rebuild.every=5
       ·                              ─
       ╰────
      help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
            { drift = 1e-4 }`
    "#);
    assert_snapshot!(error(&workdir, "run melt.toml --set neighbor.rebuild={drift=0}", Start::Plain), @r#"
    exit code 2
    error: × `neighbor.rebuild.drift` must be a finite number above 0, found 0.0
       ╭─[command line:1:24]
     1 │ --set neighbor.rebuild={drift=0}
       ·                        ─────────
       ╰────
      help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
            { drift = 1e-4 }`
    "#);
    let without =
        error(&workdir, "run melt.toml --set neighbor.skin=0 --set neighbor.rebuild={drift=1}", Start::Plain);
    assert!(without.contains("`neighbor.skin` is 0, so every step would miss pairs"), "{without}");
    assert_snapshot!(error(&workdir, "run melt.toml --set neighbor.skin=wide", Start::Plain), @r#"
    exit code 2
    error: × `neighbor.skin` must be a number or "auto", found the string "wide"
       ╭─[command line:1:21]
     1 │ --set neighbor.skin=wide
       ·                     ──┬─
       ·                       ╰── expected a number or "auto"
       ╰────
      help: `neighbor.skin`: Extra distance, so that a neighbour list remains valid for several steps,
            or "auto": the distance with which steps are fastest, by a model of the thermal motion at
            the highest temperature of the start and of all stages. summary.json contains the choice;
            a run that gives it as a number has the same bits.
    "#);
}
