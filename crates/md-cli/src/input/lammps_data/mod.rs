//! LAMMPS data files, `atom_style atomic`, optionally with velocities and the coefficients of `pair_style lj/cut`.
//!
//! The first line is a title. Image flags are dropped: positions are taken as they stand. `xy xz yz` is accepted when
//! zero. Header counts that `atom_style atomic` has no use for (`bonds`, ...) are accepted when zero.

mod header;
mod sections;

use std::collections::BTreeMap;

use super::error::{Here, InputError, Problem};
use super::fields::{self, Line};
use super::{InputParticles, fields::Record};
use header::Header;

/// The sections that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
enum Section {
    Masses,
    PairCoeffs,
    PairIjCoeffs,
    Atoms,
    Velocities,
}

impl Section {
    const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    fn name(self) -> &'static str {
        match self {
            Self::Masses => "Masses",
            Self::PairCoeffs => "Pair Coeffs",
            Self::PairIjCoeffs => "PairIJ Coeffs",
            Self::Atoms => "Atoms",
            Self::Velocities => "Velocities",
        }
    }
}

/// Lines of one section, and where it begins.
struct Content<'t> {
    heading: Here<'t>,
    /// What the heading's comment says: the style of atoms or pairs.
    style: &'t str,
    lines: Vec<Line<'t>>,
}

type Sections<'t> = BTreeMap<Section, Content<'t>>;

/// Reads a data file; `name` is for messages.
///
/// # Errors
/// The first fault, with its line and text.
pub fn parse(name: &str, text: &str) -> Result<InputParticles, InputError> {
    let whole = Here { file: name, line: None };
    if text.trim().is_empty() {
        return Err(whole.error(Problem::Empty));
    }
    let (header_lines, sections) = split(name, text)?;
    let header = Header::parse(whole, &header_lines)?;
    let masses = match sections.get(&Section::Masses) {
        Some(content) => sections::masses(content, header.types)?,
        None => Vec::new(),
    };
    let Some(content) = sections.get(&Section::Atoms) else {
        let expected = format!("a section `Atoms # atomic` with {} lines", header.atoms);
        return Err(whole.error(Problem::Missing { what: "section `Atoms`".to_owned(), expected }));
    };
    let mut records: Vec<Record> = sections::atoms(content, &header)?;
    fields::sort_by_id(name, &mut records)?;
    let mut particles = fields::particles(&records);
    if let Some(content) = sections.get(&Section::Velocities) {
        sections::velocities(content, &mut particles)?;
    }
    for section in [Section::PairCoeffs, Section::PairIjCoeffs] {
        if let Some(content) = sections.get(&section) {
            sections::coefficients(content, section, header.types, &mut particles)?;
        }
    }
    fields::check_end(name, text, String::new())?;
    Ok(InputParticles { origin: header.origin, lengths: header.lengths, masses, ..particles })
}

/// Cuts the file at its section headings: lines that begin with a letter.
fn split<'t>(file: &'t str, text: &'t str) -> Result<(Vec<Line<'t>>, Sections<'t>), InputError> {
    let mut header = Vec::new();
    let mut sections = Sections::new();
    let mut current = None;
    for (index, raw) in text.lines().enumerate() {
        let here = Here { file, line: Some(index + 1) };
        let (content, comment) =
            if index == 0 { ("", raw) } else { raw.split_once('#').unwrap_or((raw, "")) };
        if current.is_none() {
            header::check_units(here, comment)?;
        }
        let line = Line { here, text: content.trim() };
        if line.text.is_empty() {
            continue;
        }
        if line.text.starts_with(char::is_alphabetic) && !is_damaged_row(line, current) {
            let (section, style) = (heading(line, comment.trim())?, comment.trim());
            if sections.insert(section, Content { heading: here, style, lines: Vec::new() }).is_some() {
                return Err(here.error(Problem::Twice { what: format!("section `{}`", section.name()) }));
            }
            current = Some(section);
        } else {
            let content = current.and_then(|section| sections.get_mut(&section));
            content.map_or(&mut header, |content| &mut content.lines).push(line);
        }
    }
    Ok((header, sections))
}

/// Whether a line that begins with a letter is no heading but a row with a damaged first column: of a section, where
/// no heading has numbers, or of the header, by its keyword.
fn is_damaged_row(line: Line<'_>, current: Option<Section>) -> bool {
    let fields = line.fields();
    match current {
        Some(_) => fields.iter().skip(1).any(|field| field.parse::<f64>().is_ok()),
        None => fields.len() > 1 && fields.last().is_some_and(|last| header::KEYWORDS.contains(last)),
    }
}

fn heading(line: Line<'_>, comment: &str) -> Result<Section, InputError> {
    let Some(section) = Section::ALL.iter().copied().find(|section| section.name() == line.text) else {
        let supported =
            "the sections are `Masses`, `Pair Coeffs`, `PairIJ Coeffs`, `Atoms # atomic`, `Velocities`"
                .to_owned();
        return Err(line
            .here
            .error(Problem::Unsupported { what: format!("section `{}`", line.text), supported }));
    };
    let style = comment.split_whitespace().next().unwrap_or("atomic");
    if section == Section::Atoms && style != "atomic" {
        let what = format!("`Atoms # {comment}`");
        let supported = "the atom style must be `atomic` (id type x y z)".to_owned();
        return Err(line.here.error(Problem::Unsupported { what, supported }));
    }
    Ok(section)
}

#[cfg(test)]
mod tests;
