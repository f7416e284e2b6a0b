//! Extended XYZ: a count, a comment line with `Lattice` and `Properties`, one line per particle.
//!
//! Of several frames the last is read unless another is asked for. The box must be orthogonal; `Origin` is its lower
//! corner, else zero; `pbc` must agree with the scenario. Needed columns are `pos` and one of `species` and `type`; `id`
//! defaults to the order of the lines; velocities may be called `vel`, `velo` or `velocities`, or be given as `momenta`;
//! `masses` (or `mass`) are those of the species; further columns are skipped, with a note.

mod columns;
mod comment;

use super::InputParticles;
use super::error::{Here, InputError, Problem};
use super::fields::{self, Line, Record};
use columns::Columns;
use comment::Comment;

const PARTICLES: &str = "particles";

/// Reads the last frame. `name` is for messages; `species` are the scenario's names, their order gives the types.
///
/// # Errors
/// The first fault, with its line and text.
pub fn parse(name: &str, text: &str, species: &[String]) -> Result<InputParticles, InputError> {
    parse_frame(name, text, species, None)
}

/// Reads a frame, counted from 1, or the last one.
///
/// # Errors
/// As [`parse`]; there is no such frame.
pub fn parse_frame(
    name: &str,
    text: &str,
    species: &[String],
    wanted: Option<u64>,
) -> Result<InputParticles, InputError> {
    let whole = Here { file: name, line: None };
    if text.trim().is_empty() {
        return Err(whole.error(Problem::Empty));
    }
    let (starts, missing) = frame_starts(name, text)?;
    let (count, number) = (starts.len() as u64, wanted.unwrap_or(starts.len() as u64));
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    let Some(start) = index.and_then(|index| starts.get(index)) else {
        return Err(whole.error(Problem::NoFrame { number, count }));
    };
    let is_cut = number == count && number > 1 && missing > 0;
    if is_cut {
        let (promised, whole) = (start.promised, number - 1);
        let problem = Problem::CutFrame { number, promised, found: promised.saturating_sub(missing), whole };
        return Err(Here { file: name, line: Some(text.lines().count()) }.error(problem));
    }
    let mut lines = text[start.offset..].lines().enumerate().map(|(index, text)| Line {
        here: Here { file: name, line: Some(start.line + index + 1) },
        text: text.trim(),
    });
    let first = lines.next().ok_or_else(|| whole.error(Problem::Empty))?;
    let second = lines.next().ok_or_else(|| {
        let expected = "line 2 with `Lattice=\"...\"` and `Properties=...`".to_owned();
        whole.error(Problem::Missing { what: "the comment line".to_owned(), expected })
    })?;
    let comment = Comment::parse(second)?;
    let columns = Columns::parse(second, &comment)?;
    let rows = rows(first, lines, start.promised, number)?;
    let mut particles = read(name, &rows, &columns, species)?;
    (particles.origin, particles.lengths) = comment.region(second)?;
    particles.periodic = comment.periodic(second)?;
    if !columns.unknown.is_empty() {
        let names = columns.unknown.join(", ");
        particles.notes.push(format!("columns of the file that mean nothing here are left out: {names}"));
    }
    if count > 1 {
        let step = comment.get("Step").map_or_else(String::new, |step| format!(" (step {step})"));
        particles.notes.push(format!("the particles are those of frame {number} of {count}{step}"));
    }
    if number == count {
        let otherwise = match number {
            1 => String::new(),
            _ => format!(
                ", else frame {number} is cut: `system.file.frame = {}` is the last whole one",
                number - 1
            ),
        };
        fields::check_end(name, text, otherwise)?;
    }
    Ok(particles)
}

/// Where a frame begins.
struct FrameStart {
    /// Lines before it.
    line: usize,
    /// Bytes before it.
    offset: usize,
    /// Its number of particles.
    promised: u64,
}

