//! Lines of a script as LAMMPS's interpreter reads them: continuations, comments, quotes and words.

/// A command with its arguments, before the substitution of variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// Number of its first line in the file, from 1.
    pub(super) number: usize,
    /// The text without the comment. Only triple quotes can contain line breaks.
    pub(super) text: String,
}

/// Characters that separate words.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];

const TRIPLE: &str = "\"\"\"";

/// Returns the commands of a script.
///
/// A line continues if its last visible character is `&`, even in a comment, and while triple
/// quotes are open; a comment is removed from the joined text.
pub(super) fn commands(script: &str) -> Vec<Line> {
    let mut all = Vec::new();
    let mut begun: Option<(Line, usize)> = None;
    for (index, line) in script.split_inclusive('\n').enumerate() {
        let new = || (Line { number: index + 1, text: String::new() }, 0);
        let (mut whole, quotes) = begun.take().unwrap_or_else(new);
        let quotes = quotes + line.matches(TRIPLE).count();
        whole.text.push_str(line);
        let end = whole.text.trim_end_matches(BLANKS).len();
        let is_last = !line.ends_with('\n');
        if whole.text[..end].ends_with('&') && !is_last {
            whole.text.truncate(end - 1);
            begun = Some((whole, quotes));
        } else if quotes % 2 == 1 && !is_last {
            // One of the trailing blanks stays.
            whole.text.truncate(end + 1);
            begun = Some((whole, quotes));
        } else {
            all.extend(without_comment(whole));
        }
    }
    // A `&` in the last line of a file is a word.
    all.extend(begun.and_then(|(mut line, quotes)| {
        if quotes % 2 == 0 {
            line.text.push('&');
        }
        without_comment(line)
    }));
    all
}

/// Returns the line up to a `#` outside of quotes; `None` where no word is left.
fn without_comment(mut line: Line) -> Option<Line> {
    let mut quotes = Quotes::default();
    let (mut at, all) = (0, line.text.as_str());
    while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with('#') && !quotes.are_open() {
            break;
        }
        at += quotes.pass(rest);
    }
    let text = all.get(..at).unwrap_or(all).trim_matches(BLANKS).to_owned();
    line.text = text;
    (!line.text.is_empty()).then_some(line)
}

/// State of the quotes while a text is scanned.
#[derive(Debug, Default)]
pub(super) struct Quotes(Option<&'static str>);

impl Quotes {
    pub(super) fn are_open(&self) -> bool {
        self.0.is_some()
    }

    /// Advances by one character, or by quotes that open or close here, and returns the number of
    /// bytes.
    pub(super) fn pass(&mut self, rest: &str) -> usize {
        let found = match self.0 {
            None => [TRIPLE, "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes)),
            Some(open) => Some(open).filter(|open| rest.starts_with(open)),
        };
        match found {
            Some(quotes) => {
                self.0 = if self.are_open() { None } else { Some(quotes) };
                quotes.len()
            }
            None => rest.chars().next().map_or(1, char::len_utf8),
        }
    }
}

/// Returns the words of a command; the text between quotes is one word.
///
/// # Errors
/// Quotes that are not closed, or not followed by a blank.
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut rest = text.trim_start_matches(BLANKS);
    while !rest.is_empty() {
        let quotes = [TRIPLE, "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes));
        let (word, after) = match quotes {
            Some(quotes) => {
                let closed = rest[quotes.len()..].split_once(quotes);
                let (word, after) = closed.ok_or("its quotes are not closed")?;
                if !after.is_empty() && !after.starts_with(BLANKS) {
                    return Err("after quotes there is no blank".to_owned());
                }
                (word, after)
            }
            None => rest.split_at(rest.find(BLANKS).unwrap_or(rest.len())),
        };
        all.push(word.to_owned());
        rest = after.trim_start_matches(BLANKS);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are those of `lmp`.
    #[test]
    fn lines_are_joined_and_comments_removed_as_by_lammps() {
        for (script, expected) in [
            ("# all\nfix 1 all &\n  nve\n", vec![(2, "fix 1 all   nve")]),
            ("variable q equal 1+&\n2\n", vec![(1, "variable q equal 1+2")]),
            // `&` before a comment is a word; after one, it joins the next line to the comment.
            ("run 1 & # c\nrun 2\n", vec![(1, "run 1 &"), (2, "run 2")]),
            ("# c &\nrun 1\nrun 2 # c&  \nrun 3\nrun 4", vec![(3, "run 2"), (5, "run 4")]),
            ("run 1&", vec![(1, "run 1&")]),
            ("run 1 &\n", vec![(1, "run 1 &")]),
            ("run 1 &\r\n 2\r\n\r\n", vec![(1, "run 1  2")]),
            ("print \"a # b\" # c \" d\nprint 'e\"#' # f", vec![(1, "print \"a # b\""), (2, "print 'e\"#'")]),
            ("print \"\"\"a\n# b\"\"\" # c\nrun 1", vec![(1, "print \"\"\"a\n# b\"\"\""), (3, "run 1")]),
            ("", vec![]),
        ] {
            let found = commands(script);
            let found: Vec<_> = found.iter().map(|line| (line.number, line.text.as_str())).collect();
            assert_eq!(found, expected, "{script:?}");
        }
    }

    #[test]
    fn quoted_words_are_those_of_lammps() {
        for (text, expected) in [
            ("a\tb  c", Ok(vec!["a", "b", "c"])),
            ("print 'a \"b' \"c 'd\" \"\"\"e \"f\" g\"\"\"", Ok(vec!["print", "a \"b", "c 'd", "e \"f\" g"])),
            ("a\"b c\"", Ok(vec!["a\"b", "c\""])),
            ("print \"\"", Ok(vec!["print", ""])),
            ("print \"a\"b", Err("after quotes there is no blank")),
            ("print 'a", Err("its quotes are not closed")),
            ("print \"\"\"a\"\"", Err("its quotes are not closed")),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(words(text), expected.map_err(str::to_owned), "{text}");
        }
    }
}
