use std::time::{Duration, Instant};

use md_core::ImageCounts;

use super::*;
use crate::input::ParticleLines;

/// Line 1 is the title, line 3 the number of atoms.
const SMALL: &str = "title
# comment
3 atoms   # of which
2 atom types
0 bonds

0 10 xlo xhi
-5.0 5e0 ylo yhi
0 2.5 zlo zhi
0 0 0 xy xz yz

Masses

2 4.0
1 1 # A

Atoms # atomic

3 1 1 2 2 0 0 -1
1 2 0.5 -4 1 0 0 0
2 1 9 4 0 1 0 0

Velocities

2 0 0 1
1 1 0 0
3 0 -1.5e-3 0
";

fn message(text: &str) -> String {
    parse("data.lammps", text).unwrap_err().to_string()
}

/// Returns the error after one change.
fn after(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "nothing to replace: {from}");
    message(&SMALL.replacen(from, to, 1))
}

#[test]
fn a_small_file_is_read_and_sorted_by_id() {
    let particles = parse("data.lammps", SMALL).unwrap();
    let expected = InputParticles {
        origin: [0.0, -5.0, 0.0],
        lengths: [10.0, 10.0, 2.5],
        masses: vec![Some(1.0), Some(4.0)],
        ids: vec![1, 2, 3],
        types: vec![2, 1, 1],
        positions: vec![[0.5, -4.0, 1.0], [9.0, 4.0, 0.0], [1.0, 2.0, 2.0]],
        velocities: Some(vec![[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -0.0015, 0.0]]),
        largest_type: 2,
        images: [[0, 0, 0], [1, 0, 0], [0, 0, -1]].map(ImageCounts).to_vec(),
        tells_images: [true; 3],
        lines: [(20, 26), (21, 25), (19, 27)]
            .map(|(position, velocity)| ParticleLines { position, velocity })
            .to_vec(),
        ..InputParticles::default()
    };
    assert_eq!(particles, expected);
    let none = "0 bonds\n0 bond types\n0 extra bond per atom\n0 ellipsoids";
    assert_eq!(parse("a", &SMALL.replace("0 bonds", none)).unwrap().positions, expected.positions);
}

#[test]
fn masses_and_velocities_may_be_left_out() {
    let start = SMALL.find("Masses").unwrap();
    let (atoms, velocities) = (SMALL.find("Atoms").unwrap(), SMALL.find("Velocities").unwrap());
    let text = format!("{}{}", &SMALL[..start], &SMALL[atoms..velocities]);
    let particles = parse("data.lammps", &text).unwrap();
    assert!(particles.masses.is_empty() && particles.velocities.is_none());
    assert_eq!(particles.ids, [1, 2, 3]);
}

#[test]
fn a_last_number_that_may_be_cut_is_refused() {
    let expected =
        "data.lammps:27: the file ends without a newline, so `0` may be cut: add one if the file is complete";
    assert_eq!(message(SMALL.trim_end()), expected);
    assert!(parse("a", &format!("{} # the end", SMALL.trim_end())).is_ok());
}

#[test]
fn windows_line_ends_are_read() {
    assert_eq!(parse("a", &SMALL.replace('\n', "\r\n")).unwrap(), parse("a", SMALL).unwrap());
}

