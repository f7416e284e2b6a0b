//! The cases of the suite over MPI: backends, options, numbers of ranks, implementations of
//! windows.

use md_comm::{Backend, Chunk, RmaOptions, WindowKind};

use crate::child::{ADVERSITY, ROUGH};
use crate::jobs::over_mpi;
use crate::{RANKS, adverse, options};

/// Cases that may share a job: starting the ranks takes as long as the suite itself.
pub(crate) const MOST_PER_JOB: usize = 8;

/// A way through the machine, and the variables that choose it.
pub(crate) type Path = (&'static str, &'static [(&'static str, &'static str)]);

pub(crate) const OSC_SM: Path = ("osc/sm", &[("OMPI_MCA_osc", "sm")]);
/// Over TCP and emulated by messages, nothing arrives in order by accident.
pub(crate) const OSC_PT2PT: Path = (
    "osc/pt2pt over TCP",
    &[("OMPI_MCA_osc", "pt2pt"), ("OMPI_MCA_btl", "self,tcp"), ("OMPI_MCA_btl_tcp_if_include", "lo")],
);
/// Implementations of windows.
const WINDOW_PATHS: [Path; 3] = [("osc/rdma", &[("OMPI_MCA_osc", "rdma")]), OSC_SM, OSC_PT2PT];

/// Messages in pieces of one byte, of a few, and of a number that divides lengths which occur in
/// the suite.
const PIECES: [usize; 3] = [1, 7, 64];
/// The piece, and the number of ranks, of the short form if options are not the default: the piece
/// cuts most messages unevenly, and the number of ranks is the smallest with two different
/// neighbours.
const SHORT_PIECE: usize = 7;
const SHORT_RANKS: usize = 3;

/// One run of the suite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) backend: Backend,
    pub(crate) options: RmaOptions,
    pub(crate) chunk: Chunk,
    pub(crate) ranks: usize,
    /// `None`: the library's default.
    pub(crate) path: Option<Path>,
    /// With delays and poisoned buffers.
    pub(crate) rough: bool,
}

impl Case {
    pub(crate) fn plain(backend: Backend, ranks: usize) -> Self {
        let (options, chunk) = (RmaOptions::default(), Chunk::default());
        Self { backend, options, chunk, ranks, path: None, rough: false }
    }

    pub(crate) fn name(&self) -> String {
        let options = self.options_text();
        let parts = [self.backend.name(), &options, self.path.map_or("", |(name, _)| name)];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let circumstances = if self.rough { ", delays and poisoned buffers" } else { "" };
        format!("{}, {} ranks{circumstances}", parts.join(", "), self.ranks)
    }

    /// As [`options::apply`] reads it.
    pub(crate) fn options_text(&self) -> String {
        match self.chunk {
            Chunk::Bytes(bytes) => {
                format!("{}{bytes} {}", options::CHUNK, self.options).trim_end().to_owned()
            }
            Chunk::Auto | Chunk::Off => self.options.to_string(),
        }
    }

    /// Returns whether the cases differ in their options only.
    pub(crate) fn shares_a_job(&self, other: &Self) -> bool {
        let job = |case: &Self| (case.backend, case.ranks, case.path, case.rough);
        job(self) == job(other)
    }

    /// What chooses the way and the circumstances.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let path = self.path.into_iter().flat_map(|(_, variables)| variables.iter().copied());
        path.chain(self.rough.then_some((ADVERSITY, ROUGH)))
    }
}

/// Every backend as it is.
fn plain() -> Vec<Case> {
    over_mpi().flat_map(|backend| RANKS.map(|ranks| Case::plain(backend, ranks))).collect()
}

/// Returns the plain cases, and two-sided messages in pieces; from persistent requests in the long
/// form only.
fn plain_and_in_pieces(full: bool) -> Vec<Case> {
    let in_pieces = |case: Case| {
        let is_cut = case.backend == Backend::P2p || (full && case.backend == Backend::P2pPersistent);
        let pieces = PIECES.into_iter().filter(move |&bytes| is_cut && (full || bytes == SHORT_PIECE));
        let cut = pieces.map(move |bytes| Case { chunk: Chunk::Bytes(bytes), ..case });
        std::iter::once(case).chain(cut)
    };
    plain().into_iter().flat_map(in_pieces).collect()
}

/// Those that can lead from node to node.
pub(crate) fn between_nodes() -> Vec<Case> {
    plain().into_iter().filter(|case| case.backend != Backend::Shm).collect()
}

/// All cases, in the long form or the short one; those that can share a job side by side.
pub(crate) fn all(full: bool) -> Vec<Case> {
    let mut cases = plain_and_in_pieces(full);
    if full {
        cases.extend(over_mpi().flat_map(all_options));
    } else {
        for (backend, options) in options::slice() {
            cases.push(Case { options, ..Case::plain(backend, SHORT_RANKS) });
        }
    }
    cases.extend(adverse::cases(full));
    cases
}

/// Every combination of options over every implementation of windows that Open MPI has; what runs
/// by default depends on the machine.
fn all_options(backend: Backend) -> Vec<Case> {
    let mut cases = Vec::new();
    let paths = WINDOW_PATHS.into_iter().map(Some).chain([None]);
    for path in paths.filter(|path| path.is_none() || backend.name().starts_with("rma-")) {
        for ranks in RANKS {
            // The defaults without a path are there already.
            let defaults = path.map(|_| RmaOptions::default());
            let options = defaults.into_iter().chain(options::all(backend));
            let made = options.filter(|options| is_made(options, path.map(|(name, _)| name), ranks));
            cases.extend(made.map(|options| Case { options, path, ..Case::plain(backend, ranks) }));
        }
    }
    cases
}

/// Whether an implementation makes such windows. osc/sm has only those that it allocates itself;
/// osc/rdma refuses a window of one rank, and only osc/sm, which takes its place, is left for it.
fn is_made(options: &RmaOptions, path: Option<&str>, ranks: usize) -> bool {
    let allocated = options.window == WindowKind::Allocate;
    (allocated || path != Some(OSC_SM.0)) && (ranks > 1 || (allocated && path.is_none()))
}
