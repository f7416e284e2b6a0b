//! Errors of a scenario: what is wrong, where, and what would be right.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};

use super::excerpt::Excerpt;
use super::finding::Finding;
use super::origin::{Place, Places};
use super::overrides::Fault;
use super::source::ScenarioSource;
use crate::error::{Failure, RunError, Unreadable};
use crate::printable::printable;

/// Columns of a rendered error, fixed so that its text is the same everywhere.
const WIDTH: usize = 100;

/// Why a scenario was refused.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ScenarioError(Box<Report>);

#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
struct Report {
    message: String,
    #[help]
    help: Option<String>,
    path: String,
    #[source_code]
    text: Option<Excerpt>,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
}

impl Failure for ScenarioError {
    fn shown(&self) -> String {
        self.render()
    }

    fn shown_in_colour(&self) -> String {
        self.render_coloured()
    }
}

/// The same error at the key that names the file, where the system cannot open it: then a reason ends as an [`std::io::Error`] does.
/// What is wrong in a file is told at its place there.
pub(crate) fn at_key(error: RunError, source: &ScenarioSource, key: &str) -> RunError {
    let is_of_system = |file: &&Unreadable| file.reason.contains("(os error ");
    match error.find::<Unreadable>().filter(is_of_system) {
        Some(file) => {
            let help = "a path from the folder of the scenario, or from the root (`/`)";
            ScenarioError::at(source, key, file.to_string(), help).into()
        }
        None => error,
    }
}

impl ScenarioError {
    /// An error at a key, e.g. `interaction.cutoff`, for checks that need more than the scenario (the box, the ranks).
    pub fn at(
        source: &ScenarioSource,
        key_path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::locate(source, &Finding::new(key_path, message, help))
    }

    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The key at fault, e.g. `species[1].mass`; empty when the fault is none of a key (syntax).
    pub fn key_path(&self) -> &str {
        &self.0.path
    }

    /// The error as plain text: no colour, a fixed width, the same everywhere.
    pub fn render(&self) -> String {
        self.rendered(GraphicalTheme::unicode_nocolor())
    }

    /// The error for a terminal, in colour.
    pub fn render_coloured(&self) -> String {
        self.rendered(GraphicalTheme::unicode())
    }

    /// Finds the place of a finding.
    pub(super) fn locate(source: &ScenarioSource, finding: &Finding) -> Self {
        let place = Places::new(source).find(&finding.paths, finding.part);
        Self::of_finding(source, finding, place.as_ref())
    }

    /// A finding at its place.
    pub(super) fn of_finding(source: &ScenarioSource, finding: &Finding, place: Option<&Place>) -> Self {
        let message = match place {
            Some(_) => finding.message.clone(),
            // Nothing to show: at least the file's name.
            None => format!("{}: {}", source.name, finding.message),
        };
        let path = finding.paths.first().map(ToString::to_string).unwrap_or_default();
        Self::new(&message, Some(&finding.help), path).at_place(source, place, finding.label.as_deref())
    }

    pub(super) fn from_syntax(source: &ScenarioSource, error: &toml::de::Error) -> Self {
        let message = match error.span() {
            Some(_) => format!("not valid TOML: {}", error.message()),
            None => format!("{}: not valid TOML: {}", source.name, error.message()),
        };
        let help = "a scenario is a TOML file: [tables] of `key = value`";
        let place = error.span().map(Place::file);
        Self::new(&message, Some(help), String::new()).at_place(source, place.as_ref(), Some("here"))
    }

    pub(super) fn from_override(source: &ScenarioSource, text: &str, fault: Fault) -> Self {
        let place = Place::set(text, fault.range);
        Self::new(&fault.message, Some(&fault.help), String::new()).at_place(source, Some(&place), None)
    }

    /// For what the schema lets pass and the model does not.
    pub(super) fn from_decoding(source: &ScenarioSource, error: &toml::de::Error) -> Self {
        Self::new(&format!("{}: {}", source.name, error.message()), None, String::new())
    }

    fn new(message: &str, help: Option<&str>, path: String) -> Self {
        let (message, help) = (printable(message), help.map(printable));
        Self(Box::new(Report { message, help, path, text: None, labels: Vec::new() }))
    }

    fn at_place(mut self, source: &ScenarioSource, place: Option<&Place>, label: Option<&str>) -> Self {
        if let Some(place) = place {
            let (text, span) = place.excerpt(source);
            self.0.text = Some(text);
            self.0.labels = vec![LabeledSpan::new_with_span(label.map(printable), span)];
        }
        self
    }

    fn rendered(&self, theme: GraphicalTheme) -> String {
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(WIDTH).with_links(false);
        match handler.render_report(&mut text, &*self.0) {
            Ok(()) => text,
            Err(fmt::Error) => self.to_string(),
        }
    }
}
