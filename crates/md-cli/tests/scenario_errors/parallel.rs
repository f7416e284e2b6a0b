//! `[parallel]`

use insta::assert_snapshot;

use crate::scenario_common::{error, error_after, layer};

/// Returns the error with other lines in place of the backend's.
fn error_of_backend(lines: &str) -> String {
    error_after("backend = \"local\"", lines)
}

#[test]
fn grid_of_another_partition() {
    assert_snapshot!(error_after("partition = \"rect\"", "partition = \"stripe\"\ngrid = [2, 1, 1]"), @r#"
     × partition `stripe` takes no `grid`
       ╭─[melt.toml:46:1]
    45 │ partition = "stripe"
    46 │ grid = [2, 1, 1]
       · ────
    47 │ threads = 1
       ╰────
     help: leave it out, or use `partition = "rect"`
    "#);
}

#[test]
fn zero_grid() {
    assert_snapshot!(error_after("partition = \"rect\"", "grid = [2, 0, 1]"), @r#"
     × `parallel.grid[1]` must be at least 1, found 0
       ╭─[melt.toml:45:12]
    44 │ exchange = "direct"
    45 │ grid = [2, 0, 1]
       ·            ─
    46 │ threads = 1
       ╰────
     help: ranks along x, y and z; their product is the number of ranks
    "#);
}

#[test]
fn ranks_of_another_backend() {
    assert_snapshot!(error_of_backend("backend = \"p2p\"\nranks = 4"), @r#"
     × `parallel.ranks = 4` needs backend `local`, found `p2p`
       ╭─[melt.toml:43:9]
    42 │ backend = "p2p"
    43 │ ranks = 4
       ·         ─
    44 │ shell = "half"
       ╰────
     help: start `mpirun -n 4` for `p2p`, or use `local`
    "#);
}

#[test]
fn another_word_for_chunk() {
    assert_snapshot!(error_of_backend("backend = \"local\"\nchunk = \"on\""), @r#"
     × `parallel.chunk` must be an integer of at least 1 or "auto", "off", found the string "on"
       ╭─[melt.toml:43:9]
    42 │ backend = "local"
    43 │ chunk = "on"
       ·         ──┬─
       ·           ╰── expected an integer of at least 1 or "auto", "off"
    44 │ shell = "half"
       ╰────
     help: `parallel.chunk`: For `p2p` and `p2p-persistent` (also within `hybrid` and `auto`): size
           in bytes of the pieces into which the messages of each step are divided, "off" for whole
           messages, or "auto": 32768 between nodes, whole messages inside a node. Results do not
           depend on it.
    "#);
}

#[test]
fn zero_ranks() {
    assert_snapshot!(error_of_backend("backend = \"local\"\nranks = 0"), @r#"
     × `parallel.ranks` must be at least 1, found 0
       ╭─[melt.toml:43:9]
    42 │ backend = "local"
    43 │ ranks = 0
       ·         ─
    44 │ shell = "half"
       ╰────
     help: ranks as threads of this process, for `local` only
    "#);
}

#[test]
fn zero_threads() {
    assert_snapshot!(error_after("threads = 1", "threads = 0"), @r#"
     × `parallel.threads` must be at least 1, found 0
       ╭─[melt.toml:46:11]
    45 │ partition = "rect"
    46 │ threads = 0
       ·           ─
    47 │ 
       ╰────
     help: threads per rank
    "#);
}

#[test]
fn zero_watchdog() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nwatchdog_s = 0.0"), @r"
     × `parallel.watchdog_s` must be a finite number above 0, found 0.0
       ╭─[melt.toml:47:14]
    46 │ threads = 1
    47 │ watchdog_s = 0.0
       ·              ───
    48 │ 
       ╰────
     help: seconds, the default is 60.0
    ");
}

#[test]
fn another_partition() {
    assert_snapshot!(error_after("partition = \"rect\"", "partition = \"rbc\""), @r#"
     × `parallel.partition` cannot be "rbc"
       ╭─[melt.toml:45:13]
    44 │ exchange = "direct"
    45 │ partition = "rbc"
       ·             ──┬──
       ·               ╰── unknown name
    46 │ threads = 1
       ╰────
     help: did you mean `rcb`? Allowed: `rect`, `stripe`, `rcb`, `hilbert`, `metis`, `scattered`
    "#);
}

#[test]
fn another_word_for_balance() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nbalance = \"on\""), @r#"
     × `parallel.balance` must be a table or "off", "auto", found the string "on"
       ╭─[melt.toml:47:11]
    46 │ threads = 1
    47 │ balance = "on"
       ·           ──┬─
       ·             ╰── expected a table or "off", "auto"
    48 │ 
       ╰────
     help: keys of `parallel.balance`: `every`, `threshold`, `weights`
    "#);
}

#[test]
fn a_balance_that_is_never_looked_at() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nbalance = { every = 0 }"), @r#"
     × `parallel.balance.every` must be at least 1, found 0
       ╭─[melt.toml:47:21]
    46 │ threads = 1
    47 │ balance = { every = 0 }
       ·                     ─
    48 │ 
       ╰────
     help: steps between two looks at the balance, the default is 100
    "#);
}

#[test]
fn a_threshold_below_what_is_possible() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nbalance = { threshold = 0.9 }"), @r#"
     × `parallel.balance.threshold` must be a finite number of at least 1, found 0.9
       ╭─[melt.toml:47:25]
    46 │ threads = 1
    47 │ balance = { threshold = 0.9 }
       ·                         ───
    48 │ 
       ╰────
     help: work of the busiest rank over the mean that is left alone; 1 is perfect, the default is
           1.05
    "#);
}

#[test]
fn an_unknown_key_of_balance() {
    assert_snapshot!(error_after("threads = 1", "threads = 1\nbalance = { evry = 10 }"), @r#"
     × unknown key `evry` in [parallel.balance]
       ╭─[melt.toml:47:13]
    46 │ threads = 1
    47 │ balance = { evry = 10 }
       ·             ──┬─
       ·               ╰── unknown key
    48 │ 
       ╰────
     help: did you mean `every`?
    "#);
}

#[test]
fn between_nodes_by_itself() {
    assert_snapshot!(error_of_backend("backend = \"local\"\nbetween_nodes = \"shm\""), @r#"
     × `parallel.between_nodes = "shm"` cannot move messages between nodes by itself
       ╭─[melt.toml:43:17]
    42 │ backend = "local"
    43 │ between_nodes = "shm"
       ·                 ─────
    44 │ shell = "half"
       ╰────
     help: available: `p2p`, `p2p-persistent`, `neighbor-collective`, `rma-fence`, `rma-pscw`, `rma-
           lock`, `rma-lock-epoch`, `rma-barrier`, `rma-notify`, `rma-ring`
    "#);
}

#[test]
fn grid_in_z_in_2d() {
    assert_snapshot!(error(&(layer("[8, 8, 1]", "periodic") + "[parallel]\ngrid = [1, 1, 2]\n")), @r"
     × a 2D simulation cannot be divided in z, found 2 ranks there
      ╭─[melt.toml:8:15]
    7 │ [parallel]
    8 │ grid = [1, 1, 2]
      ·               ─
      ╰────
     help: write `grid = [1, 1, 1]`
    ");
}