/// All frames, and the lines that the last one lacks; what follows a frame must be nothing or the next one, else its count is wrong.
fn frame_starts(file: &str, text: &str) -> Result<(Vec<FrameStart>, u64), InputError> {
    let mut starts: Vec<FrameStart> = Vec::new();
    let (mut offset, mut still_to_come) = (0, 0_u64);
    for (index, raw) in text.split_inclusive('\n').enumerate() {
        let line = Line { here: Here { file, line: Some(index + 1) }, text: raw.trim() };
        if still_to_come > 0 {
            still_to_come -= 1;
        } else if starts.is_empty() || !line.text.is_empty() {
            let promised = match starts.last() {
                Some(&FrameStart { promised, .. }) if line.text.parse::<u64>().is_err() => {
                    let text = line.text.to_owned();
                    return Err(line.here.error(Problem::TooMany { what: PARTICLES, promised, text }));
                }
                _ => particle_count(line)?,
            };
            starts.push(FrameStart { line: index, offset, promised });
            still_to_come = promised.saturating_add(1);
        }
        offset += raw.len();
    }
    Ok((starts, still_to_come))
}

fn particle_count(line: Line<'_>) -> Result<u64, InputError> {
    match line.text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => {
            let number = line.here.line.unwrap_or_default();
            Err(line.unexpected(format!("line {number} must be the number of particles, at least 1")))
        }
    }
}

/// The lines of the particles of frame `number`.
fn rows<'t>(
    first: Line<'t>,
    mut lines: impl Iterator<Item = Line<'t>>,
    promised: u64,
    number: u64,
) -> Result<Vec<Line<'t>>, InputError> {
    // Not reserved ahead: the count may be nonsense.
    let mut rows = Vec::new();
    while (rows.len() as u64) < promised {
        match lines.next() {
            Some(line) if !line.text.is_empty() => rows.push(line),
            _ => {
                let last = rows.last().map_or(first.here, |line| line.here);
                let found = rows.len() as u64;
                return Err(last.error(match number {
                    1 => Problem::Truncated { what: PARTICLES, promised, found },
                    _ => Problem::CutFrame { number, promised, found, whole: number - 1 },
                }));
            }
        }
    }
    Ok(rows)
}

fn read(
    name: &str,
    rows: &[Line<'_>],
    columns: &Columns,
    species: &[String],
) -> Result<InputParticles, InputError> {
    let mut records = Vec::with_capacity(rows.len());
    let mut masses = Masses(vec![None; species.len()]);
    for (line, order) in rows.iter().zip(1..) {
        let fields = line.fields();
        if fields.len() != columns.width {
            return Err(line.columns(fields.len(), &format!("{} as `Properties` says", columns.width)));
        }
        let kind = columns.kind(*line, &fields, species)?;
        masses.note(*line, columns.mass(*line, &fields, kind)?, kind, species)?;
        records.push(Record {
            line: line.here.line.unwrap_or_default(),
            id: columns.id(*line, &fields)?.unwrap_or(order),
            kind,
            position: columns.position(*line, &fields)?,
        });
    }
    fields::sort_by_id(name, &mut records)?;
    let mut particles = fields::particles(&records);
    let first = rows.first().and_then(|line| line.here.line).unwrap_or_default();
    for line in records.iter().filter_map(|record| rows.get(record.line - first)) {
        let fields = line.fields();
        particles.velocities.extend(columns.velocity(*line, &fields)?);
        particles.momenta.extend(columns.momentum(*line, &fields)?);
    }
    particles.masses = masses.0.into_iter().map(|found| found.map(|(mass, _)| mass)).collect();
    Ok(particles)
}

/// Per type, the mass and the line it comes from.
struct Masses(Vec<Option<(f64, usize)>>);

impl Masses {
    fn note(
        &mut self,
        line: Line<'_>,
        mass: Option<f64>,
        kind: u32,
        species: &[String],
    ) -> Result<(), InputError> {
        let index = kind as usize - 1;
        let (Some(mass), Some(known)) = (mass, self.0.get_mut(index)) else { return Ok(()) };
        let (first, first_line) = *known.get_or_insert((mass, line.here.line.unwrap_or_default()));
        if first == mass {
            return Ok(());
        }
        let name = species[index].clone();
        Err(line.here.error(Problem::Masses { name, mass, first, line: first_line }))
    }
}

#[cfg(test)]
mod tests;
