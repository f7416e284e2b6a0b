//! `[output]`

use insta::assert_snapshot;

use crate::scenario_common::error_after;

/// Returns the error with another file for the trajectory.
fn error_of_path(path: &str) -> String {
    error_after("\"traj.extxyz\"", &format!("{path:?}"))
}

#[test]
fn zero_thermo() {
    assert_snapshot!(error_after("every = 100 }", "every = 0 }"), @r#"
     × `output.thermo.every` must be at least 1, found 0
       ╭─[melt.toml:50:20]
    49 │ directory = "out/lj-melt"
    50 │ thermo = { every = 0 }
       ·                    ─
    51 │ trajectory = { path = "traj.extxyz", every = 500 }
       ╰────
     help: steps between two rows of thermo.csv
    "#);
}

#[test]
fn zero_trajectory() {
    assert_snapshot!(error_after("every = 500", "every = 0"), @r#"
     × `output.trajectory.every` must be at least 1, found 0
       ╭─[melt.toml:51:46]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj.extxyz", every = 0 }
       ·                                              ─
       ╰────
     help: steps between two frames
    "#);
}

#[test]
fn trajectory_elsewhere() {
    assert_snapshot!(error_of_path("../traj.extxyz"), @r#"
     × `output.trajectory.path` must be a plain file name, found "../traj.extxyz"
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "../traj.extxyz", every = 500 }
       ·                       ────────────────
       ╰────
     help: it is put into `output.directory`, e.g. "traj.extxyz"
    "#);
}

#[test]
fn trajectory_without_extension() {
    assert_snapshot!(error_of_path("traj"), @r#"
     × `output.trajectory.path = "traj"` has no extension, which gives the format
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj", every = 500 }
       ·                       ──────
       ╰────
     help: the extension gives the format: `.extxyz[.gz]`, `.lammpstrj[.gz]`, `.nc`, `.xtc`
    "#);
}

#[test]
fn empty_directory() {
    assert_snapshot!(error_after("directory = \"out/lj-melt\"", "directory = \"\""), @r#"
     × `output.directory` is empty
       ╭─[melt.toml:49:13]
    48 │ [output]
    49 │ directory = ""
       ·             ──
    50 │ thermo = { every = 100 }
       ╰────
     help: give the folder of all files, for example "out"
    "#);
}

#[test]
fn no_checkpoint_is_kept() {
    assert_snapshot!(error_after("directory = \"out/lj-melt\"", "directory = \"out/lj-melt\"\ncheckpoint = { every = 1000, keep = 0 }"), @r#"
     × `output.checkpoint.keep` must be at least 1, found 0
       ╭─[melt.toml:50:37]
    49 │ directory = "out/lj-melt"
    50 │ checkpoint = { every = 1000, keep = 0 }
       ·                                     ─
    51 │ thermo = { every = 100 }
       ╰────
     help: number of checkpoints that stay
    "#);
}

#[test]
fn trajectory_extension_unknown() {
    assert_snapshot!(error_of_path("traj.vtu"), @r#"
     × `output.trajectory.path = "traj.vtu"` has an extension that no format has
       ╭─[melt.toml:51:23]
    50 │ thermo = { every = 100 }
    51 │ trajectory = { path = "traj.vtu", every = 500 }
       ·                       ──────────
       ╰────
     help: the extension gives the format: `.extxyz[.gz]`, `.lammpstrj[.gz]`, `.nc`, `.xtc`
    "#);
}
