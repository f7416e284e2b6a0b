//! Trajectories in the extended XYZ format, readable by ASE, OVITO and others.
//!
//! A frame is the number of particles, a line that describes the frame and its columns, and a line per particle:
//!
//! ```text
//! 2
//! Lattice="10.0 0.0 0.0 0.0 10.0 0.0 0.0 0.0 10.0" Origin="0.0 0.0 0.0" Properties=species:S:1:pos:R:3:... Time=0.5 Step=100 pbc="T T T"
//! A 0.1 0.2 0.3 1.0 0.0 0.0 1 1 0 2.0 2.0 0.0 0.0
//! B ...
//! ```
//!
//! Velocities stand there twice, because readers differ: OVITO reads `velo`; ASE reads `momenta` and `masses`, after
//! which `atoms.get_velocities()` works. `Z` (the atomic number, 0 for names that are no chemical elements) lets ASE
//! accept any species name.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use super::directory::OutputDirectory;
use super::error::OutputError;
use super::record_file::RecordFile;
use crate::checkpoint::OutputMark;
use md_engine::ParticleRow;

const PROPERTIES: &str = "species:S:1:pos:R:3:velo:R:3:id:I:1:type:I:1:Z:I:1:masses:R:1:momenta:R:3";

/// Room for a particle's line; longer ones are possible, this only spares the string from growing often.
const TYPICAL_LINE_BYTES: usize = 240;

/// What a trajectory says about a species.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeciesLabel {
    /// Its name; white space, which separates columns, becomes `_`.
    pub name: String,
    /// Its mass.
    pub mass: f64,
}

/// The box of a frame: orthogonal, in units of sigma.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameBox {
    /// Lower corner.
    pub origin: [f64; 3],
    /// Edge lengths.
    pub lengths: [f64; 3],
    /// Which dimensions are periodic.
    pub periodic: [bool; 3],
}

/// Writes a trajectory frame by frame; each is on disk when [`TrajectoryWriter::write`] returns.
#[derive(Debug)]
pub struct TrajectoryWriter {
    file: RecordFile,
    format: FrameFormat,
}

impl TrajectoryWriter {
    /// Creates the file. `species` is in the order of the type numbers.
    ///
    /// # Errors
    /// [`OutputError::OverwritesInput`], [`OutputError::Create`].
    pub fn create(
        directory: &OutputDirectory,
        path: impl AsRef<Path>,
        frame_box: FrameBox,
        species: &[SpeciesLabel],
    ) -> Result<Self, OutputError> {
        let file = directory.create_records(path, b"")?;
        Ok(Self { file, format: FrameFormat::new(frame_box, species) })
    }

    /// From now on frames have a box of these lengths.
    pub fn follow_box(&mut self, origin: [f64; 3], lengths: [f64; 3]) {
        self.format.head = head(origin, lengths);
    }

    /// Goes on where the run that wrote a checkpoint after `step` was then.
    ///
    /// # Errors
    /// As [`RecordFile::go_on`].
    pub fn go_on(
        directory: &OutputDirectory,
        mark: &OutputMark,
        step: u64,
        frame_box: FrameBox,
        species: &[SpeciesLabel],
    ) -> Result<Self, OutputError> {
        let file = directory.go_on_with_records(mark, step)?;
        Ok(Self { file, format: FrameFormat::new(frame_box, species) })
    }

    /// How far the file has come.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn mark(&self) -> Result<OutputMark, OutputError> {
        self.file.mark()
    }

    /// Appends a frame; `vector` of a row is the velocity.
    ///
    /// # Errors
    /// [`OutputError::Encode`] if a type has no species, [`OutputError::Write`].
    pub fn write(&mut self, step: u64, time: f64, rows: &[ParticleRow]) -> Result<(), OutputError> {
        self.file.append(self.format.frame(step, time, rows)?.as_bytes(), step)
    }

    /// Makes sure that all frames have reached the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`].
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

