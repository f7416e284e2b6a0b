//! What a world reports of the library and the machine beneath it. Nothing here moves data of a
//! run.

use crate::CommError;

/// Ranks that the launcher has bound to the same cores of one machine.
///
/// ```
/// use md_comm::CrowdedCores;
///
/// // Four ranks bound to the same two cores; two of them would have one core each.
/// assert!(CrowdedCores { ranks: 4, cores: 2 }.is_crowded(1));
/// assert!(!CrowdedCores { ranks: 2, cores: 2 }.is_crowded(1));
/// assert!(CrowdedCores { ranks: 2, cores: 2 }.is_crowded(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrowdedCores {
    /// Number of ranks that can use these cores and no others.
    pub ranks: usize,
    /// Number of cores.
    pub cores: usize,
}

impl CrowdedCores {
    /// Returns whether several ranks with this number of `threads` each have to take turns. Unknown
    /// cores do not count as crowded.
    pub fn is_crowded(self, threads: usize) -> bool {
        let Self { ranks, cores } = self;
        ranks > 1 && cores > 0 && ranks * threads > cores
    }
}

/// The library and the machine beneath a world.
///
/// ```
/// use md_comm::{Platform, local};
/// use std::time::Duration;
///
/// // Threads of one process need no MPI library.
/// let library = |platform: &dyn Platform| platform.library();
/// let names = local::run(1, Duration::from_secs(60), |world| library(world.platform()));
/// assert_eq!(names, [Ok("none".to_owned())]);
/// ```
pub trait Platform {
    /// Returns the version line of the MPI library, or `none`.
    fn library(&self) -> String;

    /// Returns the component of the MPI library that moves the data of the window made last on this
    /// rank, if there is such a window.
    fn rma_component(&self) -> Option<String> {
        None
    }

    /// Returns the set of cores that is shared by most ranks of a machine, if ranks with this
    /// number of threads each have to take turns on some cores. *Collective.*
    ///
    /// # Errors
    /// Communication.
    fn crowded_cores(&self, _threads: usize) -> Result<Option<CrowdedCores>, CommError> {
        Ok(None)
    }
}
