//! Scenarios of grids with a fault: the error of `md-cli stencil`, however it is started.

use insta::assert_snapshot;

use crate::stencil::{POISSON, SWAP, TVD};
use crate::support::{Start, Workdir, error, error_everywhere, starts};

/// Returns the error of a scenario after a change.
fn error_after(scenario: &str, from: &str, to: &str) -> String {
    assert!(scenario.contains(from), "nothing to replace: {from}");
    let workdir = Workdir::new(&scenario.replacen(from, to, 1));
    let text = error_everywhere(&workdir, "stencil melt.toml", &starts());
    assert_eq!(workdir.files("."), ["melt.toml"], "nothing is created for a scenario with a fault");
    text
}

#[test]
fn a_kind_that_is_misspelt() {
    assert_snapshot!(error_after(SWAP, "\"swap\"", "\"swop\""), @r#"
    exit code 2
    error: × `stencil.kind` cannot be "swop"
       ╭─[melt.toml:2:8]
     1 │ [stencil]
     2 │ kind = "swop"
       ·        ───┬──
       ·           ╰── unknown name
     3 │ grid = [12, 9, 8]
       ╰────
      help: did you mean `swap`? Allowed: `swap`, `tvd`, `poisson`
    "#);
}

#[test]
fn a_key_of_another_kind() {
    assert_snapshot!(error_after(SWAP, "depth = 2", "courant = [0.1, 0.0, 0.0]"), @r"
    exit code 2
    error: × unknown key `courant` in [stencil] of kind `swap`
       ╭─[melt.toml:5:1]
     4 │ fields = 3
     5 │ courant = [0.1, 0.0, 0.0]
       · ───┬───
       ·    ╰── unknown key
     6 │ steps = 6
       ╰────
      help: `courant` is a key of kind `tvd`; valid keys: `boundary`, `compute`, `depth`, `fields`,
            `grid`, `grid_per_rank`, `kind`, `neighbours`, `precision`, `steps`
    ");
}

#[test]
fn no_grid_and_two_grids() {
    assert_snapshot!(error_after(SWAP, "grid = [12, 9, 8]\n", ""), @r#"
    exit code 2
    error: × missing key `grid` in [stencil]
       ╭─[melt.toml:1:1]
     1 │ [stencil]
       · ─────────
     2 │ kind = "swap"
       ╰────
      help: `grid = [64, 64, 64]`: nodes along x, y and z; or `grid_per_rank`
    "#);
    assert_snapshot!(error_after(SWAP, "grid = [12, 9, 8]\n", "grid = [12, 9, 8]\ngrid_per_rank = [4, 4, 4]\n"), @r"
    exit code 2
    error: × `stencil.grid` and `stencil.grid_per_rank` are both given
       ╭─[melt.toml:4:17]
     3 │ grid = [12, 9, 8]
     4 │ grid_per_rank = [4, 4, 4]
       ·                 ─────────
     5 │ fields = 3
       ╰────
      help: `grid` is the whole grid, `grid_per_rank` the part of each rank; keep one
    ");
}

#[test]
fn a_slab_thinner_than_the_halo() {
    let workdir = Workdir::new(&SWAP.replace("[12, 9, 8]", "[4, 1, 8]"));
    assert_snapshot!(error(&workdir, "stencil melt.toml", Start::Threads(3)), @r#"
    exit code 2
    error: × 4 nodes along x on 3 ranks leave 1 for one, fewer than the 2 that its neighbours need: take
      │ fewer ranks along x, or more nodes
       ╭─[melt.toml:3:8]
     2 │ kind = "swap"
     3 │ grid = [4, 1, 8]
       ·        ─────────
     4 │ fields = 3
       ╰────
      help: other numbers of nodes or ranks, or another `parallel.grid`
    "#);
}

#[test]
fn an_equation_without_neighbours() {
    let workdir = Workdir::new(&POISSON.replace("[12, 10, 8]", "[1, 1, 1]"));
    assert_snapshot!(error(&workdir, "stencil melt.toml", Start::Threads(1)), @r#"
    exit code 2
    error: × a single node has no neighbours: `poisson` has nothing to solve there
       ╭─[melt.toml:3:8]
     2 │ kind = "poisson"
     3 │ grid = [1, 1, 1]
       ·        ─────────
     4 │ boundary = ["periodic", "open", "open"]
       ╰────
      help: at least two nodes along one of the axes
    "#);
    assert_eq!(workdir.files("."), ["melt.toml"]);
    let two = POISSON.replace("[12, 10, 8]", "[1, 2, 1]");
    Workdir::new(&two).succeed(Start::Threads(1), "stencil melt.toml --quiet");
    for scenario in [SWAP.replace("[12, 9, 8]", "[1, 1, 1]"), TVD.replace("[12, 10, 8]", "[1, 1, 1]")] {
        Workdir::new(&scenario).succeed(Start::Threads(1), "stencil melt.toml --quiet");
    }
}

#[test]
fn an_axis_that_is_not_divided() {
    let to = "decomposition = \"2d\"\ngrid = [1, 1, 2]";
    assert_snapshot!(error_after(SWAP, "decomposition = \"2d\"", to), @r#"
    exit code 2
    error: × the grid is not divided along z, found 2 ranks there
        ╭─[melt.toml:10:15]
      9 │ decomposition = "2d"
     10 │ grid = [1, 1, 2]
        ·               ─
     11 │ 
        ╰────
      help: `parallel.decomposition` says along which axes it may be: `1d`, `2d` or `3d`
    "#);
}

#[test]
fn wind_through_a_wall_and_wind_that_is_too_strong() {
    assert_snapshot!(error_after(TVD, "steps", "boundary = [\"open\", \"periodic\", \"periodic\"]\nsteps"), @r#"
    exit code 2
    error: × `stencil.courant[0]` is 0.5, but nothing flows through open faces
       ╭─[melt.toml:5:12]
     4 │ fields = 2
     5 │ courant = [0.5, -0.3, 0.2]
       ·            ───
     6 │ boundary = ["open", "periodic", "periodic"]
       ╰────
      help: 0.0 there, or a periodic boundary along this axis
    "#);
    assert_snapshot!(error_after(TVD, "0.5, ", "1.5, "), @r"
    exit code 2
    error: × `stencil.courant[0]` must be from -1 to 1, found 1.5
       ╭─[melt.toml:5:12]
     4 │ fields = 2
     5 │ courant = [1.5, -0.3, 0.2]
       ·            ───
     6 │ steps = 8
       ╰────
      help: nodes that the wind moves by in a step; beyond, it is unstable
    ");
}

/// The solution 0 would be found at once.
#[test]
fn a_solver_that_may_do_nothing() {
    let said = error_after(POISSON, "boundary", "tolerance = 1.0\nboundary");
    assert!(said.contains("`stencil.tolerance` must be above 0 and below 1, found 1.0"), "{said}");
}

#[test]
fn more_messages_than_channels() {
    let text =
        SWAP.replace("fields = 3", "fields = 29").replace("\"2d\"", "\"2d\"\nmessages = \"per-field\"");
    assert_snapshot!(error(&Workdir::new(&text), "stencil melt.toml", Start::Threads(2)), @r#"
    exit code 2
    error: × 522 messages at a time are more than the 256 that a context can tell apart: take fewer fields
      │ or neighbours, or send them aggregated
        ╭─[melt.toml:10:12]
      9 │ decomposition = "2d"
     10 │ messages = "per-field"
        ·            ───────────
     11 │ 
        ╰────
      help: `aggregated` sends all fields that go to a neighbour in one message
    "#);
}

#[test]
fn options_of_particles() {
    let workdir = Workdir::new(SWAP);
    assert_snapshot!(error(&workdir, "compare melt.toml --shells full", Start::Threads(2)), @r"
    exit code 2
    error: --shells is for scenarios of particles, and this one has a grid
    ");
}

#[test]
fn scenarios_of_particles_are_no_stencils() {
    let workdir = Workdir::new("[simulation]\nsteps = 1\n");
    assert_snapshot!(error(&workdir, "stencil melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: × unknown key `simulation` at the top level
       ╭─[melt.toml:1:2]
     1 │ [simulation]
       ·  ─────┬────
       ·       ╰── unknown key
     2 │ steps = 1
       ╰────
      help: scenarios with [simulation] are for `md-cli run`; valid keys: `output`, `parallel`,
            `stencil`
    ");
}

#[test]
fn scenarios_of_a_grid_are_no_particles() {
    let workdir = Workdir::new("[lbm]\nsteps = 1\n");
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: × unknown key `lbm` at the top level
       ╭─[melt.toml:1:2]
     1 │ [lbm]
       ·  ─┬─
       ·   ╰── unknown key
     2 │ steps = 1
       ╰────
      help: scenarios with [lbm] are for `md-cli lbm`; valid keys: `integrator`, `interaction`,
            `neighbor`, `output`, `parallel`, `simulation`, `species`, `stage`, `system`
    ");
}
