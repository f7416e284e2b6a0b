//! The program `md-cli`: everything is in the library; here is the exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(md_cli::session::main())
}
