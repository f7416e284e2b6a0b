//! Tests with frames of dumps, as LAMMPS writes them and with faults.

use md_core::ImageCounts;

use super::*;

/// A frame that LAMMPS 29 Sep 2021 writes for `dump custom` with units, times and scaled positions.
const FRAME: &str = "ITEM: UNITS
lj
ITEM: TIME
0.05
ITEM: TIMESTEP
10
ITEM: NUMBER OF ATOMS
2
ITEM: BOX BOUNDS pp pp ff
-1.0000000000000000e+00 3.0000000000000000e+00
0.0000000000000000e+00 8.0000000000000000e+00
0.0000000000000000e+00 1.0000000000000000e+00
ITEM: ATOMS id type xs ys zs vx vy vz mass q ix iy iz
2 1 0.25 0.5 0.75 1 2 3 1.5 0 0 0 0
1 2 0.5 0 0 -1 -2 -3 2 0 1 0 0
";

fn species() -> [String; 2] {
    ["A", "B"].map(str::to_owned)
}

fn fault(text: &str, wanted: Option<u64>) -> String {
    parse_frame("d", text, &species(), wanted).unwrap_err().to_string()
}

#[test]
fn a_frame_of_lammps() {
    let read = parse_frame("d", FRAME, &species(), None).unwrap();
    assert_eq!((read.ids, read.types), (vec![1, 2], vec![2, 1]));
    assert_eq!(read.positions, [[1.0, 0.0, 0.0], [0.0, 4.0, 0.75]]);
    assert_eq!(read.velocities, Some(vec![[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]]));
    assert_eq!((read.origin, read.lengths), ([-1.0, 0.0, 0.0], [4.0, 8.0, 1.0]));
    assert_eq!(read.periodic, Some([true, true, false]));
    assert_eq!(read.masses, [Some(1.5), Some(2.0)]);
    assert_eq!(
        (read.images, read.tells_images),
        (vec![ImageCounts([1, 0, 0]), ImageCounts([0; 3])], [true; 3])
    );
    assert_eq!(read.notes, ["columns of the file that mean nothing here are left out: `q`"]);
}

#[test]
fn any_frame_of_several() {
    let text = format!("{FRAME}{}", FRAME.replace("\n10\n", "\n20\n").replace("0.25 0.5", "0.5 0.5"));
    let last = parse_frame("d", &text, &species(), None).unwrap();
    assert_eq!((last.frame, last.positions[1][0]), (Some(2), 1.0));
    assert_eq!(last.notes[1], "the particles are those of frame 2 of 2 (step 20)");
    let first = parse_frame("d", &text, &species(), Some(1)).unwrap();
    assert_eq!((first.frame, first.positions[1][0]), (Some(1), 0.0));
    assert_eq!(fault(&text, Some(3)), "d: `system.file.frame` is 3, but the frames are 1 to 2");
    let cut = &text[..text.rfind("1 2 0.5").unwrap()];
    assert_eq!(
        fault(cut, None),
        "d:29: the file ends within frame 2: 2 particles promised, 1 found; `system.file.frame = 1` is the last whole one"
    );
    assert!(parse_frame("d", cut, &species(), Some(1)).is_ok());
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (from, to, expected) in [
        (
            "lj",
            "metal",
            "d:2: a file in `units metal` is not supported: the numbers must be in reduced units, `units lj`",
        ),
        (
            "\n2\nITEM",
            "\nx\nITEM",
            "d:8: cannot make sense of `x`: the number of atoms must be an integer of at least 1",
        ),
        ("\n2\nITEM", "\n3\nITEM", "d:15: the file ends too early: 3 particles promised, 2 found"),
        (
            "\n2\nITEM",
            "\n1\nITEM",
            "d:15: more particles than the 1 promised, the first one too many is `1 2 0.5 0 0 -1 -2 -3 2 0 1 0 0`",
        ),
        (
            "pp pp ff\n-1.0000000000000000e+00",
            "pp pp ff\n3.5",
            "d:10: the box must have a positive edge along x, found -0.5",
        ),
        ("id type", "id kind", "d:13: column `type` is missing: `ITEM: ATOMS id type x y z`"),
        ("xs ys", "xw ys", "d:13: a position is missing: `ITEM: ATOMS id type x y z`"),
        ("0 1 0 0", "0 1.5 0 0", "d:15: `1.5` is not an integer (columns ix iy iz)"),
        (
            "0 1 0 0",
            "0 -1048577 0 0",
            "d:15: the image count -1048577 cannot be: counts are from -1048576 to 1048575",
        ),
        ("xs ys", "xs zs", "d:13: column `zs` is given twice"),
        ("2 1 0.25", "2 3 0.25", "d:14: type 3 does not exist: the types are 1 to 2"),
        ("2 1 0.25", "1 1 0.25", "d:15: id 1 is given twice, first in line 14"),
        ("0.25", "nan", "d:14: `nan` is not finite (columns of positions)"),
        ("1.5 0", "-1.5 0", "d:14: the mass of type 1 must be above 0, found `-1.5`"),
        (
            "2 1 0.25 0.5",
            "2 1 0.25",
            "d:14: found 12 columns in `2 1 0.25 0.75 1 2 3 1.5 0 0 0 0`, expected 13 as `ITEM: ATOMS` says",
        ),
        (
            "ITEM: TIME\n",
            "ITEM: TIDE\n",
            "d:3: cannot make sense of `ITEM: TIDE`: a frame has `ITEM: TIMESTEP`, `ITEM: NUMBER OF ATOMS`, `ITEM: BOX BOUNDS` and `ITEM: ATOMS`",
        ),
    ] {
        let text = FRAME.replacen(from, to, 1);
        assert_ne!(text, FRAME, "{from}");
        assert_eq!(fault(&text, None), expected);
    }
    assert_eq!(fault("", None), "d: the file is empty");
    assert_eq!(
        fault(FRAME.trim_end(), None),
        "d:15: the file ends without a newline, so `0` may be cut: add one if the file is complete"
    );
}
