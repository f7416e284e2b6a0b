//! LAMMPS reads a trajectory (`rerun`), and computes the same energies, pressure and temperature in
//! every frame.

use std::process::Command;

use crate::support::{MELT, Start, Workdir};

/// The same system in LAMMPS, without motion.
const INPUT: &str = "units lj
atom_style atomic
region box block 0 1 0 1 0 1
create_box 2 box
mass 1 1.0
mass 2 2.0
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0
pair_coeff 2 2 1.0 0.9
pair_coeff 1 2 1.0 0.95
compute pe all pe/atom
dump pe all custom 10 pe.txt id c_pe
dump_modify pe sort id format float %.17g
thermo 10
thermo_style custom step temp pe ke press
thermo_modify norm yes format float %.15g
read_dump out/traj.lammpstrj 0 x y z vx vy vz ix iy iz box yes add yes replace no
rerun out/traj.lammpstrj dump x y z vx vy vz ix iy iz box yes
";

/// Returns rows of numbers, from LAMMPS's table on the screen or from this program's.
fn rows<'t>(lines: impl Iterator<Item = &'t str>, separator: char) -> Vec<Vec<f64>> {
    let fields =
        |line: &str| line.split(separator).filter(|field| !field.is_empty()).map(str::parse).collect();
    lines.map(fields).map_while(Result::ok).collect()
}

#[test]
fn lammps_finds_our_energies() {
    if Command::new("lmp").arg("-help").output().is_err() {
        eprintln!("skipped: LAMMPS (`lmp`) is not installed");
        return;
    }
    let species = "[[species]]\nname = \"A\"\nfraction = 0.75\n\n[[species]]\nname = \"B\"\nmass = 2.0\nsigma = 0.9\n\n";
    let trajectory = "trajectory = { path = \"traj.lammpstrj\", every = 10, columns = [\"velocity\", \"images\", \"energy\"] }\n";
    let scenario = MELT.replace("[output]", &format!("{species}[output]")).replace("every = 7", "every = 10");
    let workdir = Workdir::new(&format!("{scenario}{trajectory}"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --steps 50");
    workdir.write("in.rerun", INPUT);
    let mut lammps = Command::new("lmp");
    lammps.args(["-in", "in.rerun", "-log", "none"]).current_dir(workdir.path(""));
    let said = lammps.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{text}{}", String::from_utf8_lossy(&said.stderr));
    let table = text.lines().map(str::trim).skip_while(|line| !line.starts_with("Step")).skip(1);
    let theirs = rows(table, ' ');
    let ours = workdir.read("out/thermo.csv");
    let ours = rows(ours.lines().skip(1), ',');
    assert_eq!((theirs.len(), ours.len()), (6, 6), "{text}");
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let ours = [ours[0], ours[2], ours[3], ours[4], ours[6]];
        let agree = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-11 * a.abs().max(1.0);
        assert!(
            theirs.iter().zip(&ours).all(agree),
            "step, temperature, energies, pressure: {theirs:?} {ours:?}"
        );
    }
    // For each particle too.
    let (theirs, ours) = (workdir.read("pe.txt"), workdir.read("out/traj.lammpstrj"));
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    assert_eq!((theirs.len(), ours.len()), (6 * 609, 6 * 609));
    for (theirs, ours) in theirs.chunks(609).zip(ours.chunks(609)) {
        let (theirs, ours) = (rows(theirs[9..].iter().copied(), ' '), rows(ours[9..].iter().copied(), ' '));
        for (theirs, ours) in theirs.iter().zip(&ours) {
            assert!(theirs[0] == ours[0] && (theirs[1] - ours[11]).abs() < 1e-11, "{theirs:?} {ours:?}");
        }
    }
}
