//! LAMMPS data files, optionally with velocities and the coefficients of `pair_style lj/cut`. For
//! the atom styles `charge`, `bond`, `angle`, `molecular` and `full`, charges, molecules and bonds
//! are left out, with a note. Styles other than these and `atomic` are refused.
//!
//! The first line is a title. `xy xz yz` is accepted if zero. Header counts of particles that are
//! not points (`ellipsoids`, ...) are accepted if zero.

mod header;
mod sections;
mod style;
mod summary;
mod types;

use std::collections::BTreeMap;

use md_lab::name_of;
use md_scenario::AtomStyle;
use md_scenario::failure::RunError;
use serde::{Deserialize, Serialize};

use super::InputParticles;
use super::error::{InputError, Position, Problem};
use super::fields::{self, Line};
use super::overview::Overview;
use super::source::Source;
use header::{Draft, Header};
use sections::Rows;
pub use summary::{Summary, summary};
use types::Types;

/// Sections that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::VariantArray)]
enum Section {
    TypeLabels,
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
            Self::TypeLabels => "Atom Type Labels",
            Self::Masses => "Masses",
            Self::PairCoeffs => "Pair Coeffs",
            Self::PairIjCoeffs => "PairIJ Coeffs",
            Self::Atoms => "Atoms",
            Self::Velocities => "Velocities",
        }
    }

    /// Returns the name of the section's lines in messages.
    fn content(self) -> &'static str {
        match self {
            Self::TypeLabels => "labels",
            Self::Masses => "masses",
            Self::PairCoeffs | Self::PairIjCoeffs => "pairs of types",
            Self::Atoms => "atoms",
            Self::Velocities => "velocities",
        }
    }

    /// Returns the number of lines that the section must have.
    fn promised(self, header: &Header) -> u64 {
        let types = u64::from(header.types);
        match self {
            Self::TypeLabels | Self::Masses | Self::PairCoeffs => types,
            Self::PairIjCoeffs => types * (types + 1) / 2,
            Self::Atoms | Self::Velocities => header.atoms,
        }
    }
}

/// A section, from the lines read so far.
#[derive(Serialize, Deserialize)]
struct Content {
    section: Section,
    /// Line of the heading.
    heading: usize,
    /// Comment of the heading: the style of atoms or pairs.
    style: String,
    promised: u64,
    /// Number of lines that are not empty.
    found: u64,
    /// Line number of the last of them.
    last: usize,
    /// Number of columns in the first of them.
    columns: usize,
    /// First line that exceeds the promised number.
    excess: Option<(usize, String)>,
    /// Lines up to the promised number, unless they are particles.
    kept: Vec<(usize, String)>,
}

impl Content {
    fn new(section: Section, heading: usize, style: &str, promised: u64) -> Self {
        let (style, excess, kept) = (style.to_owned(), None, Vec::new());
        Self { section, heading, style, promised, found: 0, last: heading, columns: 0, excess, kept }
    }

    /// Adds the next line.
    fn note(&mut self, number: usize, text: &str) {
        self.note_columns(text);
        let is_kept = !matches!(self.section, Section::Atoms | Section::Velocities);
        if self.found == self.promised {
            self.excess = Some((number, text.to_owned()));
        } else if self.found < self.promised && is_kept {
            self.kept.push((number, text.to_owned()));
        }
        (self.found, self.last) = (self.found + 1, number);
    }

    /// Returns the atom style that the heading names.
    fn atom_style(&self) -> Option<AtomStyle> {
        self.style.split_whitespace().next().and_then(AtomStyle::named)
    }

    fn note_columns(&mut self, text: &str) {
        if self.found == 0 {
            self.columns = text.split_whitespace().count();
        }
    }

    /// Adds a line if it is clearly one of the particles, as most lines are. Returns whether it is.
    fn notes_plainly(&mut self, number: usize, raw: &str) -> bool {
        let is_bulk = matches!(self.section, Section::Atoms | Section::Velocities);
        let is_plain =
            is_bulk && self.found < self.promised && raw.starts_with(|first: char| first.is_ascii_digit());
        if is_plain {
            self.note_columns(uncommented(raw).0);
            (self.found, self.last) = (self.found + 1, number);
        }
        is_plain
    }

    fn lines<'c>(&'c self, file: &'c str) -> impl Iterator<Item = Line<'c>> {
        let line = move |(number, text): &'c (usize, String)| Line::new(file, *number, text);
        self.kept.iter().map(line)
    }

    fn check_count(&self, file: &str) -> Result<(), InputError> {
        let &Self { promised, found, .. } = self;
        let what = self.section.content();
        if found < promised {
            let last = Position { file, line: Some(self.last) };
            return Err(last.error(Problem::Truncated { what, promised, found }));
        }
        self.excess.clone().map_or(Ok(()), |(number, text)| {
            Err(Position { file, line: Some(number) }.error(Problem::TooMany { what, promised, text }))
        })
    }
}

