//! The text an error comes from: the file or an override.

use std::ops::Range;

use miette::NamedSource;

use super::finding::Part;
use super::locate;
use super::overrides::Override;
use super::path::KeyPath;
use super::source::ScenarioSource;

/// What stands before an override where a file's text would stand.
const SET: &str = "--set ";

/// The text that caused an error, and the part of it that did.
#[derive(Debug)]
pub(super) struct Origin {
    /// The whole text and its name.
    pub(super) text: NamedSource<String>,
    /// Bytes of the part at fault.
    pub(super) span: Range<usize>,
}

impl Origin {
    /// A part of the file.
    pub(super) fn file(source: &ScenarioSource, span: Range<usize>) -> Self {
        Self { text: NamedSource::new(&source.name, source.text.clone()), span }
    }

    /// A part of an override.
    pub(super) fn set(text: &str, span: Range<usize>) -> Self {
        let shifted = span.start + SET.len()..span.end + SET.len();
        Self { text: NamedSource::new("command line", format!("{SET}{text}")), span: shifted }
    }

    /// Where the keys at fault come from: the override that set one of them, else the file, else the override that
    /// set something below them or made the table they are missing in, else the nearest table of the file around them.
    pub(super) fn find(source: &ScenarioSource, paths: &[KeyPath], part: Part) -> Option<Self> {
        let text = source.text.as_str();
        let in_file = |span| Self::file(source, span);
        setting(source, paths, part)
            .or_else(|| paths.iter().find_map(|path| locate::exact(text, path, part)).map(in_file))
            .or_else(|| paths.iter().find_map(|path| creation(source, path, part)))
            .or_else(|| paths.iter().find_map(|path| locate::parent(text, path)).map(in_file))
    }
}

/// The last override that sets one of the paths, or a table around it.
fn setting(source: &ScenarioSource, paths: &[KeyPath], part: Part) -> Option<Origin> {
    let sets = |path: &KeyPath| paths.iter().any(|wanted| path.contains(wanted));
    last_override(source, sets, part)
}

/// The last override that set something below `path`. Where `path` is missing, also the one that made the table around
/// it; where its default is at fault, an override of another key beside it has nothing to do with that.
fn creation(source: &ScenarioSource, path: &KeyPath, part: Part) -> Option<Origin> {
    let around = path.truncated(path.segments().len().saturating_sub(1));
    let in_file = around.segments().is_empty() || locate::exact(&source.text, &around, Part::Value).is_some();
    let is_missing = part == Part::Absence && !in_file;
    let made = |set: &KeyPath| path.contains(set) || (is_missing && around.contains(set));
    last_override(source, made, Part::Key)
}

fn last_override(source: &ScenarioSource, matches: impl Fn(&KeyPath) -> bool, part: Part) -> Option<Origin> {
    source.overrides.iter().rev().find_map(|text| {
        let parsed = Override::parse(text).ok().filter(|parsed| matches(&parsed.path))?;
        let span = match part {
            Part::Key | Part::Absence => parsed.key,
            Part::Value => parsed.value,
        };
        Some(Origin::set(text, span))
    })
}
