//! The nearest valid name for a mistyped one.

/// The candidate a user most likely meant, if one is near enough to be worth naming.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A third of the length is the usual allowance (rustc's); a single slip is forgiven even in a short name.
    // But half of the name must be right: any other letter is one slip away from a name of one letter.
    let length = name.chars().count();
    let allowance = (length / 3).max(1).min(length / 2);
    let wanted = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names as a list in backticks.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        assert_eq!(nearest("cutof", ["shift", "cutoff"]), Some("cutoff"));
        assert_eq!(nearest("rma_fence", ["rma-fence", "p2p"]), Some("rma-fence"));
        assert_eq!(nearest("FCC", ["bcc", "fcc"]), Some("fcc"));
        assert_eq!(nearest("C", ["A", "B"]), None);
        assert_eq!(nearest("verlet", ["clusters", "cells"]), None);
    }
}
