//! A script as its interpreter reads it: comments, lines that go on in the next, quotes, variables.

use std::collections::BTreeMap;

use super::expression::evaluate;

/// A command with its words, variables put in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// Of its first line in the file, from 1.
    pub(super) number: usize,
    /// As it is written, in one line.
    pub(super) text: String,
}

/// The commands of a script, without comments.
pub(super) fn commands(script: &str) -> Vec<Line> {
    let mut all = Vec::new();
    let mut begun: Option<Line> = None;
    for (index, line) in script.lines().enumerate() {
        let line = without_comment(line);
        let (text, goes_on) = match line.trim_end().strip_suffix('&') {
            Some(text) => (text, true),
            None => (line, false),
        };
        let mut whole = begun.take().unwrap_or(Line { number: index + 1, text: String::new() });
        whole.text.push_str(text.trim_end_matches(['\r', '\n']));
        if goes_on {
            whole.text.push(' ');
            begun = Some(whole);
        } else if !whole.text.trim().is_empty() {
            whole.text = whole.text.trim().to_owned();
            all.push(whole);
        }
    }
    all.extend(begun.filter(|line| !line.text.trim().is_empty()));
    all
}

/// Comments begin with `#`, but not between quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '#') => return line.get(..at).unwrap_or_default(),
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => (),
        }
    }
    line
}

/// The words of a command; what stands between quotes is one.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => {
                let inner = &rest[1..];
                let end = inner.find(first).unwrap_or(inner.len());
                (&inner[..end], inner.get(end + 1..).unwrap_or_default())
            }
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        all.push(word.to_owned());
        rest = after.trim_start();
    }
    all
}

/// Variables and their texts; those that were given from outside are not set again.
#[derive(Debug, Default)]
pub(super) struct Variables {
    texts: BTreeMap<String, String>,
    /// Names that `index` leaves alone.
    given: Vec<String>,
}

impl Variables {
    /// Those of the command line.
    pub(super) fn given(pairs: &[(String, String)]) -> Self {
        Self {
            texts: pairs.iter().cloned().collect(),
            given: pairs.iter().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// `variable NAME STYLE ARGUMENTS`.
    ///
    /// # Errors
    /// Why it cannot be taken.
    pub(super) fn set(&mut self, words: &[String]) -> Result<(), String> {
        let [name, style, arguments @ ..] = words else { return Err("no name and style".to_owned()) };
        let text = match (style.as_str(), arguments) {
            ("index" | "string" | "getenv", _) if self.given.contains(name) => return Ok(()),
            ("index" | "string", [first, ..]) => first.clone(),
            ("equal", [_, ..]) => {
                let formula = arguments.join(" ");
                // A formula of what only a run knows is an error where somebody uses it.
                let value = self.value(&formula);
                value.map_or_else(|_| formula.clone(), |value| format!("{value:?}"))
            }
            _ => {
                return Err(format!("a variable of style `{style}`: a line that needs it is told by itself"));
            }
        };
        self.texts.insert(name.clone(), text);
        Ok(())
    }

    /// A variable that cannot be set anew; those of the command line stay.
    pub(super) fn forget(&mut self, name: &str) {
        if !self.given.iter().any(|given| given == name) {
            self.texts.remove(name);
        }
    }

    fn value(&self, formula: &str) -> Result<f64, String> {
        evaluate(formula, &|name| self.texts.get(name).and_then(|text| text.parse().ok()))
    }

    /// The text with `$x`, `${name}` and `$(formula)` put in.
    ///
    /// # Errors
    /// A variable that there is not.
    pub(super) fn put_in(&self, text: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            done.push_str(before);
            let (value, behind) = self.reference(after)?;
            done.push_str(&value);
            rest = behind;
        }
        done.push_str(rest);
        Ok(done)
    }

    fn reference<'t>(&self, after: &'t str) -> Result<(String, &'t str), String> {
        if let Some(formula) = after.strip_prefix('(') {
            let (formula, behind) = closed(formula).ok_or("a `$(` that is not closed")?;
            // A format of the number may follow.
            let formula = formula.split(":%").next().unwrap_or(formula);
            return Ok((format!("{:?}", self.value(formula)?), behind));
        }
        let (name, behind) = match after.strip_prefix('{') {
            Some(named) => named.split_once('}').ok_or("a `${` that is not closed")?,
            None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
        };
        let text = self.texts.get(name).ok_or_else(|| format!("there is no variable `{name}`"))?;
        Ok((text.clone(), behind))
    }
}

/// The text up to the bracket that closes one which is open, and that behind it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_words_and_variables() {
        let script = "# all\nfix 1 all & # goes on\n  nve\n\nprint \"a # b\" # c\nvariable x index 2 3\n";
        let lines = commands(script);
        let found: Vec<_> = lines.iter().map(|line| (line.number, words(&line.text))).collect();
        let word = |text: &str| text.to_owned();
        assert_eq!(found[0], (2, ["fix", "1", "all", "nve"].map(word).to_vec()));
        assert_eq!(found[1], (5, ["print", "a # b"].map(word).to_vec()));
        let mut variables = Variables::given(&[(word("y"), word("7"))]);
        for text in ["x index 2 3", "y index 1", "long equal 20*v_x", "late equal step*dt"] {
            variables.set(&words(text)).unwrap();
        }
        assert_eq!(variables.put_in("0 $x ${long} $y $(v_x/4+(1))").unwrap(), "0 2 40.0 7 1.5");
        assert!(variables.put_in("$z").is_err() && variables.put_in("${x").is_err());
        assert!(variables.set(&words("a loop 10")).is_err());
    }
}
