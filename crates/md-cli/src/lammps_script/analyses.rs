//! `compute rdf`, `msd` and `vacf`, and the fixes that look at them.

use std::collections::BTreeMap;

use super::Taken;
use super::commands::{number, whole};

/// Steps between two looks where no fix says.
const USUAL: u64 = 10;
/// Time up to which velocities are correlated, where LAMMPS has no such limit.
const CORRELATED: f64 = 2.0;

/// What is computed.
#[derive(Debug, Clone, PartialEq)]
enum Analysis {
    /// Classes of distances, and the largest distance where it is not the cutoff.
    Rdf(u64, Option<f64>),
    /// Whether the motion of the centre of mass is left out.
    Msd(bool),
    Vacf,
}

/// By their ids: what is computed, and the steps between two looks.
#[derive(Debug, Default)]
pub(super) struct Analyses(BTreeMap<String, (Analysis, u64)>);

impl Analyses {
    /// `compute ID all KIND ...`
    pub(super) fn compute(&mut self, id: &str, kind: &str, words: &[&str]) -> Taken {
        let analysis = match (kind, words) {
            ("rdf", [bins]) => Analysis::Rdf(whole(bins)?, None),
            ("rdf", [bins, "cutoff", most]) => Analysis::Rdf(whole(bins)?, Some(number(most)?)),
            ("msd", []) => Analysis::Msd(false),
            ("msd", ["com", com @ ("yes" | "no")]) => Analysis::Msd(*com == "yes"),
            ("vacf", []) => Analysis::Vacf,
            _ => return Err(format!("a compute `{kind}` of this form has no equivalent here")),
        };
        let is_there =
            |(other, _): &(Analysis, u64)| std::mem::discriminant(other) == std::mem::discriminant(&analysis);
        if self.0.values().any(is_there) {
            return Err(format!("a run has one `{kind}`"));
        }
        self.0.insert(id.to_owned(), (analysis, USUAL));
        Ok((kind != "rdf").then(|| "over several time origins, by species".to_owned()))
    }

    /// Whether a fix looks at one of them: `c_ID` or `c_ID[...]`.
    pub(super) fn is_of(&self, values: &[&str]) -> bool {
        values.iter().any(|value| id_of(value).is_some_and(|id| self.0.contains_key(id)))
    }

    /// A fix looks at them every so many steps.
    pub(super) fn look_every(&mut self, steps: u64, values: &[&str]) {
        for id in values.iter().filter_map(id_of) {
            if let Some((_, every)) = self.0.get_mut(id) {
                *every = steps;
            }
        }
    }

    /// Keys of `[output]`.
    pub(super) fn keys(&self, timestep: f64) -> String {
        let key = |(analysis, every): &(Analysis, u64)| match analysis {
            Analysis::Rdf(bins, most) => {
                let most = most.map_or_else(String::new, |most| format!(", max = {most:?}"));
                format!("rdf = {{ every = {every}, bins = {bins}{most} }}\n")
            }
            Analysis::Msd(true) => format!("msd = {{ every = {every}, centre_of_mass = \"removed\" }}\n"),
            Analysis::Msd(false) => format!("msd = {{ every = {every} }}\n"),
            Analysis::Vacf => {
                let length = CORRELATED.max(*every as f64 * timestep);
                format!("vacf = {{ every = {every}, length = {length:?} }}\n")
            }
        };
        self.0.values().map(key).collect()
    }
}

fn id_of<'w>(value: &&'w str) -> Option<&'w str> {
    value.strip_prefix("c_")?.split('[').next()
}
