//! What may happen, and what is promised then.

use md_comm::Backend;
use strum::{IntoStaticStr, VariantArray};

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Fault {
    /// A rank is killed.
    KillRank,
    /// A rank aborts, as the standard library does where there is no memory.
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
    /// A rank is stopped for ever.
    StopLong,
    /// All processes are stopped for longer than the watchdog's limit.
    StopAll,
    /// A rank runs a hundredth of the time.
    #[strum(serialize = "slow-rank")]
    Slow,
    /// Messages are late and come in another order.
    LateMessages,
    /// The time of day jumps ahead and back.
    ClockJump,
    /// The disk is too small.
    FullDisk,
    /// Shared memory is too small.
    FullShm,
    /// The folder cannot be written to.
    ReadOnly,
    /// The output folder is removed during the run.
    #[strum(serialize = "folder-removed")]
    Removed,
    /// A rank may have less memory than it needs.
    NoMemory,
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// The job goes on, and more rows come.
    GoesOn,
    /// It ends with this exit code, and says this on the error stream.
    Ends(i32, &'static str),
    /// This signal ends it.
    IsKilled(i32),
    /// It ends with any code but 0, or by a signal: what the launcher makes of it.
    Fails,
    /// It ends well, and its summary says this.
    Completes(&'static str),
}

/// What is promised of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// All that was written can be read: rows, frames, and the summary of a run that ended by a signal.
    Complete,
    /// There are rows and frames, and those that were there when the fault came still are; the last may be cut.
    Kept,
    /// There are rows.
    Rows,
    /// There may be none, but those that are there can be read.
    Readable,
    /// There is no folder to have any.
    None,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// With `local` the ranks are threads: there is one process, no launcher, and every exchange can be held up.
    pub(crate) fn concerns(self, backend: Backend) -> bool {
        if backend == Backend::Local {
            !matches!(self, Self::KillLauncher | Self::StopLong | Self::FullShm)
        } else {
            self != Self::LateMessages
        }
    }

    /// Whether the end comes from the transport: who waits for whom, and in which memory.
    pub(crate) fn depends_on_backend(self) -> bool {
        matches!(self, Self::KillRank | Self::StopLong | Self::FullShm)
    }

    pub(crate) fn promise(self, backend: Backend) -> Promise {
        let is_process = backend == Backend::Local;
        match self {
            Self::StopShort | Self::StopAll | Self::Slow | Self::LateMessages | Self::ClockJump => {
                Promise::GoesOn
            }
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
            Self::FullDisk => Files::Rows,
            Self::KillRank | Self::AbortRank | Self::KillLauncher | Self::HangUp | Self::StopLong => {
                Files::Kept
            }
            // Those that go on are ended by a signal, too.
            Self::Terminate
            | Self::Interrupt
            | Self::StopShort
            | Self::StopAll
            | Self::Slow
            | Self::LateMessages
            | Self::ClockJump => Files::Complete,
        }
    }

    /// What a shell does before the program starts, in a mount namespace of its own; `"$@"` is the job.
    pub(crate) fn surroundings(self) -> Option<&'static str> {
        match self {
            // What was written is kept: the small disk is gone with the shell.
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
