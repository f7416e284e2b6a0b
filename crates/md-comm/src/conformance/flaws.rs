//! The flaws that a check records.

use std::cell::RefCell;

/// Flaws described per check and rank; more would repeat the same.
const MOST_NOTED: usize = 4;

/// The flaws one check has seen on this rank.
#[derive(Debug, Default)]
pub struct Flaws(RefCell<Vec<String>>);

impl Flaws {
    /// Records a flaw.
    pub(super) fn note(&self, flaw: String) {
        let mut noted = self.0.borrow_mut();
        if noted.len() < MOST_NOTED {
            noted.push(flaw);
        }
    }

    /// Records a flaw unless `holds`.
    pub(super) fn expect(&self, holds: bool, flaw: impl FnOnce() -> String) {
        if !holds {
            self.note(flaw());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn describe(&self, rank: usize) -> String {
        self.0.borrow().iter().map(|flaw| format!("rank {rank}: {flaw}; ")).collect()
    }
}
