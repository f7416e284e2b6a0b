//! What becomes of a command, and what is said about it.

/// What becomes of a command that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The scenario does what it says.
    Same,
    /// The scenario does it in another way: in which.
    Differs(String),
    /// Particles move as without it: what it does instead.
    NoEffect(String),
    /// Particles would move in another way with the part that is left out: which part.
    Partly(String),
}

/// Letters of a command that are shown.
const LONGEST_COMMAND: usize = 200;
/// Letters of a reason that are shown.
const LONGEST_REASON: usize = 1000;

/// An error says why a command that changes how particles move cannot be carried out.
pub(super) type Taken = Result<Outcome, String>;

/// What is said about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// The script that it is in, if that is an included one.
    pub(crate) file: Option<String>,
    /// Line of the script, from 1.
    pub(crate) line: usize,
    /// The command as it is written.
    pub(crate) text: String,
    /// Whether the scenario does without it.
    pub(crate) fate: Fate,
    /// Why, or how it differs.
    pub(crate) reason: String,
}

/// Whether a command was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Particles would move in another way with it, and it is not in the scenario.
    NotTaken,
    /// It is not in the scenario, and particles move as with it.
    NoEffect,
    /// It is in the scenario, but not to the letter.
    Differs,
}

impl Outcome {
    /// The scenario does it in another way.
    pub(super) fn differs(how: impl Into<String>) -> Self {
        Self::Differs(how.into())
    }

    /// Particles move as without it.
    pub(super) fn no_effect(what: impl Into<String>) -> Self {
        Self::NoEffect(what.into())
    }

    /// The same, or how it differs.
    pub(super) fn differing(how: Option<String>) -> Self {
        how.map_or(Self::Same, Self::Differs)
    }

    /// Its fate and the reason, where something is to be said.
    fn remark(self) -> Option<(Fate, String)> {
        match self {
            Self::Same => None,
            Self::Differs(how) => Some((Fate::Differs, how)),
            Self::NoEffect(what) => Some((Fate::NoEffect, what)),
            Self::Partly(part) => Some((Fate::NotTaken, part)),
        }
    }
}

impl Fate {
    fn shown(self) -> &'static str {
        match self {
            Self::NotTaken => "not taken",
            Self::NoEffect => "without effect",
            Self::Differs => "differs",
        }
    }
}

impl Remark {
    /// What is to be said about a command, if anything.
    pub(super) fn about(line: usize, text: String, taken: Taken) -> Option<Self> {
        let (fate, reason) = taken.map_or_else(|reason| Some((Fate::NotTaken, reason)), Outcome::remark)?;
        Some(Self { file: None, line, text, fate, reason: shortened(reason, LONGEST_REASON) })
    }

    /// Returns the remark for the screen, with the script's name.
    pub(crate) fn shown(&self, name: &str) -> String {
        let Self { file, line, text, fate, reason } = self;
        let name = file.as_deref().unwrap_or(name);
        let text = shortened(text.replace('\n', " "), LONGEST_COMMAND);
        format!("{name}:{line}: {}: `{text}`: {reason}", fate.shown())
    }

    /// Returns its line, with the file where that is an included one.
    pub(crate) fn place(&self) -> String {
        let Self { file, line, .. } = self;
        file.as_ref().map_or_else(|| line.to_string(), |file| format!("{line} of {}", one_line(file)))
    }

    /// Returns the remark as a comment of the scenario.
    pub(super) fn comment(&self) -> String {
        let command = shortened(one_line(&self.text), LONGEST_COMMAND);
        let reason = one_line(&self.reason);
        format!("# line {}, {}: {command} ({reason})\n", self.place(), self.fate.shown())
    }
}

/// Words of a line may be long, and lines many.
fn shortened(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// Comments are not to end where a control character stands.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
