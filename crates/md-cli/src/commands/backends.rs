//! `md-cli backends`: what moves the halo here.

use std::fmt::Write as _;

use crate::scenario::{Backend, name_of};

/// One entry per backend and one for the MPI library.
pub fn backends(library: &str) -> String {
    let names = Backend::ALL.map(name_of);
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for name in &names {
        let (state, description) = match md_comm::Backend::from_name(name) {
            None => ("not available yet".to_owned(), None),
            Some(backend) => (
                backend
                    .availability()
                    .map_or_else(|why| format!("not available: {why}"), |()| "available".to_owned()),
                Some(backend.description()),
            ),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:width$}  {state}");
        if let Some(description) = description {
            let _ = writeln!(text, "{:width$}  {description}", "");
        }
    }
    let _ = writeln!(text, "\nMPI library: {}", library.trim_end());
    let _ = writeln!(text, "RMA component: {}", rma_component());
    text
}

/// The component that Open MPI's one-sided backends were told to use; which one it takes by itself depends on the window
/// and is not told.
pub fn rma_component() -> String {
    std::env::var("OMPI_MCA_osc").unwrap_or_else(|_| "the library's choice".to_owned())
}
