//! `md-cli lbm`: flows at walls and obstacles.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use insta::assert_snapshot;
use serde_json::Value;

use crate::lbm::{flow, with};
use crate::support::{Start, Workdir, starts};

/// A viscous flow between plates, driven by a force, with the default collision of this case.
const CHANNEL: &str = "[lbm]\ngrid = [1, 16, 4]\nviscosity = 2.0\nsteps = 3000\n\
                       boundary = [\"periodic\", \"wall\", \"periodic\"]\nbody_force = [0.0, 0.0, 1e-5]\n\
                       [output]\nprobe = { every = 3000, nodes = [[0, 0, 1], [0, 7, 1]] }\n";

/// Returns the velocities along z at the wall and in the middle of the channel.
fn channel_velocities(workdir: &Workdir) -> [f64; 2] {
    let probe = workdir.read("out/probe.csv");
    let last: Vec<f64> = probe.lines().last().unwrap().split(',').map(|word| word.parse().unwrap()).collect();
    [last[4], last[8]]
}

fn collision(workdir: &Workdir) -> Value {
    let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
    summary["collision"].clone()
}

#[test]
fn a_channel_without_a_collision_is_exact_and_bgk_is_warned_of() {
    let workdir = Workdir::new(CHANNEL);
    let exact = [0, 7].map(|y| 1e-5 * (f64::from(y) + 0.5) * (15.5 - f64::from(y)) / 4.0);
    let said = workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet");
    assert_eq!((said.stderr.as_str(), collision(&workdir)), ("", "trt".into()));
    for (found, exact) in channel_velocities(&workdir).into_iter().zip(exact) {
        assert!((found / exact - 1.0).abs() < 1e-8, "{found}, not {exact}");
    }
    assert!(workdir.read("out/scenario.toml").contains("collision = \"trt\"\n"));
    let said = workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet --set lbm.collision=bgk");
    assert_snapshot!(said.stderr, @r#"warning: collision `bgk` with viscosity 2 has the magic parameter 36, with which fluid slips along walls and obstacles: driven by a force through a channel of 16 nodes, as between the walls along y, by 74.6 % of its greatest velocity, and by more in narrower ones; `collision = "trt"` with `magic = 0.1875` has no slip"#);
    // The maximum velocity is force x 16^2 / (8 viscosity).
    let slip = 0.7461 * 1e-5 * 256.0 / 16.0;
    for (found, exact) in channel_velocities(&workdir).into_iter().zip(exact) {
        assert!(((found - exact) / slip - 1.0).abs() < 1e-3, "{found}, not {exact} + {slip}");
    }
}

#[test]
fn what_slips_at_walls_and_obstacles_is_warned_of() {
    let warned = |workdir: &Workdir, options: &str| {
        workdir.succeed(Start::Threads(1), &format!("lbm melt.toml --quiet --steps 1 {options}")).stderr
    };
    let channel = Workdir::new(CHANNEL);
    assert_snapshot!(warned(&channel, "--set lbm.magic=4.0 --set output.probe.every=1"), @r#"warning: collision `trt` with viscosity 2 has the magic parameter 4, with which fluid slips along walls and obstacles: driven by a force through a channel of 16 nodes, as between the walls along y, by 7.94 % of its greatest velocity, and by more in narrower ones; `collision = "trt"` with `magic = 0.1875` has no slip"#);
    assert_eq!(warned(&channel, "--set lbm.magic=0.25 --set output.probe.every=1"), "");
    let text = "[lbm]\ngrid = [6, 8, 7]\nviscosity = 0.1\nsteps = 1\n";
    let periodic = Workdir::new(text);
    assert_eq!((warned(&periodic, ""), collision(&periodic)), (String::new(), "bgk".into()));
    let sphere = "--set lbm.obstacle={kind=\"sphere\",center=[3.0,3.0,3.0],radius=2.0}";
    assert_eq!((warned(&periodic, sphere), collision(&periodic)), (String::new(), "trt".into()));
    assert_snapshot!(warned(&periodic, &format!("{sphere} --set lbm.collision=bgk")), @r#"warning: collision `bgk` with viscosity 0.1 has the magic parameter 0.09, with which fluid slips along walls and obstacles: driven by a force through a channel of 6 nodes, as the box has along x, by -1.44 % of its greatest velocity, and by more in narrower ones; `collision = "trt"` with `magic = 0.1875` has no slip"#);
}

/// The flow around a sphere in a periodic box does not depend on where the box begins.
#[test]
fn a_sphere_across_a_periodic_border_is_whole() {
    let text = "[lbm]\ngrid = [12, 12, 24]\nviscosity = 0.1\ncollision = \"trt\"\nsteps = 300\n\
                body_force = [0.0, 0.0, 1e-5]\n\
                obstacle = { kind = \"sphere\", center = [6.0, 6.0, 12.0], radius = 3.2 }\n\
                [output]\nthermo = { every = 300 }\ndrag = { every = 300 }\n";
    let workdir = Workdir::new(text);
    let centers =
        ["6.0,6.0,12.0", "0.0,6.0,12.0", "6.0,6.0,0.0", "0.0,0.0,0.0", "18.0,-6.0,36.0", "1.0,10.0,23.0"];
    let mut drags = Vec::new();
    for (number, center) in centers.into_iter().enumerate() {
        let center = format!("--set lbm.obstacle.center=[{center}]");
        let said =
            workdir.succeed(Start::Threads(1 + number % 3), &format!("lbm melt.toml --quiet {center}"));
        assert_eq!(said.stderr, "", "{center}");
        let row = |file: &str| -> Vec<f64> {
            let table = workdir.read(file);
            table.lines().last().unwrap().split(',').map(|word| word.parse().unwrap()).collect()
        };
        let (thermo, drag) = (row("out/thermo.csv"), row("out/drag.csv"));
        assert!((thermo[1] - 3309.0).abs() < 1e-9, "{center}: {thermo:?}");
        assert!((thermo[4] / 4.468_934_345_290_29 - 1.0).abs() < 1e-11, "{center}: {thermo:?}");
        drags.push(drag[3]);
        assert_eq!(drag[4..], [0.0; 3], "there are no walls");
    }
    assert!(drags.iter().all(|drag| (drag / drags[0] - 1.0).abs() < 1e-11 && *drag > 0.01), "{drags:?}");
}

#[test]
fn a_sphere_that_reaches_beyond_a_wall_is_warned_of() {
    let said = |center: &str| {
        let workdir = with("center = [5.0, 4.0, 9.5], radius = 2.5", center);
        workdir.succeed(Start::Threads(2), "lbm melt.toml --quiet").stderr
    };
    assert_snapshot!(said("center = [5.0, 1.0, 9.5], radius = 2.5"), @"warning: `lbm.obstacle` reaches beyond the wall `y_low`, which cuts it off (depth 1, in nodes)");
    assert_snapshot!(said("center = [0.0, 8.0, 9.5], radius = 1.75"), @"warning: `lbm.obstacle` reaches beyond the wall `y_high`, which cuts it off (depth 0.25, in nodes)");
    assert_eq!(said("center = [0.0, 2.0, 19.5], radius = 2.5"), "", "it ends at the wall");
}

#[test]
fn forces_have_the_same_bits_on_any_ranks_with_any_pattern_and_exchange() {
    let workdir = flow();
    let drag = "--set output.drag.every=5";
    let mut tables = Vec::new();
    for (number, start) in starts().into_iter().enumerate() {
        workdir.succeed(start, &format!("lbm melt.toml --quiet --output {number} {drag}"));
        tables.push(workdir.read(&format!("{number}/drag.csv")));
    }
    let others = "--set lbm.pattern=two-grid --set parallel.exchange=staged --threads 2";
    workdir.succeed(Start::Threads(3), &format!("lbm melt.toml --quiet --output other {drag} {others}"));
    tables.push(workdir.read("other/drag.csv"));
    let lines: Vec<&str> = tables[0].lines().collect();
    assert_eq!(lines[0], "step,obstacle_x,obstacle_y,obstacle_z,walls_x,walls_y,walls_z");
    let steps: Vec<&str> = lines[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(steps, ["5", "10", "15", "20", "25"], "no force has acted at step 0");
    assert!(lines[1..].iter().all(|line| line.split(',').count() == 7));
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:?}");
    let said = workdir.succeed(Start::Threads(1), "lbm melt.toml --quiet --set output.drag.every=26");
    assert_eq!(
        said.stderr,
        "warning: `output.drag.every` is 26, but the run has 25 steps: no row will be written\n"
    );
}

/// VTK and ParaView look for the time in this place.
#[test]
fn images_know_their_time() {
    let workdir = flow();
    let time = "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" \
                format=\"ascii\">20</DataArray>\n</FieldData>\n";
    let call = "lbm melt.toml --quiet --set output.fields.every=20";
    workdir.succeed(Start::Threads(2), call);
    assert!(workdir.read("out/fields_00000020.pvti").contains(time));
    for file in ["out/fields_00000020_0.vti", "out/fields_00000020_1.vti"] {
        let image = std::fs::read(workdir.path(file)).unwrap();
        assert!(image.windows(time.len()).any(|part| part == time.as_bytes()), "{file}");
    }
}
