//! `md-cli backends`: what moves the halo here.

use std::fmt::Write as _;

use md_comm::Backend;

/// One line per backend and one for the MPI library.
pub fn backends(library: &str) -> String {
    let width = Backend::ALL.iter().map(|backend| backend.name().len()).max().unwrap_or(0);
    let mut text = String::new();
    for backend in Backend::ALL {
        let state = match backend.availability() {
            Ok(()) => "available".to_owned(),
            Err(reason) => format!("not available: {reason}"),
        };
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "{:width$}  {state}\n{:width$}  {}", backend.name(), "", backend.description());
    }
    let _ = writeln!(text, "\nMPI library: {}", library.trim_end());
    let _ = writeln!(text, "RMA component: none in use (no one-sided backend yet)");
    text
}
