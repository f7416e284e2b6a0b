//! Faults, and what docs/reliability.md promises for each.

use md_comm::Backend;
use strum::{IntoStaticStr, VariantArray};

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Fault {
    /// A rank is killed.
    KillRank,
    /// A rank aborts, as the standard library does when there is no memory.
    AbortRank,
    /// The launcher is killed.
    KillLauncher,
    #[strum(serialize = "sigterm")]
    Terminate,
    #[strum(serialize = "sigint")]
    Interrupt,
    #[strum(serialize = "sighup")]
    HangUp,
    /// A rank is stopped for less than the watchdog's limit.
    StopShort,
    /// A rank is stopped permanently.
    StopLong,
    /// All processes are stopped for longer than the watchdog's limit.
    StopAll,
    /// A rank runs for a hundredth of the time.
    #[strum(serialize = "slow-rank")]
    Slow,
    /// Another program takes the core of a rank for longer than the watchdog's limit.
    NoCores,
    /// Messages arrive late and in another order.
    LateMessages,
    /// The time of day jumps forward and back.
    ClockJump,
    /// The disk is too small.
    FullDisk,
    /// Shared memory is too small.
    FullShm,
    /// The folder is not writable.
    ReadOnly,
    /// The output folder is removed during the run.
    #[strum(serialize = "folder-removed")]
    Removed,
    /// A rank has a limit on its memory that is below what it needs.
    NoMemory,
}

/// Promise about the end of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The job continues, and writes more rows.
    GoesOn,
    /// The job ends with this exit code, and the error stream contains this text.
    Ends(i32, &'static str),
    /// The job is ended by this signal.
    IsKilled(i32),
    /// The job ends with any exit code except 0, or by a signal, depending on the launcher.
    Fails,
    /// The job ends successfully, and its summary contains this text.
    Completes(&'static str),
}

/// Promise about the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Everything that was written can be read: rows, frames, and the summary of a run that a
    /// signal ended.
    Complete,
    /// There are rows and frames, including all that existed when the fault occurred. The last
    /// frame may be incomplete.
    Kept,
    /// There are rows.
    Rows,
    /// There may be no rows, but those that exist can be read.
    Readable,
    /// There is no folder that could contain files.
    None,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether the fault is possible on this backend. With `local` the ranks are threads:
    /// there is one process, no launcher, and every exchange can be delayed.
    pub(crate) fn concerns(self, backend: Backend) -> bool {
        if backend == Backend::Local {
            !matches!(self, Self::KillLauncher | Self::StopLong | Self::NoCores | Self::FullShm)
        } else {
            self != Self::LateMessages
        }
    }

    /// Returns whether the outcome depends on the transport: on which rank waits for which, and on
    /// the memory it uses.
    pub(crate) fn depends_on_backend(self) -> bool {
        matches!(self, Self::KillRank | Self::StopLong | Self::FullShm)
    }

    pub(crate) fn promise(self, backend: Backend) -> Promise {
        let is_process = backend == Backend::Local;
        match self {
            Self::StopShort
            | Self::StopAll
            | Self::Slow
            | Self::NoCores
            | Self::LateMessages
            | Self::ClockJump => Promise::GoesOn,
            Self::StopLong => Promise::Ends(3, "waited"),
            Self::FullDisk => Promise::Ends(1, "No space left on device"),
            Self::ReadOnly => Promise::Ends(2, "Read-only file system"),
            Self::KillRank if is_process => Promise::IsKilled(9),
            Self::HangUp if is_process => Promise::Ends(129, "ended by SIGHUP after"),
            Self::Interrupt if is_process => Promise::Ends(130, "ended by SIGINT after"),
            Self::Terminate if is_process => Promise::Ends(143, "ended by SIGTERM after"),
            Self::Removed if is_process => Promise::Ends(1, "`out` was removed or replaced during the run"),
            Self::KillRank
            | Self::KillLauncher
            | Self::Terminate
            | Self::Interrupt
            | Self::HangUp
            | Self::Removed => Promise::Fails,
            Self::AbortRank => Promise::Ends(1, ""),
            Self::NoMemory => Promise::Ends(1, "memory"),
            Self::FullShm if has_windows(backend) => Promise::Ends(1, "bytes, but /dev/shm has "),
            Self::FullShm if backend == Backend::Auto => Promise::Completes("bytes, but /dev/shm has "),
            Self::FullShm => Promise::Completes(""),
        }
    }

    pub(crate) fn files(self) -> Files {
        match self {
            Self::ReadOnly | Self::Removed => Files::None,
            Self::FullShm | Self::NoMemory => Files::Readable,
            Self::FullDisk | Self::NoCores => Files::Rows,
            Self::KillRank | Self::AbortRank | Self::KillLauncher | Self::HangUp | Self::StopLong => {
                Files::Kept
            }
            // Jobs that continue are also ended by a signal.
            Self::Terminate
            | Self::Interrupt
            | Self::StopShort
            | Self::StopAll
            | Self::Slow
            | Self::LateMessages
            | Self::ClockJump => Files::Complete,
        }
    }

    /// Returns the script that a shell runs before the program starts, in a separate mount
    /// namespace. `"$@"` is the job.
    pub(crate) fn surroundings(self) -> Option<&'static str> {
        match self {
            // The output is copied, because the small disk disappears when the shell ends.
            Self::FullDisk => Some(
                "mkdir out kept && mount -t tmpfs -o size=20k tmpfs out && { \"$@\"; code=$?; \
                 cp out/thermo.csv kept; umount out; cp kept/thermo.csv out; exit $code; }",
            ),
            Self::FullShm => Some("mount -t tmpfs -o size=64k tmpfs /dev/shm && exec \"$@\""),
            Self::ReadOnly => Some("mkdir out && mount -t tmpfs -o ro,size=64k tmpfs out && exec \"$@\""),
            Self::KillRank
            | Self::AbortRank
            | Self::KillLauncher
            | Self::Terminate
            | Self::Interrupt
            | Self::HangUp
            | Self::StopShort
            | Self::StopLong
            | Self::StopAll
            | Self::Slow
            | Self::NoCores
            | Self::LateMessages
            | Self::ClockJump
            | Self::Removed
            | Self::NoMemory => None,
        }
    }
}

fn has_windows(backend: Backend) -> bool {
    matches!(backend, Backend::Shm | Backend::Hybrid) || backend.name().starts_with("rma-")
}
