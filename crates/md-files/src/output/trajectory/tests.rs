//! Tests of the frames of text formats: their form, and that they read back.

use md_scenario::{Positions, TrajectoryPrecision};
use proptest::prelude::*;

use super::frame::{FrameRow, SpeciesLabel};
use super::records::Encode;
use super::*;
use crate::input;

fn layout(columns: &[TrajectoryColumn], positions: Positions) -> FrameLayout {
    let species =
        [("A", 1.0), ("metal B", 2.0)].map(|(name, mass)| SpeciesLabel { name: name.to_owned(), mass });
    FrameLayout {
        path: "traj".to_owned(),
        periodic: [true, true, false],
        species: species.to_vec(),
        columns: columns.to_vec(),
        positions,
        precision: TrajectoryPrecision::Double,
    }
}

const FRAME: Frame = Frame { step: 100, time: 0.5, origin: [0.0; 3], lengths: [10.0, 8.0, 0.5] };

fn rows() -> [FrameRow; 2] {
    let first = FrameRow {
        id: 1,
        kind: 1,
        images: [2, -1, 0],
        position: [1.0, 2.0, 0.25],
        velocity: [0.25, 0.0, 1.0],
        force: [-3.5, 1e-9, 1e20],
        mass: 1.0,
        energy: -2.75,
    };
    let second = FrameRow {
        id: 2,
        kind: 2,
        position: [0.1 + 0.2, 0.0, 0.0],
        velocity: [-0.5, 1e-7, 0.0],
        mass: 2.0,
        ..FrameRow::default()
    };
    [first, second]
}

