//! Key paths such as `species[1].mass`.

use std::fmt;

/// One step of a path down into a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Name of a key in a table.
    Key(String),
    /// Index of an entry of an array, from 0.
    Index(usize),
}

/// Path of a value in a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyPath(Vec<Segment>);

impl KeyPath {
    /// Parses `a.b`, `a[1].b` and `a.1.b`. Returns `None` if a step is empty, a bracket is left
    /// open, or there are too many steps.
    pub(super) fn parse(text: &str) -> Option<Self> {
        /// Depth of the deepest key of a scenario.
        const DEEPEST: usize = 8;
        let mut segments = Vec::new();
        for part in text.trim().split('.') {
            let (key, mut brackets) = part.split_at(part.find('[').unwrap_or(part.len()));
            let key = key.trim();
            match key.parse() {
                Ok(index) => segments.push(Segment::Index(index)),
                Err(_) if key.is_empty() => return None,
                Err(_) => segments.push(Segment::Key(key.to_owned())),
            }
            while !brackets.is_empty() {
                let (index, rest) = brackets.strip_prefix('[')?.split_once(']')?;
                segments.push(Segment::Index(index.trim().parse().ok()?));
                brackets = rest.trim();
            }
        }
        (segments.len() <= DEEPEST).then_some(Self(segments))
    }

    /// Returns the steps from the top of the scenario.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns the path of a key in the table at this path.
    pub(super) fn key(&self, key: &str) -> Self {
        self.joined(Segment::Key(key.to_owned()))
    }

    /// Returns the path of an entry of the array at this path.
    pub(super) fn index(&self, index: usize) -> Self {
        self.joined(Segment::Index(index))
    }

    /// Returns the path of the first `length` steps.
    pub(super) fn truncated(&self, length: usize) -> Self {
        Self(self.0.iter().take(length).cloned().collect())
    }

    /// Returns whether `other` is this path or lies below it.
    pub(super) fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the words for the inside of the table at this path in a message: `in [interaction]`,
    /// `in species[1]`.
    pub(super) fn inside(&self) -> String {
        match self.0.last() {
            None => "at the top level".to_owned(),
            Some(Segment::Index(_)) => format!("in {self}"),
            Some(Segment::Key(_)) => format!("in [{self}]"),
        }
    }

    fn joined(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

/// Converts paths that are written in this program. A path that cannot be parsed stands for the
/// whole scenario.
impl From<&str> for KeyPath {
    fn from(text: &str) -> Self {
        Self::parse(text).unwrap_or_default()
    }
}

impl From<String> for KeyPath {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if position == 0 => write!(formatter, "{key}")?,
                Segment::Key(key) => write!(formatter, ".{key}")?,
                Segment::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_index_are_the_same_path() {
        let path = KeyPath::parse("species[1].mass").unwrap();
        assert_eq!(path, KeyPath::parse("species.1.mass").unwrap());
        assert_eq!(path.to_string(), "species[1].mass");
    }

    #[test]
    fn a_malformed_path_is_refused() {
        for text in
            ["", ".", "a..b", "a[", "a[x]", "a[1]b", "a.", "a.a.a.a.a.a.a.a.a", "a[0][0][0][0][0][0][0][0]"]
        {
            assert_eq!(KeyPath::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_contains_what_lies_below_it() {
        let species = KeyPath::from("species");
        assert!(species.contains(&KeyPath::from("species[0].mass")));
        assert!(!KeyPath::from("species[1]").contains(&KeyPath::from("species[0].mass")));
    }
}
