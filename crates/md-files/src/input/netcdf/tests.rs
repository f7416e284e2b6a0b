//! Tests with `NetCDF` files that are made here, read back and damaged.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::netcdf::{Attribute, Dimension, Kind, Value, Variable};

const ATOMS: usize = 4;

/// Returns a file of two frames.
fn file() -> Vec<u8> {
    file_with(&[])
}

/// Returns a file of two frames, with attributes of variables.
fn file_with(attributes: &[(&str, &str, Value)]) -> Vec<u8> {
    let of = |variable: &str| {
        let own = attributes.iter().filter(|(own, ..)| *own == variable);
        own.map(|(_, name, value)| Attribute { name: (*name).to_owned(), value: value.clone() }).collect()
    };
    let dimension = |(name, length): (&str, u64)| Dimension { name: name.to_owned(), length };
    let variable = |(name, dimensions, kind): (&str, &[usize], Kind)| Variable {
        name: name.to_owned(),
        dimensions: dimensions.to_vec(),
        attributes: of(name),
        kind,
        begin: 0,
    };
    let mut header = Header {
        records: 2,
        dimensions: [("frame", 0), ("atom", ATOMS as u64), ("spatial", 3)].map(dimension).into(),
        attributes: Vec::new(),
        variables: [
            ("id", &[0, 1][..], Kind::Int),
            ("type", &[1], Kind::Int),
            ("cell_lengths", &[0, 2], Kind::Double),
            ("cell_angles", &[0, 2], Kind::Float),
            ("coordinates", &[0, 1, 2], Kind::Double),
            ("velocities", &[0, 1, 2], Kind::Float),
        ]
        .map(variable)
        .into(),
    };
    let mut bytes = header.laid_out().unwrap();
    bytes.extend([1_i32, 2, 1, 2].into_iter().flat_map(i32::to_be_bytes));
    for frame in [0.0, 1.0] {
        bytes.extend([9_i32, 3, 5, 7].into_iter().flat_map(i32::to_be_bytes));
        bytes.extend([10.0_f64, 8.0, 6.0].into_iter().flat_map(f64::to_be_bytes));
        bytes.extend([90.0_f32; 3].into_iter().flat_map(f32::to_be_bytes));
        bytes.extend((0..12).map(|index| 0.1 * f64::from(index) + frame).flat_map(f64::to_be_bytes));
        bytes.extend((0..12).map(|index| 0.5 * index as f32 - frame as f32).flat_map(f32::to_be_bytes));
    }
    bytes
}

fn read_bytes(bytes: &[u8], wanted: Option<u64>) -> Result<InputParticles, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.nc");
    std::fs::write(&path, bytes).unwrap();
    let source = Source::file("t.nc", Path::new(&path), None);
    read(&source, &["A".to_owned(), "B".to_owned()], wanted).map_err(|error| error.to_string())
}

#[test]
fn any_frame_is_read() {
    let last = read_bytes(&file(), None).unwrap();
    assert_eq!((last.ids, last.types), (vec![3, 5, 7, 9], vec![2, 1, 2, 1]));
    assert_eq!((last.positions[3], last.lengths), ([1.0, 1.1, 1.2], [10.0, 8.0, 6.0]));
    assert_eq!(last.velocities.unwrap()[0], [0.5, 1.0, 1.5]);
    assert_eq!(
        (last.frame, &*last.notes),
        (Some(2), &["the particles are those of frame 2 of 2".to_owned()][..])
    );
    assert_eq!(read_bytes(&file(), Some(1)).unwrap().positions[3], [0.0, 0.1, 0.2]);
    assert!(!last.lacks_types);
    let mut other = file();
    let at = other.windows(4).position(|name| name == b"type").unwrap();
    other[at..at + 4].copy_from_slice(b"kind");
    let untyped = read_bytes(&other, None).unwrap();
    assert_eq!((untyped.lacks_types, untyped.types), (true, vec![1; ATOMS]));
}

