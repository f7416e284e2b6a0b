//! Checks that `backends`, `compare` and `run` agree on what works between nodes, and name the
//! option that helps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use md_comm::Backend;

use crate::nodes::{Nodes, finish, output};
use crate::support::{MELT, Tally, md_cli};

/// Backends that do not work over TCP without pt2pt.
const NO_WINDOW_OVER_TCP: &[&str] =
    &["shm", "rma-fence", "rma-pscw", "rma-lock", "rma-lock-epoch", "rma-barrier", "rma-notify", "rma-ring"];
/// Options of Open MPI 4, and the backends that do not work with them.
const CASES: [(&[&str], &[&str]); 3] = [
    (&[], NO_WINDOW_OVER_TCP),
    (&["--mca", "osc", "pt2pt"], &["shm", "hybrid"]),
    (&["--mca", "osc", "pt2pt,sm"], &["shm"]),
];
/// One backend for each reason.
const RUN: [&str; 3] = ["shm", "hybrid", "rma-lock"];
/// Number of backends that are in the list, but not in comparisons.
const NOT_COMPARED: usize = [Backend::Local, Backend::Auto].len();

pub(crate) fn check_all(nodes: &Nodes, tally: &mut Tally) {
    let version = finish(Command::new("mpirun").arg("--version")).map(|finished| finished.stdout);
    if !version.is_ok_and(|text| text.contains("(Open MPI) 4.")) {
        return println!("skipped: options of Open MPI 4");
    }
    for (options, refused) in CASES {
        let what = format!("backends, compare and run agree between nodes, options {options:?}");
        tally.show(&what, agree(nodes, options, refused));
    }
}

fn agree(nodes: &Nodes, options: &[&str], refused: &[&str]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (scenario, out) = (path("melt.toml"), path("out"));
    fs::write(&scenario, MELT).map_err(|error| error.to_string())?;
    let call = |words: &[&str]| finish(nodes.run(1).args(options).arg(md_cli()).args(words));
    let listed = call(&["backends"])?.stdout;
    let listed: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    let quickly = ["compare", &scenario, "--output", &out, "--steps", "1", "--repeat", "1", "--quiet"];
    let compared = call(&quickly)?;
    let statuses =
        statuses(&Path::new(&out).join("compare.csv")).map_err(|what| what + &output(&compared))?;
    if statuses.len() != Backend::ALL.len() - NOT_COMPARED {
        return Err(format!("compared: {statuses:?}"));
    }
    for (backend, status) in statuses {
        let state = listed.get(backend.as_str()).map_or("", |state| state.trim());
        let agrees = if refused.contains(&backend.as_str()) {
            status == "unavailable"
                && state.starts_with("not available: ")
                && state.contains(remedy(&backend))
        } else {
            status == "ok" && state == "available"
        };
        if !agrees {
            return Err(format!("{backend}: `{state}` in the list, `{status}` compared"));
        }
    }
    for backend in RUN {
        let wanted = format!("parallel.backend={backend:?}");
        let ran = call(&["run", &scenario, "--output", &out, "--quiet", "--set", &wanted])?;
        let code = ran.status.and_then(|status| status.code());
        let is_told = ran.stderr.contains("is not available: ") && ran.stderr.contains(remedy(backend));
        let expected = if refused.contains(&backend) { (Some(3), true) } else { (Some(0), false) };
        if (code, is_told) != expected {
            return Err(format!("{backend}: {}", output(&ran)));
        }
    }
    Ok(())
}

/// Returns the text that the error must contain. No option helps `shm`.
fn remedy(backend: &str) -> &'static str {
    match backend {
        "shm" => "shared memory ends at the node",
        _ => "; between nodes over TCP, start with `mpirun --mca osc pt2pt,sm`",
    }
}

/// Returns the backends and their status, from compare.csv.
fn statuses(path: &Path) -> Result<Vec<(String, String)>, String> {
    let mut reader = csv::Reader::from_path(path).map_err(|error| error.to_string())?;
    let rows = reader.deserialize().map(|row| {
        let row: BTreeMap<String, String> = row.map_err(|error| error.to_string())?;
        Ok((row["backend"].clone(), row["status"].clone()))
    });
    rows.collect()
}
