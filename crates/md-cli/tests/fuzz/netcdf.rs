//! `NetCDF` trajectories by AMBER's convention: valid ones, with other numbers in their headers and
//! values, other variables, and damage.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::binary::{ByteChange, byte_change, check_binary};
use crate::case::{Case, Trial};
use crate::files::{Features, case_of, rows};

/// Number of words of most headers.
const HEAD: usize = 120;

/// Numbers of frames.
const COUNTS: [u32; 6] = [0, 1, 2, 1000, 0xffff_fffe, 0xffff_ffff];

/// Values of particles and boxes.
const VALUES: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    2.0,
    -1.0,
    1.5,
    8.4,
    90.0,
    1e17,
    1e300,
    5e-324,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Names of variables, those that are read first.
const NAMES: [&str; 13] = [
    "coordinates",
    "cell_lengths",
    "cell_angles",
    "cell_origin",
    "identifier",
    "id",
    "atom_types",
    "type",
    "velocities",
    "mass",
    "time",
    "",
    "\u{1b}[2J",
];

/// Attributes that define the meaning of numbers, and one without effect.
const ATTRIBUTES: [&str; 5] = ["scale_factor", "add_offset", "_FillValue", "units", "title"];

/// Units and other texts.
const TEXTS: [&str; 9] =
    ["lj", "angstrom", "nanometer", "picosecond", "angstrom/picosecond", "/", "", "ä", "\u{1b}[2J"];

/// Versions of the format: offsets have eight bytes from 2 on, counts from 5 on.
const VERSIONS: [u8; 3] = [1, 2, 5];

/// Type tags.
const CHAR: u32 = 2;
const INT: u32 = 4;
const FLOAT: u32 = 5;
const DOUBLE: u32 = 6;

