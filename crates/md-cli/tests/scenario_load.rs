//! Valid scenarios: overrides, defaults, the effective scenario, the schema.

mod scenario_common;

use insta::assert_snapshot;
use md_comm::Backend;
use md_core::Shell;
use md_scenario::ScenarioKind;
use md_scenario::{Rebuild, ScenarioError, effective_toml, load, schema};
use scenario_common::{MELT, layer, source, valid};

#[test]
fn overrides_take_toml_values_and_bare_words() {
    let scenario = valid(
        MELT,
        &[
            "parallel.backend=p2p",
            "parallel.shell=\"full\"",
            "system.lattice.cells=[32,32,32]",
            "interaction.cutoff=3",
            "species[0].mass=2",
            "species.1.mass = 4.5",
            "neighbor.rebuild={ displacement = true }",
            "simulation.title=2048",
            "system.lattice.cells[1]=16",
        ],
    );
    assert_eq!(scenario.parallel.backend, Backend::P2p);
    assert_eq!(scenario.parallel.shell, Shell::Full);
    assert_eq!(scenario.system.lattice.unwrap().cells, [32, 16, 32]);
    assert_eq!(scenario.interaction.cutoff, 3.0);
    assert_eq!([scenario.species[0].mass, scenario.species[1].mass], [Some(2.0), Some(4.5)]);
    assert_eq!(scenario.neighbor.rebuild, Rebuild { every: None, displacement: Some(true), drift: None });
    assert_eq!(scenario.simulation.title, "2048");
}

#[test]
fn later_overrides_win() {
    assert_eq!(valid(MELT, &["simulation.steps=5000", "simulation.steps=600"]).simulation.steps, 600);
}

#[test]
fn an_override_gives_what_the_file_leaves_out() {
    let text = layer("[8, 8, 1]", "periodic").replace("steps = 10\n", "");
    assert_eq!(valid(&text, &["simulation.steps=7"]).simulation.steps, 7);
}

#[test]
fn the_default_species_can_be_overridden() {
    let scenario = valid(&layer("[8, 8, 1]", "periodic"), &["species[0].mass=2"]);
    assert_eq!(scenario.species.len(), 1);
    assert_eq!((scenario.species[0].name.as_str(), scenario.species[0].mass), ("A", Some(2.0)));
}

#[test]
fn the_effective_scenario_is_the_same_scenario() {
    let awkward =
        ["interaction.cutoff=2.5000000000000004", "simulation.timestep=1e-7", "species[0].mass=1e22"];
    let file = ["system={ file = { path = 'a \"b\".lammps', format = \"lammps-data\" } }"];
    let two = layer("[8, 8, 1]", "periodic");
    let one_species = MELT.replace("fraction = 0.9\n", "");
    for (text, overrides) in [
        (MELT, [].as_slice()),
        (MELT, awkward.as_slice()),
        (&one_species, file.as_slice()),
        (&two, [].as_slice()),
        (&two, ["simulation.seed=9223372036854775807"].as_slice()),
    ] {
        let scenario = valid(text, overrides);
        let effective = effective_toml(&scenario);
        assert_eq!(valid(&effective, &[]), scenario, "{effective}");
        assert_eq!(effective_toml(&valid(&effective, &[])), effective);
    }
}

