//! Tests of the readers on the files of the reference runs and on damaged copies of them.

use md_cli::input::{InputParticles, extxyz, lammps_data};

const MIX: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/mix864/data.lammps"));
const MELT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/melt2048/data.lammps"));

fn read(text: &str) -> InputParticles {
    match lammps_data::parse("data.lammps", text) {
        Ok(particles) => particles,
        Err(error) => panic!("{error}"),
    }
}

fn message(text: &str) -> String {
    match lammps_data::parse("data.lammps", text) {
        Ok(_) => panic!("the damaged file was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_mixture_is_read() {
    let particles = read(MIX);
    assert_eq!(particles.lengths, [10.25985568006018; 3]);
    assert_eq!(particles.masses, [Some(1.0), Some(2.0)]);
    assert_eq!(particles.ids, (1..=864).collect::<Vec<u64>>());
    assert_eq!((particles.types[0], particles.types[1]), (2, 1));
    assert_eq!(particles.positions[15], [5.12992784003009, 0.8549879733383484, 0.8549879733383484]);
    let velocities = particles.velocities.unwrap();
    assert_eq!(velocities.len(), 864);
    let momentum: f64 = (0..864).map(|index| velocities[index][0] * f64::from(particles.types[index])).sum();
    assert!(momentum.abs() < 1e-9, "LAMMPS made the total momentum zero, found {momentum}");
}

#[test]
fn the_melt_is_read() {
    let particles = read(MELT);
    assert_eq!((particles.ids.len(), particles.velocities.map(|all| all.len())), (2048, Some(2048)));
    assert_eq!(particles.masses, [Some(1.0)]);
    assert!(particles.types.iter().all(|kind| *kind == 1));
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for end in (0..MIX.len()).step_by(997) {
        match lammps_data::parse("data.lammps", &MIX[..end]) {
            Err(error) => assert!(error.to_string().starts_with("data.lammps:"), "{error}"),
            Ok(particles) => panic!("{end} bytes give {} atoms", particles.ids.len()),
        }
    }
    let half = MIX.find("Velocities").unwrap() / 2;
    let found = message(&MIX[..half]);
    assert!(found.contains("the file ends too early: 864 atoms promised, "), "{found}");
}

#[test]
fn one_damaged_line_is_named() {
    let line = "16 2 5.12992784003009 0.8549879733383484 0.8549879733383484 0 0 0";
    for (damaged, expected) in [
        ("16 3 5.12992784003009 0 0 0 0 0", "data.lammps:30: type 3 does not exist: the types are 1 to 2"),
        ("15 2 5.12992784003009 0 0 0 0 0", "data.lammps:32: id 15 is given twice, first in line 30"),
        ("16 2 5.1299278400300g 0 0 0 0 0", "data.lammps:30: `5.1299278400300g` is not a number"),
        ("16 2 nan 0 0 0 0 0", "data.lammps:30: `nan` is not finite"),
        ("l6 2 5.12992784003009 0 0 0 0 0", "data.lammps:30: `l6` is not an integer"),
    ] {
        let found = message(&MIX.replacen(line, damaged, 1));
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn both_formats_give_the_same_particles() {
    use std::fmt::Write;
    let particles = read(MIX);
    let mut text = format!("{}\n", particles.ids.len());
    let [x, y, z] = particles.lengths;
    writeln!(
        text,
        "Lattice=\"{x:?} 0 0 0 {y:?} 0 0 0 {z:?}\" Properties=species:S:1:pos:R:3:velo:R:3:id:I:1:type:I:1:images:I:3"
    )
    .unwrap();
    let velocities = particles.velocities.as_ref().unwrap();
    for (index, id) in particles.ids.iter().enumerate() {
        let kind = particles.types[index];
        let ([x, y, z], [u, v, w]) = (particles.positions[index], velocities[index]);
        let name = ["A", "B"][kind as usize - 1];
        let [ix, iy, iz] = particles.images[index].0;
        writeln!(text, "{name} {x:?} {y:?} {z:?} {u:?} {v:?} {w:?} {id} {kind} {ix} {iy} {iz}").unwrap();
    }
    let names = ["A".to_owned(), "B".to_owned()];
    let read_back = extxyz::parse("mix.extxyz", &text, &names).unwrap();
    let InputParticles { masses, lines, .. } = read_back.clone();
    assert_eq!(read_back, InputParticles { masses, lines, ..particles });
}
