//! `dump`, `dump_modify` and `undump`: the runs that have frames, and the steps between frames.

use super::dump::Dump;
use super::numbers::whole;
use super::outcome::{Outcome, Taken};

/// The trajectory of all runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Frames {
    /// The dump with the id of its command.
    dump: Option<(String, Dump)>,
    /// Steps between two frames in the next run.
    every: Option<u64>,
}

impl Frames {
    /// Carries out `dump`, with its `difference`; `is_late`: after a run.
    pub(super) fn begin(&mut self, id: &str, dump: Dump, is_late: bool, difference: Option<String>) -> Taken {
        if self.dump.is_some() && (is_late || self.every.is_some()) {
            return Err("a run has one trajectory, and that is of the first dump".to_owned());
        }
        self.every = Some(dump.every);
        self.dump = Some((id.to_owned(), dump));
        let late = is_late.then(|| "step 0 has a frame too".to_owned());
        let all: Vec<String> = [difference, late].into_iter().flatten().collect();
        Ok(Outcome::differing((!all.is_empty()).then(|| all.join("; "))))
    }

    /// Carries out `dump_modify`.
    pub(super) fn modify(&mut self, id: &str, options: &[&str]) -> Taken {
        self.check(id)?;
        let mut others = false;
        for option in options.chunks(2) {
            match option {
                ["every", every] => self.every = Some(whole(every)?.max(1)),
                _ => others = true,
            }
        }
        Ok(match others {
            true => Outcome::no_effect("`output.trajectory` has the columns and the file"),
            false => Outcome::Same,
        })
    }

    /// Carries out `undump`.
    pub(super) fn end(&mut self, id: &str) -> Taken {
        self.check(id)?;
        self.every = None;
        Ok(Outcome::Same)
    }

    fn check(&self, id: &str) -> Result<(), String> {
        let is_there = self.every.is_some() && self.dump.as_ref().is_some_and(|(own, _)| own == id);
        is_there.then_some(()).ok_or_else(|| "that dump was not taken either".to_owned())
    }

    /// Returns the steps between two frames in the next run, if it has frames.
    pub(super) fn every(&self) -> Option<u64> {
        self.every
    }

    /// Returns the key `trajectory` of `[output]`.
    pub(super) fn key(&self, every: u64) -> String {
        self.dump.as_ref().map_or_else(String::new, |(_, dump)| dump.key(every))
    }
}