#[test]
fn the_effective_system_looks_like_one_a_user_writes() {
    let effective = effective_toml(&valid(MELT, &[]));
    let (system, _) = effective.split_once("[neighbor]").unwrap();
    assert_snapshot!(system, @r#"
    [simulation]
    title = "LJ melt"
    dimension = 3
    timestep = 0.005
    steps = 1000
    seed = 87287

    [system]
    lattice = { kind = "fcc", density = 0.8442, cells = [20, 20, 20] }
    temperature = 1.44
    boundary = ["periodic", "periodic", "periodic"]

    [[species]]
    name = "A"
    mass = 1.0
    epsilon = 1.0
    sigma = 1.0
    fraction = 0.9

    [[species]]
    name = "B"
    mass = 2.0
    epsilon = 0.5
    sigma = 1.1

    [interaction]
    kind = "lennard-jones"
    mixing = "lorentz-berthelot"
    cutoff = 2.5
    shift = "none"
    tail_correction = false

    [[interaction.pair]]
    species = ["A", "B"]
    epsilon = 1.5
    sigma = 0.8
    "#);
}

#[test]
fn the_effective_methods_look_like_those_a_user_writes() {
    let effective = effective_toml(&valid(MELT, &[]));
    let start = effective.find("[neighbor]").unwrap();
    assert_snapshot!(&effective[start..], @r#"
    [neighbor]
    method = "clusters"
    skin = 0.3
    rebuild = { every = 20 }
    precision = "double"
    shape = "cpu"

    [integrator]
    kind = "velocity-verlet"

    [parallel]
    backend = "local"
    between_nodes = "p2p"
    chunk = "auto"
    protocol = "one"
    shell = "half"
    exchange = "direct"
    partition = "rect"
    balance = "auto"
    overlap = true
    second_share = 0.5
    threads = 1
    ranks = 1
    watchdog_s = 60.0

    [parallel.rma]
    window = "allocate"
    windows = "single"
    operation = "put"
    slots = 2
    asserts = false
    polling = "fast"
    ring = "per-edge"
    epoch = "complete"
    notice = "message"
    barriers = "per-exchange"
    arrivals = "in-place"
    puts = "one"

    [output]
    directory = "out/lj-melt"
    thermo = { every = 100 }
    trajectory = { path = "traj.extxyz", every = 500, positions = "wrapped" }
    "#);
}

/// Compares the text up to `[parallel]`, whose backend depends on how the program was built.
#[test]
fn what_is_left_out_gets_its_default() {
    let least =
        "[simulation]\nsteps = 20\n[system]\nlattice = { kind = \"sc\", spacing = 1.1, cells = [6, 5, 5] }\n";
    let effective = effective_toml(&valid(least, &[]));
    let (start, _) = effective.split_once("[parallel]").unwrap();
    assert_snapshot!(start, @r#"
    [simulation]
    title = ""
    dimension = 3
    timestep = 0.005
    steps = 20
    seed = 0

    [system]
    lattice = { kind = "sc", spacing = 1.1, cells = [6, 5, 5] }
    boundary = ["periodic", "periodic", "periodic"]

    [[species]]
    name = "A"
    epsilon = 1.0
    sigma = 1.0

    [interaction]
    kind = "lennard-jones"
    mixing = "lorentz-berthelot"
    cutoff = 2.5
    shift = "none"
    tail_correction = false

    [neighbor]
    method = "clusters"
    skin = "auto"
    rebuild = { displacement = true }
    precision = "double"
    shape = "cpu"

    [integrator]
    kind = "velocity-verlet"
    "#);
    assert!(effective.ends_with("[output]\ndirectory = \"out\"\nthermo = { every = 100 }\n"), "{effective}");
}

#[test]
fn the_schema_knows_every_key_and_every_name() {
    let schema: serde_json::Value = serde_json::from_str(&schema(ScenarioKind::Run)).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    let text = schema.to_string();
    for name in ["cutoff", "direct-sum", "rma-lock-epoch", "lammps-data", "watchdog_s", "exclusiveMinimum"] {
        assert!(text.contains(name), "{name}");
    }
}

/// Returns an error found by a check of more than the scenario.
fn misfit(overrides: &[&str], path: &str) -> ScenarioError {
    ScenarioError::at(
        &source(MELT, overrides),
        path,
        "the cutoff is more than half the box",
        "use more cells",
    )
}

#[test]
fn checks_beyond_the_scenario_raise_errors_at_a_key() {
    assert_snapshot!(misfit(&[], "interaction.cutoff").render(), @r#"
     × the cutoff is more than half the box
       ╭─[melt.toml:26:10]
    25 │ kind = "lennard-jones"
    26 │ cutoff = 2.5
       ·          ───
    27 │ shift = "none"
       ╰────
     help: use more cells
    "#);
    assert_snapshot!(misfit(&["interaction.cutoff=30"], "interaction.cutoff").render(), @r"
     × the cutoff is more than half the box
      ╭─[command line:1:26]
    1 │ --set interaction.cutoff=30
      ·                          ──
      ╰────
     help: use more cells
    ");
    assert_eq!(misfit(&[], "interaction.cutoff").key_path(), "interaction.cutoff");
}

#[test]
fn checks_of_a_key_that_is_left_out_raise_errors_at_its_table_or_file() {
    assert_snapshot!(misfit(&[], "parallel.grid").render(), @r#"
     × the cutoff is more than half the box
       ╭─[melt.toml:41:1]
    40 │ 
    41 │ [parallel]
       · ──────────
    42 │ backend = "local"
       ╰────
     help: use more cells
    "#);
    assert_snapshot!(misfit(&[], "integrator.kind").render(), @r"
    × melt.toml: the cutoff is more than half the box
    help: use more cells
    ");
}

/// The file has no table `[parallel]`, and the override that creates one does not set its
/// partition.
#[test]
fn an_override_of_another_key_is_not_to_blame() {
    let text = layer("[8, 8, 1]", "periodic");
    let error = |overrides: &[&str]| {
        ScenarioError::at(&source(&text, overrides), "parallel.partition", "too thin", "fewer ranks").render()
    };
    let bare = error(&[]);
    assert_snapshot!(bare, @r"
    × melt.toml: too thin
    help: fewer ranks
    ");
    assert_eq!(error(&["parallel.backend=local", "parallel.ranks=3"]), bare);
    assert!(
        error(&["parallel.backend=local", "parallel.partition=rect"])
            .contains("--set parallel.partition=rect")
    );
}

#[test]
fn colours_are_for_terminals_only() {
    let error = ScenarioError::at(&source(MELT, &[]), "interaction.cutoff", "too large", "smaller");
    assert!(error.render_coloured().contains('\u{1b}'));
    assert!(!error.render().contains('\u{1b}'));
}

#[test]
fn one_damaged_byte_gives_a_scenario_or_a_readable_error() {
    for position in 0..MELT.len() {
        for damage in ["", "x", "\"", "-", "]", "\n", "\u{e4}"] {
            let text = format!("{}{damage}{}", &MELT[..position], &MELT[position + 1..]);
            if let Err(error) = load(&source(&text, &[])) {
                assert!(error.render().contains("melt.toml"), "{}", error.render());
            }
        }
    }
}
