//! Trajectories in all formats contain the same numbers, and every column contains the documented
//! values.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::Read;

use crate::support::{MELT, Start, Workdir, error, repository, starts, text_of};
use flate2::read::MultiGzDecoder;

/// Returns [`MELT`] with two species in a box in which particles cross faces, and with a trajectory
/// at the end of `[output]`.
fn mixture(trajectory: &str) -> Workdir {
    let species = "[[species]]\nname = \"A\"\nfraction = 0.75\n\n[[species]]\nname = \"Bee\"\nmass = 2.0\nsigma = 0.9\n\n";
    let text = MELT.replace("[output]", &format!("{species}[output]"));
    Workdir::new(&format!("{text}trajectory = {{ path = \"traj.extxyz\", every = 10, {trajectory} }}\n"))
}

const ALL: &str = "columns = [\"velocity\", \"mass\", \"images\", \"force\", \"energy\"]";

/// Returns the text of a trajectory, which may be compressed.
fn text(workdir: &Workdir, name: &str) -> String {
    let bytes = fs::read(workdir.path(name)).unwrap();
    let mut text = String::new();
    if name.ends_with(".gz") {
        MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    text
}

/// Returns the frames of extended XYZ as numbers: id, type, then the columns from `first` on, with
/// positions before them.
fn extxyz(text: &str) -> Vec<Vec<Vec<f64>>> {
    let lines: Vec<&str> = text.lines().collect();
    let frames = lines.chunks(602);
    let row = |line: &&str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let order = [4, 5].into_iter().chain(1..4).chain(7..fields.len());
        order.map(|column| fields[column].parse().unwrap()).collect()
    };
    frames.map(|frame| frame[2..].iter().map(row).collect()).collect()
}

/// Returns the frames of a LAMMPS dump as numbers.
fn lammpstrj(text: &str) -> Vec<Vec<Vec<f64>>> {
    let lines: Vec<&str> = text.lines().collect();
    let row = |line: &&str| line.split(' ').map(|field| field.parse().unwrap()).collect();
    lines.chunks(609).map(|frame| frame[9..].iter().map(row).collect()).collect()
}

#[test]
fn all_formats_hold_the_same_numbers() {
    let workdir = mixture(ALL);
    for start in starts() {
        let frames = |path: &str| {
            workdir.succeed(start, &format!("run melt.toml --quiet --set output.trajectory.path={path}"));
            text(&workdir, &format!("out/{path}"))
        };
        let expected = frames("traj.extxyz");
        assert_eq!(frames("traj.extxyz.gz"), expected);
        let dump = frames("traj.lammpstrj");
        assert_eq!(frames("traj.lammpstrj.gz"), dump);
        assert_eq!(
            workdir.files("out").iter().filter(|name| name.starts_with("traj.")).count(),
            1,
            "others are removed"
        );
        let (expected, dump) = (extxyz(&expected), lammpstrj(&dump));
        assert_eq!((expected.len(), expected[0].len(), expected[0][0].len()), (3, 600, 16));
        assert_eq!(expected, dump);
    }
}

#[test]
fn columns_are_what_they_say() {
    let workdir = mixture(ALL);
    for start in starts() {
        for shell in ["full", "half", "eighth"] {
            let more = format!("--quiet --set parallel.shell={shell} --set output.thermo.every=10");
            workdir.succeed(start, &format!("run melt.toml {more}"));
            let wrapped = extxyz(&text(&workdir, "out/traj.extxyz"));
            let thermo = workdir.read("out/thermo.csv");
            for (frame, row) in wrapped.iter().zip(thermo.lines().skip(1)) {
                let potential: f64 = row.split(',').nth(3).unwrap().parse().unwrap();
                let energy = frame.iter().map(|row| row[15]).sum::<f64>() / 600.0;
                assert!((energy / potential - 1.0).abs() < 1e-12, "{energy} {potential}");
                let kinetic: f64 = row.split(',').nth(4).unwrap().parse().unwrap();
                let twice = |row: &Vec<f64>| row[8] * (row[5] * row[5] + row[6] * row[6] + row[7] * row[7]);
                let own = frame.iter().map(twice).sum::<f64>() / 1200.0;
                assert!((own / kinetic - 1.0).abs() < 1e-12, "{own} {kinetic}");
            }
            workdir.succeed(start, "forces melt.toml --quiet --output forces");
            for (row, forces) in wrapped[0].iter().zip(workdir.read("forces/forces.csv").lines().skip(1)) {
                let forces: Vec<f64> = forces.split(',').map(|field| field.parse().unwrap()).collect();
                assert_eq!(row[..5], forces[..5], "id, type, position");
                let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
                assert!(row[12..15].iter().zip(&forces[5..]).all(agree), "{row:?} {forces:?}");
            }
        }
    }
}

