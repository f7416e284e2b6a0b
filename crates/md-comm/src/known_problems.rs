//! Problems of MPI libraries that concern a halo exchange, and what is done about each.
//!
//! A table, not code: a line says in which versions a problem was found, what happens, how the transports here avoid it
//! (or what the user can set), and where to read on. A range without an end means "not known to be fixed", not "will
//! never be". To add one: a line, with a reference that a reader can look up.

use crate::library::{Family, Library, Version};

/// One problem of one library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProblem {
    /// Whose problem.
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
    /// Whether this library has the problem.
    pub fn concerns(&self, library: &Library) -> bool {
        let Library { family, version, .. } = library;
        *family == self.family && *version >= self.since && self.fixed_in.is_none_or(|fixed| *version < fixed)
    }
}

/// The problems of the library with this version text (MPI-3.1 section 8.1.1).
pub fn known_problems(library: &Library) -> impl Iterator<Item = &'static KnownProblem> {
    KNOWN_PROBLEMS.iter().filter(|problem| problem.concerns(library))
}

/// The beginning of what was looked at.
const ANY: Version = [0; 3];

static KNOWN_PROBLEMS: [KnownProblem; 19] = [
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 1, 0],
        fixed_in: None,
        what: "a message longer than the posted receive is written behind the end of the buffer before the error is \
               reported",
        remedy: "senders check every message against the capacity that its receiver has agreed to",
        reference: "reproduced in C with 4.1.4 and 5.0.11",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 1, 0],
        fixed_in: Some([4, 1, 5]),
        what: "osc/rdma: MPI_Get_accumulate may corrupt data; crashes for some layouts of ranks",
        remedy: "flags and tickets use MPI_Accumulate and MPI_Fetch_and_op on 8-byte integers only",
        reference: "Open MPI 4.1.5, commits 58ac9692d3, 0a0d64f6c6, f243fdef87",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 1, 0],
        fixed_in: None,
        what: "osc/sm: after MPI_Win_post with MPI_MODE_NOCHECK, MPI_Win_wait returns before the puts have landed",
        remedy: "rma-pscw posts and starts without NOCHECK",
        reference: "reproduced in C with 4.1.4; osc_sm_active_target.c of 4.1, 5.0 and main",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 1, 0],
        fixed_in: None,
        what: "osc/rdma: MPI_Win_sync only makes progress, it is no processor fence",
        remedy: "a sequentially consistent fence stands beside every MPI_Win_sync",
        reference: "ompi_osc_rdma_sync of 4.1.4, 5.0.9 and main",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: ANY,
        fixed_in: Some([6, 0, 0]),
        what: "neighbourhood collectives deliver the wrong block where a periodic dimension has one or two ranks",
        remedy: "neighbor-collective uses a distributed graph that has each neighbour once",
        reference: "open-mpi/ompi issue 14430",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 0, 0],
        fixed_in: Some([5, 0, 0]),
        what: "in containers without CAP_SYS_PTRACE large messages and osc/rdma puts fail: `Read -1, expected N, errno = 1`",
        remedy: "set OMPI_MCA_btl_vader_single_copy_mechanism=none",
        reference: "open-mpi/ompi issue 4948",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [4, 1, 0],
        fixed_in: Some([5, 0, 0]),
        what: "MPI_Win_create and dynamic windows fail with MPI_ERR_WIN where no RDMA component is usable (osc=sm, or \
               btl=self,tcp without pt2pt)",
        remedy: "windows are allocated by default; OMPI_MCA_osc=pt2pt gives the others",
        reference: "open-mpi/ompi issues 9871, 7830",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: ANY,
        fixed_in: Some([5, 0, 0]),
        what: "osc/pt2pt may hang in MPI_Win_flush",
        remedy: "taken only where no other component is usable; all wait loops call into MPI, which it needs",
        reference: "open-mpi/ompi issues 6819, 8112; removed in 5.0",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [5, 0, 0],
        fixed_in: None,
        what: "osc/ucx: MPI_Win_flush sometimes hangs between ranks of one node",
        remedy: "it is the default only with an RDMA device; OMPI_MCA_osc=^ucx avoids it",
        reference: "open-mpi/ompi issue 10559",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [5, 0, 0],
        fixed_in: None,
        what: "osc/ucx prints `priority set inside component query failed` for every window where there is no such device",
        remedy: "harmless; OMPI_MCA_osc=^ucx silences it",
        reference: "seen with 5.0.11",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [5, 0, 0],
        fixed_in: Some([5, 0, 9]),
        what: "osc/rdma fails where pml is not ob1; the ob1 pml may overrun memory with pending acknowledgements",
        remedy: "use 5.0.9 or later",
        reference: "release notes of Open MPI 5.0.9",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: ANY,
        fixed_in: None,
        what: "windows in shared memory lie in /dev/shm without being reserved: SIGBUS when it is full (64 MiB in many \
               containers)",
        remedy: "give containers more, such as --shm-size=1g",
        reference: "osc_sm_backing_directory of osc/sm",
    },
    KnownProblem {
        family: Family::OpenMpi,
        since: [5, 0, 0],
        fixed_in: None,
        what: "osc/rdma over the OFI transport: crash after MPI_Win_allocate with several ranks per node",
        remedy: "set parallel.rma.window = \"create\", or OMPI_MCA_osc=^rdma",
        reference: "open-mpi/ompi issue 14203 (reported for 6.1 and earlier)",
    },
    KnownProblem {
        family: Family::Mpich,
        since: [4, 2, 0],
        fixed_in: Some([4, 2, 1]),
        what: "Ubuntu 24.04's package starts every process as a world of its own",
        remedy: "compare the number of ranks above with what was asked for",
        reference: "Launchpad bug 2072338",
    },
    KnownProblem {
        family: Family::Mpich,
        since: ANY,
        fixed_in: None,
        what: "some algorithms of neighbourhood collectives deliver the wrong block where a periodic dimension has one \
               or two ranks",
        remedy: "neighbor-collective uses a distributed graph that has each neighbour once",
        reference: "pmodels/mpich pull request 7945",
    },
    KnownProblem {
        family: Family::Mpich,
        since: ANY,
        fixed_in: None,
        what: "puts to a window of MPI_Win_create need the target inside MPI, also on one node",
        remedy: "windows are allocated by default; wait loops call into MPI",
        reference: "pmodels/mpich issues 5223, 2161",
    },
    KnownProblem {
        family: Family::Mpich,
        since: ANY,
        fixed_in: None,
        what: "one-sided communication between nodes was reported to hang on one system",
        remedy: "try p2p if an rma backend meets the watchdog",
        reference: "pmodels/mpich issue 7118",
    },
    KnownProblem {
        family: Family::Mpich,
        since: [5, 0, 0],
        fixed_in: None,
        what: "over UCX, MPI_Cancel of a persistent send crashes",
        remedy: "sends are never cancelled",
        reference: "seen with 5.0.2",
    },
    KnownProblem {
        family: Family::IntelMpi,
        since: ANY,
        fixed_in: None,
        what: "MPI_Accumulate with MPI_REPLACE stores an 8-byte word in pieces (seen with 4 ranks on 2 cores): a load may \
               see half of it",
        remedy: "flags carry the number of their exchange at both ends, and are compared for equality",
        reference: "reproduced in C with 2021.18.1",
    },
];

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
    fn ranges_are_not_empty() {
        assert!(
            KNOWN_PROBLEMS.iter().all(|problem| problem.fixed_in.is_none_or(|fixed| problem.since < fixed))
        );
    }
}
