//! `md-cli analyse`: steps and times of frames in files of other programs, and incomplete files of
//! killed jobs.

use std::fs;

use crate::analysis::{Columns, assert_near};
use crate::support::{Start, Workdir, data};

const SCENARIO: &str = "[simulation]\nsteps = 10\ntimestep = 0.005\n\
                        [system]\nlattice = { kind = \"sc\", density = 1.0, cells = [1, 1, 1] }\n\
                        [output]\nmsd = { every = 1, origins = 1, centre_of_mass = \"kept\" }\n";

/// Returns the frame of two particles in a box of 10. One of them moves by 0.5 from frame to frame.
fn extxyz(entries: &str, number: usize) -> String {
    let x = (9.0 + 0.5 * number as f64).rem_euclid(10.0);
    format!(
        "2\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3 {entries}\nA {x:?} 2.0 2.0\nA 5.0 5.0 5.0\n"
    )
}

fn dump(step: usize, time: &str, number: usize) -> String {
    let x = (9.0 + 0.5 * number as f64).rem_euclid(10.0);
    format!(
        "ITEM: TIMESTEP\n{step}\n{time}ITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\n\
         ITEM: ATOMS id type x y z\n2 1 5.0 5.0 5.0\n1 1 {x:?} 2.0 2.0\n"
    )
}

/// Returns the expected mean over two particles for `frames` frames.
fn expected(frames: usize) -> Vec<f64> {
    (0..frames).map(|lag| (0.5 * lag as f64).powi(2) / 2.0).collect()
}

fn text_of(said: &str) -> String {
    said.replace("\n       ", " ").replace("\n      ", " ")
}

/// Times and velocities are read from the file, in every version of the format. A run that starts
/// from the file uses them.
#[test]
fn amber_files_have_their_times_and_velocities() {
    let keys = "vacf = { every = 1, length = 0.02, origins = 1 }\nrdf = { every = 1, bins = 5 }\n";
    let workdir = Workdir::new(&(SCENARIO.to_owned() + keys));
    for name in ["scaled.nc", "scaled-64bit-data.nc"] {
        fs::copy(data("amber").join(name), workdir.path(name)).unwrap();
        let said =
            workdir.succeed(Start::Plain, &format!("analyse {name} --scenario melt.toml --output found"));
        let expected_text = "note: `output.msd.every` is 1, but the frames that it can take are 20 steps apart: it takes these\n\
                             note: `output.vacf.every` is 1, but the frames that it can take are 20 steps apart: it takes these\n\
                             note: `output.vacf.length` is 0.02, less than the time 0.1 between two such frames: this time is taken\n\
                             note: the file has lengths in `angstrom`, times in `picosecond`, which are taken as the reduced units\n\
                             note: the file has no types: all particles are of species `A`\n\
                             note: the trajectory has neither image counts nor unwrapped positions along x, y, z: `output.msd` holds if no \
                             particle moves by more than half of the box between two frames\n";
        assert_eq!(text_of(&said.stderr), expected_text, "{name}");
        let msd = Columns::read(&workdir, "found/msd.csv");
        let times: Vec<f64> = (0..11).map(|frame| 0.1 * f64::from(frame)).collect();
        assert_near(&msd.of("time"), &times, 1e-12, name);
        // 0.234375 t^2
        let squares: Vec<f64> = times.iter().map(|time| 0.234_375 * time * time).collect();
        assert_near(&msd.of("msd_A"), &squares, 1e-6, name);
        let vacf = Columns::read(&workdir, "found/vacf.csv");
        assert_near(&vacf.of("time"), &[0.0, 0.1], 1e-12, name);
        assert_near(&vacf.of("vacf_A"), &[0.234_375; 2], 1e-7, name);
        let told = workdir.succeed(Start::Plain, &format!("inspect {name}")).stdout;
        assert!(told.contains("last time     1.0\n"), "{told}");
        assert!(told.contains("units         lengths in `angstrom`, times in `picosecond`\n"), "{told}");
        let run = format!(
            "[simulation]\nsteps = 1\ntimestep = 0.005\n[system]\nfile = {{ path = {name:?}, format = \"netcdf\" }}\n\
             [interaction]\ncutoff = 2.5\n"
        );
        workdir.write("run.toml", &run);
        workdir.succeed(Start::Threads(2), "run run.toml --quiet --output out");
        let kinetic = Columns::read(&workdir, "out/thermo.csv").of("kinetic_per_atom");
        assert_near(&kinetic[..1], &[0.5 * 0.234_375], 1e-7, name);
    }
}

