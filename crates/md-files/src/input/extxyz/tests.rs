use md_core::ImageCounts;

use super::*;
use crate::input::{FrameTime, ParticleLines};

const SMALL: &str = r#"3
Lattice="10 0 0 0 8 0 0 0 2.5" Origin="-5 0 0" Properties=species:S:1:pos:R:3:velo:R:3:forces:R:3:id:I:1 Time=0.5
B 1 2 2 0 1 0 9 9 9 3
A -4 1 0 1 0 0 9 9 9 1
A 4 0 1 0 0 -1.5e-3 9 9 9 2
"#;

const UNUSED: &str = "columns of the file that mean nothing here are left out: `forces`";

fn species() -> Vec<String> {
    vec!["A".to_owned(), "B".to_owned()]
}

fn message(text: &str) -> String {
    parse("a.extxyz", text, &species()).unwrap_err().to_string()
}

/// Returns the error after one change.
fn after(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "nothing to replace: {from}");
    message(&SMALL.replacen(from, to, 1))
}

#[test]
fn a_small_file_is_read_and_sorted_by_id() {
    let expected = InputParticles {
        origin: [-5.0, 0.0, 0.0],
        lengths: [10.0, 8.0, 2.5],
        masses: vec![None; 2],
        ids: vec![1, 2, 3],
        types: vec![1, 1, 2],
        positions: vec![[-4.0, 1.0, 0.0], [4.0, 0.0, 1.0], [1.0, 2.0, 2.0]],
        velocities: Some(vec![[1.0, 0.0, 0.0], [0.0, 0.0, -0.0015], [0.0, 1.0, 0.0]]),
        largest_type: 2,
        images: vec![ImageCounts::default(); 3],
        time: Some(FrameTime::Double(0.5)),
        notes: vec![UNUSED.to_owned()],
        lines: [4, 5, 3].map(|line| ParticleLines { position: line, velocity: line }).to_vec(),
        ..InputParticles::default()
    };
    for text in [SMALL, &SMALL.replace("Time", "Units=\"LJ\" note=1 note=2 Time")] {
        assert_eq!(parse("a.extxyz", text, &species()).unwrap(), expected);
    }
    for name in ["vel", "velocities"] {
        let text = SMALL.replace("velo:", &format!("{name}:"));
        assert_eq!(parse("a.extxyz", &text, &species()).unwrap(), expected);
    }
}

#[test]
fn of_several_frames_the_last_or_the_wanted_one_is_read() {
    let later = SMALL.replace("B 1 2 2", "B 5 5 1").replace("Time=", "Step=70 Time=");
    let text = format!("{SMALL}{later}");
    let last = parse("a", &text, &species()).unwrap();
    assert_eq!(last.positions[2], [5.0, 5.0, 1.0]);
    assert_eq!(last.notes, [UNUSED, "the particles are those of frame 2 of 2 (step 70)"]);
    assert_eq!(last.lines[2], ParticleLines { position: 8, velocity: 8 });
    assert_eq!(read(&Source::given("a", &text), &species(), Some(2)).unwrap(), last);
    let first = read(&Source::given("a", &text), &species(), Some(1)).unwrap();
    assert_eq!(first.positions, parse("a", SMALL, &species()).unwrap().positions);
    let error = read(&Source::given("a", &text), &species(), Some(3)).unwrap_err().to_string();
    assert_eq!(error, "a: `system.file.frame` is 3, but the frames are 1 to 2");
}

#[test]
fn a_trajectory_that_was_cut_says_which_frame_is_whole() {
    let text = format!("{SMALL}{SMALL}{}", SMALL.lines().take(4).collect::<Vec<_>>().join("\n"));
    let expected = "a.extxyz:14: the file ends within frame 3: 3 particles promised, 2 found; `system.file.frame = 2` \
                    is the last whole one";
    assert_eq!(message(&text), expected);
    assert_eq!(read(&Source::given("a", &text), &species(), Some(2)).unwrap().ids, [1, 2, 3]);
}

#[test]
fn masses_belong_to_species() {
    let text =
        SMALL.replace("forces:R:3", "masses:R:1:forces:R:2").replace("-4 1 0 1 0 0 9", "-4 1 0 1 0 0 2.5");
    let text = text.replace("-1.5e-3 9", "-1.5e-3 2.5").replace("B 1 2 2 0 1 0 9", "B 1 2 2 0 1 0 7");
    assert_eq!(parse("a", &text, &species()).unwrap().masses, [Some(2.5), Some(7.0)]);
    let expected = "a.extxyz:5: the mass of `A` is 2.25, but 2.5 in line 4: all particles of a species have the same mass";
    assert_eq!(message(&text.replace("-1.5e-3 2.5", "-1.5e-3 2.25")), expected);
    let expected = "a.extxyz:4: the mass of type 1 must be above 0, found `0`";
    assert_eq!(message(&text.replace("0 1 0 0 2.5", "0 1 0 0 0")), expected);
}

