//! Tests against the crate `molly`, which writes and reads the same format.

use std::path::Path;

use molly::{Frame as XtcFrame, XTCReader, XTCWriter};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Edge lengths of the box of [`file`].
const LENGTHS: [f32; 3] = [12.0, 9.5, 1e3];

fn file(frames: &[Vec<[f32; 3]>], precision: f32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, places) in (0..).zip(frames) {
        let [x, y, z] = LENGTHS;
        let boxvec = [x, 0.0, 0.0, 0.0, y, 0.0, 0.0, 0.0, z];
        let positions = places.concat();
        let frame = XtcFrame { step: 10 * number, time: 0.5 * number as f32, boxvec, precision, positions };
        XTCWriter::new(&mut bytes).write_frame(&frame).unwrap();
    }
    bytes
}

fn read_bytes(bytes: &[u8], wanted: Option<u64>) -> Result<InputParticles, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.xtc");
    std::fs::write(&path, bytes).unwrap();
    let source = Source::file("t.xtc", Path::new(&path), None);
    read(&source, &["A".to_owned()], wanted).map_err(|error| error.to_string())
}

/// Returns places that are close together, as atoms of a molecule are, and others far apart.
fn places(count: usize, spread: f32) -> Vec<[f32; 3]> {
    let at = |index: usize, factor: f32| (index as f32 * factor).sin() * spread + (index / 3) as f32 * 0.4;
    (0..count).map(|index| [at(index, 1.3), at(index, 2.9), at(index, 0.7)]).collect()
}

#[test]
fn any_frame_is_read() {
    let frames = [places(30, 0.1), places(7, 0.1), places(12, 0.1)];
    let bytes = file(&frames, 1000.0);
    for (number, frame) in (1..).zip(&frames) {
        let found = read_bytes(&bytes, Some(number)).unwrap();
        assert_eq!(found.ids, (1..=frame.len() as u64).collect::<Vec<_>>());
        for (found, place) in found.positions.iter().flatten().zip(frame.iter().flatten()) {
            assert!((found - f64::from(*place)).abs() <= 0.5e-3 + 1e-6, "{found} {place}");
        }
        assert_eq!(found.lengths, LENGTHS.map(f64::from));
        assert!(found.velocities.is_none());
    }
    let last = read_bytes(&bytes, None).unwrap();
    assert_eq!((last.frame, last.ids.len()), (Some(3), 12));
    assert_eq!(last.notes, ["the particles are those of frame 3 of 3"]);
}

#[test]
fn damage_is_named() {
    let bytes = file(&[places(30, 0.1), places(12, 0.1)], 1000.0);
    let fault = |bytes: &[u8], wanted| read_bytes(bytes, wanted).unwrap_err();
    assert_eq!(fault(&bytes, Some(3)), "t.xtc: `system.file.frame` is 3, but the frames are 1 to 2");
    let size = bytes.len();
    let cut = &bytes[..size - 1];
    let expected = format!(
        "t.xtc: it is cut: it has {} bytes, but frame 2 ends at byte {size}; `system.file.frame = 1` is the last whole one",
        size - 1
    );
    assert_eq!(fault(cut, None), expected);
    assert_eq!(read_bytes(cut, Some(1)).unwrap().ids.len(), 30);
    assert_eq!(fault(&[], None), "t.xtc: the file is empty");
    let with = |at: usize, word: u32| {
        let mut bytes = file(&[places(30, 0.1)], 1000.0);
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        fault(&bytes, None)
    };
    let magic = "t.xtc: frame 1 (byte 0) does not begin with a magic number of XTC, but with 7";
    assert_eq!(with(0, 7), magic);
    assert_eq!(with(4, 31), "t.xtc: it is damaged: frame 1 has 31 and 30 particles");
    assert_eq!(with(16, 0), "t.xtc: the box must have a positive edge along x, found 0.0");
    let triclinic = "t.xtc: the triclinic box is not supported: its vectors must lie along the axes, found 1.0 beside one";
    assert_eq!(with(20, 1.0_f32.to_bits()), triclinic);
    assert_eq!(with(56, 0), "t.xtc: it is damaged: frame 1: its precision is 0.0");
    assert_eq!(with(84, 3), "t.xtc: it is damaged: frame 1: its small differences are of kind 3");
    assert_eq!(with(88, 2), "t.xtc: it is damaged: frame 1 has 30 particles in 2 bytes");
}

proptest! {
    #[test]
    fn coordinates_are_those_that_others_read(
        count in 1_usize..400, spread in prop_oneof![Just(0.01_f32), Just(0.3), Just(40.0), Just(20_000.0)], decimals in 1..4,
    ) {
        let bytes = file(&[places(count, spread)], 10_f32.powi(decimals));
        let mut frame = XtcFrame::default();
        XTCReader::new(&bytes[..]).read_frame(&mut frame).unwrap();
        let found = read_bytes(&bytes, None).unwrap();
        prop_assert_eq!(found.positions.len(), count);
        for (found, other) in found.positions.iter().flatten().zip(&frame.positions) {
            prop_assert!((*found as f32 - other).abs() <= 2e-7 * other.abs(), "{} {}", found, other);
        }
    }

    #[test]
    fn no_damage_makes_it_panic(changes in vec((any::<usize>(), any::<u8>()), 1..4), cut: usize) {
        let mut bytes = file(&[places(30, 0.1)], 1000.0);
        let all = bytes.len();
        changes.iter().for_each(|&(place, byte)| bytes[place % all] = byte);
        bytes.truncate(if cut.is_multiple_of(3) { cut % all } else { all });
        if let Ok(read) = read_bytes(&bytes, None) {
            prop_assert!(read.positions.iter().flatten().all(|x| x.is_finite()));
        }
    }
}