/// A change of a file. Places wrap around.
#[derive(Debug, Clone)]
enum Change {
    /// Another value of a variable.
    Value(usize, usize, f64),
    /// A variable is removed.
    Drop(usize),
    /// A variable has another name.
    Name(usize, &'static str),
    /// A variable has other dimensions.
    Dimensions(usize, Vec<u32>),
    /// A variable is of another type.
    Kind(usize, u32),
    /// A variable has an attribute: numbers of a type, or a text.
    Attribute(usize, &'static str, Attribute),
    /// The header gives this number of frames.
    Records(u32),
    /// A change of bytes.
    Bytes(ByteChange),
}

/// The value of an attribute.
#[derive(Debug, Clone)]
enum Attribute {
    Text(&'static str),
    Numbers(u32, Vec<f64>),
}

/// A trajectory with changes, and the requested frame.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    features: Features,
    version: u8,
    /// Whether numbers have eight bytes.
    is_double: bool,
    atoms: usize,
    frames: u32,
    wanted: Option<u32>,
    seed: u64,
    changes: Vec<Change>,
}

/// Largest number of frames of a file.
const FRAMES: u32 = 3;

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    let at = any::<usize>;
    let dimensions = vec(0..5_u32, 0..4);
    let change = prop_oneof![
        3 => (at(), at(), select(VALUES.to_vec())).prop_map(|(one, place, value)| Change::Value(one, place, value)),
        1 => at().prop_map(Change::Drop),
        1 => (at(), select(NAMES.to_vec())).prop_map(|(one, name)| Change::Name(one, name)),
        1 => (at(), dimensions).prop_map(|(one, dimensions)| Change::Dimensions(one, dimensions)),
        1 => (at(), 0..13_u32).prop_map(|(one, kind)| Change::Kind(one, kind)),
        2 => (at(), select(ATTRIBUTES.to_vec()), attribute()).prop_map(|(one, name, value)| Change::Attribute(one, name, value)),
        1 => select(COUNTS.to_vec()).prop_map(Change::Records),
        5 => byte_change(HEAD).prop_map(Change::Bytes),
    ];
    let wanted = prop_oneof![2 => Just(None), 1 => (0..FRAMES + 2).prop_map(Some)];
    let version = select(VERSIONS.to_vec());
    let file = (any::<[bool; 4]>(), (version, any::<bool>()), 1..40_usize, 1..=FRAMES, wanted, any::<u64>());
    (file, vec(change, 0..4)).prop_map(
        |((features, (version, is_double), atoms, frames, wanted, seed), changes)| Changed {
            features: Features::new(features),
            version,
            is_double,
            atoms,
            frames,
            wanted,
            seed,
            changes,
        },
    )
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let numbers = (1..12_u32, vec(select(VALUES.to_vec()), 0..3));
    prop_oneof![
        1 => select(TEXTS.to_vec()).prop_map(Attribute::Text),
        2 => numbers.prop_map(|(kind, numbers)| Attribute::Numbers(kind, numbers)),
        2 => select(vec![1.0, 0.5, 20.455]).prop_map(|number| Attribute::Numbers(DOUBLE, vec![number])),
    ]
}

/// Returns unchanged files with all combinations of features.
pub(crate) fn valid() -> impl Iterator<Item = Changed> {
    (0..96_u32).map(|bits| {
        let bit = |number: u32| bits >> number & 1 != 0;
        Changed {
            features: Features::new([0, 1, 2, 3].map(bit)),
            is_double: bit(4),
            version: VERSIONS[bits as usize / 32],
            atoms: 30,
            frames: 2,
            wanted: None,
            seed: 1,
            changes: Vec::new(),
        }
    })
}

/// A variable and its values: one set for the file, or one for each frame.
#[derive(Debug, Clone)]
struct Variable {
    name: &'static str,
    dimensions: Vec<u32>,
    kind: u32,
    attributes: Vec<(&'static str, Attribute)>,
    values: Vec<Vec<f64>>,
}

/// Names of dimensions.
const DIMENSIONS: [&str; 5] = ["frame", "atom", "spatial", "cell_spatial", "cell_angular"];

impl Changed {
    fn variables(&self) -> Vec<Variable> {
        let Self { features, atoms, frames, seed, .. } = *self;
        let number = if self.is_double { DOUBLE } else { FLOAT };
        let variable = |name, dimensions: &[u32], kind, of_frame: &dyn Fn(u64) -> Vec<f64>| {
            let count = if dimensions.first() == Some(&0) { frames } else { 1 };
            let values = (0..u64::from(count)).map(of_frame).collect();
            Variable { name, dimensions: dimensions.to_vec(), kind, attributes: Vec::new(), values }
        };
        let ids = |frame: u64| (1..=atoms).map(|id| ((id + frame as usize) % atoms + 1) as f64).collect();
        let places =
            |frame: u64| rows(features, atoms, seed.wrapping_add(2 * frame)).into_iter().flatten().collect();
        let velocities =
            |_| (0..3 * atoms).map(|at| if at % 3 == 2 { 0.0 } else { 0.1 * at as f64 }).collect();
        let mut all = vec![
            variable("cell_lengths", &[0, 3], DOUBLE, &|_| vec![8.4; 3]),
            variable("cell_angles", &[0, 4], number, &|_| vec![90.0; 3]),
            variable("coordinates", &[0, 1, 2], number, &places),
        ];
        if features.is_rich {
            all.push(variable("cell_origin", &[0, 3], number, &|_| vec![0.0; 3]));
            all.push(variable("velocities", &[0, 1, 2], number, &velocities));
            all.push(variable("mass", &[1], number, &|_| vec![2.0; atoms]));
        }
        if features.is_long {
            all.push(variable("atom_types", &[0, 1], INT, &|_| vec![1.0; atoms]));
            all.push(variable("identifier", &[0, 1], INT, &ids));
            all.push(variable("time", &[0], number, &|frame| vec![frame as f64]));
        }
        all
    }

    fn bytes(&self) -> Vec<u8> {
        let mut variables = self.variables();
        let mut records = self.frames;
        for change in &self.changes {
            let count = variables.len().max(1);
            let one = |place: usize| place % count;
            match change {
                Change::Drop(place) if !variables.is_empty() => drop(variables.remove(one(*place))),
                Change::Name(place, name) => {
                    variables.get_mut(one(*place)).into_iter().for_each(|it| it.name = name);
                }
                Change::Dimensions(place, dimensions) => {
                    variables
                        .get_mut(one(*place))
                        .into_iter()
                        .for_each(|it| it.dimensions.clone_from(dimensions));
                }
                Change::Kind(place, kind) => {
                    variables.get_mut(one(*place)).into_iter().for_each(|it| it.kind = *kind);
                }
                Change::Attribute(place, name, value) => {
                    let of = variables.get_mut(one(*place)).into_iter();
                    of.for_each(|it| it.attributes.push((*name, value.clone())));
                }
                Change::Value(place, value, number) => {
                    let values = variables.get_mut(one(*place)).and_then(|it| it.values.last_mut());
                    let at = values.map(|values| (value % values.len().max(1), values));
                    at.and_then(|(at, values)| values.get_mut(at)).into_iter().for_each(|it| *it = *number);
                }
                Change::Records(count) => records = *count,
                Change::Drop(_) | Change::Bytes(_) => (),
            }
        }
        let header = header(&variables, [self.atoms as u32, records], self.version);
        let mut bytes = [&header[..], &values(&variables)].concat();
        for change in &self.changes {
            if let Change::Bytes(change) = change {
                change.apply(&mut bytes);
            }
        }
        bytes
    }

