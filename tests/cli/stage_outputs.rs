//! `stage.output`: outputs of one stage in a separate folder.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;

use serde_json::Value;

use crate::support::{MELT, Start, Workdir, error, p2p_available};

const OUTPUT: &str = "{ thermo = { every = 2 }, trajectory = { path = \"traj.extxyz\", every = 5 }, \
                      rdf = { every = 4, bins = 20, max = 2.5 }, msd = { every = 2, origins = 3 }, \
                      vacf = { every = 2, length = 0.04, origins = 2 }, viscosity = { every = 2, length = 0.04 }, \
                      profile = [{ axis = \"z\", bins = 3, every = 4 }], surface_tension = { axis = \"z\" } }";
const FILES: [&str; 7] =
    ["thermo.csv", "traj.extxyz", "rdf.csv", "msd.csv", "vacf.csv", "viscosity.csv", "profile_z.csv"];

/// Returns three stages, of which the second has all outputs.
fn staged() -> Workdir {
    let melt = MELT.replace("steps = 20\n", "");
    let csvr = "{ kind = \"csvr\", temperature = 1.0, relaxation = 0.1 }";
    Workdir::new(&format!(
        "{melt}msd = {{ every = 2 }}\n[[stage]]\nsteps = 8\n\
         [[stage]]\nname = \"heat\"\nsteps = 20\nintegrator = {csvr}\noutput = {OUTPUT}\n\
         [[stage]]\nsteps = 6\noutput = {{ rdf = {{ every = 3 }} }}\n"
    ))
}

