//! Frames of a trajectory, one after the other: a text is read once, and cut into texts of single frames.

use std::path::{Path, PathBuf};

use super::source::Source;
use super::{InputParticles, extxyz, lammpstrj, netcdf};
use crate::error::RunError;
use crate::text_file::Blocks;

/// A trajectory that is being read.
pub(crate) struct TrajectoryFrames {
    path: PathBuf,
    species: Vec<String>,
    /// Frames that have been read.
    read: u64,
    kind: Kind,
}

enum Kind {
    Text { blocks: Blocks, format: TextFormat, rest: String, lines: usize },
    Netcdf { frames: u64 },
}

/// Formats of text.
#[derive(Clone, Copy)]
enum TextFormat {
    Extxyz,
    Lammpstrj,
}

impl TrajectoryFrames {
    /// Opens a trajectory, whose name says its format; `None` if frames of such files cannot be read. `species` are the scenario's names.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn open(path: &Path, species: Vec<String>) -> Result<Option<Self>, RunError> {
        let name = path.to_string_lossy();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        let text = |format: TextFormat| -> Result<Kind, RunError> {
            let blocks = Blocks::open(path, 1).map_err(|reason| unreadable(path, reason))?;
            Ok(Kind::Text { blocks, format, rest: String::new(), lines: 0 })
        };
        let kind = match Path::new(plain).extension().and_then(|extension| extension.to_str()) {
            Some("extxyz") => text(TextFormat::Extxyz)?,
            Some("lammpstrj") => text(TextFormat::Lammpstrj)?,
            Some("nc") if plain == name => {
                Kind::Netcdf { frames: netcdf::contents(&Source::file(&name, path, None))?.frames }
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { path: path.to_owned(), species, read: 0, kind }))
    }

    /// The next frame and its name in messages.
    ///
    /// # Errors
    /// The first fault, with its line, counted from the first of the frame.
    pub(crate) fn next(&mut self) -> Result<Option<(String, InputParticles)>, RunError> {
        let Self { path, species, read, kind } = self;
        let number = *read + 1;
        let shown = path.display().to_string();
        let name = format!("{shown}, frame {number}");
        let particles = match kind {
            Kind::Text { blocks, format, rest, lines } => {
                let text =
                    next_text(blocks, *format, rest, lines).map_err(|reason| unreadable(path, reason))?;
                let Some(text) = text else { return Ok(None) };
                let source = Source::given(&name, &text);
                match format {
                    TextFormat::Extxyz => extxyz::read(&source, species, None)?,
                    TextFormat::Lammpstrj => lammpstrj::read(&source, species, None)?,
                }
            }
            Kind::Netcdf { frames } if number > *frames => return Ok(None),
            Kind::Netcdf { .. } => netcdf::read(&Source::file(&shown, path, None), species, Some(number))?,
        };
        *read = number;
        Ok(Some((name, particles)))
    }
}

fn unreadable(path: &Path, reason: String) -> RunError {
    RunError::Unreadable { path: path.display().to_string(), reason }
}

/// The text of the next frame, or what is left at the end.
fn next_text(
    blocks: &mut Blocks,
    format: TextFormat,
    rest: &mut String,
    lines: &mut usize,
) -> Result<Option<String>, String> {
    loop {
        if let Some(end) = format.end(rest) {
            let after = rest.split_off(end);
            return Ok(Some(std::mem::replace(rest, after)));
        }
        match blocks.next(*lines)? {
            Some(block) => {
                *lines += block.matches('\n').count();
                rest.push_str(&block);
            }
            None => return Ok(Some(std::mem::take(rest)).filter(|text| !text.trim().is_empty())),
        }
    }
}

impl TextFormat {
    /// Where the first frame of a text ends, if all of it is there.
    fn end(self, text: &str) -> Option<usize> {
        match self {
            Self::Extxyz => {
                // A fault in the count is found by whoever reads the frame.
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

    fn frames(name: &str, text: &str) -> Result<Vec<InputParticles>, RunError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut frames = TrajectoryFrames::open(&path, vec!["A".to_owned()])?.unwrap();
        let mut all = Vec::new();
        while let Some((_, particles)) = frames.next()? {
            all.push(particles);
        }
        Ok(all)
    }

    /// A frame of a step, in which the first particle is at a place.
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
        let texts: [(&str, Frame); 2] = [("t.extxyz", xyz), ("t.lammpstrj", dump)];
        for (name, frame) in texts {
            // Many blocks.
            let whole: String = (0..20_000).map(|step| frame(10 * step, step as f64 / 4000.0)).collect();
            let found = frames(name, &whole).unwrap();
            assert_eq!(found.len(), 20_000);
            for (step, particles) in (0..).zip(&found) {
                assert_eq!((particles.step, particles.ids.len()), (Some(10 * step), 2), "{name}");
                assert_eq!(particles.positions[0], [step as f64 / 4000.0, 1.0, 1.0]);
            }
            let cut = frame(0, 1.0)
                + frame(10, 1.0).rsplit_once("\n").unwrap().0.rsplit_once('\n').unwrap().0
                + "\n";
            let text = frames(name, &cut).unwrap_err().to_string();
            assert!(text.contains(", frame 2:"), "{text}");
            assert!(frames(name, "\n").unwrap().is_empty());
        }
    }
}
