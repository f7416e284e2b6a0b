//! The MPI library and its version, read from its version text (MPI-3.1 section 8.1.1).
//!
//! The text has no fixed form: `Open MPI v4.1.4, package: ...`, `MPICH Version:      5.0.2` with
//! further lines, `Intel(R) MPI Library 2021.18.1 for Linux* OS`. An unrecognised text gives
//! [`Family::Other`], which has no known problems.

use std::fmt;

/// Family of MPI libraries.
///
/// ```
/// use md_comm::Family;
///
/// assert_eq!("MPICH".parse(), Ok(Family::Mpich));
/// assert_eq!(Family::OpenMpi.to_string(), "Open MPI");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumString)]
pub enum Family {
    /// Open MPI.
    #[strum(serialize = "Open MPI")]
    OpenMpi,
    /// MPICH. Derived libraries that report a name of their own are not included.
    #[strum(serialize = "MPICH")]
    Mpich,
    /// Intel MPI.
    #[strum(serialize = "Intel MPI")]
    IntelMpi,
    /// Any other.
    #[strum(serialize = "MPI library")]
    Other,
}

/// Major, minor and patch number. Missing numbers are 0, and suffixes (`rc1`, `a1`) are dropped.
///
/// ```
/// use md_comm::Version;
///
/// let (old, new): (Version, Version) = ([4, 1, 10], [5, 0, 0]);
/// assert!([4, 1, 9] < old && old < new);
/// ```
pub type Version = [u32; 3];

/// An MPI library and its version.
///
/// ```
/// use md_comm::{Family, Library};
///
/// let library = Library::from_text("MPICH Version:\t4.2.0\nMPICH Device:\tch4:ofi\n");
/// assert_eq!((library.family, library.version), (Family::Mpich, [4, 2, 0]));
/// assert_eq!(library.device.as_deref(), Some("ch4:ofi"));
/// assert_eq!(library.to_string(), "MPICH 4.2.0");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// Family of the library.
    pub family: Family,
    /// Version of the library.
    pub version: Version,
    /// The device that reaches other ranks, if the text has it: for MPICH, for instance, `ch4:ofi`.
    pub device: Option<String>,
}

/// Beginning of each family's text; the version is the next word.
const BEGINNINGS: [(&str, Family); 3] = [
    ("Open MPI v", Family::OpenMpi),
    ("MPICH Version:", Family::Mpich),
    ("Intel(R) MPI Library ", Family::IntelMpi),
];

impl Library {
    /// Parses a version text.
    pub fn from_text(text: &str) -> Self {
        let device = text.lines().find_map(|line| line.strip_prefix("MPICH Device:"));
        let device = device.map(|device| device.trim().to_owned());
        let known = BEGINNINGS.iter().find_map(|(beginning, family)| {
            let rest = text.trim_start().strip_prefix(beginning)?;
            Some((*family, version_in(rest.split_whitespace().next().unwrap_or_default())))
        });
        let (family, version) = known.unwrap_or((Family::Other, [0; 3]));
        Self { family, version, device }
    }
}

/// Errors of Open MPI if none of its components can make a window.
#[cfg(any(feature = "mpi", test))]
const NO_COMPONENT: [&str; 2] = ["MPI_ERR_WIN", "MPI_ERR_INTERN"];

#[cfg(any(feature = "mpi", test))]
impl Library {
    /// Adds to the library's reason for refusing a window what the user can set. Open MPI 4 has one
    /// component that moves data over TCP, which it does not choose by itself, and another for
    /// shared memory, which the first one replaces.
    pub(crate) fn explain(&self, reason: String) -> String {
        let says = |code| reason.contains(code);
        if self.family == Family::OpenMpi && self.version < [5, 0, 0] && NO_COMPONENT.into_iter().any(says) {
            return format!("{reason}; between nodes over TCP, start with `mpirun --mca osc pt2pt,sm`");
        }
        reason
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.version;
        write!(f, "{} {major}.{minor}.{patch}", self.family)
    }
}

/// Parses a version: `5.0.9rc1,` gives 5, 0, 9.
pub(crate) fn version_in(word: &str) -> Version {
    let mut version = [0; 3];
    for (number, part) in version.iter_mut().zip(word.split('.')) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        *number = digits.parse().unwrap_or(0);
    }
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts as printed by the libraries.
    const TEXTS: [(&str, Family, Version); 6] = [
        (
            "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022",
            Family::OpenMpi,
            [4, 1, 4],
        ),
        (
            "Open MPI v5.0.11, package: Open MPI user@localhost Distribution, ident: 5.0.11, repo rev: v5.0.11rc1",
            Family::OpenMpi,
            [5, 0, 11],
        ),
        (
            "MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25 20:45:26 UTC 2026\nMPICH ABI:          18:2:6\n\
             MPICH Device:       ch4:ucx ofi\n",
            Family::Mpich,
            [5, 0, 2],
        ),
        ("MPICH Version:\t4.2.0\nMPICH Device:\tch4:ofi\n", Family::Mpich, [4, 2, 0]),
        ("Intel(R) MPI Library 2021.18.1 for Linux* OS\n", Family::IntelMpi, [2021, 18, 1]),
        ("MVAPICH2 Version      :\t2.3.7", Family::Other, [0, 0, 0]),
    ];

    #[test]
    fn texts_of_real_libraries_are_understood() {
        for (text, family, version) in TEXTS {
            let library = Library::from_text(text);
            assert_eq!((library.family, library.version), (family, version), "{text}");
        }
    }

    #[test]
    fn the_device_of_mpich_is_found() {
        let devices = TEXTS.map(|(text, ..)| Library::from_text(text).device);
        assert_eq!(devices[2].as_deref(), Some("ch4:ucx ofi"));
        assert_eq!(devices[3].as_deref(), Some("ch4:ofi"));
        assert_eq!(devices[0], None);
    }

    #[test]
    fn open_mpi_4_needs_an_option_over_tcp() {
        let explained = |text: &str, reason: &str| Library::from_text(text).explain(reason.to_owned());
        let refused = "MPI_Win_allocate failed: MPI_ERR_WIN: invalid window";
        let option = "; between nodes over TCP, start with `mpirun --mca osc pt2pt,sm`";
        assert_eq!(explained(TEXTS[0].0, refused), format!("{refused}{option}"));
        assert_eq!(explained(TEXTS[1].0, refused), refused);
        assert_eq!(explained(TEXTS[2].0, refused), refused);
        assert_eq!(explained(TEXTS[0].0, "MPI_ERR_NO_MEM"), "MPI_ERR_NO_MEM");
    }

    #[test]
    fn what_follows_the_numbers_does_not_count() {
        assert_eq!(version_in("5.0.9rc1,"), [5, 0, 9]);
        assert_eq!(version_in("6.1.0a1,"), [6, 1, 0]);
        assert_eq!(version_in("5.0"), [5, 0, 0]);
    }
}
