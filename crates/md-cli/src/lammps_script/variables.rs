//! Variables of a script, and the substitution of their values in its lines.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::expression::{Names, evaluate};
use super::lines::Quotes;
use super::printf::Conversion;

/// Largest number of characters of a line after substitution.
const LONGEST_LINE: usize = 16 * 1024;

/// Largest number of characters of all values.
const LARGEST_TOTAL: usize = 16 * 1024 * 1024;

/// Largest number of formulas evaluated for one value.
const MOST_FORMULAS: usize = 10_000;

/// Largest depth of nested formulas.
const DEEPEST: usize = 20;

#[derive(Debug, Clone, PartialEq)]
struct Variable {
    style: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    /// Evaluated where it is used.
    Formula(String),
    /// Another variable's number, in this format.
    Formatted(String, Conversion),
    /// No value before a run, or none that could be taken.
    Unknown,
}

/// Styles whose first definition sets the value; later ones are ignored.
const ONCE: [&str; 7] = ["index", "loop", "world", "universe", "uloop", "file", "atomfile"];

/// All variables.
#[derive(Debug, Default)]
pub(super) struct Variables {
    all: BTreeMap<String, Variable>,
    /// Number of characters in their values.
    total: usize,
}

/// A text and the remainder after it.
type Parted<'t> = (&'t str, &'t str);

impl Variables {
    /// Returns the variables of the command line, which are of style `index`.
    pub(super) fn given(pairs: &[(String, String)]) -> Self {
        let index = |text: &String| Variable { style: "index".to_owned(), value: Value::Text(text.clone()) };
        Self { all: pairs.iter().map(|(name, text)| (name.clone(), index(text))).collect(), total: 0 }
    }

