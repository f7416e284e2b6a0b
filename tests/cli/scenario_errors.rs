//! Faults of a scenario, as the whole program reports them: text, exit code 2, and one message for
//! any number of ranks.

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available, starts};
use insta::assert_snapshot;

/// Returns the error of `md-cli run` on [`MELT`] after a change.
fn run_after(from: &str, to: &str) -> String {
    run_everywhere_after(from, to, &[Start::Threads(1)])
}

/// Returns the error as [`run_after`] does, and checks that it is the same for all `starts`.
fn run_everywhere_after(from: &str, to: &str, starts: &[Start]) -> String {
    assert!(MELT.contains(from), "nothing to replace: {from}");
    let workdir = Workdir::new(&MELT.replacen(from, to, 1));
    let text = error_everywhere(&workdir, "run melt.toml", starts);
    assert_eq!(workdir.files("."), ["melt.toml"], "nothing is created for a scenario with a fault");
    text
}

/// Returns the error of `md-cli run` on a species with this mass.
fn run_with_mass(mass: &str) -> String {
    run_after("[output]", &format!("[[species]]\nname = \"A\"\nmass = {mass}\n[output]"))
}

/// Returns the error of several ranks on [`MELT`] with other unit cells and a table `[parallel]`.
fn run_divided(cells: &str, key: &str) -> String {
    let text = MELT.replace("[6, 5, 5]", cells).replace("[output]", &format!("[parallel]\n{key}\n[output]"));
    error_everywhere(&Workdir::new(&text), "run melt.toml", &three_ranks())
}

/// Starts with several ranks: three threads, and three processes where there is MPI.
fn three_ranks() -> Vec<Start> {
    starts().split_off(1)
}

/// The sum of their steps occurs in no file.
#[test]
fn stages_without_steps() {
    for stages in ["[[stage]]\nsteps = 0\n", "[[stage]]\nsteps = 0\n[[stage]]\nsteps = 0\n"] {
        let workdir = Workdir::new(&format!("{}{stages}", MELT.replace("steps = 20\n", "")));
        let text = workdir.call(Start::Plain, "check melt.toml").stderr;
        assert!(text.contains("`stage[0].steps` must be at least 1, found 0"), "{text}");
        assert!(text.contains(" steps = 0\n"), "{text}");
    }
}