#[test]
fn periodic_faces_and_momenta_are_read() {
    for (text, periodic) in [("\"T T F\"", [true, true, false]), ("'1 0 1'", [true, false, true])] {
        let text = SMALL.replace("Time", &format!("pbc={text} Time")).replace("velo", "momenta");
        let particles = parse("a", &text, &species()).unwrap();
        assert_eq!(particles.periodic, Some(periodic));
        assert_eq!((particles.momenta.map(|momenta| momenta.len()), particles.velocities), (Some(3), None));
    }
    let found = message(&SMALL.replace("Time", "pbc=\"T T\" Time"));
    assert!(found.ends_with("`pbc` is `T T`, expected one T or F per axis: `pbc=\"T T T\"`"), "{found}");
}

#[test]
fn a_last_number_that_may_be_cut_is_refused() {
    let expected =
        "a.extxyz:5: the file ends without a newline, so `2` may be cut: add one if the file is complete";
    assert_eq!(message(SMALL.trim_end()), expected);
    assert!(parse("a", &format!("{} ", SMALL.trim_end()), &species()).is_ok());
}

/// The arrays have the forms of the format's specification, older and newer.
#[test]
fn arrays_are_read_in_every_form() {
    let expected = parse("a", SMALL, &species()).unwrap();
    for (lattice, origin, periodic) in [
        ("{10 0 0 0 8 0 0 0 2.5}", "{-5 0 0}", "{T T F}"),
        ("[[10, 0, 0], [0, 8, 0], [0, 0, 2.5]]", "[-5, 0, 0]", "[T, T, F]"),
        ("[[10,0,0],[0,8,0],[0,0,2.5]]", "[-5,0.0,0]", "[true,true,false]"),
        ("[10, 0, 0, 0, 8, 0, 0, 0, 2.5]", "\"-5 0 0\"", "\"T T F\""),
        ("\"[[10, 0, 0], [0, 8, 0], [0, 0, 2.5]]\"", "'[-5, 0, 0]'", "T,T,F"),
    ] {
        let text = SMALL
            .replace("\"10 0 0 0 8 0 0 0 2.5\"", lattice)
            .replace("\"-5 0 0\"", &format!("{origin} pbc={periodic}"));
        let found = parse("a", &text, &species()).unwrap();
        assert_eq!(
            found,
            InputParticles { periodic: Some([true, true, false]), ..expected.clone() },
            "{lattice}"
        );
    }
    for (lattice, expected) in [
        (
            "[[10, 0, 0], [0, 8, 0], [0, 0, 2.5]",
            "the value of `Lattice` has an opening quote or bracket but no closing one",
        ),
        (
            "{10 0 0 0 8 0 0 0 2.5",
            "the value of `Lattice` has an opening quote or bracket but no closing one",
        ),
        ("[[10, 0, 0], [0, 8, 0]]", "`Lattice` has 6 numbers, expected"),
        (
            "[[10, 0, 0], [1, 8, 0], [0, 0, 2.5]]",
            "the triclinic box `[10, 0, 0], [1, 8, 0], [0, 0, 2.5]` is not supported",
        ),
        ("{10 0 0 1 8 0 0 0 2.5}", "the triclinic box `10 0 0 1 8 0 0 0 2.5` is not supported"),
        ("{10 0 0 0 x 0 0 0 2.5}", "`x` is not a number (an edge of the box: Lattice)"),
    ] {
        let said = message(&SMALL.replace("\"10 0 0 0 8 0 0 0 2.5\"", lattice));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn properties_default_to_species_and_position() {
    let particles = parse("a", "2\nlattice='5 0 0 0 5 0 0 0 5'\nB 1 2 3\nA 0 0 0\n", &species()).unwrap();
    assert_eq!((particles.ids, particles.types), (vec![1, 2], vec![2, 1]));
    assert!(particles.velocities.is_none());
}

#[test]
fn a_type_column_goes_before_foreign_species() {
    let text = "1\nLattice=\"5 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3:type:I:1\nAr 1 2 3 2\n";
    assert_eq!(parse("a", text, &species()).unwrap().types, [2]);
    let own = text.replace("Ar", "A");
    let expected = "a.extxyz:3: the species is `A`, type 1 of the scenario, but the type column says 2";
    assert_eq!(message(&own), expected);
    let beyond = text.replace("3 2\n", "3 7\n");
    assert_eq!(message(&beyond), "a.extxyz:3: type 7 does not exist: the types are 1 to 2");
}

#[test]
fn every_fault_of_the_comment_line_is_named() {
    for (from, to, expected) in [
        ("Lattice=", "Box=", "a.extxyz:2: `Lattice` is missing: `Lattice=\"ax 0 0 0 by 0 0 0 cz\"`"),
        (
            "10 0 0 0 8",
            "10 1 0 0 8",
            "a.extxyz:2: the triclinic box `10 1 0 0 8 0 0 0 2.5` is not supported: ",
        ),
        ("10 0 0 0 8", "10 0 0 8", "`Lattice` has 8 numbers, expected `Lattice=\"ax"),
        ("10 0 0 0 8", "nan 0 0 0 8", "a.extxyz:2: `nan` is not finite (an edge of the box: Lattice)"),
        ("10 0 0 0 8", "-10 0 0 0 8", "a.extxyz:2: the box must have a positive edge along x, found -10.0"),
        ("\"-5 0 0\"", "\"-5 0\"", "`Origin` has 2 numbers, expected 3"),
        ("0\" Prop", "0 Prop", "the value of `Origin` has an opening quote or bracket but no closing one"),
        ("id:I:1", "id:I", "`Properties` is `name:type:columns`"),
        ("id:I:1", "id:X:1", "`id` must be `id:I:1`"),
        ("forces:R:3", "forces:R:0", "`Properties` is `name:type:columns`"),
        ("pos:R:3", "place:R:3", "a.extxyz:2: column `pos` is missing: `pos:R:3` in `Properties`"),
        ("species:S:1", "element:S:1", "a.extxyz:2: column `species` or `type` is missing: "),
        ("velo:", "pos:", "a.extxyz:2: column `pos` is given twice"),
        ("velo:", "momenta:R:3:momenta:", "a.extxyz:2: column `momenta` is given twice"),
        (
            "Time",
            "lattice=\"9 0 0 0 9 0 0 0 9\" Time",
            "a.extxyz:2: `lattice` in the comment line is given twice",
        ),
        ("Time", "PBC=\"T T T\" pbc=\"F F F\" Time", "a.extxyz:2: `pbc` in the comment line is given twice"),
        ("Time", "Origin=\"0 0 0\" Time", "a.extxyz:2: `Origin` in the comment line is given twice"),
        ("Time", "Properties=pos:R:3 Time", "a.extxyz:2: `Properties` in the comment line is given twice"),
        (
            "Time",
            "units=metal Time",
            "a.extxyz:2: a file in `units = metal` is not supported: the numbers must be in reduced units, `units = lj`",
        ),
    ] {
        let found = after(from, to);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn every_fault_of_a_row_is_named() {
    for (from, to, expected) in [
        ("3\n", "x\n", "a.extxyz:1: cannot make sense of `x`: line 1 must be the number of particles"),
        ("3\n", "0\n", "a.extxyz:1: cannot make sense of `0`: "),
        ("3\n", "4\n", "a.extxyz:5: the file ends too early: 4 particles promised, 3 found"),
        ("3\n", "18446744073709551615\n", "18446744073709551615 particles promised, 3 found"),
        ("3\n", "2\n", "a.extxyz:5: more particles than the 2 promised, the first one too many is `A 4 0 1"),
        ("A -4", "C -4", "a.extxyz:4: there is no species `C`: the scenario has `A`, `B`"),
        ("A -4", "A -4x", "a.extxyz:4: `-4x` is not a number (column pos)"),
        ("A -4", "A inf", "a.extxyz:4: `inf` is not finite (column pos)"),
        (
            "A -4",
            "A",
            "a.extxyz:4: found 10 columns in `A 1 0 1 0 0 9 9 9 1`, expected 11 as `Properties` says",
        ),
        ("-1.5e-3", "NaN", "a.extxyz:5: `NaN` is not finite (column of velocities)"),
        ("9 1\n", "9 3\n", "a.extxyz:4: id 3 is given twice, first in line 3"),
        ("9 1\n", "9 -1\n", "a.extxyz:4: id -1 cannot be: ids start at 1"),
        ("9 1\n", "9 1.5\n", "a.extxyz:4: `1.5` is not an integer (column id)"),
    ] {
        let found = after(from, to);
        assert!(found.contains(expected), "{found}");
    }
    assert_eq!(message(""), "a.extxyz: the file is empty");
    assert!(message("3").starts_with("a.extxyz: the comment line is missing: "));
}

#[test]
fn one_damaged_byte_gives_particles_or_an_error() {
    for position in 0..SMALL.len() {
        for damage in ["", "x", "\"", "-", ":", "\n", "9", "\u{e4}"] {
            let text = format!("{}{damage}{}", &SMALL[..position], &SMALL[position + 1..]);
            match parse("a.extxyz", &text, &species()) {
                Ok(particles) => assert_eq!(particles.ids.len(), particles.positions.len()),
                Err(error) => assert!(error.to_string().starts_with("a.extxyz:"), "{error}"),
            }
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let said = |again: &str| {
        let source = Source::changing("a.extxyz", [SMALL, again]);
        read(&source, &species(), None).unwrap_err().to_string()
    };
    let begins = "a.extxyz: the file changed while it was read: 5 lines (189 bytes) at first, then ";
    let cut: String = SMALL.split_inclusive('\n').take(4).collect();
    assert_eq!(said(&cut), format!("{begins}4 lines (161 bytes)"));
    assert_eq!(said(&SMALL.repeat(2)), format!("{begins}10 lines (378 bytes)"));
    assert_eq!(said(""), format!("{begins}0 lines (0 bytes)"));
    assert_eq!(said(&SMALL.replace("A -4 1", "A -3 1")), format!("{begins}as many others"));
    assert_eq!(said(&SMALL.replace("B 1 2", "Q 1 2")), format!("{begins}as many others"));
}