/// Reads a data file. `name` is used in messages.
///
/// # Errors
/// Returns the first fault, with its line and text.
///
/// ```
/// use md_files::input::lammps_data;
///
/// let text = "\
/// one atom of argon
///
/// 1 atoms
/// 1 atom types
/// 0 9 xlo xhi
/// 0 9 ylo yhi
/// 0 9 zlo zhi
///
/// Masses
///
/// 1 39.948
///
/// Atoms # atomic
///
/// 1 1 1.0 2.0 3.0
/// ";
/// let particles = lammps_data::parse("one.data", text)?;
/// assert_eq!(particles.masses, [Some(39.948)]);
/// assert_eq!(particles.positions, [[1.0, 2.0, 3.0]]);
/// # Ok::<(), md_scenario::failure::RunError>(())
/// ```
pub fn parse(name: &str, text: &str) -> Result<InputParticles, RunError> {
    read(&Source::given(name, text), &[], None)
}

/// Reads this rank's particles of a data file. `species` are the scenario's names, and `style` is
/// its atom style. *Collective.*
///
/// # Errors
/// Returns the errors of [`parse`], the same on all ranks, and an error if the file cannot be read
/// or communication fails.
pub fn read(
    source: &Source<'_>,
    species: &[String],
    style: Option<AtomStyle>,
) -> Result<InputParticles, RunError> {
    let file = source.name;
    let (header, layout) = Layout::find(source)?;
    let section = |section: Section| layout.sections.get(&section);
    let types = layout.types(&header, file)?;
    let masses =
        section(Section::Masses).map_or(Ok(Vec::new()), |content| sections::masses(content, file, &types))?;
    let atoms = layout.whole_atoms(&header, file)?;
    let named = atoms.atom_style();
    let chosen = AtomStyle::of_lines(named, atoms.columns, style);
    let here = Position { file, line: Some(atoms.heading) };
    let chosen = chosen.map_err(|text| here.error(Problem::Told(text)))?;
    let rows = Rows { style: chosen, columns: atoms.columns, types: &types };
    let mut particles = particles(source, &header, &layout, rows)?;
    particles.tells_images = [chosen.has_images(atoms.columns); 3];
    for kind in [Section::PairCoeffs, Section::PairIjCoeffs] {
        if let Some(content) = section(kind) {
            sections::coefficients(content, file, &types, &mut particles)?;
        }
    }
    layout.overview.check_end(file, String::new())?;
    if let Some(labels) = section(Section::TypeLabels) {
        particles.notes.extend(types.note(Line::new(file, labels.heading, ""), species)?);
    }
    if named.or(style).is_none() && chosen != AtomStyle::Atomic {
        particles.notes.push(format!(
            "the heading `Atoms` names no style: lines of {} columns are read as `{}`",
            atoms.columns,
            name_of(chosen)
        ));
    }
    particles.notes.extend(style::note(chosen, &layout.left_out));
    Ok(InputParticles { origin: header.origin, lengths: header.lengths, masses, ..particles })
}

/// Reads this rank's particles, with velocities if the file contains them. *Collective.*
fn particles(
    source: &Source<'_>,
    header: &Header,
    layout: &Layout,
    rows: Rows<'_>,
) -> Result<InputParticles, RunError> {
    let section = |section: Section| layout.sections.get(&section);
    let lines_of = |content: Option<&Content>| content.map_or(0..0, |it| it.heading + 1..it.last + 1);
    let [of_atoms, of_velocities] = [Section::Atoms, Section::Velocities].map(|it| lines_of(section(it)));
    let room = source.expect_room(header.atoms, &layout.overview)?;
    let (mut records, mut velocities, mut fault) = (Vec::with_capacity(room), Vec::new(), None);
    source.lines_again(&layout.overview.text, &[of_atoms.clone(), of_velocities], |number, raw| {
        let line = Line::new(source.name, number, uncommented(raw).0);
        if fault.is_none() && !line.text.is_empty() {
            fault = match of_atoms.contains(&number) {
                true => sections::atom(line, rows).map(|atom| records.push(atom)).err(),
                false => sections::velocity(line).map(|velocity| velocities.push(velocity)).err(),
            };
        }
    })?;
    let records = fields::sorted_by_id(source, records, fault)?;
    let mut particles = fields::particles(source, &records, header.atoms)?;
    if section(Section::Velocities).is_some() {
        let velocities = source.kept(velocities, |velocity| velocity.id)?;
        source.check_count(Section::Velocities.content(), header.atoms, velocities.len())?;
        source.agree(sections::give_velocities(source.name, velocities, &mut particles))?;
    }
    Ok(particles)
}

/// Results of the first pass over all lines.
#[derive(Default, Serialize, Deserialize)]
struct Layout {
    overview: Overview,
    /// Names of sections that are left out.
    left_out: Vec<String>,
    draft: Draft,
    /// Header, which is known from the first section on.
    header: Option<Header>,
    sections: BTreeMap<Section, Content>,
    current: Option<Section>,
    is_in_left_out: bool,
}

