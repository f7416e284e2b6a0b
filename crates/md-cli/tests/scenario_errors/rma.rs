//! `[parallel.rma]`

use insta::assert_snapshot;

use crate::scenario_common::{MELT, error};

/// Returns the error with another backend and a table of options for it.
fn rma_error(backend: &str, option: &str) -> String {
    let text = MELT.replace("backend = \"local\"", &format!("backend = {backend:?}"));
    error(&text.replace("[output]", &format!("[parallel.rma]\n{option}\n\n[output]")))
}

#[test]
fn option_of_a_backend_without_windows() {
    assert_snapshot!(rma_error("p2p", "window = \"create\""), @r#"
     × backend `p2p` does not take this `window`
       ╭─[melt.toml:49:10]
    48 │ [parallel.rma]
    49 │ window = "create"
       ·          ────────
    50 │ 
       ╰────
     help: the backend is two-sided: there is no window
    "#);
}

#[test]
fn get_where_it_cannot_be() {
    assert_snapshot!(rma_error("rma-lock-epoch", "operation = \"get\""), @r#"
     × backend `rma-lock-epoch` does not take this `operation`
       ╭─[melt.toml:49:13]
    48 │ [parallel.rma]
    49 │ operation = "get"
       ·             ─────
    50 │ 
       ╰────
     help: its epoch has ended when the receiver is told, and a get needs an open one; `rma-fence`
           and `rma-lock` can get
    "#);
}

#[test]
fn one_ring_in_many_windows() {
    assert_snapshot!(rma_error("rma-ring", "ring = \"shared\"\nwindows = \"per-edge\""), @r#"
     × backend `rma-ring` does not take this `windows`
       ╭─[melt.toml:50:11]
    49 │ ring = "shared"
    50 │ windows = "per-edge"
       ·           ──────────
    51 │ 
       ╰────
     help: all edges share one ring, so that there is nothing to divide among windows
    "#);
}

#[test]
fn strict_polling_without_flags() {
    assert_snapshot!(rma_error("rma-lock", "polling = \"strict\""), @r#"
     × backend `rma-lock` does not take this `polling`
       ╭─[melt.toml:49:11]
    48 │ [parallel.rma]
    49 │ polling = "strict"
       ·           ────────
    50 │ 
       ╰────
     help: no flags are polled; `rma-notify` does
    "#);
}

#[test]
fn slots_without_slots() {
    assert_snapshot!(rma_error("neighbor-collective", "slots = 1"), @r"
     × backend `neighbor-collective` does not take this `slots`
       ╭─[melt.toml:49:9]
    48 │ [parallel.rma]
    49 │ slots = 1
       ·         ─
    50 │ 
       ╰────
     help: the library keeps the buffers of a collective: there is no window
    ");
}

#[test]
fn slots_out_of_range() {
    assert_snapshot!(rma_error("local", "slots = 3"), @r"
     × `parallel.rma.slots` must be 1 or 2, found 3
       ╭─[melt.toml:49:9]
    48 │ [parallel.rma]
    49 │ slots = 3
       ·         ─
    50 │ 
       ╰────
     help: 2 is double buffering, the default
    ");
}

#[test]
fn unknown_value() {
    assert_snapshot!(rma_error("rma-fence", "window = \"created\""), @r#"
     × `parallel.rma.window` cannot be "created"
       ╭─[melt.toml:49:10]
    48 │ [parallel.rma]
    49 │ window = "created"
       ·          ────┬────
       ·              ╰── unknown name
    50 │ 
       ╰────
     help: did you mean `create`? Allowed: `allocate`, `create`, `dynamic`
    "#);
}
