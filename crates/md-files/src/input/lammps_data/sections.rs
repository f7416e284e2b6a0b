//! The sections of a data file.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use md_scenario::AtomStyle;

use super::types::Types;
use super::{Content, Section};
use crate::input::error::{InputError, Position, Problem};
use crate::input::fields::{Line, Record};
use crate::input::{InputParticles, PairCoefficients, TypePair};

const VELOCITY: &str = "a velocity: id vx vy vz";
const MASS: &str = "a mass: type mass";
/// Pair style whose parameters are read.
pub(super) const LENNARD_JONES: &str = "lj/cut";

/// Parameters by pair of types.
pub(super) type Coefficients = BTreeMap<TypePair, PairCoefficients>;

/// Reads masses, by type number - 1.
pub(super) fn masses(content: &Content, file: &str, types: &Types) -> Result<Vec<Option<f64>>, InputError> {
    content.check_count(file)?;
    let mut masses = vec![None; types.count as usize];
    for line in content.lines(file) {
        let fields = line.fields();
        let [kind, text] = fields.as_slice() else {
            return Err(line.columns(fields.len(), MASS));
        };
        let kind = types.kind(line, kind, MASS)?;
        let mass = line.mass(text, kind, MASS)?;
        if masses[kind as usize - 1].replace(mass).is_some() {
            return Err(line.here.error(Problem::Twice { what: format!("the mass of type {kind}") }));
        }
    }
    Ok(masses)
}

/// Format of the lines of `Atoms`.
#[derive(Clone, Copy)]
pub(super) struct Rows<'r> {
    pub(super) style: AtomStyle,
    /// Number of columns in the first line.
    pub(super) columns: usize,
    pub(super) types: &'r Types,
}

/// Reads an atom.
pub(super) fn atom(line: Line<'_>, rows: Rows<'_>) -> Result<Record, InputError> {
    let Rows { style, columns, types } = rows;
    let (fields, form) = (line.fields(), style.form());
    let wrong = || line.columns(fields.len(), form);
    if fields.len() != columns && style.has_lines_of(fields.len()) && style.has_lines_of(columns) {
        return Err(line.columns(fields.len(), &format!("{columns} as in the first line of `Atoms`")));
    }
    let (others, rest) = fields.split_at_checked(style.columns()).ok_or_else(wrong)?;
    let (position, images) = match rest {
        [x, y, z] => ([*x, *y, *z], None),
        [x, y, z, ix, iy, iz] => ([*x, *y, *z], Some([ix, iy, iz])),
        _ => return Err(wrong()),
    };
    let (id, kind) = style.id_and_kind(others).ok_or_else(wrong)?;
    if let Some(charge) = style.charge(others) {
        line.number(charge, form)?;
    }
    let mut record = Record {
        line: line.number_kept(),
        id: line.id(id, form)?,
        kind: types.kind(line, kind, form)?,
        position: line.vector(&position, form)?,
        ..Record::default()
    };
    for (dim, image) in images.into_iter().flatten().enumerate() {
        record.set_image(dim, line.image(image, form)?);
    }
    Ok(record)
}

/// A line of velocities.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Velocity {
    pub(super) id: u64,
    line: u64,
    vector: [f64; 3],
}

/// Reads a velocity.
pub(super) fn velocity(line: Line<'_>) -> Result<Velocity, InputError> {
    let fields = line.fields();
    let [id, vector @ ..] = fields.as_slice() else {
        return Err(line.columns(fields.len(), VELOCITY));
    };
    if vector.len() != 3 {
        return Err(line.columns(fields.len(), VELOCITY));
    }
    let (id, vector) = (line.id(id, VELOCITY)?, line.vector(vector, VELOCITY)?);
    Ok(Velocity { id, line: line.number_kept().into(), vector })
}