    pub(crate) fn case(&self) -> Case {
        let frame = self.wanted.map_or_else(String::new, |frame| format!(", frame = {frame}"));
        let mut case = case_of(&format!("format = \"netcdf\"{frame}"), self.features, self.bytes());
        if !self.features.is_rich {
            case.overrides.push("system.temperature=0.0".to_owned());
        }
        case
    }
}

/// Returns the size of a value in bytes.
fn width(kind: u32) -> usize {
    match kind {
        1 | CHAR | 7 => 1,
        3 | 8 => 2,
        DOUBLE | 10 | 11 => 8,
        _ => 4,
    }
}

fn padded(values: &[f64], kind: u32) -> Vec<u8> {
    let value = |&value: &f64| match kind {
        INT => (value as i32).to_be_bytes().to_vec(),
        FLOAT => (value as f32).to_be_bytes().to_vec(),
        DOUBLE => value.to_be_bytes().to_vec(),
        10 => (value as i64).to_be_bytes().to_vec(),
        other => vec![value as u8; width(other)],
    };
    let mut bytes: Vec<u8> = values.iter().flat_map(value).collect();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn has_records(variable: &Variable) -> bool {
    variable.values.len() > 1 || variable.dimensions.first() == Some(&0)
}

/// Returns the values of variables without frames, then those of the others frame by frame.
fn values(variables: &[Variable]) -> Vec<u8> {
    let (framed, whole): (Vec<_>, Vec<_>) = variables.iter().partition(|it| has_records(it));
    let frames = framed.iter().map(|it| it.values.len()).max().unwrap_or(0);
    let of_frames = (0..frames).flat_map(|frame| framed.iter().map(move |it| (it, frame)));
    let all = whole.iter().map(|it| (it, 0)).chain(of_frames);
    all.flat_map(|(it, frame)| it.values.get(frame).map(|values| padded(values, it.kind)).unwrap_or_default())
        .collect()
}

/// Writes headers.
struct Writer {
    bytes: Vec<u8>,
    version: u8,
}

impl Writer {
    fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        if self.version == 5 {
            self.bytes.extend((count as u64).to_be_bytes());
        } else {
            self.word(count as u32);
        }
    }

    fn list(&mut self, tag: u32, count: usize) {
        self.word(if count == 0 { 0 } else { tag });
        self.count(count);
    }

    fn name(&mut self, name: &str) {
        self.count(name.len());
        self.bytes.extend(name.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn attributes(&mut self, attributes: &[(&str, Attribute)]) {
        self.list(12, attributes.len());
        for (name, value) in attributes {
            self.name(name);
            match value {
                Attribute::Text(text) => {
                    self.word(CHAR);
                    self.name(text);
                }
                Attribute::Numbers(kind, numbers) => {
                    self.word(*kind);
                    self.count(numbers.len());
                    self.bytes.extend(padded(numbers, *kind));
                }
            }
        }
    }
}

/// Returns the header, which contains the offsets of the variables' values.
fn header(variables: &[Variable], [atoms, records]: [u32; 2], version: u8) -> Vec<u8> {
    let encoded = |places: &[usize]| {
        let mut writer = Writer { bytes: vec![b'C', b'D', b'F', version], version };
        // A file that is still being written, in each version.
        writer.count(if records == u32::MAX { usize::MAX } else { records as usize });
        writer.list(10, DIMENSIONS.len());
        for (index, dimension) in DIMENSIONS.iter().enumerate() {
            writer.name(dimension);
            writer.count([0, atoms as usize, 3, 3, 3][index]);
        }
        writer.attributes(&[("Conventions", Attribute::Text("AMBER"))]);
        writer.list(11, variables.len());
        for (variable, &place) in variables.iter().zip(places) {
            writer.name(variable.name);
            writer.count(variable.dimensions.len());
            variable.dimensions.iter().for_each(|&it| writer.count(it as usize));
            writer.attributes(&variable.attributes);
            writer.word(variable.kind);
            writer.count(variable.values.first().map_or(0, |values| values.len() * width(variable.kind)));
            if version > 1 {
                writer.word(0);
            }
            writer.word(place as u32);
        }
        writer.bytes
    };
    let mut places = vec![0; variables.len()];
    let mut next = encoded(&places).len();
    for framed in [false, true] {
        for (variable, place) in variables.iter().zip(&mut places).filter(|(it, _)| has_records(it) == framed)
        {
            *place = next;
            next += variable.values.first().map_or(0, |values| padded(values, variable.kind).len());
        }
    }
    encoded(&places)
}

impl Trial for Changed {
    fn check_here(&self) -> Result<(), String> {
        check_binary(&self.case(), "nc")
    }
}
