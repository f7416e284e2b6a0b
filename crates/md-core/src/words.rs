//! Numbers in messages.

use std::fmt::Display;

/// Returns a count with its noun: `1 rank`, `2 ranks`.
pub fn counted<N: Display + Copy + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_singular() {
        assert_eq!([0_u64, 1, 2].map(|count| counted(count, "rank")), ["0 ranks", "1 rank", "2 ranks"]);
        assert_eq!(counted(1.0, "message"), "1 message");
    }
}
