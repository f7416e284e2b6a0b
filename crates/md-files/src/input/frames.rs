//! Frames of a trajectory, one after another. A text is read once and split into texts of single
//! frames.

use std::path::{Path, PathBuf};

use md_scenario::failure::RunError;

use super::source::Source;
use super::{InputError, InputParticles, Problem, extxyz, lammpstrj, netcdf, xtc};
use crate::text_file::{Blocks, CUT};

/// Reader of a trajectory.
pub struct TrajectoryFrames {
    path: PathBuf,
    species: Vec<String>,
    /// Number of frames read so far.
    read: u64,
    place: Place,
}

/// Next item of a trajectory.
pub enum Next {
    /// A frame, and its name in messages.
    Frame(String, Box<InputParticles>),
    /// The file ends within a frame, as the error describes.
    Cut(RunError),
    /// The end of the file.
    End,
}

/// Method of finding the frames of a format.
#[derive(Clone, Copy)]
pub enum FrameReader {
    /// Frames of text, found line by line.
    Text(TextFormat),
    /// Frames of equal size.
    Netcdf,
    /// Frames that contain their length.
    Xtc,
}

/// Position of the next frame.
enum Place {
    Text { blocks: Blocks, format: TextFormat, rest: String, lines: usize },
    Netcdf,
    Xtc(xtc::Place),
}

/// Text formats.
#[derive(Clone, Copy)]
pub enum TextFormat {
    /// Extended XYZ.
    Extxyz,
    /// Text dump of LAMMPS.
    Lammpstrj,
}

impl TrajectoryFrames {
    /// Opens a trajectory. `species` are the scenario's names.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn open(path: &Path, reader: FrameReader, species: Vec<String>) -> Result<Self, RunError> {
        let place = match reader {
            FrameReader::Text(format) => {
                let blocks = Blocks::open(path, 1).map_err(|reason| unreadable(path, reason))?;
                Place::Text { blocks, format, rest: String::new(), lines: 0 }
            }
            FrameReader::Netcdf => Place::Netcdf,
            FrameReader::Xtc => Place::Xtc(xtc::Place::default()),
        };
        Ok(Self { path: path.to_owned(), species, read: 0, place })
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// Returns the first fault. In a text, lines are counted from the first line of the frame.
    pub fn next_frame(&mut self) -> Result<Next, RunError> {
        let Self { path, species, read, place } = self;
        let number = *read + 1;
        let shown = path.display().to_string();
        let name = format!("{shown}, frame {number}");
        let file = Source::file(&shown, path, None);
        let found = match place {
            Place::Text { blocks, format, rest, lines } => {
                let text =
                    next_text(blocks, *format, rest, lines).map_err(|reason| unreadable(path, reason))?;
                match text {
                    Text::Frame(text) => format.read(&name, &text, species).map(Some),
                    Text::Last(text) => match format.read(&name, &text, species) {
                        Err(error) if is_cut(&error) || is_at_end(&error, &text) => {
                            return Ok(Next::Cut(error));
                        }
                        read => read.map(Some),
                    },
                    Text::Cut => return Ok(Next::Cut(unreadable(path, CUT.to_owned()))),
                    Text::End => Ok(None),
                }
            }
            Place::Netcdf => netcdf::read(&file, species, Some(number)).map(Some),
            Place::Xtc(place) => xtc::read_next(&file, place, species),
        };
        match found {
            Ok(Some(particles)) => {
                *read = number;
                Ok(Next::Frame(name, Box::new(particles)))
            }
            Ok(None) => Ok(Next::End),
            Err(error) if is_cut(&error) => Ok(Next::Cut(error)),
            Err(error) => match error.find() {
                Some(InputError { problem: Problem::NoFrame { .. }, .. }) => Ok(Next::End),
                _ => Err(error),
            },
        }
    }
}

/// Returns whether a frame cannot be read because the file ends within it.
fn is_cut(error: &RunError) -> bool {
    let Some(InputError { problem, .. }) = error.find() else { return false };
    match problem {
        Problem::CutAt { .. } | Problem::NoNewline { .. } | Problem::Truncated { .. } => true,
        Problem::Missing { what, .. } => [extxyz::COMMENT_LINE, lammpstrj::ROWS].contains(&what.as_str()),
        _ => false,
    }
}

fn unreadable(path: &Path, reason: String) -> RunError {
    RunError::unreadable(path.display().to_string(), reason)
}

/// Returns whether a fault is in the last line of a text, and this line has no newline.
fn is_at_end(error: &RunError, text: &str) -> bool {
    let line = error.find::<InputError>().and_then(|error| error.line);
    !text.ends_with('\n') && line == Some(text.lines().count())
}

/// Next item of a text.
enum Text {
    /// A complete frame.
    Frame(String),
    /// The rest of the text: a frame or a part of one.
    Last(String),
    /// The end of a compressed file that is cut off.
    Cut,
    End,
}

