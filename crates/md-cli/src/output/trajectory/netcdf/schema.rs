//! Which variables a file has, and their values.

use super::super::frame::{Frame, FrameLayout, FrameRow};
use crate::netcdf::{Attribute, Dimension, Header, Kind, Variable};
use crate::scenario::{TrajectoryColumn, TrajectoryPrecision};

/// Dimension of the particles.
pub(super) const ATOM: &str = "atom";

/// Indices of the dimensions in the header.
const FRAME: usize = 0;
const SPATIAL: usize = 1;
const ATOMS: usize = 2;
const CELL_SPATIAL: usize = 3;
const CELL_ANGULAR: usize = 4;
const LABEL: usize = 5;

/// The header of a file of so many particles, before its variables have places.
pub(super) fn header_of(layout: &FrameLayout, atoms: u64) -> Header {
    let dimension = |(name, length): (&str, u64)| Dimension { name: name.to_owned(), length };
    let attributes = [
        ("Conventions", "AMBER"),
        ("ConventionVersion", "1.0"),
        ("program", "md"),
        ("programVersion", env!("CARGO_PKG_VERSION")),
        ("title", "reduced units of the Lennard-Jones potential, whatever `units` says"),
    ];
    Header {
        records: 0,
        dimensions: [
            ("frame", 0),
            ("spatial", 3),
            (ATOM, atoms),
            ("cell_spatial", 3),
            ("cell_angular", 3),
            ("label", 5),
        ]
        .map(dimension)
        .into(),
        attributes: attributes.map(attribute).into(),
        variables: variables(layout),
    }
}

fn attribute((name, text): (&str, &str)) -> Attribute {
    Attribute { name: name.to_owned(), text: text.to_owned() }
}

/// Names and units as the convention prescribes them; `identifier`, `atom_types`, `mass` and `c_epot` as OVITO knows them.
fn variables(layout: &FrameLayout) -> Vec<Variable> {
    let real = match layout.precision {
        TrajectoryPrecision::Single => Kind::Float,
        TrajectoryPrecision::Double => Kind::Double,
    };
    let variable = |name: &str, dimensions: &[usize], kind, units: Option<&str>| Variable {
        name: name.to_owned(),
        dimensions: dimensions.to_vec(),
        attributes: units.into_iter().map(|units| attribute(("units", units))).collect(),
        kind,
        begin: 0,
    };
    let mut all = vec![
        variable("spatial", &[SPATIAL], Kind::Char, None),
        variable("cell_spatial", &[CELL_SPATIAL], Kind::Char, None),
        variable("cell_angular", &[CELL_ANGULAR, LABEL], Kind::Char, None),
        variable("identifier", &[ATOMS], Kind::Int, None),
        variable("atom_types", &[ATOMS], Kind::Int, None),
        variable("step", &[FRAME], Kind::Double, None),
        variable("time", &[FRAME], Kind::Double, Some("picosecond")),
        variable("cell_origin", &[FRAME, CELL_SPATIAL], Kind::Double, Some("angstrom")),
        variable("cell_lengths", &[FRAME, CELL_SPATIAL], Kind::Double, Some("angstrom")),
        variable("cell_angles", &[FRAME, CELL_ANGULAR], Kind::Double, Some("degree")),
        variable("coordinates", &[FRAME, ATOMS, SPATIAL], real, Some("angstrom")),
    ];
    all.extend(layout.columns.iter().filter_map(|column| {
        let vector = &[FRAME, ATOMS, SPATIAL];
        Some(match column {
            TrajectoryColumn::Velocity => variable("velocities", vector, real, Some("angstrom/picosecond")),
            TrajectoryColumn::Force => variable("forces", vector, real, Some("kilocalorie/mole/angstrom")),
            TrajectoryColumn::Images => variable("images", vector, Kind::Int, None),
            TrajectoryColumn::Mass => variable("mass", &[ATOMS], Kind::Double, None),
            TrajectoryColumn::Energy => variable("c_epot", &[FRAME, ATOMS], real, None),
            TrajectoryColumn::Momentum => return None,
        })
    }));
    all
}

/// The values of a variable for these particles.
pub(super) fn bytes_of(
    layout: &FrameLayout,
    variable: &Variable,
    frame: &Frame,
    rows: &[FrameRow],
) -> Vec<u8> {
    let mut values = Values { kind: variable.kind, bytes: Vec::new() };
    let vectors = |values: &mut Values, vector: &dyn Fn(&FrameRow) -> [f64; 3]| {
        values.bytes.reserve_exact(rows.len() * 3 * variable.kind.bytes() as usize);
        rows.iter().for_each(|row| values.reals(vector(row)));
    };
    match variable.name.as_str() {
        "spatial" => values.bytes.extend(b"xyz"),
        "cell_spatial" => values.bytes.extend(b"abc"),
        "cell_angular" => values.bytes.extend(b"alphabeta gamma"),
        "identifier" => rows.iter().for_each(|row| values.integer(row.id as i32)),
        "atom_types" => rows.iter().for_each(|row| values.integer(row.kind as i32)),
        "step" => values.reals([frame.step as f64]),
        "time" => values.reals([frame.time]),
        "cell_origin" => values.reals(frame.origin),
        "cell_lengths" => values.reals(frame.lengths),
        "cell_angles" => values.reals([90.0; 3]),
        "coordinates" => vectors(&mut values, &|row| layout.position(frame, row)),
        "velocities" => vectors(&mut values, &|row| row.velocity),
        "forces" => vectors(&mut values, &|row| row.force),
        "images" => rows.iter().flat_map(|row| row.images).for_each(|count| values.integer(count)),
        "mass" => rows.iter().for_each(|row| values.reals([row.mass])),
        _ => rows.iter().for_each(|row| values.reals([row.energy])),
    }
    values.bytes
}

/// Big-endian numbers of the type of a variable.
struct Values {
    kind: Kind,
    bytes: Vec<u8>,
}

impl Values {
    fn reals<const N: usize>(&mut self, numbers: [f64; N]) {
        match self.kind {
            Kind::Double => numbers.into_iter().for_each(|number| self.bytes.extend(number.to_be_bytes())),
            _ => numbers.into_iter().for_each(|number| self.bytes.extend((number as f32).to_be_bytes())),
        }
    }

    fn integer(&mut self, number: i32) {
        self.bytes.extend(number.to_be_bytes());
    }
}
