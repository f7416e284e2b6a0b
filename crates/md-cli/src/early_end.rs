//! Reasons to end a run before its last step: signals and `--wall-time`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use md_comm::{CommError, World};
use md_scenario::failure::RUN_FAILED;
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::flag;

/// Ctrl-C, the signals of launchers and batch systems, and a closed terminal.
const SIGNALS: [Signal; 6] = [
    Signal::new(SIGINT, "SIGINT", Second::EndsAtOnce),
    Signal::new(SIGTERM, "SIGTERM", Second::EndsAtOnce),
    Signal::new(SIGHUP, "SIGHUP", Second::ChangesNothing),
    Signal::new(SIGUSR1, "SIGUSR1", Second::ChangesNothing),
    Signal::new(SIGUSR2, "SIGUSR2", Second::ChangesNothing),
    Signal::new(SIGXCPU, "SIGXCPU", Second::ChangesNothing),
];

/// A signal that requests the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    number: i32,
    /// Name given by the system.
    pub name: &'static str,
    /// 128 plus its number, as in shells.
    pub exit_code: u8,
    second: Second,
}

/// Effect of a second signal of the same kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Second {
    /// Ends the process: the user does not wait for the end of the step.
    EndsAtOnce,
    /// None, as the signal is a repeated warning: SIGXCPU comes every second, SIGHUP from the
    /// terminal and from the shell, and SIGUSR1 and SIGUSR2 may be passed on by a launcher and sent
    /// by the batch system.
    ChangesNothing,
}

impl Signal {
    const fn new(number: i32, name: &'static str, second: Second) -> Self {
        Self { number, name, exit_code: 128 + number as u8, second }
    }
}

/// Reason why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All steps are done.
    AsPlanned,
    /// The run has converged, before or with the last step.
    Converged,
    /// `--wall-time` was used up.
    WallTime,
    /// The box could not follow the pressure.
    Box,
    /// A signal requested it.
    Signal(Signal),
}

impl Ended {
    /// Returns the name in summary.json.
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

/// Reasons that may end a run early; by default none.
#[derive(Debug, Default)]
pub struct EarlyEnd {
    /// Whether each of [`SIGNALS`] has come since [`EarlyEnd::listen`]; `None`: not handled.
    came: Option<OnceLock<[Arc<AtomicBool>; SIGNALS.len()]>>,
    deadline: Option<Instant>,
}

impl EarlyEnd {
    /// Returns an early end by signals and by a wall time that counts from now on.
    pub fn new(wall_time: Option<Duration>) -> Self {
        let deadline = wall_time.and_then(|limit| Instant::now().checked_add(limit));
        Self { came: Some(OnceLock::new()), deadline }
    }

    /// Handles signals from now on: the first of each kind only requests the end; a second SIGINT
    /// or SIGTERM ends the process at once. Before this call, and where the system does not allow
    /// handlers, the first of any kind ends the process. A signal that the parent process has
    /// ignored stays ignored. Ranks that are threads of one process share the handlers.
    pub fn listen(&self) {
        if let Some(came) = &self.came {
            came.get_or_init(|| SIGNALS.each_ref().map(listen_for));
        }
    }

    /// Returns whether there is a reason to end, on this rank.
    pub fn is_wanted(&self) -> bool {
        self.came().contains(&true) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the signal that has come to this process.
    pub fn signal(&self) -> Option<Signal> {
        SIGNALS.into_iter().zip(self.came()).find_map(|(signal, came)| came.then_some(signal))
    }

    fn came(&self) -> [bool; SIGNALS.len()] {
        let came = self.came.as_ref().and_then(OnceLock::get);
        // Relaxed: no other data is published with these flags.
        came.map_or_else(Default::default, |came| came.each_ref().map(|came| came.load(Ordering::Relaxed)))
    }

    /// Returns why a run ended early, the same on all ranks: a signal has priority over the wall
    /// time. *Collective.*
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

/// From now on, an abort ends this process with the exit code of a failed run, so that its launcher
/// ends all ranks with that code. The standard library aborts where there is no memory for a small
/// block. A file that would grow beyond the limit on the size of files becomes an error of the
/// write, not a signal that ends the process without a message. To be called before MPI starts:
/// libraries keep an existing handler, and otherwise install one that ends the process by the
/// signal.
pub fn fail_in_order() {
    let always = Arc::new(AtomicBool::new(true));
    // Where the system does not allow handlers, the signals end the process.
    let _ = flag::register_conditional_shutdown(SIGABRT, RUN_FAILED.into(), always);
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Returns whether a signal is ignored, as under `nohup` or in a script's `&`; `false` where the
/// system does not report it.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Returns a flag that a signal sets.
fn listen_for(signal: &Signal) -> Arc<AtomicBool> {
    let came = Arc::new(AtomicBool::new(false));
    if is_ignored(signal.number) {
        return came;
    }
    let listens = || {
        // The order matters: at the first signal the shutdown finds the flag unset, and then the
        // flag is set.
        if signal.second == Second::EndsAtOnce {
            flag::register_conditional_shutdown(signal.number, signal.exit_code.into(), Arc::clone(&came))?;
        }
        flag::register(signal.number, Arc::clone(&came))
    };
    if listens().is_ok() {
        return came;
    }
    // A handler cannot be removed. If there is one, it must end the process at the first signal, as
    // it would without handlers.
    came.store(true, Ordering::Relaxed);
    Arc::default()
}
