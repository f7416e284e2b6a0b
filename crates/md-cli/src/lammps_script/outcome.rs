//! Outcomes of commands, and remarks about them.

/// Outcome of a command that can be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The scenario does what the command specifies.
    Same,
    /// The scenario does it in another way, which the text describes.
    Differs(String),
    /// Particles move as without the command; the text states what the scenario has instead.
    NoEffect(String),
    /// Particles would move differently with the part that is left out, which the text names.
    Partly(String),
}

/// Largest number of characters of a command that are shown.
const LONGEST_COMMAND: usize = 200;
/// Largest number of characters of a reason that are shown.
const LONGEST_REASON: usize = 1000;

/// The error states why a command that changes how particles move cannot be carried out.
pub(super) type Taken = Result<Outcome, String>;

/// A remark on a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// The script that contains it, if that is an included one.
    pub(crate) file: Option<String>,
    /// Line of the script, from 1.
    pub(crate) line: usize,
    /// The command as written.
    pub(crate) text: String,
    /// Whether the scenario contains its effect.
    pub(crate) fate: Fate,
    /// The reason, or how it differs.
    pub(crate) reason: String,
}

/// Whether a command was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not in the scenario, although particles would move differently with it.
    NotTaken,
    /// Not in the scenario; particles move as with it.
    NoEffect,
    /// In the scenario, but not exactly.
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

    /// Returns [`Outcome::Differs`] where there is a difference, else [`Outcome::Same`].
    pub(super) fn differing(how: Option<String>) -> Self {
        how.map_or(Self::Same, Self::Differs)
    }

    /// Returns the fate and the reason, where a remark is needed.
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
    /// Returns the remark on a command, if one is needed.
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

/// Shortens a text: words of a line may be long, and lines many.
fn shortened(text: String, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// Replaces control characters by blanks, so that a comment does not end at one.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