fn text(mut encoder: impl Encode, frame: &Frame, rows: &[FrameRow]) -> String {
    let mut bytes = Vec::new();
    encoder.encode(frame, rows, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_extxyz_frame() {
    let columns = extxyz::FORMAT.properties.default_columns;
    insta::assert_snapshot!(text(extxyz::Extxyz::new(layout(columns, Positions::Wrapped)), &FRAME, &rows()), @r#"
        2
        Lattice="10.0 0.0 0.0 0.0 8.0 0.0 0.0 0.0 0.5" Origin="0.0 0.0 0.0" Properties=species:S:1:pos:R:3:id:I:1:type:I:1:Z:I:1:velo:R:3:masses:R:1:momenta:R:3 Time=0.5 Step=100 pbc="T T F"
        A 1.0 2.0 0.25 1 1 0 0.25 0.0 1.0 1.0 0.25 0.0 1.0
        metal_B 0.30000000000000004 0.0 0.0 2 2 0 -0.5 1e-7 0.0 2.0 -1.0 2e-7 0.0
    "#);
    let all = layout(TrajectoryColumn::ALL, Positions::Unwrapped);
    insta::assert_snapshot!(text(extxyz::Extxyz::new(all), &FRAME, &rows()), @r#"
        2
        Lattice="10.0 0.0 0.0 0.0 8.0 0.0 0.0 0.0 0.5" Origin="0.0 0.0 0.0" Properties=species:S:1:pos:R:3:id:I:1:type:I:1:Z:I:1:velo:R:3:masses:R:1:momenta:R:3:images:I:3:forces:R:3:energies:R:1 Time=0.5 Step=100 pbc="T T F" unwrapped=T
        A 21.0 -6.0 0.25 1 1 0 0.25 0.0 1.0 1.0 0.25 0.0 1.0 2 -1 0 -3.5 1e-9 1e+20 -2.75
        metal_B 0.30000000000000004 0.0 0.0 2 2 0 -0.5 1e-7 0.0 2.0 -1.0 2e-7 0.0 0 0 0 0.0 0.0 0.0 0.0
    "#);
}

#[test]
fn a_lammpstrj_frame() {
    let columns = lammpstrj::FORMAT.properties.default_columns;
    insta::assert_snapshot!(text(lammpstrj::Lammpstrj::new(layout(columns, Positions::Wrapped)), &FRAME, &rows()), @r"
        ITEM: TIMESTEP
        100
        ITEM: NUMBER OF ATOMS
        2
        ITEM: BOX BOUNDS pp pp ff
        0.0 10.0
        0.0 8.0
        0.0 0.5
        ITEM: ATOMS id type x y z vx vy vz
        1 1 1.0 2.0 0.25 0.25 0.0 1.0
        2 2 0.30000000000000004 0.0 0.0 -0.5 1e-7 0.0
    ");
    let all = layout(lammpstrj::FORMAT.properties.columns, Positions::Unwrapped);
    insta::assert_snapshot!(text(lammpstrj::Lammpstrj::new(all), &FRAME, &rows()), @r"
        ITEM: TIMESTEP
        100
        ITEM: NUMBER OF ATOMS
        2
        ITEM: BOX BOUNDS pp pp ff
        0.0 10.0
        0.0 8.0
        0.0 0.5
        ITEM: ATOMS id type xu yu zu vx vy vz mass ix iy iz fx fy fz c_epot
        1 1 21.0 -6.0 0.25 0.25 0.0 1.0 1.0 2 -1 0 -3.5 1e-9 1e+20 -2.75
        2 2 0.30000000000000004 0.0 0.0 -0.5 1e-7 0.0 2.0 0 0 0 0.0 0.0 0.0 0.0
    ");
}

#[test]
fn a_type_without_species_is_an_error() {
    let mut rows = rows();
    rows[1].kind = 3;
    let mut encoder = extxyz::Extxyz::new(layout(&[], Positions::Wrapped));
    let error = encoder.encode(&FRAME, &rows, &mut Vec::new()).unwrap_err();
    assert_eq!(error, "particle 2 is of type 3, which is no species");
}

#[test]
fn rows_are_put_in_the_order_of_their_ids() {
    for ids in
        [vec![], vec![7], vec![3, 1, 2, 5, 4], vec![12, 11, 10], vec![9, 2, 30, 4], vec![5, 1, 2, 3, 7, 6]]
    {
        let all = ids.iter().map(|&id| FrameRow { id, mass: id as f64, ..FrameRow::default() });
        let mut rows = rows().to_vec();
        frame::put_in_order(ids.iter().copied(), all, &mut rows).unwrap();
        let mut expected = ids;
        expected.sort_unstable();
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), expected);
        assert!(rows.iter().all(|row| row.mass == row.id as f64));
    }
}

#[test]
fn names_give_formats() {
    let named =
        |path: &str| format_of(path).map(|(format, compression)| (format.properties.extension, compression));
    assert_eq!(named("a.b.extxyz"), Some((".extxyz", Compression::None)));
    assert_eq!(named("a.lammpstrj.gz"), Some((".lammpstrj", Compression::Gzip)));
    assert_eq!((named("a.gz"), named("extxyz"), named("a.vtu")), (None, None, None));
}

#[test]
fn own_trajectories_are_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let wrapped = || layout(&[], Positions::Wrapped);
    let frames = [
        ("t.extxyz", text(extxyz::Extxyz::new(wrapped()), &FRAME, &rows())),
        ("t.lammpstrj", text(lammpstrj::Lammpstrj::new(wrapped()), &FRAME, &rows())),
    ];
    for (name, frame) in frames {
        let [plain, dense] = [name.to_owned(), format!("{name}.gz")].map(|name| folder.path().join(name));
        std::fs::write(&plain, &frame).unwrap();
        std::fs::write(&dense, gzip::record(&[], frame.as_bytes()).unwrap()).unwrap();
        assert!(is_own_trajectory(&plain) && is_own_trajectory(&dense), "{name}");
        std::fs::write(&plain, "2\nsomething else\n").unwrap();
        std::fs::write(&dense, &frame).unwrap();
        assert!(!is_own_trajectory(&plain) && !is_own_trajectory(&dense), "{name}");
    }
}

fn number() -> impl Strategy<Value = f64> {
    // The momenta for a mass of 2 are finite too.
    prop_oneof![any::<f64>().prop_filter("finite", |x| (2.0 * x).is_finite()), -1e3..1e3_f64]
}

fn row() -> impl Strategy<Value = FrameRow> {
    let vector = || [number(), number(), number()];
    (1_u32..=2, vector(), vector()).prop_map(|(kind, position, velocity)| FrameRow {
        kind,
        position,
        velocity,
        mass: f64::from(kind),
        ..FrameRow::default()
    })
}

/// Checks that these rows have been read back to identical bits.
fn expect_same(read: &input::InputParticles, rows: &[FrameRow]) {
    let bits =
        |vectors: &[[f64; 3]]| vectors.iter().map(|vector| vector.map(f64::to_bits)).collect::<Vec<_>>();
    let expected = |vector: fn(&FrameRow) -> [f64; 3]| bits(&rows.iter().map(vector).collect::<Vec<_>>());
    assert_eq!(read.ids, rows.iter().map(|row| row.id).collect::<Vec<_>>());
    assert_eq!(read.types, rows.iter().map(|row| row.kind).collect::<Vec<_>>());
    assert_eq!(bits(&read.positions), expected(|row| row.position));
    assert_eq!(bits(read.velocities.as_ref().unwrap()), expected(|row| row.velocity));
    assert_eq!((read.origin, read.lengths), (FRAME.origin, FRAME.lengths));
}

proptest! {
    #[test]
    fn lammpstrj_reads_back_to_the_bit(mut rows in proptest::collection::vec(row(), 1..20)) {
        (1..).zip(&mut rows).for_each(|(id, row)| row.id = 3 * id);
        let columns = [TrajectoryColumn::Velocity, TrajectoryColumn::Mass];
        let text = text(lammpstrj::Lammpstrj::new(layout(&columns, Positions::Wrapped)), &FRAME, &rows);
        let species = ["A", "B"].map(str::to_owned);
        expect_same(&input::lammpstrj::parse_frame("t", &text, &species, None).unwrap(), &rows);
    }

    #[test]
    fn extxyz_reads_back_to_the_bit(mut rows in proptest::collection::vec(row(), 1..20)) {
        (1..).zip(&mut rows).for_each(|(id, row)| row.id = 3 * id);
        let text = text(extxyz::Extxyz::new(layout(extxyz::FORMAT.properties.default_columns, Positions::Wrapped)), &FRAME, &rows);
        let read = input::extxyz::parse("t", &text, &["A".to_owned(), "metal_B".to_owned()]).unwrap();
        expect_same(&read, &rows);
    }
}