#[test]
fn unknown_key() {
    assert_snapshot!(run_everywhere_after("steps = 20", "stps = 20", &starts()), @r"
    exit code 2
    error: × unknown key `stps` in [simulation]
       ╭─[melt.toml:2:1]
     1 │ [simulation]
     2 │ stps = 20
       · ──┬─
       ·   ╰── unknown key
     3 │ seed = 7
       ╰────
      help: did you mean `steps`?
    ");
}

#[test]
fn wrong_type() {
    assert_snapshot!(run_after("steps = 20", "steps = \"20\""), @r#"
    exit code 2
    error: × `simulation.steps` must be an integer of at least 1, found the string "20"
       ╭─[melt.toml:2:9]
     1 │ [simulation]
     2 │ steps = "20"
       ·         ──┬─
       ·           ╰── expected an integer of at least 1
     3 │ seed = 7
       ╰────
      help: `simulation.steps`: Number of time steps.
    "#);
}

#[test]
fn zero_steps() {
    assert_snapshot!(run_after("steps = 20", "steps = 0"), @r"
    exit code 2
    error: × `simulation.steps` must be at least 1, found 0
       ╭─[melt.toml:2:9]
     1 │ [simulation]
     2 │ steps = 0
       ·         ─
     3 │ seed = 7
       ╰────
      help: `md-cli forces` evaluates the forces without motion; with stages, leave the key out
    ");
}

#[test]
fn masses_that_are_no_numbers() {
    let of_nan = run_with_mass("nan");
    assert_eq!(run_with_mass("inf"), of_nan.replace("nan", "inf"));
    assert_snapshot!(of_nan, @r#"
    exit code 2
    error: × `species[0].mass` must be a finite number above 0, found nan
        ╭─[melt.toml:11:8]
     10 │ name = "A"
     11 │ mass = nan
        ·        ───
     12 │ [output]
        ╰────
      help: the default is 1.0
    "#);
}

#[test]
fn negative_mass() {
    assert_snapshot!(run_with_mass("-1.0"), @r#"
    exit code 2
    error: × `species[0].mass` must be a finite number above 0, found -1.0
        ╭─[melt.toml:11:8]
     10 │ name = "A"
     11 │ mass = -1.0
        ·        ────
     12 │ [output]
        ╰────
      help: the default is 1.0
    "#);
}

#[test]
fn cutoff_larger_than_the_box() {
    let cutoff = "[interaction]\ncutoff = 9.0\n[output]";
    assert_snapshot!(run_everywhere_after("[output]", cutoff, &starts()), @r"
    exit code 2
    error: × the box is 8.397980956912537 long in y, shorter than cutoff + skin = 9.05625; one layer of
      │ periodic images cannot hold all neighbours
        ╭─[melt.toml:10:10]
      9 │ [interaction]
     10 │ cutoff = 9.0
        ·          ───
     11 │ [output]
        ╰────
      help: a larger box along y, a smaller cutoff or a smaller skin
    ");
}

#[test]
fn units_that_mixed_precision_cannot_hold() {
    let species = "[[species]]\nname = \"A\"\nsigma = 3.4e-10\n[neighbor]\nprecision = \"mixed\"\n[output]";
    assert_snapshot!(run_after("[output]", species), @r#"
    exit code 2
    error: × `neighbor.precision = "mixed"` cannot hold the pair forces of this potential
        ╭─[melt.toml:13:13]
     12 │ [neighbor]
     13 │ precision = "mixed"
        ·             ───────
     14 │ [output]
        ╰────
      help: units in which its parameters are not far from 1, or precision `double`
    "#);
}

#[test]
fn box_too_empty_for_mixed_precision() {
    let few = "lattice = { kind = \"sc\", spacing = 9e4, cells = [2, 2, 2] }";
    let [from, to] = ["lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }", few];
    let mixed = MELT.replacen(from, to, 1) + "[neighbor]\nprecision = \"mixed\"\n";
    let text = error_everywhere(&Workdir::new(&mixed), "run melt.toml", &[Start::Threads(1)]);
    assert_snapshot!(text, @r#"
    exit code 2
    error: × `neighbor.precision = "mixed"` would lose digits: so few particles in so large a box that
      │ cells are 18000 long
        ╭─[melt.toml:12:13]
     11 │ [neighbor]
     12 │ precision = "mixed"
        ·             ───────
        ╰────
      help: precision `double`, or a smaller box
    "#);
}

#[test]
fn box_too_thin_for_the_ranks() {
    assert_snapshot!(run_divided("[4, 4, 4]", "partition = \"rect\""), @r#"
    exit code 2
    error: × the box is too thin for the ranks: 3 ranks do not fit on 2x2x2 cells of at least cutoff +
      │ skin; use fewer ranks, a larger box, or partition = "stripe"
        ╭─[melt.toml:10:13]
      9 │ [parallel]
     10 │ partition = "rect"
        ·             ──────
     11 │ [output]
        ╰────
      help: fewer ranks, another partition or a larger box
    "#);
}

#[test]
fn box_too_thin_for_the_stripes() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[2, 2, 2]"));
    let arguments = "run melt.toml --set parallel.partition=stripe";
    assert_snapshot!(error_everywhere(&workdir, arguments, &three_ranks()), @r"
    exit code 2
    error: × the box is too thin for the ranks: 3 ranks, but only 1 cell of at least cutoff + skin
       ╭─[command line:1:26]
     1 │ --set parallel.partition=stripe
       ·                          ──────
       ╰────
      help: fewer ranks, another partition or a larger box
    ");
}

#[test]
fn grid_of_another_number_of_ranks() {
    assert_snapshot!(run_divided("[6, 5, 5]", "grid = [2, 1, 1]"), @r"
    exit code 2
    error: × the grid 2x1x1 has 2 places, not one for each of 3 ranks
        ╭─[melt.toml:10:8]
      9 │ [parallel]
     10 │ grid = [2, 1, 1]
        ·        ─────────
     11 │ [output]
        ╰────
      help: a grid whose product is the number of ranks
    ");
}

#[test]
fn grid_with_more_ranks_than_cells() {
    assert_snapshot!(run_divided("[6, 4, 4]", "grid = [1, 1, 3]"), @r"
    exit code 2
    error: × the box is too thin for the ranks: 3 ranks along z, but only 2 cells of at least cutoff + skin
        ╭─[melt.toml:10:8]
      9 │ [parallel]
     10 │ grid = [1, 1, 3]
        ·        ─────────
     11 │ [output]
        ╰────
      help: fewer ranks, another partition or a larger box
    ");
}

#[test]
fn check_finds_what_run_finds() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[4, 4, 4]"));
    for start in three_ranks() {
        let said = workdir.call(start, "check melt.toml");
        let run = error(&workdir, "run melt.toml", start);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
        assert_eq!(format!("exit code 2\n{}", said.stderr), run);
    }
}

#[test]
fn missing_scenario() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error_everywhere(&workdir, "run nothing.toml", &starts()), @r"
    exit code 2
    error: cannot read `nothing.toml`: No such file or directory (os error 2)
    ");
    assert_snapshot!(error_everywhere(&workdir, "forces nothing.toml", &[Start::Threads(1)]), @r"
    exit code 2
    error: cannot read `nothing.toml`: No such file or directory (os error 2)
    ");
    assert_snapshot!(error_everywhere(&workdir, "run .", &[Start::Threads(1)]), @r"
    exit code 2
    error: cannot read `.`: Is a directory (os error 21)
    ");
}

#[test]
fn a_scenario_that_is_no_text() {
    let workdir = Workdir::new(MELT);
    std::fs::write(workdir.path("noise.toml"), [0xff, 0xfe, 0x00]).unwrap();
    assert_snapshot!(error_everywhere(&workdir, "run noise.toml", &[Start::Threads(1)]), @r"
    exit code 2
    error: cannot read `noise.toml`: it is UTF-16: save it as UTF-8
    ");
}

#[test]
fn several_local_ranks_of_another_backend() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error(&workdir, "run melt.toml --set parallel.ranks=3", Start::Mpirun(3)), @r"
    exit code 2
    error: × `parallel.ranks = 3` needs backend `local`, found `p2p`
       ╭─[command line:1:24]
     1 │ --set parallel.backend=p2p
       ·                        ───
       ╰────
      help: start `mpirun -n 3` for `p2p`, or use `local`
    ");
}

/// There is no key to point at. The error must not refer to an option on the command line, although
/// the backend is one.
#[test]
fn box_too_thin_for_the_partition_that_nobody_named() {
    let workdir = Workdir::new(&MELT.replace("[6, 5, 5]", "[4, 4, 4]"));
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &three_ranks()), @r#"
    exit code 2
    error: × melt.toml: the box is too thin for the ranks: 3 ranks do not fit on 2x2x2 cells of at least
      │ cutoff + skin; use fewer ranks, a larger box, or partition = "stripe"
      help: fewer ranks, another partition or a larger box
    "#);
}
