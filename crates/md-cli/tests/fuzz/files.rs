//! Particle files of every format: valid ones, with lines and words changed, and cut off.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;

use md_core::Particle;
use md_engine::ParticleSource;

use crate::case::Case;
use crate::scenarios::damaged;

/// Words that replace others.
const WORDS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "1.5",
    "nan",
    "inf",
    "1e400",
    "1e17",
    "-7.25",
    "99999999999999999999",
    "A",
    "B",
    "atoms",
    "Atoms",
    "Velocities",
    "Lattice=\"1\"",
    "Properties=pos:R:3",
    "#",
    "ITEM:",
    "TIMESTEP",
    "\"",
    "\u{1b}",
    "ä",
];

/// A change of a file.
#[derive(Debug, Clone)]
enum Change {
    /// A word is replaced.
    Word(usize, usize),
    /// A line is removed.
    Drop(usize),
    /// A line is repeated.
    Repeat(usize),
    /// The file ends here.
    Cut(usize),
    /// A piece is inserted or removed.
    Damage(usize, usize, bool),
}

/// Features of a file and its scenario other than the particles, as far as the format supports
/// them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Features {
    /// A layer in 2D.
    is_flat: bool,
    /// Walls along x.
    has_walls: bool,
    /// Momenta and masses, `pbc` and `Origin`, instead of velocities; or two types with
    /// coefficients.
    pub(crate) is_rich: bool,
    /// Another frame before the last one; or coefficients of all pairs; or types and ids.
    pub(crate) is_long: bool,
}

impl Features {
    pub(crate) fn new([is_flat, has_walls, is_rich, is_long]: [bool; 4]) -> Self {
        Self { is_flat, has_walls, is_rich, is_long }
    }
}

/// A file with changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    format: &'static str,
    features: Features,
    atoms: usize,
    seed: u64,
    changes: Vec<Change>,
}

pub(crate) fn changed() -> impl Strategy<Value = Changed> {
    let at = any::<usize>;
    let change = prop_oneof![
        3 => (at(), at()).prop_map(|(place, word)| Change::Word(place, word)),
        1 => at().prop_map(Change::Drop),
        1 => at().prop_map(Change::Repeat),
        1 => at().prop_map(Change::Cut),
        2 => (at(), at(), any::<bool>()).prop_map(|(place, piece, put)| Change::Damage(place, piece, put)),
    ];
    let format = prop_oneof![Just("extxyz"), Just("lammps-data"), Just("lammpstrj")];
    (format, any::<[bool; 4]>().prop_map(Features::new), 1..40_usize, any::<u64>(), vec(change, 0..4))
        .prop_map(|(format, features, atoms, seed, changes)| Changed {
            format,
            features,
            atoms,
            seed,
            changes,
        })
}

/// Number of sites along an edge.
const SITES: usize = 7;

/// Returns unchanged files with all combinations of features.
pub(crate) fn valid() -> impl Iterator<Item = Changed> {
    let formats = ["extxyz", "lammps-data", "lammpstrj"].into_iter();
    formats.flat_map(|format| {
        let features = (0..16).map(|bits| Features::new([1, 2, 4, 8].map(|bit| bits & bit != 0)));
        features.map(move |features| Changed { format, features, atoms: 30, seed: 1, changes: Vec::new() })
    })
}

/// Returns a case with a file of this format.
pub(crate) fn case(format: &str, features: Features, particles: Vec<u8>) -> Case {
    case_of(&format!("format = \"{format}\""), features, particles)
}

pub(crate) fn case_of(keys: &str, features: Features, particles: Vec<u8>) -> Case {
    let dimension = if features.is_flat { 2 } else { 3 };
    let wall = if features.has_walls { "reflecting" } else { "periodic" };
    let scenario = format!(
        "[simulation]\nsteps = 3\ndimension = {dimension}\n[system]\n\
         boundary = [\"{wall}\", \"periodic\", \"periodic\"]\nfile = {{ path = \"particles\", {keys} }}\n\
         [parallel]\nbackend = \"local\"\nranks = 2\n"
    );
    Case { particles, ..Case::of_scenario(scenario.into_bytes()) }
}

/// Returns particles near the sites of a lattice of 1.2, in a box of 8.4.
pub(crate) fn rows(features: Features, atoms: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut state = seed | 1;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    let site = |index: usize, dim: u32| (index / SITES.pow(dim) % SITES) as f64 * 1.2 + 0.6;
    let shift = |dim: u32, random: f64| if features.is_flat && dim == 2 { 0.0 } else { 0.2 * random };
    let mut row = |index: usize| [0, 1, 2].map(|dim| site(index, dim) + shift(dim, random()));
    (0..atoms).map(&mut row).collect()
}

impl Changed {
    pub(crate) fn case(&self) -> Case {
        let mut text = self.valid().into_bytes();
        for change in &self.changes {
            text = changed_by(text, change);
        }
        case(self.format, self.features, text)
    }

