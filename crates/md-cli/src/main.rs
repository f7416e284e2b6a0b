//! The program `md-cli`. It calls the library and returns its exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(md_cli::session::main())
}