/// Whether a file is a trajectory that was written here: its first frame has exactly our columns.
pub(super) fn is_own_trajectory(path: &Path) -> bool {
    /// More than the first two lines have.
    const HEAD_BYTES: u64 = 1024;
    // Whoever opens a named pipe waits for its writer.
    if !std::fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return false;
    }
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let comment = head.split(|&byte| byte == b'\n').nth(1).map(String::from_utf8_lossy);
    read.is_ok() && comment.is_some_and(|line| line.contains(&format!("Properties={PROPERTIES} Time=")))
}

/// What is the same in all frames.
#[derive(Debug)]
struct FrameFormat {
    /// The second line up to the time, and from the step on.
    head: String,
    tail: String,
    species: Vec<SpeciesColumns>,
}

#[derive(Debug)]
struct SpeciesColumns {
    name: String,
    mass: f64,
    atomic_number: usize,
}

/// The second line up to the time.
fn head([ox, oy, oz]: [f64; 3], [lx, ly, lz]: [f64; 3]) -> String {
    format!(
        "Lattice=\"{lx:?} 0.0 0.0 0.0 {ly:?} 0.0 0.0 0.0 {lz:?}\" Origin=\"{ox:?} {oy:?} {oz:?}\" \
         Properties={PROPERTIES}"
    )
}

impl FrameFormat {
    fn new(frame_box: FrameBox, species: &[SpeciesLabel]) -> Self {
        let FrameBox { origin, lengths, periodic } = frame_box;
        let [px, py, pz] = periodic.map(|is_periodic| if is_periodic { 'T' } else { 'F' });
        let numbers = atomic_numbers(species.iter().map(|label| label.name.as_str()));
        let columns = species.iter().zip(numbers).map(|(label, atomic_number)| SpeciesColumns {
            name: column_text(&label.name),
            mass: label.mass,
            atomic_number,
        });
        Self {
            head: head(origin, lengths),
            tail: format!("pbc=\"{px} {py} {pz}\""),
            species: columns.collect(),
        }
    }

    fn frame(&self, step: u64, time: f64, rows: &[ParticleRow]) -> Result<String, OutputError> {
        let Self { head, tail, .. } = self;
        let (mut text, bytes) = (String::new(), TYPICAL_LINE_BYTES * (rows.len() + 2));
        text.try_reserve_exact(bytes)
            .map_err(|_| failed(format!("out of memory: there is no room for a frame of {bytes} bytes")))?;
        text.push_str(&format!("{}\n{head} Time={time:?} Step={step} {tail}\n", rows.len()));
        for row in rows {
            self.push_particle(&mut text, row)?;
        }
        Ok(text)
    }

    fn push_particle(&self, text: &mut String, row: &ParticleRow) -> Result<(), OutputError> {
        let &ParticleRow { id, kind, position: [x, y, z], vector: [vx, vy, vz], .. } = row;
        let species = (kind as usize).checked_sub(1).and_then(|index| self.species.get(index));
        let Some(&SpeciesColumns { ref name, mass, atomic_number }) = species else {
            return Err(failed(format!("particle {id} is of type {kind}, which is no species")));
        };
        let [px, py, pz] = row.vector.map(|velocity| mass * velocity);
        writeln!(
            text,
            "{name} {x:?} {y:?} {z:?} {vx:?} {vy:?} {vz:?} {id} {kind} {atomic_number} {mass:?} \
             {px:?} {py:?} {pz:?}"
        )
        .map_err(|reason| failed(reason.to_string()))
    }
}

fn failed(reason: String) -> OutputError {
    OutputError::Encode { file: "trajectory".to_owned(), reason }
}

/// A name as one column.
fn column_text(name: &str) -> String {
    match name.trim() {
        "" => "X".to_owned(),
        name => name.split_whitespace().collect::<Vec<_>>().join("_"),
    }
}

/// Chemical symbols in the order of the atomic numbers, from 1.
const SYMBOLS: [&str; 118] = [
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K",
    "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
    "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra",
    "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
];