/// The step is that of the frame, otherwise its time divided by the time step, otherwise the value
/// that the user gives, and never the number of the frame.
#[test]
fn steps_come_from_steps_times_or_the_user() {
    let workdir = Workdir::new(SCENARIO);
    let frames = |entries: &dyn Fn(usize) -> String| -> String {
        (0..6).map(|number| extxyz(&entries(number), number)).collect()
    };
    let steps: Vec<f64> = (0..6).map(|number| 0.25 * f64::from(number)).collect();
    let late = |number: usize| format!("time={}", 0.05 + 0.25 * number as f64);
    for (entries, options) in [
        (&(|number: usize| format!("Step={}", 50 * number)) as &dyn Fn(usize) -> String, ""),
        (&|number: usize| format!("Time={}", 0.25 * number as f64), ""),
        // Their steps are not multiples of the interval of 50.
        (&late, ""),
        (&|_| String::new(), " --frame-steps 50"),
        (&|number: usize| format!("Step={number} Time={}", 0.25 * number as f64), " --frame-steps 50"),
    ] {
        workdir.write("t.extxyz", &frames(entries));
        workdir
            .succeed(Start::Plain, &format!("analyse t.extxyz --scenario melt.toml --output found{options}"));
        let msd = Columns::read(&workdir, "found/msd.csv");
        assert_near(&msd.of("time"), &steps, 1e-12, &entries(1));
        assert_near(&msd.of("msd_A"), &expected(6), 1e-12, &entries(1));
    }
    for (text, expected) in [
        (
            frames(&|_| String::new()),
            "t.extxyz, frame 2: it says neither its step nor its time: give the steps between two frames by --frame-steps N",
        ),
        (
            frames(&|number| format!("Time={}", 0.2512 * number as f64)),
            "t.extxyz, frame 2: it has no step, and its time 0.2512 is 50.240 time steps of 0.005, which is no whole number from 0: \
             set `simulation.timestep` to that of the run which wrote it, or give the steps between two frames by --frame-steps N",
        ),
        (
            frames(&|number| format!("Step={number} Time={}", 0.25 * number as f64)),
            "t.extxyz, frame 2: its step is 1 and its time 0.25, but from step 0 (time 0.0) time steps of 0.005 lead to time 0.005: set \
             `simulation.timestep` to that of the run which wrote it (here 0.25), or give the steps between two frames by \
             --frame-steps N",
        ),
        (
            frames(&|number| format!("Step={}", number * number)),
            "t.extxyz, frame 3: the frames of `output.msd` are 1 steps apart, but before step 4 the last one is that of step 1: try \
             --set output.msd.every=3, or another `start`",
        ),
    ] {
        workdir.write("t.extxyz", &text);
        let said = workdir.call(Start::Plain, "analyse t.extxyz --scenario melt.toml --output refused");
        assert!(said.code == Some(2) && text_of(&said.stderr).contains(expected), "{said:?}");
    }
    let timed: String = (0..6)
        .map(|number| dump(50 * number, &format!("ITEM: TIME\n{}\n", 0.5 * number as f64), number))
        .collect();
    workdir.write("t.lammpstrj", &timed);
    let call = "analyse t.lammpstrj --scenario melt.toml --output found";
    let said = workdir.call(Start::Plain, call);
    let expected_text = "its step is 50 and its time 0.5, but from step 0 (time 0.0) time steps of 0.005 lead to time 0.25: set \
                         `simulation.timestep` to that of the run which wrote it (here 0.01)";
    assert!(text_of(&said.stderr).contains(expected_text), "{said:?}");
    workdir.succeed(Start::Plain, &format!("{call} --set simulation.timestep=0.01"));
    let times: Vec<f64> = (0..6).map(|number| 0.5 * f64::from(number)).collect();
    assert_near(&Columns::read(&workdir, "found/msd.csv").of("time"), &times, 1e-12, "ITEM: TIME");
    assert!(workdir.succeed(Start::Plain, "inspect t.lammpstrj").stdout.contains("last time     2.5\n"));
}