/// Asserts that the message contains the third text if the first text is replaced by the second.
fn assert_faults(faults: &[(&str, &str, &str)]) {
    for (from, to, expected) in faults {
        let found = after(from, to);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn every_fault_of_the_header_is_named() {
    assert_faults(&[
        (
            "3 atoms",
            "x atoms",
            "data.lammps:3: cannot make sense of `x atoms`: `x` must be an integer of at least 1",
        ),
        ("3 atoms", "0 atoms", "`0` must be an integer of at least 1"),
        ("3 atoms", "-3 atoms", "`-3` must be an integer of at least 1"),
        ("3 atoms   # of which\n", "", "data.lammps: header line `N atoms` is missing: "),
        ("2 atom types\n", "", "data.lammps: header line `N atom types` is missing: "),
        ("0 2.5 zlo zhi\n", "", "data.lammps: header line `LO HI zlo zhi` is missing: "),
        ("0 bonds", "7 lines", "data.lammps:5: cannot make sense of `7 lines`: the header has `N atoms`"),
        ("0 bonds", "0 bounds", "data.lammps:5: cannot make sense of `0 bounds`: the header has `N atoms`"),
        ("0 bonds", "0 bonds 7", "data.lammps:5: cannot make sense of `0 bonds 7`: the header has `N atoms`"),
        (
            "0 10 xlo xhi",
            "0 10 xlo xhi 3",
            "data.lammps:7: cannot make sense of `0 10 xlo xhi 3`: the header",
        ),
        ("xy xz yz", "xz xy yz", "data.lammps:10: cannot make sense of `0 0 0 xz xy yz`: the header has"),
        ("title", "in units metal", "data.lammps:1: a file in `units = metal` is not supported: the numbers"),
        ("0 bonds", "3 atoms", "data.lammps:5: header line `3 atoms` is given twice"),
        ("0 10 xlo", "0 0 xlo", "data.lammps:7: the box must have a positive edge along x, found 0.0"),
        ("0 10 xlo", "0 -1 xlo", "data.lammps:7: the box must have a positive edge along x, found -1.0"),
        ("0 10 xlo", "O 10 xlo", "data.lammps:7: `O` is not a number (a bound of the box)"),
        ("0 10 xlo", "0 nan xlo", "data.lammps:7: `nan` is not finite (a bound of the box)"),
        ("0 10 xlo", "0 1O xlo", "data.lammps:7: `1O` is not a number (a bound of the box)"),
        ("0 0 0 xy", "0 0.1 0 xy", "data.lammps:10: the triclinic box `0 0.1 0 xy xz yz` is not supported: "),
    ]);
}

#[test]
fn every_fault_of_headings_and_masses_is_named() {
    assert_faults(&[
        ("Masses", "Ellipsoids", "data.lammps:12: section `Ellipsoids` is not supported: the sections are"),
        (
            "Atoms # atomic",
            "Atoms # sphere",
            "data.lammps:17: `Atoms # sphere` is not supported: the atom style",
        ),
        ("Velocities", "Atoms", "data.lammps:23: section `Atoms` is given twice"),
        ("2 4.0", "2 -4.0", "data.lammps:14: the mass of type 2 must be above 0, found `-4.0`"),
        ("2 4.0", "2 0", "data.lammps:14: the mass of type 2 must be above 0, found `0`"),
        ("2 4.0", "2 inf", "data.lammps:14: `inf` is not finite (a mass: type mass)"),
        ("2 4.0", "3 4.0", "data.lammps:14: type 3 does not exist: the types are 1 to 2"),
        ("2 4.0", "1 4.0", "data.lammps:15: the mass of type 1 is given twice"),
        ("2 4.0", "2", "data.lammps:14: found 1 columns in `2`, expected a mass: type mass"),
        ("2 4.0\n", "", "data.lammps:14: the file ends too early: 2 masses promised, 1 found"),
    ]);
}

#[test]
fn every_fault_of_atoms_is_named() {
    assert_faults(&[
        ("1 2 0.5", "1 3 0.5", "data.lammps:20: type 3 does not exist: the types are 1 to 2"),
        ("1 2 0.5", "1 0 0.5", "data.lammps:20: type 0 does not exist: the types are 1 to 2"),
        ("1 2 0.5", "1 2 O.5", "data.lammps:20: `O.5` is not a number (an atom: id type x y z [ix iy iz])"),
        ("1 2 0.5", "1 2 nan", "data.lammps:20: `nan` is not finite (an atom: id type x y z [ix iy iz])"),
        ("1 2 0.5", "1 2 1e999", "data.lammps:20: `1e999` is not finite"),
        ("1 2 0.5", "x 2 0.5", "data.lammps:20: `x` is not an integer (an atom: "),
        ("1 2 0.5", "0 2 0.5", "data.lammps:20: id 0 cannot be: ids start at 1"),
        ("1 2 0.5", "3 2 0.5", "data.lammps:20: id 3 is given twice, first in line 19"),
        ("1 2 0.5 -4", "1 2 0.5", "data.lammps:20: found 7 columns in `1 2 0.5 1 0 0 0`, expected an atom: "),
        ("1 2 0.5 -4 1 0 0 0\n", "", "data.lammps:20: the file ends too early: 3 atoms promised, 2 found"),
        (
            "3 atoms",
            "2 atoms",
            "data.lammps:21: more atoms than the 2 promised, the first one too many is `2 1 9",
        ),
    ]);
}

/// Returns [`SMALL`] with other rows of `Atoms`, below a heading.
fn with_rows(heading: &str, rows: [&str; 3]) -> String {
    let (before, rest) = SMALL.split_once("Atoms # atomic\n\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    format!("{before}{heading}\n\n{}\n\n{after}", rows.join("\n"))
}

#[test]
fn a_heading_without_a_style_leaves_it_to_the_scenario_or_the_columns() {
    let expected = parse("a", SMALL).unwrap();
    let plain = ["3 1 1 2 2", "1 2 0.5 -4 1", "2 1 9 4 0"];
    let charge = ["3 1 2 1 2 2", "1 2 1 0.5 -4 1", "2 1 2 9 4 0"];
    let molecular = ["3 2 1 1 2 2", "1 1 2 0.5 -4 1", "2 2 1 9 4 0"];
    let full = ["3 2 1 0.5 1 2 2 0 0 -1", "1 1 2 0.5 0.5 -4 1 0 0 0", "2 2 1 0.5 9 4 0 0 1 0"];
    let styled = |rows: [&str; 3], style: Option<AtomStyle>| {
        read(&Source::given("d", &with_rows("Atoms", rows)), &[], style)
    };
    for (rows, style) in [
        (plain, None),
        (plain, Some(AtomStyle::Atomic)),
        (charge, Some(AtomStyle::Charge)),
        (molecular, Some(AtomStyle::Molecular)),
        (molecular, Some(AtomStyle::Bond)),
        (molecular, Some(AtomStyle::Angle)),
        (full, None),
        (full, Some(AtomStyle::Full)),
    ] {
        let found = styled(rows, style).unwrap();
        assert_eq!((&found.types, &found.positions), (&expected.types, &expected.positions));
        assert_eq!((found.velocities, found.tells_images), (expected.velocities.clone(), [rows == full; 3]));
        let guess = "the heading `Atoms` names no style: lines of 10 columns are read as `full`";
        assert_eq!(found.notes.iter().any(|note| note == guess), rows == full && style.is_none());
    }
    let help = "name the style in the heading, as in `Atoms # full`, or by `system.file.style`";
    for (rows, style, expected) in [
        (charge, None, format!("the heading `Atoms` names no style, and lines of 6 columns may be `charge` or `molecular`: {help}")),
        (charge, Some(AtomStyle::Full), "lines of 6 columns are not of the style `full`, which has an atom: id molecule type charge x y z [ix iy iz]".to_owned()),
        (["3 1 1 2", "", ""], None, "no style `atomic` or `charge` or `molecular` or `full` has lines of 4 columns".to_owned()),
    ] {
        let rows = if rows[1].is_empty() { [rows[0]; 3] } else { rows };
        assert_eq!(styled(rows, style).unwrap_err().to_string(), format!("d:17: {expected}"));
    }
    let text = with_rows("Atoms # charge", charge);
    let said = read(&Source::given("d", &text), &[], Some(AtomStyle::Molecular)).unwrap_err().to_string();
    let expected = "d:17: the heading is `Atoms # charge`, but the style is given as `molecular`: one of the two is wrong";
    assert_eq!(said, expected);
}

/// Newer versions of LAMMPS permit labels of types wherever a number may stand.
#[test]
fn labels_stand_for_types() {
    let expected = parse("a", SMALL).unwrap();
    let labels = "Atom Type Labels\n\n2 Kr\n1 Ar-1\n\nBond Type Labels\n\n1 Ar-Kr\n\nBond Coeffs\n\nAr-Kr 10.0 1.0\n\nMasses\n\n2 4.0";
    let text = with_rows("Atoms # atomic", ["3 Ar-1 1 2 2 0 0 -1", "1 Kr 0.5 -4 1 0 0 0", "2 1 9 4 0 0 1 0"])
        .replace("Masses\n\n2 4.0", labels)
        .replace("1 1 # A", "Ar-1 1 # A\n\nPair Coeffs # lj/cut\n\nAr-1 1 1\nKr 1.5 0.9");
    let of_species = |names: [&str; 2]| read(&Source::given("d", &text), &names.map(str::to_owned), None);
    let found = of_species(["A", "B"]).unwrap();
    assert_eq!((&found.types, &found.masses), (&expected.types, &expected.masses));
    assert_eq!(found.coefficients[&[2, 2]].epsilon, 1.5);
    assert_eq!(found.notes[0], "the file has labels of 2 types: `Ar-1` is species `A`, `Kr` is species `B`");
    assert_eq!(
        of_species(["Ar-1", "X"]).unwrap().notes[0],
        "the file has labels of 1 type: `Kr` is species `X`"
    );
    assert!(!of_species(["Ar-1", "Kr"]).unwrap().notes[0].contains("labels"));
    let said = of_species(["Kr", "Ar-1"]).unwrap_err().to_string();
    assert_eq!(said, "d:12: type 1 is labelled `Ar-1`, but the scenario has `Ar-1` as its species 2");
    for (from, to, expected) in [
        ("2 Kr", "2 Ar-1", "data.lammps:15: the label of type 1 is given twice"),
        ("2 Kr", "1 Kr", "data.lammps:15: the label of type 1 is given twice"),
        (
            "2 Kr",
            "2 2Kr",
            "data.lammps:14: cannot make sense of `2 2Kr`: a label must not begin like a number",
        ),
        ("2 Kr", "2 Kr 1", "data.lammps:14: found 3 columns in `2 Kr 1`, expected a label: type label"),
        ("2 Kr\n", "", "data.lammps:14: the file ends too early: 2 labels promised, 1 found"),
        ("1 Kr 0.5", "1 Ne 0.5", "`Ne` is not an integer (an atom: id type x y z [ix iy iz])"),
    ] {
        let said = message(&text.replacen(from, to, 1));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn every_fault_of_velocities_is_named() {
    assert_faults(&[
        ("3 0 -1.5e-3", "4 0 -1.5e-3", "data.lammps:27: a velocity for id 4, but there is no such atom"),
        ("3 0 -1.5e-3", "1 0 -1.5e-3", "data.lammps:27: id 1 is given twice, first in line 26"),
        ("3 0 -1.5e-3", "3 0 -inf", "data.lammps:27: `-inf` is not finite (a velocity: id vx vy vz)"),
        (
            "3 0 -1.5e-3",
            "3 0",
            "data.lammps:27: found 3 columns in `3 0 0`, expected a velocity: id vx vy vz",
        ),
        ("1 1 0 0\n", "", "data.lammps:26: the file ends too early: 3 velocities promised, 2 found"),
    ]);
}

#[test]
fn a_file_without_atoms_is_refused() {
    let end = SMALL.find("Atoms").unwrap();
    let expected = "data.lammps: section `Atoms` is missing: a section `Atoms # atomic` with 3 lines";
    assert_eq!(message(&SMALL[..end]), expected);
    assert_eq!(message(" \n"), "data.lammps: the file is empty");
}

#[test]
fn one_damaged_byte_gives_particles_or_an_error() {
    for position in 0..SMALL.len() {
        for damage in ["", "x", "\"", "-", ":", "\n", "9", "\u{e4}"] {
            let text = format!("{}{damage}{}", &SMALL[..position], &SMALL[position + 1..]);
            match parse("data.lammps", &text) {
                Ok(particles) => assert_eq!(particles.ids.len(), particles.positions.len()),
                Err(error) => assert!(error.to_string().starts_with("data.lammps:"), "{error}"),
            }
        }
    }
}

/// If the time were quadratic, this would take minutes.
#[test]
fn many_pairs_of_types_take_no_longer_than_their_lines() {
    const TYPES: u32 = 1000;
    let pairs = (1..=TYPES).flat_map(|a| (a..=TYPES).map(move |b| format!("{a} {b} 1.0 1.0\n")));
    let text = SMALL
        .replace("2 atom types", &format!("{TYPES} atom types"))
        .replace("Masses\n\n2 4.0\n1 1 # A\n", "")
        .replace("Atoms #", &format!("PairIJ Coeffs # lj/cut\n\n{}\nAtoms #", pairs.collect::<String>()));
    let begun = Instant::now();
    let particles = parse("data.lammps", &text).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(particles.coefficients.len(), 500_500);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let said = |again: &str| {
        read(&Source::changing("data.lammps", [SMALL, again]), &[], None).unwrap_err().to_string()
    };
    let size = |text: &str| format!("{} lines ({} bytes)", text.lines().count(), text.len());
    let begins = format!("data.lammps: the file changed while it was read: {} at first, then ", size(SMALL));
    let within_velocities = &SMALL[..SMALL.find("1 1 0 0\n").unwrap()];
    for again in [within_velocities, &format!("\n{SMALL}"), &SMALL.replace("4.0", "4.25"), ""] {
        assert_eq!(said(again), format!("{begins}{}", size(again)));
    }
    assert_eq!(said(&SMALL.replace("3 0 -1.5e-3", "3 0 -2.5e-3")), format!("{begins}as many others"));
}

/// The file is one that LAMMPS writes for other atom styles, with the particles of [`SMALL`].
#[test]
fn charges_molecules_and_bonds_are_left_out() {
    let expected = parse("a", SMALL).unwrap();
    let other = |style: &str, insert: fn(&[&str]) -> String| {
        let (before, rest) = SMALL.split_once("Atoms # atomic\n\n").unwrap();
        let (rows, after) = rest.split_once("\n\n").unwrap();
        let row = |row: &str| insert(&row.split_whitespace().collect::<Vec<_>>());
        let rows: Vec<String> = rows.lines().map(row).collect();
        let bonds = "Bonds\n\n1 1 1 2\n\nBond Coeffs # harmonic\n\n1 10.0 1.0\n\n";
        let before = before.replace("0 bonds", "1 bonds\n1 bond types");
        parse("a", &format!("{before}{bonds}Atoms # {style}\n\n{}\n\n{after}", rows.join("\n"))).unwrap()
    };
    let left_out = "what has nothing to do with pair forces is left out of the file:";
    let charge = |row: &[&str]| format!("{} {} -0.5 {}", row[0], row[1], row[2..].join(" "));
    let full = |row: &[&str]| format!("{} 7 {} 0.5 {}", row[0], row[1], row[2..].join(" "));
    for (read, what) in [
        (other("charge", charge), "charges, section `Bonds`, section `Bond Coeffs`"),
        (other("full", full), "molecules, charges, section `Bonds`, section `Bond Coeffs`"),
    ] {
        assert_eq!(
            (&read.ids, &read.types, &read.positions),
            (&expected.ids, &expected.types, &expected.positions)
        );
        assert_eq!(read.velocities, expected.velocities);
        assert_eq!(read.notes.last(), Some(&format!("{left_out} {what}")));
    }
}