#[test]
fn packed_numbers_are_unpacked() {
    let number = |number: f64| Value::Numbers(vec![number]);
    let bytes = file_with(&[
        ("coordinates", "scale_factor", number(2.0)),
        ("coordinates", "add_offset", number(-1.0)),
        ("cell_lengths", "scale_factor", number(4.0)),
        ("velocities", "scale_factor", number(20.455)),
    ]);
    let read = read_bytes(&bytes, Some(1)).unwrap();
    assert_eq!((read.positions[3], read.lengths), ([-1.0, -0.8, -0.6], [40.0, 32.0, 24.0]));
    assert_eq!(read.velocities.unwrap()[0], [1.5, 2.0, 2.5].map(|v| v * 20.455));
    let fault = |value| read_bytes(&file_with(&[("velocities", "scale_factor", value)]), None).unwrap_err();
    let expected = "t.nc: `scale_factor` of variable `velocities` must be a finite number, found ";
    assert_eq!(fault(Value::Text("two".to_owned())), format!("{expected}\"two\""));
    assert_eq!(fault(Value::Numbers(vec![1.0, 2.0])), format!("{expected}[1.0, 2.0]"));
    assert_eq!(fault(number(f64::NAN)), format!("{expected}[NaN]"));
    let zero = "t.nc: `scale_factor` of variable `velocities` must not be 0";
    assert_eq!(fault(number(0.0)), zero);
    let mut bytes = file();
    let fill = bytes.len() - 4;
    bytes[fill..].copy_from_slice(&[0x7c, 0xf0, 0, 0]);
    assert_eq!(read_bytes(&bytes, None).unwrap_err(), "t.nc: frame 2: values of `velocities` are missing");
}

/// Reads the first frame of a file in which these variables name units.
fn read_with_units(all: &[(&str, &str)]) -> Result<InputParticles, String> {
    let attribute = |&(variable, text)| (variable, "units", Value::Text(str::to_owned(text)));
    read_bytes(&file_with(&all.iter().map(attribute).collect::<Vec<_>>()), Some(1))
}

#[test]
fn units_are_told_and_must_be_known_to_be_converted() {
    let units = |all: &[(&str, &str)]| {
        let notes = read_with_units(all)?.notes;
        Ok(notes.into_iter().find(|note| note.contains("as the reduced units")))
    };
    let note = |what: &str| Ok(Some(format!("the file has {what}, which are taken as the reduced units")));
    assert_eq!(units(&[]), Ok(None));
    assert_eq!(units(&[("coordinates", "lj"), ("velocities", "lj"), ("cell_lengths", "lj")]), Ok(None));
    let amber = [("coordinates", "angstrom"), ("cell_lengths", "Angstrom "), ("velocities", "A/ps")];
    assert_eq!(units(&amber), note("lengths in `angstrom`, times in `ps`"));
    assert_eq!(units(&[("coordinates", "nanometer")]), note("lengths in `nanometer`"));
    // ASE writes units in this form.
    let ase = [("coordinates", "Angstrom/Femtosecond"), ("cell_lengths", "Angstrom")];
    assert_eq!(units(&ase), note("lengths in `Angstrom`"));
    assert_eq!(
        units(&[("coordinates", "nanometer"), ("cell_lengths", "lj")]),
        Err("t.nc: `coordinates` has lengths in `nanometer`, but `cell_lengths` in `lj`: one of the two units is not known, so \
             the numbers cannot be converted"
            .to_owned())
    );
}

