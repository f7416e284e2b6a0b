//! Masses that a file contains per particle. All particles of a species must have the same mass.

use md_scenario::failure::RunError;

use super::error::{InputError, Position, Problem};
use super::fields::Line;
use super::source::Source;

/// Masses that this rank has read, by type.
pub(super) struct Masses(Vec<Seen>);

/// A mass and its line, which is 0 if there is no mass.
type MassAt = (f64, usize);

/// First mass of a type, and the first that differs from it.
#[derive(Clone, Copy, Default)]
struct Seen {
    first: MassAt,
    other: Option<MassAt>,
}

impl Masses {
    /// Creates an empty record for `species` species.
    pub(super) fn new(species: usize) -> Self {
        Self(vec![Seen::default(); species])
    }

    /// Records the mass of a particle.
    pub(super) fn note(&mut self, line: Line<'_>, mass: Option<f64>, kind: u32) {
        if let Some(mass) = mass {
            self.note_at(mass, kind, line.here.line.unwrap_or_default());
        }
    }

    /// Records a mass at a place from 1 that stands for a line.
    pub(super) fn note_at(&mut self, mass: f64, kind: u32, place: usize) {
        let Some(seen) = self.0.get_mut(kind as usize - 1) else { return };
        let here = (mass, place);
        if seen.first.1 == 0 {
            seen.first = here;
        } else if seen.first.0 != mass {
            seen.other.get_or_insert(here);
        }
    }

    /// Returns the first mass of each type in the file, and the error of this rank's first row with
    /// a different mass. *Collective.*
    pub(super) fn of_all(
        self,
        source: &Source<'_>,
        species: &[String],
    ) -> Result<(Vec<Option<f64>>, Option<InputError>), RunError> {
        // The lowest line is the highest complement.
        let complement = |line: usize| if line == 0 { 0 } else { !(line as u64) };
        let mut lines: Vec<u64> = self.0.iter().map(|seen| complement(seen.first.1)).collect();
        source.highest(&mut lines)?;
        let bits = |(seen, &line): (&Seen, &u64)| {
            if complement(seen.first.1) == line { seen.first.0.to_bits() } else { 0 }
        };
        let mut masses: Vec<u64> = self.0.iter().zip(&lines).map(bits).collect();
        source.highest(&mut masses)?;
        let masses: Vec<f64> = masses.into_iter().map(f64::from_bits).collect();
        let faults = self.0.iter().enumerate().filter_map(|(index, seen)| {
            let (first, is_read) = (masses[index], seen.first.1 > 0);
            let other = if is_read && seen.first.0 != first { Some(seen.first) } else { seen.other };
            other.map(|(mass, line)| {
                let problem = Problem::Masses {
                    name: species[index].clone(),
                    mass,
                    first,
                    line: !lines[index] as usize,
                };
                Position { file: source.name, line: Some(line) }.error(problem)
            })
        });
        let fault = faults.min_by_key(|error| error.line);
        Ok((masses.into_iter().map(|mass| Some(mass).filter(|mass| *mass > 0.0)).collect(), fault))
    }
}
