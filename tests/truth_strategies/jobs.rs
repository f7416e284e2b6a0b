//! Starts this program under the MPI launcher, once per number of ranks and implementation of windows.

use std::process::{Command, ExitCode};
use std::time::Duration;

use md_comm::launch::{self, Finished};

use crate::strategy::{Extent, Transport};

/// An implementation of windows in Open MPI, and what chooses it. Over TCP and emulated by messages, nothing arrives in
/// order by accident.
struct Path {
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    fewest_ranks: usize,
    /// Names of backends that cannot run.
    without: &'static str,
    windows: Windows,
}

/// Where the memory of windows may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Windows {
    Any,
    /// osc/sm has only windows that it allocates.
    Allocated,
}

/// Only osc/sm makes shared windows. (`auto` leaves out what cannot be opened.)
const NO_SHARED: &str = "shm,hybrid";

const DEFAULT: Path = Path {
    name: "as the library chooses",
    variables: &[],
    fewest_ranks: 1,
    without: "",
    windows: Windows::Any,
};

const PATHS: [Path; 4] = [
    DEFAULT,
    // Forced osc/rdma refuses a window of one rank.
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
];

const SLICE_LIMIT: Duration = Duration::from_secs(300);
const FULL_LIMIT: Duration = Duration::from_secs(3600);

pub(crate) fn run_all() -> ExitCode {
    if launch::mpirun(1).is_none() {
        println!("skipped: no mpirun");
        // CI must not skip it.
        return ExitCode::from(u8::from(std::env::var("CI").is_ok_and(|ci| ci == "true")));
    }
    let (mut passed, mut failed) = (0, 0);
    for (path, ranks) in plan(Extent::wanted()) {
        let outcome = job(path, ranks);
        let (ok, wrong) = outcome.as_ref().copied().unwrap_or((0, 1));
        println!("{ranks} ranks, {}: {ok} passed, {wrong} failed", path.name);
        if let Err(what) = outcome {
            println!("FAILED  {what}");
        }
        passed += ok;
        failed += wrong;
    }
    println!("{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

fn plan(extent: Extent) -> Vec<(&'static Path, usize)> {
    match extent {
        Extent::Slice => vec![(&DEFAULT, 2), (&DEFAULT, 3)],
        Extent::Full => {
            let ranks_on = |path: &'static Path| {
                let possible = [1, 2, 3, 4, 8].into_iter().filter(|&ranks| ranks >= path.fewest_ranks);
                possible.map(move |ranks| (path, ranks))
            };
            PATHS.iter().flat_map(ranks_on).collect()
        }
    }
}

/// How many strategies agreed and differed.
fn job(path: &Path, ranks: usize) -> Result<(usize, usize), String> {
    let program = std::env::current_exe().map_err(|error| format!("own path: {error}"))?;
    let mut command: Command = launch::mpirun(ranks).ok_or("no mpirun")?;
    command.arg(program).envs(path.variables.iter().copied()).env(Transport::WITHOUT, path.without);
    // A single rank gets osc/sm.
    if path.windows == Windows::Allocated || ranks == 1 {
        command.env(Transport::ALLOCATED_ONLY, "1");
    }
    let limit = if Extent::wanted() == Extent::Full { FULL_LIMIT } else { SLICE_LIMIT };
    let finished = launch::run_with_timeout(command, limit).map_err(|error| error.to_string())?;
    let differing = finished.stdout.lines().filter(|line| line.starts_with("DIFFERS"));
    differing.for_each(|line| println!("{ranks} ranks, {}: {line}", path.name));
    counts(&finished).ok_or_else(|| {
        let Finished { status, stdout, stderr, duration } = &finished;
        format!("{status:?} after {:.0} s\n{stdout}\n{stderr}", duration.as_secs_f64())
    })
}

fn counts(finished: &Finished) -> Option<(usize, usize)> {
    let last = finished.stdout.lines().rfind(|line| line.ends_with(" failed"))?;
    let mut words = last.split_whitespace();
    let (passed, failed) = (words.next()?.parse().ok()?, words.nth(1)?.parse().ok()?);
    // A rank that died afterwards is a failure of the whole job.
    (finished.succeeded() == (failed == 0)).then_some((passed, failed))
}
