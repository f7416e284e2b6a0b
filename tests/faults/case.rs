//! One line of the table: a fault on a backend and a number of ranks, and its outcome.

use std::fmt;
use std::process::Command;
use std::time::Instant;

use md_comm::Backend;
use strum::IntoStaticStr;

use crate::fault::Fault;
use crate::job::Job;
use crate::late::{self, Lateness};

/// The computation of the job, which is the command of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Application {
    /// Particles.
    Run,
    /// Fields on a grid.
    Stencil,
    /// A flow.
    Lbm,
}

impl Application {
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// One line of the table before its outcome is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) command: Application,
    pub(crate) fault: Fault,
    pub(crate) backend: Backend,
    pub(crate) ranks: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, fault, backend, ranks } = self;
        write!(f, "{},{},{},{ranks}", command.name(), fault.name(), backend.name())
    }
}

/// A complete line of the table.
pub(crate) struct Row {
    case: Case,
    pub(crate) ended_s: f64,
    pub(crate) exit: String,
    pub(crate) files: String,
    verdict: Verdict,
}

enum Verdict {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, ended_s, exit, files, verdict } = self;
        let verdict = match verdict {
            Verdict::Passed => "ok".to_owned(),
            Verdict::Failed(why) => format!("FAILED: {}", why.replace(',', ";").replace('\n', " | ")),
            Verdict::Skipped(why) => format!("skipped: {why}"),
        };
        write!(f, "{case},{ended_s:.1},{exit},{files},{verdict}")
    }
}

impl Row {
    pub(crate) fn has_passed(&self) -> bool {
        matches!(self.verdict, Verdict::Passed)
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.verdict, Verdict::Failed(_))
    }

    pub(crate) fn is_skipped(&self) -> bool {
        matches!(self.verdict, Verdict::Skipped(_))
    }
}

impl Case {
    /// Runs the case to its end.
    pub(crate) fn play(self) -> Row {
        let mut row = Row {
            case: self,
            ended_s: 0.0,
            exit: String::new(),
            files: String::new(),
            verdict: Verdict::Passed,
        };
        // Even root may lack this right in a container.
        if self.fault.surroundings().is_some() && !can_mount() {
            row.verdict = Verdict::Skipped("needs root; to mount a small disk");
            return row;
        }
        let begun = Instant::now();
        let played = match self.lateness() {
            Some(lateness) => {
                row.files = "same particles".to_owned();
                late::play(lateness, self.ranks)
            }
            None => Job::start(self).and_then(|mut job| {
                let judged = job.suffer().and_then(|before| job.judge(before, &mut row));
                judged.map_err(|why| format!("{why} {}", job.said().trim()))
            }),
        };
        if row.exit.is_empty() {
            row.ended_s = begun.elapsed().as_secs_f64();
        }
        if let Err(why) = played {
            row.verdict = Verdict::Failed(why);
        }
        row
    }

    /// Returns how threads are delayed, because no signal can stop a single thread.
    fn lateness(self) -> Option<Lateness> {
        if self.fault == Fault::LateMessages {
            Some(Lateness::Messages)
        } else {
            (self.fault == Fault::Slow && self.backend == Backend::Local).then_some(Lateness::Rank)
        }
    }
}

fn can_mount() -> bool {
    let mut mount = Command::new("unshare");
    let tried = mount.args(["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output();
    tried.is_ok_and(|tried| tried.status.success())
}
