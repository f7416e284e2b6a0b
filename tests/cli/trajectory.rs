//! Trajectories have the documented contents, and a run can start from one.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, p2p_available};

const LATTICE: &str = "lattice = { kind = \"fcc\", density = 0.8442, cells = [6, 5, 5] }\ntemperature = 1.44";

/// Returns [`MELT`] with two species and a trajectory.
fn mixture() -> String {
    let species = "[[species]]\nname = \"A\"\nfraction = 0.75\n\n[[species]]\nname = \"Bee\"\nmass = 2.0\nsigma = 0.9\n\n";
    let trajectory = "trajectory = { path = \"traj.extxyz\", every = 10 }\n";
    format!("{}{trajectory}", MELT.replace("[output]", &format!("{species}[output]")))
}

/// Returns the floats of a range of columns, row by row.
fn numbers(text: &str, columns: std::ops::Range<usize>, separator: char) -> Vec<f64> {
    let row = |line: &str| line.split(separator).map(str::to_owned).collect::<Vec<_>>();
    let number = |fields: Vec<String>| {
        fields[columns.clone()].iter().map(|f| f.parse().unwrap()).collect::<Vec<f64>>()
    };
    text.lines().map(row).flat_map(number).collect()
}

#[test]
fn frames_have_ids_types_and_velocities() {
    let workdir = Workdir::new(&mixture());
    workdir.succeed(Start::Threads(3), "run melt.toml --quiet");
    let text = workdir.read("out/traj.extxyz");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3 * 602, "frames of steps 0, 10 and 20");
    for (frame, (step, time)) in lines.chunks(602).zip([("0", "0.0"), ("10", "0.05"), ("20", "0.1")]) {
        assert_eq!(frame[0], "600");
        let expected = "Properties=species:S:1:pos:R:3:id:I:1:type:I:1:Z:I:1:velo:R:3:masses:R:1:momenta:R:3";
        assert!(frame[1].contains(expected), "{}", frame[1]);
        assert!(frame[1].ends_with(&format!(" Time={time} Step={step} pbc=\"T T T\"")), "{}", frame[1]);
        for (line, id) in frame[2..].iter().zip(1..) {
            let fields: Vec<&str> = line.split(' ').collect();
            let (kind, mass) = if fields[0] == "A" { ("1", "1.0") } else { ("2", "2.0") };
            assert!(fields[0] == "A" || fields[0] == "Bee", "{line}");
            assert_eq!((fields[4], fields[5], fields[10]), (id.to_string().as_str(), kind, mass), "{line}");
        }
        let velocities = numbers(&frame[2..].join("\n"), 7..10, ' ');
        assert!(velocities.iter().all(|v| v.is_finite() && *v != 0.0));
    }
}

/// The first frame, as a particle file, gives the same forces and velocities as the original
/// lattice.
#[test]
fn a_run_can_start_from_a_frame() {
    let workdir = Workdir::new(&mixture());
    workdir.succeed(Start::Threads(1), "run melt.toml --quiet");
    workdir.succeed(Start::Threads(1), "forces melt.toml --quiet --output forces");
    let first: String = workdir.read("out/traj.extxyz").split_inclusive('\n').take(602).collect();
    workdir.write("first.extxyz", &first);
    let again = mixture().replace(LATTICE, "file = { path = \"first.extxyz\", format = \"extxyz\" }");
    workdir.write("again.toml", &again.replace("fraction = 0.75\n", ""));
    let mut starts = vec![Start::Threads(1), Start::Threads(3)];
    starts.extend(p2p_available().then_some(Start::Mpirun(3)));
    let rows = |name: &str| workdir.read(name).lines().skip(1).collect::<Vec<_>>().join("\n");
    for start in starts {
        workdir.succeed(start, "forces again.toml --quiet --output again");
        let (expected, found) = (rows("forces/forces.csv"), rows("again/forces.csv"));
        let pairs = numbers(&expected, 5..8, ',').into_iter().zip(numbers(&found, 5..8, ','));
        for (expected, found) in pairs {
            assert!((expected - found).abs() <= 1e-12 * expected.abs().max(1.0), "{expected} {found}");
        }
        assert_eq!(numbers(&expected, 0..5, ','), numbers(&found, 0..5, ','), "ids, types, positions");
    }
    workdir.succeed(Start::Threads(1), "run again.toml --quiet --output again");
    let [expected, found] =
        ["out/thermo.csv", "again/thermo.csv"].map(|name| numbers(&rows(name), 0..7, ','));
    for (expected, found) in expected.iter().zip(&found) {
        assert!((expected - found).abs() <= 1e-9 * expected.abs().max(1.0), "{expected} {found}");
    }
}

/// The same decomposition on threads and on processes.
#[test]
fn threads_and_processes_agree_bit_for_bit() {
    if !p2p_available() {
        return;
    }
    let workdir = Workdir::new(&mixture().replace("steps = 20", "steps = 60"));
    workdir.succeed(Start::Threads(3), "run melt.toml --quiet --output threads");
    workdir.succeed(Start::Mpirun(3), "run melt.toml --quiet --output processes");
    for file in ["thermo.csv", "traj.extxyz"] {
        assert!(
            workdir.read(&format!("threads/{file}")) == workdir.read(&format!("processes/{file}")),
            "{file}"
        );
    }
}
