//! Errors of a scenario: what is wrong, where, and what would be right.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

use super::finding::Finding;
use super::origin::Origin;
use super::overrides::Fault;
use super::source::ScenarioSource;

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
    text: Option<NamedSource<String>>,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
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
        let paths = finding.paths.as_slice();
        let origin = Origin::find(source, paths, finding.part);
        let message = match origin {
            Some(_) => finding.message.clone(),
            // Nothing to show: at least the file's name.
            None => format!("{}: {}", source.name, finding.message),
        };
        let path = paths.first().map(ToString::to_string).unwrap_or_default();
        Self::new(message, Some(finding.help.clone()), path, origin, finding.label.clone())
    }

    pub(super) fn from_syntax(source: &ScenarioSource, error: &toml::de::Error) -> Self {
        let origin = error.span().map(|span| Origin::file(source, span));
        let message = format!("not valid TOML: {}", error.message());
        let help = "a scenario is a TOML file: [tables] of `key = value`".to_owned();
        Self::new(message, Some(help), String::new(), origin, Some("here".to_owned()))
    }

    pub(super) fn from_override(text: &str, fault: Fault) -> Self {
        let origin = Some(Origin::set(text, fault.range));
        Self::new(fault.message, Some(fault.help), String::new(), origin, None)
    }

    /// For what the schema lets pass and the model does not.
    pub(super) fn from_decoding(source: &ScenarioSource, error: &toml::de::Error) -> Self {
        Self::new(format!("{}: {}", source.name, error.message()), None, String::new(), None, None)
    }

    /// Place in the text, for the order of errors.
    pub(super) fn offset(&self) -> usize {
        self.0.labels.first().map_or(0, LabeledSpan::offset)
    }

    fn new(
        message: String,
        help: Option<String>,
        path: String,
        origin: Option<Origin>,
        label: Option<String>,
    ) -> Self {
        let located = origin.map(|Origin { text, span }| (text, LabeledSpan::new_with_span(label, span)));
        let (text, label) = located.unzip();
        Self(Box::new(Report { message, help, path, text, labels: label.into_iter().collect() }))
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
