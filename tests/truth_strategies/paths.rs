//! The implementations of windows in Open MPI, and the numbers of ranks on which each is tested.

use crate::strategy::Extent;

/// An implementation of windows, and the settings that select it. Over TCP and emulated by
/// messages, nothing arrives in order by accident.
#[derive(Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) variables: &'static [(&'static str, &'static str)],
    fewest_ranks: usize,
    /// Names of backends that cannot run.
    pub(crate) without: &'static str,
    pub(crate) windows: Windows,
}

/// Possible memory of windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Windows {
    Any,
    /// Only memory that the library allocates, as with osc/sm.
    Allocated,
}

/// Backends that need shared windows, which only osc/sm has. (`auto` leaves out what cannot be
/// opened.)
const NO_SHARED: &str = "shm,hybrid";

const DEFAULT: Path =
    Path { name: "default path", variables: &[], fewest_ranks: 1, without: "", windows: Windows::Any };

const PATHS: [Path; 5] = [
    DEFAULT,
    // When it is forced, osc/rdma refuses a window of one rank.
    Path {
        name: "osc/rdma",
        variables: &[("OMPI_MCA_osc", "rdma")],
        fewest_ranks: 2,
        without: NO_SHARED,
        windows: Windows::Any,
    },
    Path {
        name: "osc/sm",
        variables: &[("OMPI_MCA_osc", "sm")],
        fewest_ranks: 1,
        without: "",
        windows: Windows::Allocated,
    },
    Path {
        name: "osc/pt2pt over TCP",
        variables: &[
            ("OMPI_MCA_osc", "pt2pt"),
            ("OMPI_MCA_btl", "self,tcp"),
            ("OMPI_MCA_btl_tcp_if_include", "lo"),
        ],
        fewest_ranks: 1,
        without: NO_SHARED,
        windows: Windows::Any,
    },
    Path {
        name: "several nodes",
        variables: &[("OMPI_MCA_osc", "pt2pt,sm")],
        fewest_ranks: 2,
        without: "shm",
        windows: Windows::Any,
    },
];
/// Number of paths that environment variables select. The last path needs a separate launcher.
const ON_THIS_NODE: usize = 4;

/// Environment variable with the numbers of ranks to try, separated by commas. The default is all
/// of the extent.
const RANKS: &str = "MD_STRATEGIES_RANKS";
/// Environment variable with parts of the names of paths to try, separated by commas. The default
/// is all of the extent.
const PATHS_WANTED: &str = "MD_STRATEGIES_PATHS";

/// Returns the jobs to run: a path and a number of ranks each.
pub(crate) fn plan(extent: Extent) -> Result<Vec<(&'static Path, usize)>, String> {
    let (default_paths, default_ranks): (&'static [Path], &[usize]) = match extent {
        Extent::Nodes => (&PATHS[ON_THIS_NODE..], &[2, 4]),
        Extent::Slice => (&PATHS[..1], &[2, 3]),
        Extent::Each | Extent::Full => (&PATHS[..ON_THIS_NODE], &[1, 2, 3, 4, 8]),
    };
    let paths = match list(PATHS_WANTED) {
        Some(words) => paths_named(&words)?,
        None => default_paths.iter().collect(),
    };
    let ranks = match list(RANKS) {
        Some(words) => numbers(&words)?,
        None => default_ranks.to_vec(),
    };
    let possible = |path: &'static Path| {
        let ranks = ranks.clone().into_iter().filter(|&ranks| ranks >= path.fewest_ranks);
        ranks.map(move |ranks| (path, ranks))
    };
    Ok(paths.into_iter().flat_map(possible).collect())
}

fn list(variable: &str) -> Option<Vec<String>> {
    let text = std::env::var(variable).ok()?;
    Some(text.split(',').map(|word| word.trim().to_owned()).collect())
}

fn paths_named(words: &[String]) -> Result<Vec<&'static Path>, String> {
    let mut chosen = Vec::new();
    for word in words {
        let path = PATHS.iter().find(|path| !word.is_empty() && path.name.contains(word.as_str()));
        let known = PATHS.each_ref().map(|path| path.name).join(", ");
        chosen.push(path.ok_or_else(|| format!("{PATHS_WANTED}: {word:?} is in no name of {known}"))?);
    }
    Ok(chosen)
}

fn numbers(words: &[String]) -> Result<Vec<usize>, String> {
    let number = |word: &String| match word.parse() {
        Ok(ranks @ 1..) => Ok(ranks),
        _ => Err(format!("{RANKS}: {word:?} is no number of ranks such as 3")),
    };
    words.iter().map(number).collect()
}
