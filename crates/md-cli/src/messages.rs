//! Messages on standard error.

use std::io::Write;

use md_comm::launch;

use crate::printable::escaped;

/// An error that ends the job; for the first rank to say.
pub(crate) fn print_error(text: &str) {
    print_whole(&format!("error: {}\n", text.trim()));
}

/// Something to be careful about, also with `--quiet`; for the first rank to say.
pub(crate) fn warn(text: &str) {
    print_whole(&format!("warning: {}\n", escaped(text)));
}

/// Something to know, also with `--quiet`; for the first rank to say.
pub(crate) fn note(text: &str) {
    print_whole(&format!("note: {}\n", escaped(text)));
}

/// Prints by one call of the system, so that words of the launcher or of other ranks do not come in between.
pub(crate) fn print_whole(text: &str) {
    // If the terminal is gone there is nobody to tell.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Whether this is the process that prints, judged by the launcher's environment: MPI may not be up yet.
pub(crate) fn is_first_process() -> bool {
    launch::rank().is_none_or(|rank| rank == 0)
}