fn steps_of(workdir: &Workdir, table: &str) -> Vec<u64> {
    let text = workdir.read(table);
    text.lines().skip(1).map(|row| row.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn they_are_of_the_steps_of_their_stage() {
    let workdir = staged();
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    assert_eq!(steps_of(&workdir, "out/thermo.csv"), [0, 7, 14, 21, 28, 34]);
    assert_eq!(steps_of(&workdir, "out/heat/thermo.csv"), (5..=14).map(|row| 2 * row).collect::<Vec<_>>());
    let frames = workdir.read("out/heat/traj.extxyz");
    assert_eq!(frames.matches("Step=").count(), 4, "steps 10, 15, 20 and 25");
    let summary: Value = serde_json::from_str(&workdir.read("out/heat/summary.json")).unwrap();
    assert_eq!(
        (&summary["stage"], &summary["name"], &summary["averages"]["rows"]),
        (&2.into(), &"heat".into(), &10.into())
    );
    for key in ["surface_tension", "diffusion", "viscosity"] {
        assert!(summary[key].is_object(), "{key}: {summary}");
    }
    assert!(workdir.path("out/stage-3/rdf.csv").exists() && !workdir.path("out/stage-1").exists());
    // The folder of a stage is like that of a run.
    workdir.succeed(Start::Plain, "analyse out/heat/traj.extxyz --set output.msd.every=5 --set output.vacf.every=5 --set output.viscosity.every=5");
    workdir.succeed(Start::Plain, "plot out/heat");
    assert!(workdir.read("out/heat/plot.html").contains("rdf.csv"));
}

#[test]
fn they_go_on() {
    let mut starts = vec![Start::Threads(2)];
    starts.extend(p2p_available().then_some(Start::Mpirun(2)));
    for start in starts {
        let workdir = staged();
        let checkpoint = "--set output.checkpoint.every=9 --set output.checkpoint.keep=9";
        workdir.succeed(start, &format!("run melt.toml --quiet --output whole {checkpoint}"));
        // During the stage, and after it.
        for step in [9, 18, 27] {
            workdir.succeed(start, &format!("run melt.toml --quiet --output parts {checkpoint}"));
            let call = format!(
                "run melt.toml --quiet --output parts --resume parts/checkpoint-{step}.mdc {checkpoint}"
            );
            workdir.succeed(start, &call);
            for file in FILES.iter().copied().chain([
                "../thermo.csv",
                "../msd.csv",
                "../stage-3/rdf.csv",
                "summary.json",
            ]) {
                let [whole, parts] =
                    ["whole", "parts"].map(|folder| workdir.read(&format!("{folder}/heat/{file}")));
                assert!(
                    whole == parts && whole.lines().count() > 1,
                    "{file} from step {step}:\n{whole}\n{parts}"
                );
            }
        }
    }
}

#[test]
fn what_they_cannot_be() {
    let workdir = staged();
    let scenario = workdir.read("melt.toml");
    for (from, to, expected) in [
        (
            "\"heat\"",
            "\"a/b\"",
            "`stage[1].name` is \"a/b\", which cannot be the name of its folder of outputs",
        ),
        (
            "\"heat\"",
            "\"thermo.csv\"",
            "at most 100 letters, digits, `-` and `_`, for example \"equilibrate\"; not \"analysis\"",
        ),
        ("\"heat\"", "\"analysis\"", "`stage[1].name` is \"analysis\", which cannot be"),
        (
            "\"heat\"",
            "\"stage-3\"",
            "`stage[2].name` is \"stage-3\", as `stage[1].name`: their outputs would be one folder",
        ),
        ("bins = 20", "bins = 0", "`stage[1].output.rdf.bins` must be at least 1"),
        (
            "max = 2.5",
            "max = 50.0",
            "`stage[1].output.rdf.max` is 50.0, more than half the shortest periodic side of the box",
        ),
        (
            "traj.extxyz",
            "traj.dcd",
            "`stage[1].output.trajectory.path = \"traj.dcd\"` has an extension that no format has",
        ),
        ("surface_tension = {", "directory = {", "unknown key `directory` in [stage[1].output]"),
    ] {
        workdir.write("melt.toml", &scenario.replacen(from, to, 1));
        let said = error(&workdir, "run melt.toml --output out", Start::Plain);
        assert!(said.contains(expected), "{to}: {said}");
        assert!(!workdir.path("out").exists());
    }
    workdir.write("melt.toml", &scenario.replacen("every = 4, bins = 20", "every = 21, bins = 20", 1));
    let said = workdir.succeed(Start::Plain, "run melt.toml --quiet --output out");
    let warning =
        "`stage[1].output.rdf.every` is 21, but the stage has 20 steps: nothing in it will be looked at";
    assert!(said.stderr.contains(warning), "{said:?}");
    // Files of an earlier run are removed only if everything else is valid.
    workdir.write("out/heat/rdf.csv", "kept");
    fs::remove_file(workdir.path("out/stage-3/thermo.csv")).unwrap();
    fs::create_dir(workdir.path("out/stage-3/thermo.csv")).unwrap();
    assert_ne!(workdir.call(Start::Plain, "run melt.toml --output out").code, Some(0));
    assert_eq!(workdir.read("out/heat/rdf.csv"), "kept");
}

/// If a stage has not begun, its trajectory has no frame, and its file states this.
#[test]
fn a_trajectory_that_has_not_begun_goes_on() {
    let workdir = Workdir::new(&format!(
        "{}[[stage]]\nsteps = 9\n[[stage]]\nname = \"b\"\nsteps = 12\noutput = {{ trajectory = {{ path = \"t.nc\", every = 3 }} }}\n",
        MELT.replace("steps = 20\n", "")
    ));
    let checkpoint = "--set output.checkpoint.every=6 --set output.checkpoint.keep=9";
    workdir.succeed(Start::Threads(2), &format!("run melt.toml --quiet --output whole {checkpoint}"));
    for step in [6, 12] {
        workdir.succeed(Start::Threads(2), &format!("run melt.toml --quiet --output parts {checkpoint}"));
        let call =
            format!("run melt.toml --quiet --output parts --resume parts/checkpoint-{step}.mdc {checkpoint}");
        workdir.succeed(Start::Threads(2), &call);
        let [whole, parts] =
            ["whole", "parts"].map(|folder| fs::read(workdir.path(&format!("{folder}/b/t.nc"))).unwrap());
        assert!(whole == parts, "from step {step}");
    }
    let renamed = "run melt.toml --output parts --resume parts/checkpoint-12.mdc --set stage[1].name=\"c\"";
    let said = workdir.succeed(Start::Threads(2), renamed).stderr;
    for expected in [
        "`stage[1].output`: there was none in a folder `c` at the checkpoint: it begins there",
        "outputs of stage 2 in the folder `b` do not go on: the scenario has them no longer",
        "`parts/b` stays as an earlier run has left it",
    ] {
        assert!(said.replace("\n      ", " ").contains(expected), "{expected}: {said}");
    }
    let late = "run melt.toml --quiet --output late --set stage[1].output.rdf={every=3,start=30}";
    let said = workdir.succeed(Start::Threads(2), late).stderr;
    assert!(
        said.contains(
            "`stage[1].output.rdf.start` is 30, but the stage ends with step 21: nothing will be looked at"
        ),
        "{said}"
    );
}
