//! Commands behind a run. What a scenario has once, for all of its stages, stays as the first of them found it: every run sees only
//! what came before it.

use super::Script;
use super::analyses::Analyses;
use super::motion::Motion;
use super::outcome::Taken;
use super::pairs::Pairs;
use super::system::System;

/// What is done to the particles, rather than set: it has another effect behind a run, even with the same words.
const DEEDS: [&str; 5] = ["create_atoms", "create_box", "read_data", "replicate", "velocity"];

/// What all runs so far have in common; where it is not complete, what is missing.
type Common = [Result<String, String>; 3];

impl Script<'_> {
    /// Carries out a command as far as the runs before it do not change by it. One that is not taken leaves nothing behind.
    pub(super) fn carry_out_in_time(&mut self, command: &str, words: &[&str]) -> Taken {
        let is_late = self.motion.has_run();
        if is_late && DEEDS.contains(&command) {
            return Err(
                "it comes after a run: here particles and velocities are made before the first one, and \
                        every other goes on with those of the one before"
                    .to_owned(),
            );
        }
        let (common, before) = (is_late.then(|| self.common()), self.settings());
        let taken = self.carry_out(command, words);
        let changes = common.is_some_and(|common| self.common() != common);
        if changes || taken.is_err() {
            (self.system, self.pairs, self.motion, self.analyses) = before;
        }
        if changes && taken.is_ok() {
            return Err("it comes after a run, and would change that, too: here all runs have the same, that of before"
                .to_owned());
        }
        taken
    }

    fn settings(&self) -> (System, Pairs, Motion, Analyses) {
        (self.system.clone(), self.pairs.clone(), self.motion.clone(), self.analyses.clone())
    }

    fn common(&self) -> Common {
        [self.system.table(), self.pairs.tables(self.types()), Ok(self.motion.common())]
    }

    /// `clear`, with which another simulation begins.
    ///
    /// # Errors
    /// There is one already.
    pub(super) fn clear(&mut self) -> Result<(), String> {
        if self.motion.has_run() || self.system.box_block.is_some() || self.system.file.is_some() {
            return Err("a scenario is one simulation: split the script there, and repeat the variables that the second part needs"
                .to_owned());
        }
        self.forget();
        Ok(())
    }
}
