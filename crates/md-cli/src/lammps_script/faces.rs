//! Faces of the box, and the box that LAMMPS derives from them.

/// A face as named by `boundary`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Face {
    /// `p`
    #[default]
    Periodic,
    /// `f`
    Fixed,
    /// `s`: always just outside of the particles.
    Shrinking,
    /// `m`: as `s`, but never inside of the given box.
    Outermost,
}

/// The lower and the upper face along each dimension.
pub(super) type Faces = [[Face; 2]; 3];

/// Distance of a shrinking face from the particles, in units of the box length.
const MARGIN: f64 = 1e-4;

/// Reads the three words of `boundary`.
///
/// # Errors
/// Words that LAMMPS does not accept either.
pub(super) fn read(words: [&str; 3]) -> Result<Faces, String> {
    let mut faces = Faces::default();
    for (sides, word) in faces.iter_mut().zip(words) {
        let letters = match word.as_bytes() {
            [both] => [both, both],
            [lower, upper] => [lower, upper],
            _ => return Err(unknown(word)),
        };
        for (side, letter) in sides.iter_mut().zip(letters) {
            *side = match letter {
                b'p' => Face::Periodic,
                b'f' => Face::Fixed,
                b's' => Face::Shrinking,
                b'm' => Face::Outermost,
                _ => return Err(unknown(word)),
            };
        }
        if sides.iter().filter(|&&side| side == Face::Periodic).count() == 1 {
            return Err(format!("`{word}` is periodic on one side alone"));
        }
    }
    Ok(faces)
}

fn unknown(word: &str) -> String {
    format!("`{word}` is not one or two of the letters p, f, s and m")
}

impl Face {
    /// Returns whether the position of the face depends on the particles.
    pub(super) fn follows_particles(self) -> bool {
        matches!(self, Self::Shrinking | Self::Outermost)
    }
}

/// The two ends of a box along a dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ends {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ends {
    pub(super) fn length(self) -> f64 {
        self.high - self.low
    }

    /// Returns the ends after `create_box`, if `self` is those of its region.
    pub(super) fn created(self, [lower, upper]: [Face; 2]) -> Self {
        let margin = MARGIN * self.length();
        let by = |face: Face| if face == Face::Shrinking { margin } else { 0.0 };
        Self { low: self.low - by(lower), high: self.high + by(upper) }
    }

    /// Returns the ends of the first step, with particles in `inner`, if `self` is those of the
    /// region of `create_box`.
    pub(super) fn around(self, inner: Self, [lower, upper]: [Face; 2]) -> Self {
        let margin = MARGIN * self.length();
        let (low, high) = (inner.low - margin, inner.high + margin);
        Self {
            low: match lower {
                Face::Periodic | Face::Fixed => self.low,
                Face::Shrinking => low,
                Face::Outermost => low.min(self.low),
            },
            high: match upper {
                Face::Periodic | Face::Fixed => self.high,
                Face::Shrinking => high,
                Face::Outermost => high.max(self.high),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_boundary() {
        let faces = read(["p", "fs", "m"]).unwrap();
        assert_eq!(faces, [[Face::Periodic; 2], [Face::Fixed, Face::Shrinking], [Face::Outermost; 2],]);
        for (word, expected) in [
            ("pf", "`pf` is periodic on one side alone"),
            ("x", "`x` is not one or two of the letters p, f, s and m"),
            ("", "`` is not one or two of the letters p, f, s and m"),
            ("fff", "`fff` is not one or two of the letters p, f, s and m"),
        ] {
            assert_eq!(read(["p", "p", word]), Err(expected.to_owned()));
        }
    }
}