    /// Carries out `variable NAME STYLE ARGUMENTS`, with the thermo keywords that have a value now.
    ///
    /// # Errors
    /// The reason why the variable is not defined.
    pub(super) fn set(&mut self, words: &[&str], keywords: Names) -> Result<(), String> {
        let [name, style, arguments @ ..] = words else { return Err("no name and style".to_owned()) };
        if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            return Err(format!("the name `{name}` has other characters than letters, digits and `_`"));
        }
        if *style == "delete" {
            return self.put(name, None);
        }
        let before = self.all.get(*name).map(|variable| variable.style.as_str());
        match before {
            Some(_) if ONCE.contains(style) => return Ok(()),
            Some(before) if before != *style => {
                return Err(format!("`{name}` is a variable of style `{before}`, and keeps that style"));
            }
            _ => (),
        }
        let value = self.value_of(style, arguments, keywords)?;
        self.put(name, Some(Variable { style: (*style).to_owned(), value }))
    }

    /// Removes the value, after a definition that failed.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(variable) = self.all.get_mut(name) {
            variable.value = Value::Unknown;
        }
    }

    fn value_of(&self, style: &str, arguments: &[&str], keywords: Names) -> Result<Value, String> {
        Ok(match (style, arguments) {
            ("index", [first, ..]) => Value::Text((*first).to_owned()),
            ("string", [text]) => Value::Text(self.put_in(text, keywords)?),
            ("loop", _) => Value::Text(first_of_loop(arguments)?),
            ("getenv", [name]) => Value::Text(std::env::var(name).unwrap_or_default()),
            ("internal", [_]) => Value::Unknown,
            ("equal", [formula]) => Value::Formula((*formula).to_owned()),
            ("format", [of, conversion]) => Value::Formatted((*of).to_owned(), Conversion::read(conversion)?),
            ("equal" | "string" | "format" | "getenv" | "index" | "internal", _) => {
                return Err(format!("the style `{style}` with {} words behind it", arguments.len()));
            }
            ("atom" | "vector" | "file" | "atomfile" | "python" | "world" | "universe" | "uloop", _) => {
                Value::Unknown
            }
            _ => return Err(format!("there is no style `{style}` of variables")),
        })
    }

    fn put(&mut self, name: &str, variable: Option<Variable>) -> Result<(), String> {
        let before = self.all.remove(name).map_or(0, |before| before.value.length());
        let total = self.total - before.min(self.total);
        let added = variable.as_ref().map_or(0, |variable| variable.value.length() + name.len());
        if total + added > LARGEST_TOTAL {
            return Err(format!("all variables together have more than {LARGEST_TOTAL} characters"));
        }
        self.total = total + added;
        self.all.extend(variable.map(|variable| (name.to_owned(), variable)));
        Ok(())
    }

    /// Substitutes the values of `$x`, `${name}` and `$(formula)` outside of quotes.
    ///
    /// # Errors
    /// A variable or a formula that has no value.
    pub(super) fn put_in(&self, text: &str, keywords: Names) -> Result<String, String> {
        let mut done = String::new();
        let (mut rest, mut quotes) = (text, Quotes::default());
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('$').filter(|_| !quotes.are_open()) {
                let (value, behind) = self.reference(after, keywords)?;
                done.push_str(&value);
                rest = behind;
            } else {
                let (same, behind) = rest.split_at(quotes.pass(rest));
                done.push_str(same);
                rest = behind;
            }
            if done.len() > LONGEST_LINE {
                return Err(format!("with its variables it has more than {LONGEST_LINE} characters"));
            }
        }
        Ok(done)
    }

    fn reference<'t>(&self, after: &'t str, keywords: Names) -> Result<(String, &'t str), String> {
        if let Some(formula) = after.strip_prefix('(') {
            let (formula, behind) = closed(formula).ok_or("a `$(` that is not closed")?;
            let (formula, conversion) = match formula.rsplit_once(':') {
                Some((formula, format)) if format.starts_with('%') => (formula, Conversion::read(format)?),
                _ => (formula, Conversion::general(20)),
            };
            return Ok((conversion.write(self.evaluated(formula, keywords)?), behind));
        }
        let (name, behind) = match after.strip_prefix('{') {
            Some(named) => named.split_once('}').ok_or("a `${` that is not closed")?,
            None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
        };
        Ok((self.text(name, keywords)?, behind))
    }

    fn text(&self, name: &str, keywords: Names) -> Result<String, String> {
        match &self.find(name)?.value {
            Value::Text(text) => Ok(text.clone()),
            Value::Formula(formula) => Ok(Conversion::general(15).write(self.evaluated(formula, keywords)?)),
            Value::Formatted(of, conversion) => {
                Ok(conversion.write(self.evaluated(&format!("v_{of}"), keywords)?))
            }
            Value::Unknown => Err(self.without_value(name)),
        }
    }

    fn find(&self, name: &str) -> Result<&Variable, String> {
        self.all.get(name).ok_or_else(|| format!("there is no variable `{name}`"))
    }

    fn without_value(&self, name: &str) -> String {
        let style = self.all.get(name).map_or("", |variable| &variable.style);
        format!("the variable `{name}` of style `{style}` has no value here")
    }

    /// Returns the present value of a formula.
    fn evaluated(&self, formula: &str, keywords: Names) -> Result<f64, String> {
        self.evaluated_in(formula, keywords, 0, &Cell::new(0))
    }

    fn evaluated_in(
        &self,
        formula: &str,
        keywords: Names,
        depth: usize,
        count: &Cell<usize>,
    ) -> Result<f64, String> {
        count.set(count.get() + 1);
        if depth > DEEPEST || count.get() > MOST_FORMULAS {
            return Err("a formula depends on itself, or on too many others".to_owned());
        }
        evaluate(formula, &|name| {
            let Some(variable) = name.strip_prefix("v_") else { return keywords(name) };
            match &self.find(variable)?.value {
                Value::Text(text) => text
                    .trim()
                    .parse()
                    .map_err(|_| format!("the variable `{variable}` is `{text}`, which is not a number")),
                Value::Formula(formula) => self.evaluated_in(formula, keywords, depth + 1, count),
                Value::Formatted(of, _) => self.evaluated_in(&format!("v_{of}"), keywords, depth + 1, count),
                Value::Unknown => Err(self.without_value(variable)),
            }
        })
    }
}

impl Value {
    fn length(&self) -> usize {
        match self {
            Self::Text(text) | Self::Formula(text) | Self::Formatted(text, _) => text.len(),
            Self::Unknown => 0,
        }
    }
}

/// Returns the first value of `loop N` or `loop FROM TO`; with `pad`, as wide as the last one.
fn first_of_loop(arguments: &[&str]) -> Result<String, String> {
    let (numbers, is_padded) = match arguments {
        [numbers @ .., "pad"] => (numbers, true),
        numbers => (numbers, false),
    };
    let whole = |word: &str| word.parse().map_err(|_| format!("`{word}` is not a whole number"));
    let [first, last]: [u32; 2] = match *numbers {
        [last] => [1, whole(last)?],
        [first, last] => [whole(first)?, whole(last)?],
        _ => return Err("the style `loop` has a first and a last number".to_owned()),
    };
    if first > last {
        return Err(format!("the loop from {first} to {last} has no value"));
    }
    let width = if is_padded { last.to_string().len() } else { 0 };
    Ok(format!("{first:0width$}"))
}

/// Returns the text up to the bracket that closes an open one, and the text after it.
fn closed(text: &str) -> Option<Parted<'_>> {
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
mod tests;