/// ASE's number for a particle that is no chemical element.
const NO_ELEMENT: usize = 0;

/// Atomic numbers of species, if every name is a chemical symbol. Names such as "A", "B" are labels, and it would be
/// odd to call the second of them boron.
fn atomic_numbers<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let known: Option<Vec<usize>> = names.clone().map(atomic_number).collect();
    known.unwrap_or_else(|| names.map(|_| NO_ELEMENT).collect())
}

fn atomic_number(name: &str) -> Option<usize> {
    SYMBOLS.iter().position(|symbol| *symbol == name).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::error::Intact;

    const BOX: FrameBox =
        FrameBox { origin: [0.0; 3], lengths: [10.0, 8.0, 0.5], periodic: [true, true, false] };

    fn species() -> [SpeciesLabel; 2] {
        [("A", 1.0), ("metal B", 2.0)].map(|(name, mass)| SpeciesLabel { name: name.to_owned(), mass })
    }

    fn rows() -> [ParticleRow; 2] {
        [
            ParticleRow {
                id: 1,
                kind: 1,
                position: [1.0, 2.0, 3.0],
                vector: [0.25, 0.0, 1.0],
                ..ParticleRow::default()
            },
            ParticleRow {
                id: 2,
                kind: 2,
                position: [0.1 + 0.2, 0.0, 0.0],
                vector: [-0.5, 1e-7, 0.0],
                ..ParticleRow::default()
            },
        ]
    }

    #[test]
    fn a_frame() {
        let text = FrameFormat::new(BOX, &species()).frame(100, 0.5, &rows()).unwrap();
        insta::assert_snapshot!(text, @r#"
        2
        Lattice="10.0 0.0 0.0 0.0 8.0 0.0 0.0 0.0 0.5" Origin="0.0 0.0 0.0" Properties=species:S:1:pos:R:3:velo:R:3:id:I:1:type:I:1:Z:I:1:masses:R:1:momenta:R:3 Time=0.5 Step=100 pbc="T T F"
        A 1.0 2.0 3.0 0.25 0.0 1.0 1 1 0 1.0 0.25 0.0 1.0
        metal_B 0.30000000000000004 0.0 0.0 -0.5 1e-7 0.0 2 2 0 2.0 -1.0 2e-7 0.0
        "#);
    }

    #[test]
    fn frames_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OutputDirectory::create(folder.path()).unwrap();
        let mut writer = TrajectoryWriter::create(&directory, "traj.extxyz", BOX, &species()).unwrap();
        for step in [0, 10, 20] {
            writer.write(step, step as f64 * 0.005, &rows()).unwrap();
            let text = std::fs::read_to_string(folder.path().join("traj.extxyz")).unwrap();
            assert_eq!(text.lines().count(), 4 * (step as usize / 10 + 1));
        }
        writer.finish().unwrap();
    }

    #[test]
    fn a_type_without_species_is_an_error() {
        let mut rows = rows();
        rows[1].kind = 3;
        let error = FrameFormat::new(BOX, &species()).frame(0, 0.0, &rows).unwrap_err().to_string();
        assert!(error.contains("particle 2 is of type 3"), "{error}");
    }

    #[test]
    fn a_full_disk_says_which_frames_are_intact() {
        let file = RecordFile::on_full_disk(Intact::UpToStep(50));
        let mut writer = TrajectoryWriter { file, format: FrameFormat::new(BOX, &species()) };
        let error = writer.write(60, 0.3, &rows()).unwrap_err().to_string();
        assert!(error.contains("up to step 50 is intact"), "{error}");
    }

    #[test]
    fn names_are_elements_only_together() {
        assert_eq!(atomic_numbers(["Ar", "Kr"].into_iter()), [18, 36]);
        assert_eq!(atomic_numbers(["Og"].into_iter()), [118]);
        assert_eq!(atomic_numbers(["A", "B"].into_iter()), [NO_ELEMENT; 2]);
    }
}
