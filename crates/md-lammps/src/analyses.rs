//! `compute rdf`, `msd` and `vacf`, and the fixes that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::numbers::{number, whole};
use super::outcome::{Outcome, Taken};

/// Steps between two evaluations where no fix sets them.
const USUAL: u64 = 10;
/// Time up to which velocities are correlated; LAMMPS has no such limit.
const CORRELATED: f64 = 2.0;

/// Quantity that is computed.
#[derive(Debug, Clone, PartialEq)]
enum Analysis {
    /// Number of bins, and the largest distance where it is not the cutoff.
    Rdf(u64, Option<f64>),
    /// Whether the motion of the centre of mass is left out.
    Msd(bool),
    Vacf,
}

/// Schedule of an analysis.
#[derive(Debug, Clone, PartialEq)]
struct AnalysisSchedule {
    analysis: Analysis,
    /// Steps between two evaluations.
    every: u64,
    /// Step of the script at which the analysis begins.
    start: u64,
}

/// All analyses of a script.
#[derive(Debug, Clone, Default)]
pub(super) struct Analyses {
    by_id: BTreeMap<String, AnalysisSchedule>,
    /// Ids of the fixes that use them.
    pub(super) fixes: BTreeSet<String>,
}

impl Analyses {
    /// Carries out `compute ID all KIND ...` after `start` steps.
    pub(super) fn compute(&mut self, id: &str, kind: &str, words: &[&str], start: u64) -> Taken {
        let analysis = match (kind, words) {
            ("rdf", [bins]) => Analysis::Rdf(whole(bins)?, None),
            ("rdf", [bins, "cutoff", most]) => Analysis::Rdf(whole(bins)?, Some(number(most)?)),
            ("msd", []) => Analysis::Msd(false),
            ("msd", ["com", com @ ("yes" | "no")]) => Analysis::Msd(*com == "yes"),
            ("vacf", []) => Analysis::Vacf,
            _ => return Err(format!("a compute `{kind}` of this form has no equivalent here")),
        };
        let is_there = |other: &AnalysisSchedule| {
            std::mem::discriminant(&other.analysis) == std::mem::discriminant(&analysis)
        };
        if self.by_id.values().any(is_there) {
            return Err(format!("a run has one `{kind}`"));
        }
        self.by_id.insert(id.to_owned(), AnalysisSchedule { analysis, every: USUAL, start });
        Ok(Outcome::differing((kind != "rdf").then(|| "over several time origins, by species".to_owned())))
    }

    /// Returns whether a fix uses one of the analyses: `c_ID` or `c_ID[...]`.
    pub(super) fn is_of(&self, values: &[&str]) -> bool {
        values.iter().any(|value| id_of(value).is_some_and(|id| self.by_id.contains_key(id)))
    }

    /// Sets the steps between evaluations of the analyses that a fix uses, from now on.
    pub(super) fn look_every(&mut self, steps: u64, values: &[&str], now: u64) {
        for id in values.iter().filter_map(id_of) {
            if let Some(looks) = self.by_id.get_mut(id) {
                (looks.every, looks.start) = (steps, now);
            }
        }
    }

    /// Returns the keys of `[output]`; the last run covers the steps `last_run`. An analysis
    /// without a start begins with that run.
    pub(super) fn keys(&self, timestep: f64, last_run: Range<u64>) -> String {
        let key = |AnalysisSchedule { analysis, every, start }: &AnalysisSchedule| {
            let start = if *start == last_run.start { String::new() } else { format!(", start = {start}") };
            match analysis {
                Analysis::Rdf(bins, most) => {
                    let most = most.map_or_else(String::new, |most| format!(", max = {most:?}"));
                    format!("rdf = {{ every = {every}, bins = {bins}{most}{start} }}\n")
                }
                Analysis::Msd(true) => {
                    format!("msd = {{ every = {every}, centre_of_mass = \"removed\"{start} }}\n")
                }
                Analysis::Msd(false) => format!("msd = {{ every = {every}{start} }}\n"),
                Analysis::Vacf => {
                    let length = CORRELATED.max(*every as f64 * timestep);
                    format!("vacf = {{ every = {every}, length = {length:?}{start} }}\n")
                }
            }
        };
        // A compute after the last run is never evaluated.
        let is_seen = |looks: &&AnalysisSchedule| looks.start < last_run.end || last_run.is_empty();
        self.by_id.values().filter(is_seen).map(key).collect()
    }
}

fn id_of<'w>(value: &&'w str) -> Option<&'w str> {
    value.strip_prefix("c_")?.split('[').next()
}
