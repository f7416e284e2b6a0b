//! What ends a run before its last step: signals and `--wall-time`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use md_comm::{CommError, World};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;

use crate::error::RUN_FAILED;

/// Ctrl-C, what launchers and batch systems send, and a closed terminal.
const SIGNALS: [Signal; 6] = [
    Signal::new(SIGINT, "SIGINT", Second::EndsAtOnce),
    Signal::new(SIGTERM, "SIGTERM", Second::EndsAtOnce),
    Signal::new(SIGHUP, "SIGHUP", Second::ChangesNothing),
    Signal::new(SIGUSR1, "SIGUSR1", Second::ChangesNothing),
    Signal::new(SIGUSR2, "SIGUSR2", Second::ChangesNothing),
    Signal::new(SIGXCPU, "SIGXCPU", Second::ChangesNothing),
];

/// A signal that asks a run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    number: i32,
    /// As the system calls it.
    pub name: &'static str,
    /// 128 and its number, as shells have it.
    pub exit_code: u8,
    second: Second,
}

/// What a second signal of the same kind does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    /// It is the wish not to wait for the end of the step.
    EndsAtOnce,
    /// It is a warning that is repeated: SIGXCPU comes every second, SIGHUP from the terminal and from the shell, and
    /// SIGUSR1 and SIGUSR2 may be passed on by a launcher and sent by the batch system.
    ChangesNothing,
}

impl Signal {
    const fn new(number: i32, name: &'static str, second: Second) -> Self {
        Self { number, name, exit_code: 128 + number as u8, second }
    }
}

/// Why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All steps are done.
    AsPlanned,
    /// What was sought has been found before, or with the last step.
    Converged,
    /// `--wall-time` was used up.
    WallTime,
    /// The box could not follow the pressure.
    Box,
    /// It was asked to.
    Signal(Signal),
}

impl Ended {
    /// In summary.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsPlanned => "steps",
            Self::Converged => "converged",
            Self::WallTime => "wall-time",
            Self::Box => "box",
            Self::Signal(signal) => signal.name,
        }
    }
}

/// What may end a run early; by default, nothing.
#[derive(Debug, Default)]
pub struct EarlyEnd {
    /// Where signals are listened to: from [`EarlyEnd::listen`] on, whether each of [`SIGNALS`] has come.
    came: Option<OnceLock<[Arc<AtomicBool>; SIGNALS.len()]>>,
    deadline: Option<Instant>,
}

impl EarlyEnd {
    /// Signals, and a wall time that counts from now on.
    pub fn new(wall_time: Option<Duration>) -> Self {
        let deadline = wall_time.and_then(|limit| Instant::now().checked_add(limit));
        Self { came: Some(OnceLock::new()), deadline }
    }

    /// From now on, the first signal of each kind only asks for the end; a second SIGINT or SIGTERM ends the process at
    /// once. Until then, and where the system does not let us listen, so does the first of any kind. One that whoever
    /// started us has ignored stays ignored. Ranks that are threads of a process share this.
    pub fn listen(&self) {
        if let Some(came) = &self.came {
            came.get_or_init(|| SIGNALS.each_ref().map(listen_for));
        }
    }

    /// Whether there is a reason to end, on this rank.
    pub fn is_wanted(&self) -> bool {
        self.came().contains(&true) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The signal that has come to this process.
    pub fn signal(&self) -> Option<Signal> {
        SIGNALS.into_iter().zip(self.came()).find_map(|(signal, came)| came.then_some(signal))
    }

    fn came(&self) -> [bool; SIGNALS.len()] {
        let came = self.came.as_ref().and_then(OnceLock::get);
        // Nothing else is published with these flags.
        came.map_or_else(Default::default, |came| came.each_ref().map(|came| came.load(Ordering::Relaxed)))
    }

    /// Why a run that ended early has done so, the same on all ranks: a signal before the wall time. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn reason(&self, world: &dyn World) -> Result<Ended, CommError> {
        let mut came = self.came().map(|came| f64::from(u8::from(came)));
        world.max(&mut came)?;
        let signal = SIGNALS.into_iter().zip(came).find(|(_, came)| *came > 0.0);
        Ok(signal.map_or(Ended::WallTime, |(signal, _)| Ended::Signal(signal)))
    }
}

/// From now on, what aborts ends this process with an exit code, as a failed run; so its launcher ends all ranks with that code. The
/// standard library aborts where there is no memory for a small block. And a file that would grow beyond the limit on the size of files
/// is an error of the write, not a signal that ends the process without a word. To be called before MPI starts: libraries leave a
/// handler alone that is there already, and otherwise have one that ends by the signal.
pub fn fail_in_order() {
    let always = Arc::new(AtomicBool::new(true));
    // Where the system does not let us, the signals end the process.
    let _ = flag::register_conditional_shutdown(SIGABRT, RUN_FAILED.into(), always);
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// As under `nohup`, or in a script's `&`; where the system does not tell, not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// A flag that a signal sets.
fn listen_for(signal: &Signal) -> Arc<AtomicBool> {
    let came = Arc::new(AtomicBool::new(false));
    if is_ignored(signal.number) {
        return came;
    }
    let listens = || {
        // In this order: the first one finds the flag unset, and sets it.
        if signal.second == Second::EndsAtOnce {
            flag::register_conditional_shutdown(signal.number, signal.exit_code.into(), Arc::clone(&came))?;
        }
        flag::register(signal.number, Arc::clone(&came))
    };
    if listens().is_ok() {
        return came;
    }
    // A handler cannot be taken back. If there is one, it must end the process at the first signal, as without us.
    came.store(true, Ordering::Relaxed);
    Arc::default()
}