/// Sets the velocities of the particles, which are sorted by id.
pub(super) fn give_velocities(
    file: &str,
    mut rows: Vec<Velocity>,
    particles: &mut InputParticles,
) -> Result<(), InputError> {
    let InputParticles { ids, velocities, lines, .. } = particles;
    let velocities = velocities.insert(vec![[0.0; 3]; ids.len()]);
    rows.sort_unstable_by_key(|row| (row.id, row.line));
    let (mut before, mut index, mut faults) = (None, 0, Vec::new());
    for &Velocity { id, line, vector } in &rows {
        index += ids[index..].iter().take_while(|own| **own < id).count();
        match before.replace((id, line)) {
            Some((same, first)) if same == id => {
                faults.push((line, Problem::DuplicateId { id, first: Some(first as usize) }));
            }
            _ if ids.get(index) != Some(&id) => faults.push((line, Problem::UnknownId { id })),
            _ => (velocities[index], lines[index].velocity) = (vector, line as u32),
        }
    }
    let first = faults.into_iter().min_by_key(|(line, _)| *line);
    first.map_or(Ok(()), |(line, problem)| Err(Position { file, line: Some(line as usize) }.error(problem)))
}

/// Adds the parameters of `Pair Coeffs` (`type epsilon sigma [cutoff]`) or `PairIJ Coeffs`
/// (`type type epsilon sigma [cutoff]`).
pub(super) fn coefficients(
    content: &Content,
    file: &str,
    types: &Types,
    particles: &mut InputParticles,
) -> Result<(), InputError> {
    if content.style != LENNARD_JONES {
        particles.other_pair_style = Some(content.style.clone());
        return Ok(());
    }
    particles.coefficients.append(&mut read_coefficients(content, file, types, &particles.coefficients)?);
    Ok(())
}

/// Returns the parameters of a section, whatever style its heading names. None of its pairs may be
/// in `before`.
pub(super) fn read_coefficients(
    content: &Content,
    file: &str,
    types: &Types,
    before: &Coefficients,
) -> Result<Coefficients, InputError> {
    let mut all = Coefficients::new();
    content.check_count(file)?;
    let columns = content.lines(file).next().map_or(0, |line| line.fields().len());
    for line in content.lines(file) {
        let fields = line.fields();
        if fields.len() != columns {
            return Err(line.columns(fields.len(), &format!("{columns} as in the first line")));
        }
        let (pair, read) = coefficients_of_pair(line, content.section, types)?;
        if before.contains_key(&pair) || all.insert(pair, read).is_some() {
            let what = format!("the pair of types {} and {}", pair[0], pair[1]);
            return Err(line.here.error(Problem::Twice { what }));
        }
    }
    Ok(all)
}

fn coefficients_of_pair(
    line: Line<'_>,
    section: Section,
    types: &Types,
) -> Result<(TypePair, PairCoefficients), InputError> {
    const FORM: &str = "coefficients: type [type] epsilon sigma [cutoff]";
    let fields = line.fields();
    let kinds = if section == Section::PairIjCoeffs { 2 } else { 1 };
    let (kinds, numbers) = fields.split_at_checked(kinds).ok_or_else(|| line.columns(fields.len(), FORM))?;
    let kinds: Vec<u32> = kinds.iter().map(|kind| types.kind(line, kind, FORM)).collect::<Result<_, _>>()?;
    let numbers: Vec<f64> = numbers.iter().map(|text| line.number(text, FORM)).collect::<Result<_, _>>()?;
    let (epsilon, sigma, cutoff) = match numbers[..] {
        [epsilon, sigma] => (epsilon, sigma, None),
        [epsilon, sigma, cutoff] => (epsilon, sigma, Some(cutoff)),
        _ => return Err(line.columns(fields.len(), FORM)),
    };
    let (first, last) = (kinds.first().copied().unwrap_or(1), kinds.last().copied().unwrap_or(1));
    Ok(([first.min(last), first.max(last)], PairCoefficients { epsilon, sigma, cutoff }))
}