/// The unwrapped position of a particle follows from its image counts and the box.
#[test]
fn unwrapped_positions_are_whole_boxes_away() {
    let workdir = mixture("columns = [\"images\"]");
    let lengths: Vec<f64> = [6.0, 5.0, 5.0].map(|cells| cells * (4.0_f64 / 0.8442).cbrt()).to_vec();
    let run = |positions: &str| {
        workdir.succeed(
            Start::Threads(2),
            &format!("run melt.toml --quiet --steps 200 --set output.trajectory.every=200 --set output.trajectory.positions={positions}"),
        );
        extxyz(&text(&workdir, "out/traj.extxyz"))
    };
    let (wrapped, unwrapped) = (run("wrapped"), run("unwrapped"));
    let mut crossed = 0;
    for (inside, outside) in wrapped[1].iter().zip(&unwrapped[1]) {
        for dim in 0..3 {
            assert!((0.0..lengths[dim] * (1.0 + 1e-12)).contains(&inside[2 + dim]), "{inside:?}");
            let away = outside[2 + dim] - inside[2 + dim];
            assert!((away - inside[5 + dim] * lengths[dim]).abs() < 1e-9, "{inside:?} {outside:?}");
            crossed += usize::from(inside[5 + dim] != 0.0);
        }
    }
    assert!(crossed > 10, "{crossed}");
}

#[test]
fn columns_that_a_format_does_not_have() {
    let workdir = mixture("columns = [\"force\", \"momentum\"]");
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet");
    for (path, expected) in [
        ("traj.lammpstrj", "a trajectory `.lammpstrj` has no column `momentum`"),
        ("traj.xtc", "a trajectory `.xtc` has no column `force`"),
    ] {
        let said =
            error(&workdir, &format!("run melt.toml --set output.trajectory.path={path}"), Start::Threads(1));
        assert!(said.starts_with("exit code 2\n") && said.contains(expected), "{said}");
    }
    let call = "run melt.toml --set output.trajectory.precision=\"double\"";
    let said = error(&workdir, call, Start::Threads(1));
    assert!(said.contains("the precision of a trajectory `.extxyz` cannot be chosen"), "{said}");
}

/// A run starts from any frame of any format as from the same frame of extended XYZ. With several
/// ranks, each reads a part.
#[test]
fn runs_start_from_every_format() {
    let workdir = mixture("columns = [\"velocity\", \"mass\"]");
    let formats = [
        ("traj.extxyz", "extxyz", ""),
        ("traj.extxyz.gz", "extxyz", ""),
        ("traj.lammpstrj", "lammpstrj", ""),
        ("traj.lammpstrj.gz", "lammpstrj", ""),
        ("traj.nc", "netcdf", "--set output.trajectory.precision=\"double\""),
    ];
    let lattice = "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }\ntemperature = 1.44";
    let scenario = workdir.read("melt.toml").replace("fraction = 0.75\n", "").replace("mass = 2.0\n", "");
    for (path, format, more) in formats {
        workdir.succeed(
            Start::Threads(2),
            &format!("run melt.toml --quiet --output {format} --set output.trajectory.path={path} {more}"),
        );
        let file = format!("file = {{ path = \"{format}/{path}\", format = \"{format}\", frame = 2 }}");
        workdir.write("again.toml", &scenario.replace(lattice, &file));
        for start in starts() {
            let said = workdir.succeed(start, "forces again.toml --output again");
            let note = "note: the particles are those of frame 2 of 3";
            assert!(said.stderr.starts_with(note), "{path}: {}", said.stderr);
            let found = workdir.read("again/forces.csv");
            if path == "traj.extxyz" && start == starts()[0] {
                workdir.write("expected.csv", &found);
            }
            let positions = |text: &str| -> Vec<String> {
                text.lines().map(|line| line.split(',').take(5).collect::<Vec<_>>().join(",")).collect()
            };
            assert_eq!(positions(&found), positions(&workdir.read("expected.csv")), "{path}");
        }
        workdir.succeed(
            Start::Threads(1),
            "run again.toml --quiet --output again --set output.trajectory.path=again.extxyz",
        );
        let thermo = workdir.read("again/thermo.csv");
        if path == "traj.extxyz" {
            workdir.write("expected-thermo.csv", &thermo);
        }
        assert_eq!(thermo, workdir.read("expected-thermo.csv"), "{path}: velocities and masses too");
        let shown = workdir.succeed(Start::Plain, &format!("inspect {format}/{path}")).stdout;
        assert!(shown.contains("frames        3\nparticles     600\nlast step     20\n"), "{shown}");
    }
}

