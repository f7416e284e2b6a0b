//! Commands after a run. Settings that a scenario has once for all of its stages keep the values of
//! the first run; the other settings of a run are those made before it.

use super::Script;
use super::analyses::Analyses;
use super::motion::Motion;
use super::outcome::Taken;
use super::pairs::Pairs;
use super::system::System;

/// Commands that act on the particles instead of setting something: after a run, they have another
/// effect even with the same words.
const DEEDS: [&str; 5] = ["create_atoms", "create_box", "read_data", "replicate", "velocity"];

/// Settings shared by all runs so far; an error states what is missing.
type Common = [Result<String, String>; 3];

type Settings = (System, Pairs, Motion, Analyses, usize);

impl Script<'_> {
    /// Carries out a command if it does not change the runs before it. A command that is not taken
    /// has no effect on the state.
    pub(super) fn carry_out_in_time(&mut self, command: &str, words: &[&str]) -> Taken {
        let is_late = self.motion.has_run();
        if is_late && DEEDS.contains(&command) {
            return Err(
                "it comes after a run: here particles and velocities are made before the first one, and \
                        every other goes on with those of the one before"
                    .to_owned(),
            );
        }
        let can_change = is_late && command != "run";
        let (common, before) = (can_change.then(|| self.common()), self.settings());
        let mut taken = self.carry_out(command, words);
        let (system, pairs, ..) = &before;
        let has_others = pairs.masses != self.pairs.masses || system.atoms() != self.system.atoms();
        if !is_late && system.is_given_velocities() && has_others && taken.is_ok() {
            taken = Err("it comes after `velocity`: here velocities are drawn for all particles, with their last masses"
                .to_owned());
        }
        let changes = common.is_some_and(|common| self.common() != common);
        if changes && taken.is_ok() {
            taken = Err("it comes after a run, and would change that, too: here all runs have the same, that of before"
                .to_owned());
        }
        if taken.is_err() {
            self.return_to(before);
        }
        if let ("pair_style", [style, ..], Err(_)) = (command, words, &taken) {
            self.pairs.pass_over(style, is_late);
        }
        taken
    }

    /// Returns the settings, and the number of runs so far.
    fn settings(&mut self) -> Settings {
        (
            self.system.clone(),
            self.pairs.clone(),
            self.motion.settings(),
            self.analyses.clone(),
            self.motion.runs(),
        )
    }

    fn return_to(&mut self, (system, pairs, motion, analyses, runs): Settings) {
        (self.system, self.pairs, self.analyses) = (system, pairs, analyses);
        self.motion.return_to(motion, runs);
    }

    fn common(&self) -> Common {
        [self.system.table(), self.pairs.tables(self.types()), Ok(self.motion.common())]
    }

    /// Carries out `clear`, which begins another simulation.
    ///
    /// # Errors
    /// There is a simulation already.
    pub(super) fn clear(&mut self) -> Result<(), String> {
        if self.motion.has_run() || self.system.box_region.is_some() || self.system.file.is_some() {
            return Err("a scenario is one simulation: split the script there, and repeat the variables that the second part needs"
                .to_owned());
        }
        self.forget();
        Ok(())
    }
}
