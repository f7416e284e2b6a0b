//! Extended XYZ: a count, a comment line with `Lattice` and `Properties`, one line per particle.
//!
//! Of several frames the first is read. The box must be orthogonal; `Origin` is its lower corner, else zero. `pbc` and
//! other entries of the comment line are left to the scenario. Needed columns are `pos` and one of `species` and
//! `type`; `id` defaults to the order of the lines; velocities may be called `vel`, `velo` or `velocities`; further
//! columns are skipped.

mod columns;
mod comment;

use super::InputParticles;
use super::error::{Here, InputError, Problem};
use super::fields::{self, Line, Record};
use columns::Columns;
use comment::Comment;

/// Reads the first frame. `name` is for messages; `species` are the scenario's names, their order gives the types.
///
/// # Errors
/// The first fault, with its line and text.
pub fn parse(name: &str, text: &str, species: &[String]) -> Result<InputParticles, InputError> {
    let whole = Here { file: name, line: None };
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| Line { here: Here { file: name, line: Some(index + 1) }, text: text.trim() });
    let first =
        lines.next().filter(|_| !text.trim().is_empty()).ok_or_else(|| whole.error(Problem::Empty))?;
    let count = particle_count(first)?;
    let second = lines.next().ok_or_else(|| {
        let expected = "line 2 with `Lattice=\"...\"` and `Properties=...`".to_owned();
        whole.error(Problem::Missing { what: "the comment line".to_owned(), expected })
    })?;
    let comment = Comment::parse(second)?;
    let columns = Columns::parse(second, &comment)?;
    let rows = frame(first, lines, count)?;
    let mut particles = read(name, &rows, &columns, species)?;
    (particles.origin, particles.lengths) = comment.region(second)?;
    Ok(particles)
}

fn particle_count(line: Line<'_>) -> Result<u64, InputError> {
    match line.text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(line.unexpected("line 1 must be the number of particles, at least 1")),
    }
}

/// The lines of the first frame; what follows must be nothing or a next frame, else the count is wrong.
fn frame<'t>(
    first: Line<'t>,
    mut lines: impl Iterator<Item = Line<'t>>,
    promised: u64,
) -> Result<Vec<Line<'t>>, InputError> {
    const WHAT: &str = "particles";
    // Not reserved ahead: the count may be nonsense.
    let mut rows = Vec::new();
    while (rows.len() as u64) < promised {
        match lines.next() {
            Some(line) if !line.text.is_empty() => rows.push(line),
            _ => {
                let last = rows.last().map_or(first.here, |line| line.here);
                let found = rows.len() as u64;
                return Err(last.error(Problem::Truncated { what: WHAT, promised, found }));
            }
        }
    }
    match lines.find(|line| !line.text.is_empty()) {
        Some(line) if line.text.parse::<u64>().is_err() => {
            Err(line.here.error(Problem::TooMany { what: WHAT, promised, text: line.text.to_owned() }))
        }
        _ => Ok(rows),
    }
}

fn read(
    name: &str,
    rows: &[Line<'_>],
    columns: &Columns,
    species: &[String],
) -> Result<InputParticles, InputError> {
    let mut records = Vec::with_capacity(rows.len());
    for (line, order) in rows.iter().zip(1..) {
        let fields = line.fields();
        if fields.len() != columns.width {
            return Err(line.columns(fields.len(), &format!("{} as `Properties` says", columns.width)));
        }
        records.push(Record {
            line: line.here.line.unwrap_or_default(),
            id: columns.id(*line, &fields)?.unwrap_or(order),
            kind: columns.kind(*line, &fields, species)?,
            position: columns.position(*line, &fields)?,
        });
    }
    fields::sort_by_id(name, &mut records)?;
    let mut particles = fields::particles(&records);
    if columns.has_velocity() {
        let first = rows.first().and_then(|line| line.here.line).unwrap_or_default();
        let in_order = records.iter().filter_map(|record| rows.get(record.line - first));
        particles.velocities =
            in_order.map(|line| columns.velocity(*line, &line.fields())).collect::<Result<_, _>>()?;
    }
    Ok(particles)
}

#[cfg(test)]
mod tests;