/// If the end of a compressed trajectory is missing, the complete frames can be requested by
/// number. No frame is used as the last one.
#[test]
fn whole_frames_of_a_cut_gz_can_be_read() {
    let workdir = mixture("columns = [\"velocity\", \"mass\"]");
    let lattice = "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }\ntemperature = 1.44";
    let scenario = workdir.read("melt.toml").replace("fraction = 0.75\n", "").replace("mass = 2.0\n", "");
    for format in ["extxyz", "lammpstrj"] {
        let path = format!("traj.{format}.gz");
        workdir.succeed(
            Start::Threads(2),
            &format!("run melt.toml --quiet --set output.trajectory.path={path}"),
        );
        let whole = fs::read(workdir.path(&format!("out/{path}"))).unwrap();
        let forces = |path: &str, frame: &str, start: Start| {
            let file = format!("file = {{ path = \"{path}\", format = \"{format}\"{frame} }}");
            workdir.write("again.toml", &scenario.replace(lattice, &file));
            let said = workdir.call(start, "forces again.toml --quiet --output again");
            (said.code, said.stderr, workdir.read("again/forces.csv"))
        };
        // In the third frame, and in the end of the file after it.
        for (cut, last) in [(whole.len() / 7, 2), (10, 3)] {
            fs::write(workdir.path("cut.gz"), &whole[..whole.len() - cut]).unwrap();
            for start in starts() {
                for frame in 1..=last {
                    let asked = format!(", frame = {frame}");
                    let expected = forces(&format!("out/{path}"), &asked, start);
                    assert!(forces("cut.gz", &asked, start) == expected, "{format} {frame}");
                }
                let (code, said, _) = forces("cut.gz", "", start);
                let reason = format!(
                    "it is compressed by gzip, and cut; `system.file.frame = {last}` is the last whole one"
                );
                assert_eq!((code, said), (Some(2), format!("error: cut.gz: {reason}\n")));
            }
            let (code, said, _) = forces("cut.gz", ", frame = 3", Start::Threads(2));
            assert_eq!(
                (code == Some(2), said.contains("the file ends within frame 3")),
                (last == 2, last == 2)
            );
            workdir.write(&format!("cut.{format}.gz"), "");
            fs::copy(workdir.path("cut.gz"), workdir.path(&format!("cut.{format}.gz"))).unwrap();
            let said = workdir.call(Start::Plain, &format!("inspect cut.{format}.gz"));
            assert!(said.stderr.contains(&format!("frame = {last}` is the last whole one")), "{said:?}");
        }
    }
}

/// Ranks write their parts of the same file, and its bytes do not depend on the number of ranks.
#[test]
fn netcdf_is_the_same_on_any_ranks() {
    let workdir = mixture(ALL);
    let run = |start: Start, output: &str| {
        let call = "run melt.toml --quiet --steps 1 --set output.trajectory.path=traj.nc --set output.trajectory.precision=\"double\"";
        workdir.succeed(
            start,
            &format!(
                "{call} --output {output} --set output.trajectory.columns=[\"velocity\",\"images\",\"mass\"]"
            ),
        );
        fs::read(workdir.path(&format!("{output}/traj.nc"))).unwrap()
    };
    let expected = run(Start::Threads(1), "alone");
    for start in starts() {
        assert!(run(start, "together") == expected, "{start:?}");
    }
}

