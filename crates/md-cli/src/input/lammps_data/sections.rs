//! The sections of a data file.

use super::header::Header;
use super::{Content, Section};
use crate::input::error::{InputError, Problem};
use crate::input::fields::{Line, Record};
use crate::input::{InputParticles, PairCoefficients, TypePair};

const ATOM: &str = "an atom: id type x y z [ix iy iz]";
const VELOCITY: &str = "a velocity: id vx vy vz";
const MASS: &str = "a mass: type mass";

/// Masses by type number - 1.
pub(super) fn masses(content: &Content<'_>, types: u32) -> Result<Vec<Option<f64>>, InputError> {
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
    Ok(masses)
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

/// Gives the particles, which are sorted by id, their velocities.
pub(super) fn velocities(content: &Content<'_>, particles: &mut InputParticles) -> Result<(), InputError> {
    let InputParticles { ids, velocities, lines, .. } = particles;
    check_count(content, Section::Velocities, ids.len() as u64)?;
    velocities.resize(ids.len(), [0.0; 3]);
    // 0 stands for none yet.
    lines.iter_mut().for_each(|lines| lines.velocity = 0);
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
        let number = line.here.line.and_then(|line| u32::try_from(line).ok()).unwrap_or(u32::MAX);
        match std::mem::replace(&mut lines[index].velocity, number) {
            0 => velocities[index] = line.vector(vector, VELOCITY)?,
            first => return Err(line.here.error(Problem::DuplicateId { id, first: first as usize })),
        }
    }
    Ok(())
}

/// Adds the parameters of `Pair Coeffs` (`type epsilon sigma [cutoff]`) or `PairIJ Coeffs` (`type type epsilon sigma
/// [cutoff]`).
pub(super) fn coefficients(
    content: &Content<'_>,
    section: Section,
    types: u32,
    particles: &mut InputParticles,
) -> Result<(), InputError> {
    if content.style != "lj/cut" {
        particles.other_pair_style = Some(content.style.to_owned());
        return Ok(());
    }
    let promised = match section {
        Section::PairIjCoeffs => u64::from(types) * (u64::from(types) + 1) / 2,
        Section::PairCoeffs | Section::Masses | Section::Atoms | Section::Velocities => types.into(),
    };
    check_count(content, section, promised)?;
    let columns = content.lines.first().map_or(0, |line| line.fields().len());
    for line in &content.lines {
        let fields = line.fields();
        if fields.len() != columns {
            return Err(line.columns(fields.len(), &format!("{columns} as in the first line")));
        }
        let (pair, read) = coefficients_of_pair(*line, section, types)?;
        if particles.coefficients.insert(pair, read).is_some() {
            let what = format!("the pair of types {} and {}", pair[0], pair[1]);
            return Err(line.here.error(Problem::Twice { what }));
        }
    }
    Ok(())
}

fn coefficients_of_pair(
    line: Line<'_>,
    section: Section,
    types: u32,
) -> Result<(TypePair, PairCoefficients), InputError> {
    const FORM: &str = "coefficients: type [type] epsilon sigma [cutoff]";
    let fields = line.fields();
    let kinds = if section == Section::PairIjCoeffs { 2 } else { 1 };
    let (kinds, numbers) = fields.split_at_checked(kinds).ok_or_else(|| line.columns(fields.len(), FORM))?;
    let kinds: Vec<u32> = kinds.iter().map(|kind| line.kind(kind, types, FORM)).collect::<Result<_, _>>()?;
    let numbers: Vec<f64> = numbers.iter().map(|text| line.number(text, FORM)).collect::<Result<_, _>>()?;
    let (epsilon, sigma, cutoff) = match numbers[..] {
        [epsilon, sigma] => (epsilon, sigma, None),
        [epsilon, sigma, cutoff] => (epsilon, sigma, Some(cutoff)),
        _ => return Err(line.columns(fields.len(), FORM)),
    };
    let (first, last) = (kinds.first().copied().unwrap_or(1), kinds.last().copied().unwrap_or(1));
    Ok(([first.min(last), first.max(last)], PairCoefficients { epsilon, sigma, cutoff }))
}

fn check_count(content: &Content<'_>, section: Section, promised: u64) -> Result<(), InputError> {
    let what = match section {
        Section::Masses => "masses",
        Section::PairCoeffs | Section::PairIjCoeffs => "pairs of types",
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
