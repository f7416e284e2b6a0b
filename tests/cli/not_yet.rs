//! Commands, keys and values that a later version brings: known, refused, exit code 2.

use crate::support::{MELT, Start, Workdir, error, error_everywhere, starts};
use insta::assert_snapshot;

#[test]
fn tables_and_formats_not_available_yet() {
    let workdir = Workdir::new(&format!("{MELT}checkpoint = {{ every = 10, keep = 2 }}\n"));
    assert_snapshot!(error(&workdir, "run melt.toml", Start::Plain), @r"
    exit code 2
    error: × `output.checkpoint` is not available yet
        ╭─[melt.toml:11:1]
     10 │ thermo = { every = 7 }
     11 │ checkpoint = { every = 10, keep = 2 }
        · ──────────
        ╰────
      help: leave the key out: a run cannot be resumed yet
    ");
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
      help: the extension gives the format; available: `.extxyz`
    "#);
}

#[test]
fn options_not_available_yet() {
    let workdir = Workdir::new(MELT);
    let resume = "exit code 2\nerror: `--resume` is not available yet\n";
    assert_eq!(error_everywhere(&workdir, "run melt.toml --resume state.bin", &starts()), resume);
}