/// Returns the text of the next frame, or the rest of the text.
fn next_text(
    blocks: &mut Blocks,
    format: TextFormat,
    rest: &mut String,
    lines: &mut usize,
) -> Result<Text, String> {
    loop {
        if let Some(end) = format.end(rest) {
            let after = rest.split_off(end);
            return Ok(Text::Frame(std::mem::replace(rest, after)));
        }
        match blocks.next(*lines)? {
            Some(block) => {
                *lines += block.matches('\n').count();
                rest.push_str(&block);
            }
            None if blocks.is_cut() => return Ok(Text::Cut),
            None if rest.trim().is_empty() => return Ok(Text::End),
            None => return Ok(Text::Last(std::mem::take(rest))),
        }
    }
}

impl TextFormat {
    fn read(self, name: &str, text: &str, species: &[String]) -> Result<InputParticles, RunError> {
        let source = Source::given(name, text);
        match self {
            Self::Extxyz => extxyz::read(&source, species, None),
            Self::Lammpstrj => lammpstrj::read(&source, species, None),
        }
    }

    /// Returns the end of the first frame of a text, if the text contains all of it.
    fn end(self, text: &str) -> Option<usize> {
        match self {
            Self::Extxyz => {
                // A fault in the count is found when the frame is read.
                let count: usize = text.lines().next().and_then(|line| line.trim().parse().ok())?;
                let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
                ends.nth(count.checked_add(1)?)
            }
            Self::Lammpstrj => {
                const ROWS: &str = "ITEM: ATOMS";
                let rows = text.find(ROWS)? + ROWS.len();
                text[rows..].find("\nITEM:").map(|at| rows + at + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(format: TextFormat, text: &str) -> Result<Vec<InputParticles>, RunError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, text).unwrap();
        let mut frames = TrajectoryFrames::open(&path, FrameReader::Text(format), vec!["A".to_owned()])?;
        let mut all = Vec::new();
        loop {
            match frames.next_frame()? {
                Next::Frame(_, particles) => all.push(*particles),
                Next::Cut(error) => return Err(error),
                Next::End => return Ok(all),
            }
        }
    }

    /// Function that returns a frame of a step, with x of the first particle.
    type Frame = fn(u64, f64) -> String;

    #[test]
    fn texts_are_cut_where_frames_end() {
        let xyz = |step: u64, x: f64| {
            format!(
                "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3 Step={step}\nA {x} 1 1\nA 2 2 2\n"
            )
        };
        let dump = |step: u64, x: f64| {
            format!(
                "ITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n\
                 ITEM: ATOMS id type x y z\n2 1 2 2 2\n1 1 {x} 1 1\n"
            )
        };
        let texts: [(TextFormat, Frame); 2] = [(TextFormat::Extxyz, xyz), (TextFormat::Lammpstrj, dump)];
        for (format, frame) in texts {
            // This text has many blocks.
            let whole: String = (0..20_000).map(|step| frame(10 * step, step as f64 / 4000.0)).collect();
            let found = frames(format, &whole).unwrap();
            assert_eq!(found.len(), 20_000);
            for (step, particles) in (0..).zip(&found) {
                assert_eq!((particles.step, particles.ids.len()), (Some(10 * step), 2));
                assert_eq!(particles.positions[0], [step as f64 / 4000.0, 1.0, 1.0]);
            }
            let cut = frame(0, 1.0)
                + frame(10, 1.0).rsplit_once("\n").unwrap().0.rsplit_once('\n').unwrap().0
                + "\n";
            let text = frames(format, &cut).unwrap_err().to_string();
            assert!(text.contains(", frame 2:"), "{text}");
            assert!(frames(format, "\n").unwrap().is_empty());
        }
    }

    /// A killed run may leave such a file. All frames are returned, followed by the cut instead of
    /// the end.
    #[test]
    fn frames_before_the_cut_of_a_compressed_text_are_given() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text.gz");
        let frame = "1\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1 1 1\n";
        let file = std::fs::File::create(&path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        encoder.write_all(frame.repeat(3).as_bytes()).unwrap();
        let file = encoder.finish().unwrap();
        file.set_len(file.metadata().unwrap().len() - 2).unwrap();
        let reader = FrameReader::Text(TextFormat::Extxyz);
        let mut frames = TrajectoryFrames::open(&path, reader, vec!["A".to_owned()]).unwrap();
        for number in 1..=3 {
            assert!(matches!(frames.next_frame().unwrap(), Next::Frame(..)), "{number}");
        }
        let Next::Cut(error) = frames.next_frame().unwrap() else { panic!("it is cut") };
        let text = error.to_string();
        assert!(text.contains("it is compressed by gzip, and cut"), "{text}");
    }
}
