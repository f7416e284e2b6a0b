//! Outputs that cannot be written, before the run and in the middle of it. Earlier output remains
//! readable.

use crate::support::{MELT, Said, Start, Workdir, error, error_everywhere, p2p_available, starts};
use insta::assert_snapshot;

#[test]
fn a_file_where_the_directory_should_be() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml --output melt.toml", &starts()), @r"
    exit code 2
    error: cannot create the output directory `melt.toml`: File exists (os error 17)
    a file stands where a directory is needed: move it, or choose another directory with --output DIR
    ");
    assert_eq!(workdir.read("melt.toml"), MELT);
}

#[test]
fn a_directory_below_a_file() {
    let workdir = Workdir::new(&MELT.replace("[output]", "[output]\ndirectory = \"melt.toml/a/b\""));
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: cannot create the output directory `melt.toml/a/b`: Not a directory (os error 20)
    a file stands where a directory is needed: move it, or choose another directory with --output DIR
    ");
    assert_snapshot!(error(&workdir, "forces melt.toml", Start::Threads(1)), @r"
    exit code 2
    error: cannot create the output directory `melt.toml/a/b`: Not a directory (os error 20)
    a file stands where a directory is needed: move it, or choose another directory with --output DIR
    ");
}

#[test]
fn a_directory_where_a_file_should_be() {
    let workdir = Workdir::new(MELT);
    std::fs::create_dir_all(workdir.path("out/thermo.csv/x")).unwrap();
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &starts()), @r"
    exit code 2
    error: cannot remove the old file `out/thermo.csv`: Is a directory (os error 21)
    a directory stands where a file is needed: move it, or choose another directory with --output DIR
    ");
}

