//! Messages on standard error.

use std::io::Write;

use md_comm::launch;

use crate::printable::escaped;

/// Prints an error that ends the job; to be called on the first rank.
pub(crate) fn print_error(text: &str) {
    print_whole(&format!("error: {}\n", text.trim()));
}

/// Prints a warning, also with `--quiet`; to be called on the first rank.
pub(crate) fn warn(text: &str) {
    print_whole(&format!("warning: {}\n", escaped(text)));
}

/// Prints a note, also with `--quiet`; to be called on the first rank.
pub(crate) fn note(text: &str) {
    print_whole(&format!("note: {}\n", escaped(text)));
}

/// Prints by one system call, so that output of the launcher or of other ranks does not come in
/// between.
pub(crate) fn print_whole(text: &str) {
    // If the terminal is gone, there is nowhere to report it.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Returns whether this is the process that prints, judged by the launcher's environment: MPI may
/// not be initialised yet.
pub(crate) fn is_first_process() -> bool {
    launch::rank().is_none_or(|rank| rank == 0)
}