/// The file contains positions, a box and velocities. Variables in different units are multiplied
/// by a factor.
#[test]
fn units_of_a_variable_are_converted() {
    let read = |all: &[(&str, &str)]| read_with_units(all).unwrap();
    let plain = read(&[]);
    let mixed = read(&[("coordinates", "nm"), ("cell_lengths", "angstrom"), ("velocities", "angstrom/ps")]);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    assert_eq!(mixed.positions, plain.positions);
    assert!((0..3).all(|dim| close(mixed.lengths[dim], 0.1 * plain.lengths[dim])), "{:?}", mixed.lengths);
    let [mixed_velocities, velocities] = [&mixed, &plain].map(|read| read.velocities.as_ref().unwrap());
    let pairs = mixed_velocities.as_flattened().iter().zip(velocities.as_flattened());
    assert!(pairs.clone().all(|(a, b)| close(*a, 0.1 * b)), "{mixed_velocities:?}");
    let note = |what: &str| mixed.notes.iter().any(|note| note.starts_with(what));
    assert!(
        note("`cell_lengths` has units of its own: its numbers are multiplied by 0.1"),
        "{:?}",
        mixed.notes
    );
    assert!(note("`velocities` has units of its own"), "{:?}", mixed.notes);
}

#[test]
fn damage_is_named() {
    let fault = |bytes: &[u8], wanted| read_bytes(bytes, wanted).unwrap_err();
    let whole = file();
    assert_eq!(fault(&whole, Some(3)), "t.nc: `system.file.frame` is 3, but the frames are 1 to 2");
    let size = whole.len();
    let cut = format!(
        "t.nc: it is cut: it has {} bytes, but variable `velocities` ends at byte {size}; `system.file.frame = 1` is the \
         last whole one",
        size - 1
    );
    assert_eq!(fault(&whole[..size - 1], None), cut);
    assert_eq!(read_bytes(&whole[..size - 1], Some(1)), read_bytes(&whole, Some(1)));
    let changed = |from_end: usize, with: &[u8]| {
        let mut bytes = file();
        bytes[size - from_end..][..with.len()].copy_from_slice(with);
        fault(&bytes, None)
    };
    // Bytes from the end: velocities 48, coordinates 96, angles 12, lengths 24, ids 16; then the
    // first frame and types.
    assert_eq!(changed(48, &[0x7f, 0xc0, 0, 0]), "t.nc: particle 9: a number of `velocities` is NaN");
    assert_eq!(
        changed(48 + 96 + 12 + 24, &[0; 8]),
        "t.nc: the box must have a positive edge along x, found 0.0"
    );
    assert_eq!(changed(48 + 96 + 12 + 24 + 16, &[0, 0, 0, 3]), "t.nc: id 3 is given twice");
    assert_eq!(changed(48 + 96 + 12 + 24 + 16, &[0; 4]), "t.nc: id 0 cannot be: ids start at 1");
    let in_radians = |value: f64| {
        let units = ("cell_angles", "units", Value::Text("radian".to_owned()));
        let scale = ("cell_angles", "scale_factor", Value::Numbers(vec![value / 90.0]));
        read_bytes(&file_with(&[units, scale]), None).err()
    };
    let angle = "t.nc: the triclinic box is not supported: all `cell_angles` must be 90";
    assert_eq!(changed(48 + 96 + 12, &[0x42, 0xb5, 0, 0]), angle);
    let right = f64::from(std::f32::consts::FRAC_PI_2);
    assert_eq!((in_radians(right), in_radians(90.0).as_deref()), (None, Some(angle)));
    assert_eq!(changed(2 * 196 + 16, &[0, 0, 0, 3]), "t.nc: type 3 does not exist: the types are 1 to 2");
}

proptest! {
    #[test]
    fn no_damage_makes_it_panic(places in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..4), cut: usize) {
        let mut bytes = file();
        let all = bytes.len();
        places.iter().for_each(|&(place, byte)| bytes[place % all] = byte);
        bytes.truncate(if cut.is_multiple_of(3) { cut % all } else { all });
        if let Ok(read) = read_bytes(&bytes, None) {
            prop_assert!(read.ids.is_sorted() && read.positions.iter().flatten().all(|x| x.is_finite()));
        }
    }
}
