//! Files that an earlier run has left in the directory.

use std::fs;
use std::path::Path;

use md_scenario::known_file::KnownFile;

use super::super::flow::images;
use super::super::outputs::all_outputs;
use super::super::trajectory::is_own_trajectory;
use super::GoingOn;
use crate::checkpoint;
use crate::store::{FileIdentity, OutputDirectory, OutputMark, unfinished_of};
use crate::text_file::read_text;

/// Returns whether a folder contains results of a scenario other than `own`, which another command
/// wrote.
pub fn holds_results_but(path: &Path, own: &[KnownFile]) -> bool {
    let fixed = KnownFile::RESULTS_OF_A_SCENARIO.iter().chain(all_outputs().flat_map(|kind| kind.files));
    let mut others = fixed.filter(|file| !own.contains(file)).map(|file| path.join(file.name()));
    others.any(|place| fs::symlink_metadata(place).is_ok())
}

/// Returns the kind of a file, if a run writes many files of this kind, one per step.
fn kind_of_many(name: &str) -> Option<&'static str> {
    let is_of = |kind, step: Option<u64>| step.map(|_| kind);
    is_of("checkpoint", checkpoint::step_of(name)).or_else(|| is_of("image", images::step_of(name)))
}

impl OutputDirectory {
    /// Returns words for the removed files that this run does not write again, or `None` if there
    /// are none. (Tables are replaced in every run.)
    pub fn removal(&self) -> Option<String> {
        let mut words: Vec<String> =
            self.old().iter().filter(|name| kind_of_many(name).is_none()).cloned().collect();
        words.sort_unstable();
        words.dedup();
        for kind in ["checkpoint", "image"] {
            match self.old().iter().filter(|name| kind_of_many(name) == Some(kind)).count() {
                0 => (),
                1 => words.push(format!("1 {kind}")),
                several => words.push(format!("{several} {kind}s")),
            }
        }
        let of_earlier = || format!("removed from `{}`, of an earlier run", self.path().display());
        (!words.is_empty()).then(|| format!("{}: {}", of_earlier(), words.join(", ")))
    }

    /// Returns the images of a flow that an earlier run left. In a resumed run these are the images
    /// after its step.
    pub(super) fn images_to_remove(&self, going_on: Option<GoingOn>) -> Vec<String> {
        let is_after = |step| going_on.is_none_or(|from| step > from.step);
        self.names().filter(|name| images::step_of(name).is_some_and(is_after)).collect()
    }

    /// Returns the checkpoints of an earlier run and the incomplete ones of killed runs. In a
    /// resumed run these are the checkpoints after its step.
    pub(super) fn checkpoints_to_remove(&self, going_on: Option<GoingOn>) -> Vec<String> {
        let is_old = |name: &String| {
            let unfinished = unfinished_of(name);
            let step = checkpoint::step_of(unfinished.unwrap_or(name));
            let is_after = |step| unfinished.is_some() || going_on.is_none_or(|from| step > from.step);
            let path = self.path().join(name);
            step.is_some_and(is_after) && !self.is_input(&path) && checkpoint::is_own(&path)
        };
        self.names().filter(is_old).collect()
    }

    fn names(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }

    /// Returns the trajectories of an earlier run, which its scenario or its summary names, if this
    /// program wrote them and they are not inputs.
    pub(super) fn old_trajectories(&self) -> Vec<String> {
        let [scenario, summary] =
            [KnownFile::SCENARIO, KnownFile::SUMMARY].map(|file| self.path().join(file.name()));
        let is_old = |name: &String| {
            let (old, is_name) = (self.path().join(name), Path::new(name).file_name());
            is_name.is_some_and(|own| own == name.as_str()) && !self.is_input(&old) && is_own_trajectory(&old)
        };
        [trajectory_of(&scenario), trajectory_in(&summary)].into_iter().flatten().filter(is_old).collect()
    }

    /// Returns whether an output is missing that a resumed run needs in the folder of its
    /// checkpoint.
    pub(super) fn misses(
        &self,
        mark: &OutputMark,
        going_on: Option<GoingOn>,
        trajectory: Option<&str>,
    ) -> bool {
        let home = going_on.and_then(|going_on| FileIdentity::behind(going_on.checkpoint.parent()?));
        let fixed = all_outputs().flat_map(|kind| kind.files).map(|file| file.name());
        let is_wanted = fixed.chain(trajectory).any(|name| name == mark.file);
        is_wanted && home.is_some() && home == self.identity() && !self.goes_on(mark)
    }
}

/// Returns the name of the trajectory in a scenario.
fn trajectory_of(scenario: &Path) -> Option<String> {
    let scenario: toml::Table = read_text(scenario, "scenario").ok()?.parse().ok()?;
    Some(scenario.get("output")?.get("trajectory")?.get("path")?.as_str()?.to_owned())
}

/// Returns the name of the trajectory in a summary, in case the scenario was removed or replaced.
fn trajectory_in(summary: &Path) -> Option<String> {
    let summary: serde_json::Value = serde_json::from_str(&read_text(summary, "summary").ok()?).ok()?;
    Some(summary.get("trajectory")?.as_str()?.to_owned())
}