impl Layout {
    fn types(&self, header: &Header, file: &str) -> Result<Types, InputError> {
        Types::read(header.types, self.sections.get(&Section::TypeLabels), file)
    }

    /// Returns the section of the atoms, if it and that of the velocities are complete.
    fn whole_atoms(&self, header: &Header, file: &str) -> Result<&Content, InputError> {
        let Some(atoms) = self.sections.get(&Section::Atoms) else {
            let expected = format!("a section `Atoms # atomic` with {} lines", header.atoms);
            let problem = Problem::Missing { what: "section `Atoms`".to_owned(), expected };
            return Err(Position { file, line: None }.error(problem));
        };
        atoms.check_count(file)?;
        self.sections.get(&Section::Velocities).map_or(Ok(()), |content| content.check_count(file))?;
        Ok(atoms)
    }

    fn find(source: &Source<'_>) -> Result<(Header, Self), RunError> {
        let whole = Position { file: source.name, line: None };
        let (mut layout, text) = source.overview(Self::default(), |layout, number, raw| {
            layout.note(Position { line: Some(number), ..whole }, number, raw)
        })?;
        layout.overview.text = text;
        layout.overview.expect_uncut(source.name, None, 0)?;
        if !layout.overview.has_words {
            return Err(whole.error(Problem::Empty).into());
        }
        let header = layout.header.map_or_else(|| layout.draft.finished(whole), Ok)?;
        Ok((header, layout))
    }

    /// Adds the next line. Lines that begin with a letter are headings.
    fn note(&mut self, here: Position<'_>, number: usize, raw: &str) -> Result<(), InputError> {
        self.overview.note(raw);
        let content = self.current.and_then(|section| self.sections.get_mut(&section));
        if content.is_some_and(|content| content.notes_plainly(number, raw)) {
            return Ok(());
        }
        let (content, comment) = if number == 1 { ("", raw) } else { uncommented(raw) };
        if self.current.is_none() && !self.is_in_left_out {
            fields::check_units(here, comment)?;
        }
        let line = Line { here, text: content.trim() };
        if line.text.is_empty() {
            return Ok(());
        }
        let is_in_section = self.current.is_some() || self.is_in_left_out;
        if line.text.starts_with(char::is_alphabetic) && !is_row(line, is_in_section) {
            if style::LEFT_OUT.contains(&line.text) {
                (self.current, self.is_in_left_out) = (None, true);
                self.left_out.push(line.text.to_owned());
                return Ok(());
            }
            self.is_in_left_out = false;
            let section = heading(line, comment.trim())?;
            let header =
                self.header.map_or_else(|| self.draft.finished(Position { line: None, ..here }), Ok)?;
            let content = Content::new(section, number, comment.trim(), section.promised(&header));
            if self.sections.insert(section, content).is_some() {
                return Err(here.error(Problem::Twice { what: format!("section `{}`", section.name()) }));
            }
            (self.header, self.current) = (Some(header), Some(section));
            return Ok(());
        }
        match self.current.and_then(|section| self.sections.get_mut(&section)) {
            Some(content) => content.note(number, line.text),
            None if self.is_in_left_out => (),
            None => self.draft.read(line)?,
        }
        Ok(())
    }
}

/// Returns the content of a line and its comment.
fn uncommented(line: &str) -> (&str, &str) {
    line.split_once('#').unwrap_or((line, ""))
}

/// Returns whether a line that begins with a letter is not a heading but a row whose first column
/// is a label or damaged. Rows of a section contain numbers, which headings do not; rows of the
/// header end with a keyword.
fn is_row(line: Line<'_>, is_in_section: bool) -> bool {
    let fields = line.fields();
    match is_in_section {
        true => fields.iter().skip(1).any(|field| field.parse::<f64>().is_ok()),
        false => fields.len() > 1 && fields.last().is_some_and(|last| header::KEYWORDS.contains(last)),
    }
}

fn heading(line: Line<'_>, comment: &str) -> Result<Section, InputError> {
    let Some(section) = Section::ALL.iter().copied().find(|section| section.name() == line.text) else {
        let supported =
            "the sections are `Atom Type Labels`, `Masses`, `Pair Coeffs`, `PairIJ Coeffs`, `Atoms # atomic`, `Velocities`; those of bonds and angles are left out"
                .to_owned();
        return Err(line
            .here
            .error(Problem::Unsupported { what: format!("section `{}`", line.text), supported }));
    };
    let is_unknown = comment.split_whitespace().next().is_some_and(|word| AtomStyle::named(word).is_none());
    if section == Section::Atoms && is_unknown {
        let what = format!("`Atoms # {comment}`");
        let supported =
            "the atom style must be `atomic` (id type x y z), `charge`, `bond`, `angle`, `molecular` or `full`".to_owned();
        return Err(line.here.error(Problem::Unsupported { what, supported }));
    }
    Ok(section)
}

#[cfg(test)]
mod tests;
