//! Commands, keys and values that a later version brings: known, refused, exit code 2.

use crate::support::{MELT, Start, Workdir, error};
use insta::assert_snapshot;

#[test]
fn formats_not_available_yet() {
    let workdir = Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.vtu\", every = 10 }}\n"));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Plain), @r#"
    exit code 2
    error: × `output.trajectory.path = "traj.vtu"` is not available yet
        ╭─[melt.toml:11:23]
     10 │ thermo = { every = 7 }
     11 │ trajectory = { path = "traj.vtu", every = 10 }
        ·                       ─────┬────
        ·                            ╰── not available yet
        ╰────
      help: the extension gives the format: `.extxyz[.gz]`, `.lammpstrj[.gz]`, `.nc`, `.xtc`
    "#);
}