/// An incomplete last frame, and frames that a restart repeated, are skipped with a note, and
/// refused with `--strict`.
#[test]
fn what_a_killed_job_leaves_is_passed_over() {
    let workdir = Workdir::new(SCENARIO);
    let xyz = |number: usize| extxyz(&format!("Step={}", 50 * number), number);
    let plain = |number: usize| dump(50 * number, "", number);
    let formats: [(&str, &dyn Fn(usize) -> String); 2] = [("t.extxyz", &xyz), ("t.lammpstrj", &plain)];
    for (name, frame) in formats {
        let whole: String = (0..4).map(frame).collect();
        let last = frame(4);
        let cuts = [last.len() - 1, last.len() - 12, last.find('\n').unwrap() + 1, last.len() / 2];
        for end in cuts {
            workdir.write(name, &format!("{whole}{}", &last[..end]));
            let call = format!("analyse {name} --scenario melt.toml --output found");
            let said = workdir.succeed(Start::Plain, &call);
            let text = text_of(&said.stderr);
            let is_told = text.contains(&format!("note: {name}, frame 5:"))
                && text.contains("; the frame is passed over\n");
            assert!(is_told, "{end}: {text}");
            assert_near(&Columns::read(&workdir, "found/msd.csv").of("msd_A"), &expected(4), 1e-12, name);
            let said = workdir.call(Start::Plain, &format!("{call} --strict"));
            assert!(said.code == Some(2) && said.stderr.contains(&format!("{name}, frame 5:")), "{said:?}");
        }
        let again: String = (2..7).map(frame).collect();
        workdir.write(name, &format!("{whole}{again}"));
        let call = format!("analyse {name} --scenario melt.toml --output found");
        let said = workdir.succeed(Start::Plain, &call);
        let told = format!(
            "note: {name}: 2 frames of steps 100 to 150 passed over: frames of these or later steps come before, as a restart leaves them\n"
        );
        assert!(text_of(&said.stderr).ends_with(&told), "{said:?}");
        assert_near(&Columns::read(&workdir, "found/msd.csv").of("msd_A"), &expected(7), 1e-12, name);
        let said = workdir.call(Start::Plain, &format!("{call} --strict"));
        let refused = format!("{name}, frame 5: its step is 100, but that of the frame before is 150");
        assert!(said.code == Some(2) && text_of(&said.stderr).contains(&refused), "{said:?}");
        // Steps begin anew, or go back.
        for (numbers, step, last) in [([6, 7, 2], 100, 350), ([4, 5, 3], 150, 250)] {
            workdir.write(name, &numbers.map(frame).concat());
            let said = workdir.call(Start::Plain, &call);
            let refused = format!(
                "{name}, frame 3: its step is {step}, after step {last} and before that of the first frame: the file \
                 holds several runs, which must be analysed one by one"
            );
            assert!(said.code == Some(2) && text_of(&said.stderr).contains(&refused), "{said:?}");
        }
        // Frames of another run follow.
        let other: String =
            (2..7).map(|number| frame(number).replace("5.0 5.0 5.0", "5.0 5.5 5.0")).collect();
        workdir.write(name, &format!("{whole}{other}"));
        let said = workdir.succeed(Start::Plain, &call);
        let told = "; positions of step 150 differ by up to 5e-1: results join two runs there\n";
        assert!(text_of(&said.stderr).ends_with(told), "{said:?}");
    }
}

/// Binary files: whole frames are read, also by a run that requests one of them.
#[test]
fn so_is_a_cut_frame_of_binary_files() {
    let workdir = Workdir::new(SCENARIO);
    let run = "[simulation]\nsteps = 40\ntimestep = 0.005\n[system]\n\
               lattice = { kind = \"fcc\", density = 0.8442, cells = [3, 3, 3] }\ntemperature = 1.0\n\
               [interaction]\ncutoff = 1.5\n[output]\ntrajectory = { path = \"traj.nc\", every = 10 }\n";
    workdir.write("run.toml", run);
    for (name, cut, of_first) in [
        ("traj.nc", "variable `velocities` ends at byte", "netcdf"),
        ("traj.xtc", "frame 5 ends at byte", "xtc"),
    ] {
        workdir.succeed(
            Start::Threads(1),
            &format!("run run.toml --quiet --output out --set output.trajectory.path={name}"),
        );
        let file = workdir.path(&format!("out/{name}"));
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
        let call = format!("analyse out/{name} --scenario melt.toml --output found");
        let text = text_of(&workdir.succeed(Start::Plain, &call).stderr);
        assert!(
            text.contains(cut)
                && text.contains("`system.file.frame = 4` is the last whole one; the frame is passed over"),
            "{text}"
        );
        assert_eq!(Columns::read(&workdir, "found/msd.csv").rows.len(), 4);
        let said = workdir.call(Start::Plain, &format!("{call} --strict"));
        assert!(said.code == Some(2) && text_of(&said.stderr).contains(cut), "{said:?}");
        let start = |frame: &str| {
            format!(
                "[simulation]\nsteps = 1\ntimestep = 0.005\n[system]\ntemperature = 1.0\n\
                 file = {{ path = \"out/{name}\", format = \"{of_first}\"{frame} }}\n[interaction]\ncutoff = 1.5\n"
            )
        };
        workdir.write("last.toml", &start(""));
        let said = workdir.call(Start::Threads(2), "run last.toml --quiet --output again");
        assert!(said.code == Some(2) && text_of(&said.stderr).contains(cut), "{said:?}");
        workdir.write("whole.toml", &start(", frame = 4"));
        workdir.succeed(Start::Threads(2), "run whole.toml --quiet --output again");
    }
}
