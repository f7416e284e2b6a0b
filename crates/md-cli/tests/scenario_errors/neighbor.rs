//! `[neighbor]`

use insta::assert_snapshot;

use crate::scenario_common::error_after;

/// Returns the error with another `rebuild`.
fn error_of_rebuild(rebuild: &str) -> String {
    error_after("{ every = 20 }", rebuild)
}

#[test]
fn negative_skin() {
    assert_snapshot!(error_after("skin = 0.3", "skin = -0.3"), @r#"
     × `neighbor.skin` must be a finite number of at least 0, found -0.3
       ╭─[melt.toml:37:8]
    36 │ method = "clusters"
    37 │ skin = -0.3
       ·        ────
    38 │ rebuild = { every = 20 }
       ╰────
     help: "auto", or a distance: 0.3 is usual, in units of sigma
    "#);
}

#[test]
fn no_rebuild() {
    assert_snapshot!(error_of_rebuild("{}"), @r#"
     × `neighbor.rebuild` has none of `displacement`, `every` and `drift`
       ╭─[melt.toml:38:11]
    37 │ skin = 0.3
    38 │ rebuild = {}
       ·           ──
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
           { drift = 1e-4 }`
    "#);
}

#[test]
fn both_rebuilds() {
    assert_snapshot!(error_of_rebuild("{ every = 20, displacement = true }"), @r#"
     × both `every` and `displacement` are given
       ╭─[melt.toml:38:11]
    37 │ skin = 0.3
    38 │ rebuild = { every = 20, displacement = true }
       ·           ───────────────────────────────────
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
           { drift = 1e-4 }`
    "#);
}

#[test]
fn zero_rebuild() {
    assert_snapshot!(error_of_rebuild("{ every = 0 }"), @r#"
     × `neighbor.rebuild.every` must be at least 1, found 0
       ╭─[melt.toml:38:21]
    37 │ skin = 0.3
    38 │ rebuild = { every = 0 }
       ·                     ─
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
           { drift = 1e-4 }`
    "#);
}

#[test]
fn displacement_false() {
    assert_snapshot!(error_of_rebuild("{ displacement = false }"), @r#"
     × `displacement = false` does not say when to rebuild
       ╭─[melt.toml:38:28]
    37 │ skin = 0.3
    38 │ rebuild = { displacement = false }
       ·                            ─────
    39 │ precision = "double"
       ╰────
     help: write `rebuild = { displacement = true }`, `rebuild = { every = 20 }` or `rebuild =
           { drift = 1e-4 }`
    "#);
}

#[test]
fn displacement_without_skin() {
    assert_snapshot!(error_after("skin = 0.3\nrebuild = { every = 20 }", "skin = 0.0\nrebuild = { displacement = true }"), @r#"
     × `neighbor.skin` is 0, so the slightest motion would ask for a rebuild
       ╭─[melt.toml:37:8]
    36 │ method = "clusters"
    37 │ skin = 0.0
       ·        ───
    38 │ rebuild = { displacement = true }
       ╰────
     help: give a skin, for example 0.3 or "auto", or use `rebuild = { every = 1 }`
    "#);
}

#[test]
fn mixed_precision_without_clusters() {
    let from = "method = \"clusters\"\nskin = 0.3\nrebuild = { every = 20 }\nprecision = \"double\"";
    let to = "method = \"cells\"\nskin = 0.3\nrebuild = { every = 20 }\nprecision = \"mixed\"";
    let text = error_after(from, to);
    assert!(text.contains("only `neighbor.method = \"clusters\"` computes in mixed precision"), "{text}");
    assert!(text.contains("help: use method `clusters`, or precision `double`"), "{text}");
    assert!(text.contains("[melt.toml:39:13]"), "{text}");
}
