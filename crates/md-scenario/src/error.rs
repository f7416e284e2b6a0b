//! Errors of a scenario: the fault, its place in the text, and a hint for the correction.

use std::fmt;

use md_comm::CommError;
use md_lab::{Problem, Status};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};

use super::excerpt::Excerpt;
use super::finding::Finding;
use super::origin::{Place, Places};
use super::overrides::Fault;
use super::text::ScenarioSource;
use crate::failure::{Failure, RunError, Unreadable};
use crate::printable::printable;

/// Width of a rendered error in columns. It is fixed so that the text does not depend on the
/// terminal.
const WIDTH: usize = 100;

/// Reason why a scenario was refused.
///
/// ```
/// use md_scenario::{ScenarioSource, load};
///
/// let text = "[simulation]\nsteps = \"many\"\n".to_owned();
/// let (name, overrides) = ("short.toml".to_owned(), Vec::new());
/// let source = ScenarioSource { name, text, overrides };
/// let error = load(&source).err();
/// assert_eq!(error.as_ref().map(|error| error.key_path()), Some("simulation.steps"));
/// // The report shows the line of the file.
/// assert!(error.is_some_and(|error| error.render().contains("steps = \"many\"")));
/// ```
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

/// The same error at the key that names the file, where the system cannot open it: then a reason
/// ends as an [`std::io::Error`] does. What is wrong in a file is told at its place there.
pub fn at_key(error: RunError, source: &ScenarioSource, key: &str) -> RunError {
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
    /// Creates an error at a key, e.g. `interaction.cutoff`, for checks that need more than the
    /// scenario (the box, the ranks).
    pub fn at(
        source: &ScenarioSource,
        key_path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::locate(source, &Finding::new(key_path, message, help))
    }

    /// Returns the description of the fault in one line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the key at fault, e.g. `species[1].mass`. It is empty if the fault does not belong
    /// to a key (syntax errors).
    pub fn key_path(&self) -> &str {
        &self.0.path
    }

    /// Returns the error as plain text, without colour and with a fixed width.
    pub fn render(&self) -> String {
        self.rendered(GraphicalTheme::unicode_nocolor())
    }

    /// Returns the error as coloured text for a terminal.
    pub fn render_coloured(&self) -> String {
        self.rendered(GraphicalTheme::unicode())
    }

    /// Creates the error for a finding at its place in the text.
    pub(super) fn locate(source: &ScenarioSource, finding: &Finding) -> Self {
        let place = Places::new(source).find(&finding.paths, finding.part);
        Self::of_finding(source, finding, place.as_ref())
    }

    /// Creates the error for a finding at `place`.
    pub(super) fn of_finding(source: &ScenarioSource, finding: &Finding, place: Option<&Place>) -> Self {
        let message = match place {
            Some(_) => finding.message.clone(),
            // There is no text to show, but the message can name the file.
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

    /// Creates the error for input that fits the schema but not the model.
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

/// Converts an error of a set-up or of an application on a grid.
impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        if error.find::<ScenarioError>().is_some() {
            return Self::unavailable(error.to_string());
        }
        match error.downcast::<CommError>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(Status::Failed, error.to_string()),
        }
    }
}
