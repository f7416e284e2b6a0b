//! Which transports exist: a closed list, so that a scenario can name one and a help text can show all.
//!
//! Adding a backend is one file with its [`crate::Exchange`] and one line in each `match` below; the compiler finds
//! them.

/// A way to move messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Threads of one process.
    Local,
    /// Non-blocking two-sided MPI messages.
    P2p,
}

impl Backend {
    /// All backends, also those this build cannot use.
    pub const ALL: &[Self] = &[Self::Local, Self::P2p];

    /// Name as in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::P2p => "p2p",
        }
    }

    /// One line for a help text.
    pub fn description(self) -> &'static str {
        match self {
            Self::Local => "threads of one process, no MPI; for tests and small runs",
            Self::P2p => "MPI_Isend/MPI_Irecv, receives posted ahead, unpacked as they arrive",
        }
    }

    /// Whether this build can use the backend.
    ///
    /// # Errors
    /// The reason, and what would help.
    pub fn availability(self) -> Result<(), String> {
        match self {
            Self::Local => Ok(()),
            Self::P2p if cfg!(feature = "mpi") => Ok(()),
            Self::P2p => Err("this program was built without MPI; build it with `--features mpi`".to_owned()),
        }
    }

    /// The backend with this [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|backend| backend.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_round_trip() {
        for &backend in Backend::ALL {
            assert_eq!(Backend::from_name(backend.name()), Some(backend));
        }
        assert_eq!(Backend::from_name("pigeon"), None);
    }

    #[test]
    fn p2p_needs_the_mpi_feature() {
        assert_eq!(Backend::P2p.availability().is_ok(), cfg!(feature = "mpi"));
    }
}
