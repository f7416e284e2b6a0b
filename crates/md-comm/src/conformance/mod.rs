//! The suite that every transport must pass. It uses only [`World`], [`crate::Exchange`] and
//! [`crate::UnexpectedMessages`].
//!
//! Structure: a list of named checks, each a function that plays exchanges and records flaws. Every
//! payload is a function of (context, sender, receiver, channel, sequence number, length), so that
//! a receiver can compute each byte it must get, and stale, swapped, truncated or foreign messages
//! are all detected.
//! Advantage: one specification for all transports, in code.
//! Disadvantage: it samples interleavings (seeded skew); it cannot enumerate them.
//!
//! A flaw in a payload is recorded and the exchange goes on, so that all ranks stay in step and the
//! report is complete. An unexpected [`CommError`] ends the suite; the caller must then call
//! [`World::abort`].

mod collectives;
mod fault;
#[cfg(test)]
mod faulty;
mod flaws;
mod growth;
mod misuse;
mod order;
mod overflow;
mod payload;
mod player;
mod random;
mod script;
mod shared_file;
mod topologies;
mod topology;
mod unexpected;
mod unpacked;

use crate::{CommError, World};
#[cfg(test)]
pub(crate) use fault::Faulty;
pub use fault::{Call, Delivery, Fault, Then};
pub use flaws::Flaws;
#[cfg(any(feature = "mpi", test))]
pub(crate) use random::Random;
pub use unexpected::HeldBack;

/// Function that runs a check on every rank.
type Run = fn(&dyn World, &Flaws) -> Result<(), CommError>;

/// One named check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The statement that holds if it passes.
    pub name: &'static str,
    run: Run,
}

impl Check {
    const fn new(name: &'static str, run: Run) -> Self {
        Self { name, run }
    }
}

/// A check that did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the check.
    pub check: &'static str,
    /// The flaws seen, with their ranks.
    pub what: String,
}

/// Outcome of the suite on one rank. All ranks agree on which checks failed; rank 0 has the flaws
/// of all ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Checks that passed on all ranks.
    pub passed: Vec<&'static str>,
    /// Checks that failed on some rank.
    pub failed: Vec<Failure>,
    /// The error that ended the suite early. The ranks are out of step: call [`World::abort`].
    pub broken: Option<CommError>,
}

/// Returns all checks, in the order in which they run.
pub fn checks() -> impl Iterator<Item = Check> {
    let all = [
        topologies::CHECKS,
        order::CHECKS,
        growth::CHECKS,
        overflow::CHECKS,
        misuse::CHECKS,
        collectives::CHECKS,
        unexpected::CHECKS,
        shared_file::CHECKS,
        unpacked::CHECKS,
    ];
    all.into_iter().flatten().copied()
}

/// Runs all checks. *Collective.*
pub fn run(world: &dyn World) -> Report {
    let mut report = Report::default();
    for check in checks() {
        match judge(world, check) {
            Ok(None) => report.passed.push(check.name),
            Ok(Some(what)) => report.failed.push(Failure { check: check.name, what }),
            Err(error) => {
                let what = format!("rank {}: {error}", world.rank());
                report.failed.push(Failure { check: check.name, what });
                report.broken = Some(error);
                break;
            }
        }
    }
    report
}

/// Runs one check and shares its result. `Some` describes the flaws.
fn judge(world: &dyn World, check: Check) -> Result<Option<String>, CommError> {
    let flaws = Flaws::default();
    (check.run)(world, &flaws)?;
    let flawed = world.gather_all(&[u8::from(!flaws.is_empty())])?;
    if flawed.iter().all(|&flawed| flawed == 0) {
        return Ok(None);
    }
    // The other ranks keep their own flaws: rank 0 may end before they receive the result.
    let own = flaws.describe(world.rank());
    let described = world.gather(0, own.as_bytes())?;
    let text: Vec<_> = described.iter().map(|text| String::from_utf8_lossy(text)).collect();
    Ok(Some(if text.is_empty() { format!("{own}for others see rank 0") } else { text.concat() }))
}
