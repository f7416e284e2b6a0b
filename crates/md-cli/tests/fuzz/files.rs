//! Particle files of every format: valid ones, with lines and words changed, and cut off.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::Case;
use crate::scenarios::damaged;

/// Words that are put in the place of others.
const WORDS: [&str; 22] = [
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
    "\"",
    "\u{1b}",
    "ä",
];

/// What is changed in a file.
#[derive(Debug, Clone)]
enum Change {
    /// Another word at a place.
    Word(usize, usize),
    /// A line is left out.
    Drop(usize),
    /// A line comes twice.
    Repeat(usize),
    /// The file ends here.
    Cut(usize),
    /// Pieces put in or taken out.
    Damage(usize, usize, bool),
}

/// A file with changes.
#[derive(Debug, Clone)]
pub(crate) struct Changed {
    format: &'static str,
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
    let format = prop_oneof![Just("extxyz"), Just("lammps-data")];
    (format, 1..40_usize, any::<u64>(), vec(change, 0..4))
        .prop_map(|(format, atoms, seed, changes)| Changed { format, atoms, seed, changes })
}

/// A case of a file of this format.
pub(crate) fn case(format: &str, particles: Vec<u8>) -> Case {
    let scenario = format!(
        "[simulation]\nsteps = 3\n[system]\nfile = {{ path = \"particles\", format = \"{format}\" }}\n\
         [parallel]\nbackend = \"local\"\nranks = 2\n"
    );
    Case { particles, ..Case::of_scenario(scenario.into_bytes()) }
}

impl Changed {
    pub(crate) fn case(&self) -> Case {
        let mut text = self.valid().into_bytes();
        for change in &self.changes {
            text = changed_by(text, change);
        }
        case(self.format, text)
    }

    /// Particles near the sites of a lattice of 1.2, in a box of 7.2.
    fn valid(&self) -> String {
        let mut state = self.seed | 1;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 / f64::from(1 << 24) - 0.5
        };
        let site = |index: usize, dim: u32| (index / 6_usize.pow(dim) % 6) as f64 * 1.2 + 0.6;
        let mut row = |index: usize| [0, 1, 2].map(|dim| site(index, dim) + 0.2 * random());
        let rows: Vec<[f64; 3]> = (0..self.atoms).map(&mut row).collect();
        let line = |(index, [x, y, z]): (usize, &[f64; 3])| match self.format {
            "extxyz" => format!("A {x} {y} {z} 0.1 0.0 -0.1\n"),
            _ => format!("{} 1 {x} {y} {z}\n", index + 1),
        };
        let rows: String = rows.iter().enumerate().map(line).collect();
        let atoms = self.atoms;
        match self.format {
            "extxyz" => format!(
                "{atoms}\nLattice=\"7.2 0 0 0 7.2 0 0 0 7.2\" Properties=species:S:1:pos:R:3:velo:R:3\n{rows}"
            ),
            _ => format!(
                "title\n\n{atoms} atoms\n1 atom types\n0 7.2 xlo xhi\n0 7.2 ylo yhi\n0 7.2 zlo zhi\n\nMasses\n\n1 1.0\n\n\
                 Atoms # atomic\n\n{rows}\nVelocities\n\n{}",
                (1..=atoms).map(|id| format!("{id} 0.1 0 -0.1\n")).collect::<String>()
            ),
        }
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
