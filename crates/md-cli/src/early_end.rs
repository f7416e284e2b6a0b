//! What ends a run before its last step: signals and `--wall-time`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use md_comm::{CommError, World};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Ctrl-C, and what launchers and batch systems send.
const SIGNALS: [Signal; 2] = [
    Signal { number: SIGINT, name: "SIGINT", exit_code: 130 },
    Signal { number: SIGTERM, name: "SIGTERM", exit_code: 143 },
];

/// A signal that asks a run to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    number: i32,
    /// As the system calls it.
    pub name: &'static str,
    /// 128 and its number, as shells have it.
    pub exit_code: u8,
}

/// Why a run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All steps are done.
    AsPlanned,
    /// `--wall-time` was used up.
    WallTime,
    /// It was asked to.
    Signal(Signal),
}

impl Ended {
    /// In summary.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsPlanned => "steps",
            Self::WallTime => "wall-time",
            Self::Signal(signal) => signal.name,
        }
    }
}

/// Listens for what may end a run early; by default, for nothing.
#[derive(Debug, Default)]
pub struct EarlyEnd {
    /// Whether each of [`SIGNALS`] has come.
    came: [Arc<AtomicBool>; SIGNALS.len()],
    deadline: Option<Instant>,
}

impl EarlyEnd {
    /// From now on, the first signal of each kind only asks for the end; a second one ends the process at once. Where the
    /// system does not let us listen, so does the first.
    pub fn listen(wall_time: Option<Duration>) -> Self {
        let came = SIGNALS.map(|_| Arc::new(AtomicBool::new(false)));
        for (signal, came) in SIGNALS.iter().zip(&came) {
            // In this order: the first one finds the flag unset, and sets it.
            flag::register_conditional_shutdown(signal.number, signal.exit_code.into(), Arc::clone(came))
                .and_then(|_| flag::register(signal.number, Arc::clone(came)))
                .ok();
        }
        let deadline = wall_time.and_then(|limit| Instant::now().checked_add(limit));
        Self { came, deadline }
    }

    /// Whether there is a reason to end, on this rank.
    pub fn is_wanted(&self) -> bool {
        // Nothing else is published with these flags.
        self.came.iter().any(|came| came.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Why a run that ended early has done so, the same on all ranks: a signal before the wall time. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn reason(&self, world: &dyn World) -> Result<Ended, CommError> {
        let mut came = self.came.each_ref().map(|came| f64::from(u8::from(came.load(Ordering::Relaxed))));
        world.max(&mut came)?;
        let signal = SIGNALS.into_iter().zip(came).find(|(_, came)| *came > 0.0);
        Ok(signal.map_or(Ended::WallTime, |(signal, _)| Ended::Signal(signal)))
    }
}
