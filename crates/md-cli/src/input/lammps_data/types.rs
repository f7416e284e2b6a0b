//! Types of a data file: their numbers, and the labels that may replace them.

use md_core::words::counted;

use super::Content;
use crate::input::error::{InputError, Problem};
use crate::input::fields::Line;

const LABEL: &str = "a label: type label";

/// The types of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Types {
    /// Number of types, which are numbered from 1.
    pub(super) count: u32,
    /// Labels by type number - 1. Empty if the file contains none.
    labels: Vec<Option<String>>,
}

impl Types {
    /// Reads `Atom Type Labels`, if there is such a section.
    ///
    /// # Errors
    /// Returns an error if a label or a type occurs twice, or if a label begins like a number.
    pub(super) fn read(count: u32, content: Option<&Content>, file: &str) -> Result<Self, InputError> {
        let Some(content) = content else { return Ok(Self { count, labels: Vec::new() }) };
        content.check_count(file)?;
        let mut labels: Vec<Option<String>> = vec![None; count as usize];
        for line in content.lines(file) {
            let fields = line.fields();
            let [kind, label] = fields[..] else { return Err(line.columns(fields.len(), LABEL)) };
            let kind = line.kind(kind, count, LABEL)?;
            if label.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '*')) {
                return Err(line.unexpected("a label must not begin like a number"));
            }
            let is_twice = labels.iter().flatten().any(|other| other == label);
            if is_twice || labels[kind as usize - 1].replace(label.to_owned()).is_some() {
                return Err(line.here.error(Problem::Twice { what: format!("the label of type {kind}") }));
            }
        }
        Ok(Self { count, labels })
    }

    /// Returns the number of a type that is given by its number or label.
    pub(super) fn kind(&self, line: Line<'_>, text: &str, form: &'static str) -> Result<u32, InputError> {
        match self.labels.iter().zip(1..).find(|(label, _)| label.as_deref() == Some(text)) {
            Some((_, kind)) => Ok(kind),
            None => line.kind(text, self.count, form),
        }
    }

    /// Returns a note about the meaning of the labels, if species have other names.
    ///
    /// # Errors
    /// Returns an error if a label is the name of another species.
    pub(super) fn note(&self, line: Line<'_>, species: &[String]) -> Result<Option<String>, InputError> {
        let mut others = Vec::new();
        for (index, name) in self.labels.iter().enumerate() {
            let Some(name) = name else { continue };
            let kind = index as u32 + 1;
            match species.iter().zip(1..).find(|(own, _)| *own == name) {
                Some((_, expected)) if expected != kind => {
                    let name = name.clone();
                    return Err(line.here.error(Problem::Label { name, kind, expected }));
                }
                Some(_) => (),
                None => others.extend(species.get(index).map(|own| format!("`{name}` is species `{own}`"))),
            }
        }
        let types = counted(others.len(), "type");
        Ok((!others.is_empty()).then(|| format!("the file has labels of {types}: {}", others.join(", "))))
    }
}
