//! Escaping and shortening of foreign text: the content of a scenario, a file or a command line
//! must neither control the terminal nor fill it.

/// Length of the longest line of a message, in characters.
const LONGEST: usize = 600;
/// Number of digits of the longest number: no f64 needs more digits to be distinguished from all
/// others.
const LONGEST_NUMBER: usize = 40;

/// Escapes, as in TOML, the characters that control a terminal. Line ends and tabs stay.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if acts(letter) {
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns whether `letter` is a control character or changes the direction of the text after it.
fn acts(letter: char) -> bool {
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    turns || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// Returns a message as it is printed: [`escaped`], no line longer than a few lines of a terminal,
/// no number longer than a person reads.
pub(crate) fn printable(message: &str) -> String {
    let lines: Vec<String> =
        message.split('\n').map(|line| escaped(&shortened(&with_short_numbers(line)))).collect();
    lines.join("\n")
}

/// Cuts long runs of digits as long lines are cut, and adds the number of their digits.
fn with_short_numbers(line: &str) -> String {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let parts = line.as_bytes().chunk_by(|a, b| is_digit(a) == is_digit(b));
    let mut start = 0;
    let shorten = |part: &[u8]| {
        let text = &line[start..start + part.len()];
        start += part.len();
        if part.len() <= LONGEST_NUMBER || !part.iter().all(is_digit) {
            return text.to_owned();
        }
        let (head, tail) = (&text[..LONGEST_NUMBER / 2], &text[part.len() - LONGEST_NUMBER / 4..]);
        format!("{head}...{tail} ({} digits)", part.len())
    };
    parts.map(shorten).collect()
}

/// Cuts the middle out of a long line.
fn shortened(line: &str) -> String {
    let at = |count: usize| line.char_indices().nth(count).map(|(index, _)| index);
    let Some(_) = at(LONGEST) else { return line.to_owned() };
    let head = at(LONGEST / 2).unwrap_or_default();
    let tail = line.char_indices().rev().nth(LONGEST / 4).map_or(head, |(index, _)| index);
    format!("{} ... {}", &line[..head], &line[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        let text = "a\u{1b}]0;title\u{7}b\r\u{9b}2J\u{202e}\tc\nd";
        assert_eq!(escaped(text), "a\\u001b]0;title\\u0007b\\u000d\\u009b2J\\u202e\tc\nd");
        assert_eq!(printable(text), escaped(text));
    }

    #[test]
    fn long_numbers_lose_their_middle() {
        let kept = format!("mass {:?}, {}, x", 0.1, "7".repeat(LONGEST_NUMBER));
        assert_eq!(printable(&kept), kept);
        let text = format!("mass {}.5 ä", 1e300);
        assert_eq!(printable(&text), "mass 10000000000000000000...0000000000 (301 digits).5 ä");
    }

    #[test]
    fn long_lines_lose_their_middle() {
        let text = format!("start\n{}end", "ä".repeat(200_000));
        let lines: Vec<String> = printable(&text).split('\n').map(str::to_owned).collect();
        assert_eq!(lines[0], "start");
        assert!(lines[1].chars().count() < LONGEST, "{}", lines[1]);
        assert!(lines[1].starts_with("ää") && lines[1].contains("ä ... ä") && lines[1].ends_with("äend"));
    }
}
