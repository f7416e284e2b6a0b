//! The sections of a data file.

use super::header::Header;
use super::{Content, Section};
use crate::input::error::{InputError, Problem};
use crate::input::fields::{Line, Record};

const ATOM: &str = "an atom: id type x y z [ix iy iz]";
const VELOCITY: &str = "a velocity: id vx vy vz";
const MASS: &str = "a mass: type mass";

/// Masses by type number - 1.
pub(super) fn masses(content: &Content<'_>, types: u32) -> Result<Vec<f64>, InputError> {
    check_count(content, Section::Masses, types.into())?;
    let mut masses = vec![None; types as usize];
    for line in &content.lines {
        let fields = line.fields();
        let [kind, text] = fields.as_slice() else {
            return Err(line.columns(fields.len(), MASS));
        };
        let kind = line.kind(kind, types, MASS)?;
        let mass = line.number(text, MASS)?;
        if mass <= 0.0 {
            return Err(line.here.error(Problem::Mass { kind, text: (*text).to_owned() }));
        }
        if masses[kind as usize - 1].replace(mass).is_some() {
            return Err(line.here.error(Problem::Twice { what: format!("the mass of type {kind}") }));
        }
    }
    // As many lines as types, none twice: all are there.
    Ok(masses.into_iter().flatten().collect())
}

/// Atoms in the order of the file.
pub(super) fn atoms(content: &Content<'_>, header: &Header) -> Result<Vec<Record>, InputError> {
    let records: Result<Vec<Record>, InputError> =
        content.lines.iter().map(|line| atom(*line, header.types)).collect();
    // A truncated file usually ends amid a line; the counts say more than the half line does.
    check_count(content, Section::Atoms, header.atoms)?;
    records
}

fn atom(line: Line<'_>, types: u32) -> Result<Record, InputError> {
    let fields = line.fields();
    let (id, kind, position, images) = match fields.as_slice() {
        [id, kind, x, y, z] => (id, kind, [*x, *y, *z], None),
        [id, kind, x, y, z, ix, iy, iz] => (id, kind, [*x, *y, *z], Some([ix, iy, iz])),
        _ => return Err(line.columns(fields.len(), ATOM)),
    };
    for image in images.into_iter().flatten() {
        line.integer(image, ATOM)?;
    }
    Ok(Record {
        line: line.here.line.unwrap_or_default(),
        id: line.id(id, ATOM)?,
        kind: line.kind(kind, types, ATOM)?,
        position: line.vector(&position, ATOM)?,
    })
}

/// Velocities in the order of `ids`, which are sorted.
pub(super) fn velocities(content: &Content<'_>, ids: &[u64]) -> Result<Vec<[f64; 3]>, InputError> {
    check_count(content, Section::Velocities, ids.len() as u64)?;
    let mut velocities = vec![[0.0; 3]; ids.len()];
    // The line that gave a velocity; 0 stands for none yet.
    let mut given = vec![0; ids.len()];
    for line in &content.lines {
        let fields = line.fields();
        let [id, vector @ ..] = fields.as_slice() else {
            return Err(line.columns(fields.len(), VELOCITY));
        };
        if vector.len() != 3 {
            return Err(line.columns(fields.len(), VELOCITY));
        }
        let id = line.id(id, VELOCITY)?;
        let index = ids.binary_search(&id).map_err(|_| line.here.error(Problem::UnknownId { id }))?;
        let number = line.here.line.unwrap_or_default();
        match std::mem::replace(&mut given[index], number) {
            0 => velocities[index] = line.vector(vector, VELOCITY)?,
            first => return Err(line.here.error(Problem::DuplicateId { id, first })),
        }
    }
    Ok(velocities)
}

fn check_count(content: &Content<'_>, section: Section, promised: u64) -> Result<(), InputError> {
    let what = match section {
        Section::Masses => "masses",
        Section::Atoms => "atoms",
        Section::Velocities => "velocities",
    };
    let found = content.lines.len() as u64;
    if found < promised {
        let last = content.lines.last().map_or(content.heading, |line| line.here);
        return Err(last.error(Problem::Truncated { what, promised, found }));
    }
    match usize::try_from(promised).ok().and_then(|promised| content.lines.get(promised)) {
        Some(line) => Err(line.here.error(Problem::TooMany { what, promised, text: line.text.to_owned() })),
        None => Ok(()),
    }
}
