//! What may happen, and what is promised then.

use md_comm::Backend;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A rank is killed.
    KillRank,
    /// The launcher is killed.
    KillLauncher,
    Terminate,
    Interrupt,
    HangUp,
    /// A rank is stopped for less than the watchdog's limit.
    StopShort,
    /// A rank is stopped for ever.
    StopLong,
    /// All processes are stopped for longer than the watchdog's limit.
    StopAll,
    /// A rank runs a hundredth of the time.
    Slow,
    /// The disk is too small.
    FullDisk,
    /// Shared memory is too small.
    FullShm,
    /// The folder cannot be written to.
    ReadOnly,
    /// The output folder is removed during the run.
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
    /// It ends with any code but 0, or by a signal.
    Fails,
    /// It ends by itself, well or not.
    EndsSomehow,
}

/// What is promised of the rows on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// There are rows, and those that were there when the fault came still are.
    Kept,
    /// There may be none.
    Any,
}

impl Fault {
    pub(crate) const ALL: [Self; 14] = [
        Self::KillRank,
        Self::KillLauncher,
        Self::Terminate,
        Self::Interrupt,
        Self::HangUp,
        Self::StopShort,
        Self::StopLong,
        Self::StopAll,
        Self::Slow,
        Self::FullDisk,
        Self::FullShm,
        Self::ReadOnly,
        Self::Removed,
        Self::NoMemory,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KillRank => "kill-rank",
            Self::KillLauncher => "kill-launcher",
            Self::Terminate => "sigterm",
            Self::Interrupt => "sigint",
            Self::HangUp => "sighup",
            Self::StopShort => "stop-short",
            Self::StopLong => "stop-long",
            Self::StopAll => "stop-all",
            Self::Slow => "slow-rank",
            Self::FullDisk => "full-disk",
            Self::FullShm => "full-shm",
            Self::ReadOnly => "read-only",
            Self::Removed => "folder-removed",
            Self::NoMemory => "no-memory",
        }
    }

    /// With `local` the ranks are threads: there is one process, and no launcher.
    pub(crate) fn concerns(self, backend: Backend) -> bool {
        backend != Backend::Local || !matches!(self, Self::KillLauncher | Self::StopLong | Self::FullShm)
    }

    /// Whether the end comes from the transport: who waits for whom, and in which memory.
    pub(crate) fn depends_on_backend(self) -> bool {
        matches!(self, Self::KillRank | Self::StopLong | Self::FullShm)
    }

    pub(crate) fn promise(self) -> Promise {
        match self {
            Self::StopShort | Self::StopAll | Self::Slow => Promise::GoesOn,
            Self::StopLong => Promise::Ends(3, "waited"),
            Self::FullDisk => Promise::Ends(1, "No space left on device"),
            Self::ReadOnly => Promise::Ends(2, "Read-only file system"),
            Self::KillRank
            | Self::KillLauncher
            | Self::Terminate
            | Self::Interrupt
            | Self::HangUp
            | Self::Removed
            | Self::NoMemory => Promise::Fails,
            Self::FullShm => Promise::EndsSomehow,
        }
    }

    pub(crate) fn files(self) -> Files {
        match self {
            Self::FullShm | Self::ReadOnly | Self::Removed | Self::NoMemory => Files::Any,
            _ => Files::Kept,
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
            _ => None,
        }
    }
}