#[test]
fn xtc_is_inspected() {
    let workdir = mixture("columns = []");
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --set output.trajectory.path=traj.xtc");
    let shown = workdir.succeed(Start::Plain, "inspect out/traj.xtc").stdout;
    assert!(
        shown.contains(
            "format        XTC\nframes        3\nparticles     600\nlast step     20\nlast time     0.1\n"
        ),
        "{shown}"
    );
    let bytes = fs::read(workdir.path("out/traj.xtc")).unwrap();
    fs::write(workdir.path("cut.xtc"), &bytes[..bytes.len() - 4]).unwrap();
    let fault = |call: &str| {
        let said = workdir.call(Start::Plain, call);
        assert_eq!(said.code, Some(2), "{said:?}");
        said.stderr
    };
    let said = fault("inspect cut.xtc");
    let end = bytes.len();
    assert_eq!(
        said,
        format!(
            "error: cut.xtc: it is cut: it has {} bytes, but frame 3 ends at byte {end}; `system.file.frame = 2` is the last whole one\n",
            end - 4
        )
    );
    fs::write(workdir.path("other.xtc"), [7; 100]).unwrap();
    assert_eq!(
        fault("inspect other.xtc"),
        "error: other.xtc: frame 1 (byte 0) does not begin with a magic number of XTC, but with 117901063\n"
    );
}

/// Runs the commands of the guide's page, in order, in a separate folder.
#[test]
fn the_guide_is_run() {
    let page = text_of(&repository("docs/guide/ovito.md"));
    let workdir = Workdir::new(MELT);
    fs::create_dir(workdir.path("configs")).unwrap();
    workdir.write("configs/quickstart.toml", &text_of(&repository("configs/quickstart.toml")));
    let calls: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("md-cli ")).collect();
    assert!(calls.len() >= 2, "{calls:?}");
    for call in calls {
        let shorter = if call.starts_with("run ") { " --steps 100 --quiet" } else { "" };
        let said = workdir.succeed(Start::Plain, &format!("{call}{shorter}"));
        if call.starts_with("inspect ") {
            assert!(said.stdout.contains("frames        2\nparticles     4000\n"), "{}", said.stdout);
        }
    }
}

/// The positions agree with those of the same frame of extended XYZ, to the digits of XTC, on any
/// ranks. Velocities must come from elsewhere.
#[test]
fn runs_start_from_xtc() {
    let workdir = Workdir::new(&format!("{MELT}trajectory = {{ path = \"traj.extxyz\", every = 10 }}\n"));
    for path in ["traj.extxyz", "traj.xtc"] {
        let call = format!("run melt.toml --quiet --output {path} --set output.trajectory.path={path}");
        workdir.succeed(Start::Threads(2), &call);
    }
    let lattice = "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }\ntemperature = 1.44";
    let places = |format: &str, start| -> Vec<[f64; 3]> {
        let file = format!(
            "file = {{ path = \"traj.{format}/traj.{format}\", format = \"{format}\", frame = 2 }}\ntemperature = 1.44"
        );
        workdir.write("again.toml", &MELT.replace(lattice, &file));
        workdir.succeed(start, "forces again.toml --output again");
        let row = |line: &str| {
            let numbers: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            [numbers[2], numbers[3], numbers[4]]
        };
        workdir.read("again/forces.csv").lines().skip(1).map(row).collect()
    };
    let expected = places("extxyz", Start::Threads(1));
    for start in starts() {
        let found = places("xtc", start);
        assert_eq!(found.len(), expected.len());
        // A position rounded to a face may lie at the opposite face.
        let is_far = |(a, b): &(&f64, &f64)| (0.501e-3..8.39).contains(&(*a - *b).abs());
        let far = found.iter().flatten().zip(expected.iter().flatten()).find(is_far);
        assert_eq!(far, None, "{start:?}");
    }
    workdir.succeed(Start::Threads(3), "run again.toml --quiet --output again");
    workdir.write("cold.toml", &workdir.read("again.toml").replace("temperature = 1.44", ""));
    for start in starts() {
        let said = error(&workdir, "run cold.toml", start);
        let expected = "exit code 2\nerror: traj.xtc/traj.xtc: `system.temperature` is missing: XTC has no velocities; 0 is for particles at rest\n";
        assert_eq!(said, expected);
    }
}
