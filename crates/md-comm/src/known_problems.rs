//! Problems of MPI libraries that affect a halo exchange, and the remedy for each.
//!
//! The table is `known_problems.txt`. Each block of lines has the versions in which a problem was
//! found, what happens, how the transports here avoid it (or what the user can set), and a
//! reference. A range without an end means "not known to be fixed", not "will never be"; a range
//! from 0 begins before the versions that were examined. To add a problem, add a block with a
//! reference that a reader can look up.

use crate::library::{Family, Library, Version, version_in};

/// One problem of one library.
///
/// ```
/// use md_comm::{KnownProblem, Library, known_problems};
///
/// // Version 4.1.5 of Open MPI repaired its atomic access to windows.
/// let concerned = |text| {
///     let corrupts = |problem: KnownProblem| problem.what.contains("MPI_Get_accumulate");
///     known_problems(&Library::from_text(text)).any(corrupts)
/// };
/// assert!(concerned("Open MPI v4.1.4, package: Debian OpenMPI"));
/// assert!(!concerned("Open MPI v4.1.5, package: Debian OpenMPI"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProblem {
    /// Family of the library that has it.
    pub family: Family,
    /// First version with it.
    pub since: Version,
    /// First version without it, if there is one.
    pub fixed_in: Option<Version>,
    /// What goes wrong.
    pub what: &'static str,
    /// What md does about it, or what the user can do.
    pub remedy: &'static str,
    /// Where it is described.
    pub reference: &'static str,
}

impl KnownProblem {
    /// Returns whether this library has the problem.
    pub fn concerns(&self, library: &Library) -> bool {
        let Library { family, version, .. } = library;
        *family == self.family && *version >= self.since && self.fixed_in.is_none_or(|fixed| *version < fixed)
    }
}

/// Returns the problems of a library (MPI-3.1 section 8.1.1).
pub fn known_problems(library: &Library) -> impl Iterator<Item = KnownProblem> {
    blocks().filter_map(from_block).filter(|problem| problem.concerns(library))
}

/// Returns blocks of four lines each: family and versions, what goes wrong, the remedy, the
/// reference.
fn blocks() -> impl Iterator<Item = &'static str> {
    include_str!("known_problems.txt").split("\n\n")
}

/// Parses a block. Returns `None` if the block has another form.
fn from_block(block: &'static str) -> Option<KnownProblem> {
    let mut lines = block.lines();
    let (family, versions) = lines.next()?.split_once(" from ")?;
    let mut versions = versions.split(" until ").map(version_in);
    Some(KnownProblem {
        family: family.parse().ok()?,
        since: versions.next()?,
        fixed_in: versions.next(),
        what: lines.next()?,
        remedy: lines.next()?,
        reference: lines.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(text: &str) -> Vec<&'static str> {
        known_problems(&Library::from_text(text)).map(|problem| problem.reference).collect()
    }

    fn mentions(text: &str, reference: &str) -> bool {
        references(text).iter().any(|known| known.contains(reference))
    }

    #[test]
    fn a_problem_ends_with_the_version_that_fixed_it() {
        assert!(mentions("Open MPI v4.1.4, package: Debian OpenMPI", "58ac9692d3"));
        assert!(!mentions("Open MPI v4.1.5, package: Debian OpenMPI", "58ac9692d3"));
        assert!(!mentions("Open MPI v5.0.11, package: Open MPI", "58ac9692d3"));
    }

    #[test]
    fn a_problem_begins_with_its_first_version() {
        assert!(!mentions("Open MPI v4.1.6, package: Debian OpenMPI", "10559"));
        assert!(mentions("Open MPI v5.0.11, package: Open MPI", "10559"));
        assert!(!mentions("MPICH Version: 4.1.2\n", "2072338"));
        assert!(mentions("MPICH Version: 4.2.0\n", "2072338"));
    }

    #[test]
    fn open_problems_are_in_every_later_version() {
        for version in ["4.1.0", "4.1.8", "5.0.11", "6.0.0"] {
            assert!(mentions(&format!("Open MPI v{version}, package"), "osc_sm_active_target.c"));
        }
    }

    #[test]
    fn libraries_do_not_share_problems() {
        assert!(!mentions("Intel(R) MPI Library 2021.18.1 for Linux* OS", "ompi"));
        assert!(mentions("Intel(R) MPI Library 2021.18.1 for Linux* OS", "2021.18.1"));
        assert!(references("MVAPICH2 Version      :\t2.3.7").is_empty());
        assert!(!mentions("MPICH Version:      5.0.2", "ompi"));
    }

    #[test]
    fn every_block_is_understood_and_no_range_is_empty() {
        assert_eq!(blocks().count(), 19);
        for block in blocks() {
            let problem = from_block(block).unwrap_or_else(|| panic!("{block}"));
            assert!(problem.fixed_in.is_none_or(|fixed| problem.since < fixed), "{block}");
            assert_eq!(block.trim_end().lines().count(), 4, "{block}");
        }
    }
}