    fn valid(&self) -> String {
        let rows = self.rows();
        match self.format {
            "extxyz" => self.extxyz(&rows),
            "lammpstrj" => self.lammpstrj(&rows),
            _ => self.lammps_data(&rows),
        }
    }

    fn rows(&self) -> Vec<[f64; 3]> {
        rows(self.features, self.atoms, self.seed)
    }

    /// Returns the z component of a velocity.
    fn vz(&self) -> f64 {
        if self.features.is_flat { 0.0 } else { -0.1 }
    }

    fn extxyz(&self, rows: &[[f64; 3]]) -> String {
        let Features { has_walls, is_rich, is_long, .. } = self.features;
        let (mass, columns) = match (is_rich, is_long) {
            (true, true) => ("2.0 1 -2 0 ", "masses:R:1:images:I:3:momenta:R:3"),
            (true, false) => ("2.0 ", "masses:R:1:momenta:R:3"),
            (false, _) => ("", "velo:R:3"),
        };
        let wall = if has_walls { 'F' } else { 'T' };
        let entries =
            if is_rich { format!("pbc=\"{wall} T T\" Origin=\"0 -0.0 0\" ") } else { String::new() };
        let line = |[x, y, z]: &[f64; 3]| format!("A {x} {y} {z} {mass}0.1 0.0 {}\n", self.vz());
        let frame = format!(
            "{}\nLattice=\"8.4 0 0 0 8.4 0 0 0 8.4\" {entries}Properties=species:S:1:pos:R:3:{columns}\n{}",
            self.atoms,
            rows.iter().map(line).collect::<String>()
        );
        frame.repeat(if is_long { 2 } else { 1 })
    }

    fn lammpstrj(&self, rows: &[[f64; 3]]) -> String {
        let Features { has_walls, is_rich, is_long, .. } = self.features;
        let (wall, length) = (if has_walls { "ff" } else { "pp" }, if is_rich { 8.4 } else { 1.0 });
        let (names, tail) = match (is_rich, is_long) {
            (true, true) => ("xs ys zs ix iy iz mass", " 1 -2 0 2.0"),
            (true, false) => ("xs ys zs mass", " 2.0"),
            (false, true) => ("xu yu zu", ""),
            (false, false) => ("x y z", ""),
        };
        let line = |(index, [x, y, z]): (usize, &[f64; 3])| {
            let [x, y, z] = [x, y, z].map(|x| x / length);
            format!("{} 1 {x} {y} {z}{tail} 0.1 0.0 {}\n", index + 1, self.vz())
        };
        let frame = format!(
            "ITEM: TIMESTEP\n7\nITEM: NUMBER OF ATOMS\n{}\nITEM: BOX BOUNDS {wall} pp pp\n0 8.4\n0 8.4\n0 8.4\n\
             ITEM: ATOMS id type {names} vx vy vz\n{}",
            self.atoms,
            rows.iter().enumerate().map(line).collect::<String>()
        );
        frame.repeat(if is_long { 2 } else { 1 })
    }

    fn lammps_data(&self, rows: &[[f64; 3]]) -> String {
        let Features { is_rich, is_long, .. } = self.features;
        let (types, masses, coefficients) = match (is_rich, is_long) {
            (false, _) => (1, "1 1.0\n", ""),
            (true, false) => {
                (2, "1 1.0\n2 2.0\n", "Pair Coeffs # lj/cut\n\n1 1.0 1.0 2.5\n2 1.5 0.9 2.5\n\n")
            }
            (true, true) => (
                2,
                "1 1.0\n2 2.0\n",
                "PairIJ Coeffs # lj/cut\n\n1 1 1.0 1.0 2.5\n1 2 1.2 0.9 2.5\n2 2 1.5 0.9 2.5\n\n",
            ),
        };
        let atom = |(index, [x, y, z]): (usize, &[f64; 3])| {
            let images = if is_long { " 0 3 -1" } else { "" };
            format!("{} {} {x} {y} {z}{images}\n", index + 1, index % types + 1)
        };
        format!(
            "title\n\n{atoms} atoms\n{types} atom types\n0 8.4 xlo xhi\n0 8.4 ylo yhi\n0 8.4 zlo zhi\n\n\
             Masses\n\n{masses}\n{coefficients}Atoms # atomic\n\n{}\nVelocities\n\n{}",
            rows.iter().enumerate().map(atom).collect::<String>(),
            (1..=self.atoms).map(|id| format!("{id} 0.1 0 {}\n", self.vz())).collect::<String>(),
            atoms = self.atoms
        )
    }
}

