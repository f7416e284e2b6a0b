//! Counts and output of a test program without the standard harness.
#![allow(
    dead_code,
    clippy::print_stdout,
    reason = "every test program without the standard harness uses a part of it"
)]

use std::process::ExitCode;

/// Numbers of outcomes so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    /// Counts an outcome, and prints it if it is a failure.
    pub(crate) fn count(&mut self, what: &str, outcome: Result<(), String>) {
        self.add(usize::from(outcome.is_ok()), usize::from(outcome.is_err()));
        if let Err(why) = outcome {
            println!("FAILED  {what}: {why}");
        }
    }

    /// Counts and prints an outcome.
    pub(crate) fn show(&mut self, what: &str, outcome: Result<(), String>) {
        if outcome.is_ok() {
            println!("ok      {what}");
        }
        self.count(what, outcome);
    }

    /// Adds the counts of another process.
    pub(crate) fn add(&mut self, passed: usize, failed: usize) {
        self.passed += passed;
        self.failed += failed;
    }

    /// Returns the exit code: 0 if there was no failure.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(u8::from(self.failed > 0))
    }

    /// Prints the last line and returns the exit code.
    pub(crate) fn end(&self) -> ExitCode {
        println!("{} passed, {} failed", self.passed, self.failed);
        self.code()
    }
}