#[test]
fn a_place_where_nobody_can_write() {
    let workdir = Workdir::new(MELT);
    assert_snapshot!(error(&workdir, "run melt.toml --output /proc/md-cli", Start::Threads(1)), @r"
    exit code 2
    error: cannot create the output directory `/proc/md-cli`: No such file or directory (os error 2)
    choose a directory you may write to with --output DIR, or set output.directory in the scenario
    ");
}

#[test]
fn the_trajectory_must_not_replace_the_particle_file() {
    let scenario = MELT.replace(
        "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }",
        "file = { path = \"out/traj.extxyz\", format = \"extxyz\" }",
    );
    let workdir = Workdir::new(&format!("{scenario}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"));
    std::fs::create_dir(workdir.path("out")).unwrap();
    let start =
        "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1.0 1.0 1.0\nA 5.0 5.0 5.0\n";
    workdir.write("out/traj.extxyz", start);
    assert_snapshot!(error_everywhere(&workdir, "run melt.toml", &[Start::Threads(1)]), @r"
    exit code 2
    error: `out/traj.extxyz` is an input of this run and would be overwritten
    choose another output directory with --output DIR
    ");
    assert_eq!(workdir.read("out/traj.extxyz"), start);
}

/// A limit on the size of files has room for the first row of thermo.csv, but not for the first
/// frame.
#[test]
fn full_disk_at_the_first_frame() {
    for ranks in [1, 3] {
        let workdir = Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"));
        let limited = format!(
            "ulimit -f 2; exec \"$md\" run melt.toml --quiet \
             --set parallel.backend=local --set parallel.ranks={ranks}"
        );
        let said = Said::of(workdir.shell(&limited));
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
        let text = "error: rank 0: cannot write `out/traj.extxyz`: File too large (os error 27); nothing of it was written\n";
        assert_eq!(said.stderr, text);
        let thermo = workdir.read("out/thermo.csv");
        assert_eq!(thermo.lines().count(), 2, "{thermo}");
        assert!(thermo.ends_with('\n'));
    }
}

/// A limit on the size of files stops thermo.csv in the middle of a row. The incomplete row is
/// removed.
#[test]
fn no_more_space_in_mid_run() {
    for ranks in [1, 3] {
        let workdir = Workdir::new(&MELT.replace("every = 7", "every = 1"));
        let limited = format!(
            "ulimit -f 4; exec \"$md\" run melt.toml --quiet \
             --set parallel.backend=local --set parallel.ranks={ranks}"
        );
        let said = Said::of(workdir.shell(&limited));
        assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
        let thermo = workdir.read("out/thermo.csv");
        let rows: Vec<&str> = thermo.lines().skip(1).collect();
        assert!(thermo.ends_with('\n') && rows.len() > 3, "{thermo}");
        assert!(rows.iter().all(|row| row.split(',').count() == 19), "{thermo}");
        let expected = format!(
            "error: rank 0: cannot write `out/thermo.csv`: File too large (os error 27); \
             what it holds up to step {} is intact and readable\n",
            rows.len() - 1
        );
        assert_eq!(said.stderr, expected);
        assert_eq!(workdir.files("out"), ["scenario.toml", "thermo.csv"]);
    }
}

/// The same failure for a trajectory, under MPI: the other ranks end with the rank that writes. The
/// limit leaves room for the shared memory of the MPI library.
#[test]
fn no_more_space_in_mid_run_under_mpirun() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(&format!(
        "{}trajectory = {{ path = \"traj.extxyz\", every = 1 }}\n",
        MELT.replace("steps = 20", "steps = 100000")
    ));
    let limited = "ulimit -f 8192; exec \"$md\" run melt.toml --quiet --set parallel.backend=p2p";
    let mut command = workdir.under_mpirun(2, "bash".as_ref());
    command.args(["-c", limited]).env("md", crate::support::md_cli());
    let said = Said::of(command);
    assert_eq!(said.code, Some(1), "{said:?}");
    let trajectory = workdir.read("out/traj.extxyz");
    let lines_per_frame = 600 + 2;
    assert!(trajectory.ends_with('\n'));
    let frames = trajectory.lines().count() / lines_per_frame;
    assert_eq!(trajectory.lines().count(), frames * lines_per_frame, "whole frames");
    let expected = format!(
        "error: rank 0: cannot write `out/traj.extxyz`: File too large (os error 27); \
         what it holds up to step {} is intact and readable\n",
        frames - 1
    );
    assert_eq!(said.stderr, expected);
}

/// Output that cannot be written is an error, even if the files contain the results. The files are
/// complete.
#[test]
fn standard_output_on_a_full_disk() {
    let workdir = Workdir::new(MELT);
    let local = "--set parallel.backend=local";
    for command in ["schema", "check melt.toml", "backends", "--help", "run --help", "--version"] {
        let said = Said::of(workdir.shell(&format!("\"$md\" {command} > /dev/full")));
        let text = "cannot write `standard output`: No space left on device (os error 28); nothing of it was written";
        assert_eq!(said.code, Some(1), "{command}: {said:?}");
        let rank = if command == "backends" && cfg!(feature = "mpi") { "rank 0: " } else { "" };
        assert_eq!(said.stderr, format!("error: {rank}{text}\n"));
    }
    for (command, written) in [
        ("run melt.toml", "summary.json"),
        ("forces melt.toml", "forces.csv"),
        ("compare melt.toml --repeat 1 --steps 1", "compare.csv"),
    ] {
        let said = Said::of(workdir.shell(&format!("\"$md\" {command} {local} > /dev/full")));
        let text = "error: rank 0: cannot write `standard output`: No space left on device (os error 28); all files are complete\n";
        assert_eq!((said.code, said.stderr.as_str()), (Some(1), text), "{command}");
        assert!(workdir.path("out").join(written).exists(), "{command}");
    }
}

#[test]
fn standard_output_closed_early() {
    let workdir = Workdir::new(&MELT.replace("every = 7", "every = 1").replace("steps = 20", "steps = 300"));
    let script = "\"$md\" run melt.toml --set parallel.backend=local | head -1; echo ${PIPESTATUS[0]}";
    let said = Said::of(workdir.shell(script));
    assert_eq!(
        said.stdout.split_whitespace().collect::<Vec<_>>(),
        ["Step", "Temp", "PotEng", "KinEng", "TotEng", "Press", "0"]
    );
    assert_eq!(said.stderr, "");
    assert_eq!(workdir.read("out/thermo.csv").lines().count(), 302, "the run goes on");
    for command in ["schema", "check melt.toml", "backends", "--help"] {
        let said = Said::of(workdir.shell(&format!("\"$md\" {command} | head -0; echo ${{PIPESTATUS[0]}}")));
        assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("0\n", ""), "{command}");
    }
}