fn changed_by(bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len().max(1);
    match *change {
        Change::Drop(line) if !lines.is_empty() => drop(lines.remove(line % count)),
        Change::Repeat(line) if !lines.is_empty() => lines.insert(line % count, lines[line % count]),
        Change::Cut(place) => return bytes[..place % (bytes.len() + 1)].to_vec(),
        Change::Damage(place, piece, put) => return damaged(bytes, &[(place, piece, put)]),
        Change::Word(place, word) => {
            let mut words: Vec<&str> = text.split(' ').collect();
            let place = place % words.len();
            words[place] = WORDS[word % WORDS.len()];
            return words.join(" ").into_bytes();
        }
        Change::Drop(_) | Change::Repeat(_) => {}
    }
    lines.concat().into_bytes()
}

/// Frames as written by a run, with changes, and the requested one.
#[derive(Debug, Clone)]
pub(crate) struct Trajectory {
    first: Changed,
    frames: u64,
    wanted: Option<u64>,
}

/// Largest number of frames.
const FRAMES: u64 = 4;

pub(crate) fn trajectories() -> impl Strategy<Value = Trajectory> {
    let wanted = prop_oneof![Just(None), (0..FRAMES + 2).prop_map(Some)];
    (changed(), any::<bool>(), 1..=FRAMES, wanted).prop_map(|(first, is_dump, frames, wanted)| {
        let format = if is_dump { "lammpstrj" } else { "extxyz" };
        Trajectory { first: Changed { format, ..first }, frames, wanted }
    })
}

impl Trajectory {
    /// Returns a trajectory without changes.
    pub(crate) fn valid(format: &'static str, frames: u64, wanted: Option<u64>) -> Self {
        let features = Features::new([false; 4]);
        let first = Changed { format, features, atoms: 20, seed: 5, changes: Vec::new() };
        Self { first, frames, wanted }
    }

    pub(crate) fn case(&self) -> Case {
        let frames: String = (0..self.frames).map(|number| self.frame(number)).collect();
        let text = self.first.changes.iter().fold(frames.into_bytes(), changed_by);
        let frame = self.wanted.map_or_else(String::new, |frame| format!(", frame = {frame}"));
        case_of(&format!("format = \"{}\"{frame}", self.first.format), self.first.features, text)
    }

    /// Returns a frame, counted from 0.
    fn frame(&self, number: u64) -> String {
        let seed = self.first.seed.wrapping_add(2 * number);
        let first = Changed { seed, ..self.first.clone() };
        let rows = first.rows();
        if first.format == "lammpstrj" {
            let features = Features { is_long: false, ..first.features };
            let dump = Changed { features, ..first }.lammpstrj(&rows);
            return dump.replacen("\n7\n", &format!("\n{number}\n"), 1);
        }
        let (atoms, vz) = (self.first.atoms, self.first.vz());
        let wall = if self.first.features.has_walls { 'F' } else { 'T' };
        let line = |(index, [x, y, z]): (usize, &[f64; 3])| {
            format!("A {x:?} {y:?} {z:?} 0.1 0.0 {vz:?} {} 1 0 1.0 0.1 0.0 {vz:?}\n", index + 1)
        };
        format!(
            "{atoms}\nLattice=\"8.4 0.0 0.0 0.0 8.4 0.0 0.0 0.0 8.4\" Origin=\"0.0 0.0 0.0\" \
             Properties=species:S:1:pos:R:3:velo:R:3:id:I:1:type:I:1:Z:I:1:masses:R:1:momenta:R:3 Time={:?} Step={} \
             pbc=\"{wall} T T\"\n{}",
            0.005 * number as f64,
            number,
            rows.iter().enumerate().map(line).collect::<String>()
        )
    }
}

/// A file compressed by gzip and then damaged.
#[derive(Debug, Clone)]
pub(crate) struct Compressed {
    file: Changed,
    damage: Vec<(usize, usize, bool)>,
    /// The file ends here.
    cut: Option<usize>,
}

pub(crate) fn compressed() -> impl Strategy<Value = Compressed> {
    let damage = prop_oneof![
        2 => Just(Vec::new()),
        1 => vec((any::<usize>(), any::<usize>(), any::<bool>()), 1..3),
    ];
    let cut = prop_oneof![3 => Just(None), 1 => any::<usize>().prop_map(Some)];
    (changed(), damage, cut).prop_map(|(file, damage, cut)| Compressed { file, damage, cut })
}

impl Compressed {
    pub(crate) fn case(&self) -> Case {
        let case = self.file.case();
        let mut bytes = Vec::new();
        let mut encoder = GzEncoder::new(&mut bytes, Compression::fast());
        encoder.write_all(&case.particles).and_then(|()| encoder.finish().map(drop)).expect("room in memory");
        if let Some(cut) = self.cut {
            bytes.truncate(cut % (bytes.len() + 1));
        }
        Case { particles: damaged(bytes, &self.damage), ..case }
    }
}

/// Returns the particles of an accepted case.
pub(crate) fn particles(case: &Case) -> Result<Vec<Particle>, String> {
    match case.accepted()?.config.particles {
        ParticleSource::List { particles, .. } => Ok(particles.to_vec()),
        _ => Err("a lattice".to_owned()),
    }
}
