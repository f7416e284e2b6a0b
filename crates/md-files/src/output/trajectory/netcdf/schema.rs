//! Variables of a file, and their values.

use md_engine::Snapshot;
use md_scenario::{Positions, TrajectoryColumn, TrajectoryPrecision};

use super::super::frame::{Frame, FrameLayout, OwnParticles};
use crate::input::netcdf::UNWRAPPED;
use crate::netcdf::{Attribute, Dimension, Header, Kind, PROGRAM, Value, Variable};

/// Name of the dimension of the particles.
pub(super) const ATOM: &str = "atom";

/// Indices of the dimensions in the header.
const FRAME: usize = 0;
const SPATIAL: usize = 1;
const ATOMS: usize = 2;
const CELL_SPATIAL: usize = 3;
const CELL_ANGULAR: usize = 4;
const LABEL: usize = 5;

/// Returns the header of a file of `atoms` particles, before its variables have places.
pub(super) fn header_of(layout: &FrameLayout, atoms: u64) -> Header {
    let dimension = |(name, length): (&str, u64)| Dimension { name: name.to_owned(), length };
    let attributes = [
        ("Conventions", "AMBER"),
        ("ConventionVersion", "1.0"),
        ("program", PROGRAM),
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
    Attribute { name: name.to_owned(), value: Value::Text(text.to_owned()) }
}

fn variable(name: &str, dimensions: &[usize], kind: Kind, units: Option<&str>) -> Variable {
    Variable {
        name: name.to_owned(),
        dimensions: dimensions.to_vec(),
        attributes: units.into_iter().map(|units| attribute(("units", units))).collect(),
        kind,
        begin: 0,
    }
}

/// Returns the variables with the names and units that the convention prescribes. `identifier`,
/// `atom_types`, `mass` and `c_epot` are names that OVITO recognises.
fn variables(layout: &FrameLayout) -> Vec<Variable> {
    let real = match layout.precision {
        TrajectoryPrecision::Single => Kind::Float,
        TrajectoryPrecision::Double => Kind::Double,
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
    if let (Positions::Unwrapped, Some(coordinates)) = (layout.positions, all.last_mut()) {
        coordinates.attributes.push(attribute((UNWRAPPED, "T")));
    }
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

/// Returns the values of a variable that does not belong to particles.
pub(super) fn bytes_of(variable: &Variable, frame: &Frame) -> Vec<u8> {
    let numbers = |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    match variable.name.as_str() {
        "spatial" => b"xyz".to_vec(),
        "cell_spatial" => b"abc".to_vec(),
        "cell_angular" => b"alphabeta gamma".to_vec(),
        "step" => numbers(&[frame.step as f64]),
        "time" => numbers(&[frame.time]),
        "cell_origin" => numbers(&frame.origin),
        "cell_lengths" => numbers(&frame.lengths),
        _ => numbers(&[90.0; 3]),
    }
}

/// A particle of which values are needed, and the place of these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Picked {
    /// Index among the particles of this rank.
    pub(super) index: u32,
    pub(super) place: u32,
}

/// Passes the values of a variable of these particles, with their places, to a function.
pub(super) fn values_of(
    variable: &Variable,
    layout: &FrameLayout,
    own: &OwnParticles,
    picked: &[Picked],
    mut take: impl FnMut(u32, &[u8]),
) {
    let Snapshot { particles, domain, .. } = own.now;
    let velocity = &particles.velocity;
    let (kind, take) = (variable.kind, &mut take);
    let counted = |index| domain.wrap_counting(particles.position_of(index), particles.images_of(index));
    match (variable.name.as_str(), layout.positions) {
        ("identifier", _) => encode(kind, picked, |index| [particles.id[index] as f64], take),
        ("atom_types", _) => encode(kind, picked, |index| [particles.species[index] as f64 + 1.0], take),
        ("coordinates", Positions::Wrapped) => {
            encode(kind, picked, |index| domain.wrap_position(particles.position_of(index)), take);
        }
        ("coordinates", Positions::Unwrapped) => {
            let unwrapped = |index| {
                let (position, images) = counted(index);
                domain.unwrap_position(position, images)
            };
            encode(kind, picked, unwrapped, take);
        }
        ("velocities", _) => {
            encode(kind, picked, |index| [0, 1, 2].map(|dim| velocity[dim][index]), take);
        }
        ("forces", _) => encode(kind, picked, |index| particles.force_of(index), take),
        ("images", _) => encode(kind, picked, |index| counted(index).1.0.map(f64::from), take),
        ("mass", _) => encode(kind, picked, |index| [own.mass(index)], take),
        _ => encode(kind, picked, |index| [own.energy(index)], take),
    }
}

/// Encodes numbers as big-endian numbers of the type `kind`.
fn encode<const N: usize>(
    kind: Kind,
    picked: &[Picked],
    numbers: impl Fn(usize) -> [f64; N],
    take: &mut impl FnMut(u32, &[u8]),
) {
    let all = picked.iter().map(|&Picked { index, place }| (place, numbers(index as usize)));
    match kind {
        Kind::Double => all.for_each(|(place, numbers)| {
            take(place, numbers.map(f64::to_be_bytes).as_flattened());
        }),
        Kind::Float => all.for_each(|(place, numbers)| {
            take(place, numbers.map(|number| (number as f32).to_be_bytes()).as_flattened());
        }),
        _ => all.for_each(|(place, numbers)| {
            take(place, numbers.map(|number| (number as i32).to_be_bytes()).as_flattened());
        }),
    }
}
