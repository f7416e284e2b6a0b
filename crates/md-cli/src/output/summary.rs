//! `summary.json`: a run, or one force evaluation, in one object.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::choices::ChoiceEntry;
use super::directory::KnownFile;
use super::error::OutputError;
use super::statistics::{PhaseStatistics, atom_steps_per_s, ns_per_atom_step, phase_statistics};
use crate::report::{RunContext, RunFacts};
use md_engine::{ForceTotals, RankTiming};

/// The summary of a run.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn run_summary_json(
    ranks: &[RankTiming],
    context: &RunContext,
    facts: &RunFacts,
) -> Result<Vec<u8>, OutputError> {
    encode(&Summary::new(ranks, context, facts, None))
}

/// The summary of `forces`: that of a run of no steps, and the totals of energy and virial.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn forces_summary_json(
    ranks: &[RankTiming],
    context: &RunContext,
    facts: &RunFacts,
    totals: &ForceTotals,
) -> Result<Vec<u8>, OutputError> {
    encode(&Summary::new(ranks, context, facts, Some(Totals::from(totals))))
}

/// The keys in their order.
#[derive(Serialize)]
struct Summary<'a> {
    atoms: u64,
    steps: u64,
    ranks: usize,
    threads: usize,
    backend: &'a str,
    shell: &'a str,
    exchange: &'a str,
    partition: &'a str,
    grid: &'a str,
    precision: &'a str,
    simd: &'a str,
    seed: u64,
    timestep: f64,
    wall_s: f64,
    ns_per_atom_step: f64,
    atom_steps_per_s: f64,
    useful_pairs_per_atom: f64,
    computed_pairs_per_atom: f64,
    rebuilds: u64,
    dangerous_rebuilds: u64,
    lost_particles: u64,
    energy_drift_per_atom: f64,
    #[serde(flatten)]
    totals: Option<Totals>,
    messages: u64,
    bytes: u64,
    phases: Phases,
    mpi: Mpi<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    choices: Vec<ChoiceEntry<'a>>,
    version: &'a str,
    git: &'a str,
    host: &'a str,
}

impl<'a> Summary<'a> {
    fn new(
        ranks: &[RankTiming],
        context: &'a RunContext,
        facts: &'a RunFacts,
        totals: Option<Totals>,
    ) -> Self {
        Self {
            atoms: context.atoms,
            steps: context.steps,
            ranks: context.ranks,
            threads: context.threads,
            backend: &context.backend,
            shell: &context.shell,
            exchange: &context.exchange,
            partition: &context.partition,
            grid: &context.grid,
            precision: &context.precision,
            simd: &facts.simd,
            seed: context.seed,
            timestep: facts.timestep,
            wall_s: facts.wall_s,
            ns_per_atom_step: ns_per_atom_step(context, facts),
            atom_steps_per_s: atom_steps_per_s(context, facts),
            useful_pairs_per_atom: facts.useful_pairs_per_atom,
            computed_pairs_per_atom: facts.computed_pairs_per_atom,
            rebuilds: facts.rebuilds,
            dangerous_rebuilds: facts.dangerous_rebuilds,
            lost_particles: facts.lost_particles,
            energy_drift_per_atom: facts.energy_drift_per_atom,
            totals,
            messages: ranks.iter().map(|rank| rank.messages).sum(),
            bytes: ranks.iter().map(|rank| rank.bytes).sum(),
            phases: Phases(phase_statistics(ranks).to_vec()),
            mpi: Mpi { library: &context.mpi_library, rma_component: &facts.rma_component },
            choices: facts.choices.iter().map(ChoiceEntry::from).collect(),
            version: &context.version,
            git: &facts.git,
            host: &context.host,
        }
    }
}

#[derive(Serialize)]
struct Totals {
    potential_energy: f64,
    virial: f64,
    tail_energy: f64,
    pressure: f64,
}

impl From<&ForceTotals> for Totals {
    fn from(totals: &ForceTotals) -> Self {
        let &ForceTotals { potential_energy, virial, tail_energy, pressure } = totals;
        Self { potential_energy, virial, tail_energy, pressure }
    }
}

#[derive(Serialize)]
struct Mpi<'a> {
    library: &'a str,
    rma_component: &'a str,
}

/// An object with a key per phase, in the order of a step.
struct Phases(Vec<PhaseStatistics>);

#[derive(Serialize)]
struct PhaseTimes {
    calls: u64,
    min_s: f64,
    avg_s: f64,
    max_s: f64,
}

impl Serialize for Phases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for &PhaseStatistics { phase, calls, min_s, avg_s, max_s, .. } in &self.0 {
            map.serialize_entry(phase.name(), &PhaseTimes { calls, min_s, avg_s, max_s })?;
        }
        map.end()
    }
}

fn encode(summary: &Summary<'_>) -> Result<Vec<u8>, OutputError> {
    let file = KnownFile::Summary.name();
    let failed =
        |reason: serde_json::Error| OutputError::Encode { file: file.to_owned(), reason: reason.to_string() };
    let value = serde_json::to_value(summary).map_err(failed)?;
    if let Some(key) = key_of_null(&value) {
        return Err(OutputError::NotFinite { file, key });
    }
    let mut bytes = serde_json::to_vec_pretty(summary).map_err(failed)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `serde_json` turns NaN and infinities into null; no key of the summary is optional, so null means just that.
fn key_of_null(value: &Value) -> Option<String> {
    let Value::Object(entries) = value else { return None };
    entries.iter().find_map(|(key, value)| match value {
        Value::Null => Some(key.clone()),
        nested => key_of_null(nested).map(|rest| format!("{key}.{rest}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixtures::{context, facts, two_ranks};
    use md_engine::Phase;

    const TOTALS: ForceTotals =
        ForceTotals { potential_energy: -4351.5, virial: -568.67, tail_energy: -198.49, pressure: 0.1 };

    #[test]
    fn the_summary_of_a_run() {
        let text = String::from_utf8(run_summary_json(&two_ranks(), &context(), &facts()).unwrap()).unwrap();
        let start = text.split_inclusive('\n').take(36).collect::<String>();
        insta::assert_snapshot!(start, @r#"
        {
          "atoms": 16000,
          "steps": 100,
          "ranks": 2,
          "threads": 1,
          "backend": "p2p",
          "shell": "half",
          "exchange": "direct",
          "partition": "rect",
          "grid": "2x1x1",
          "precision": "double",
          "simd": "avx512",
          "seed": 87287,
          "timestep": 0.005,
          "wall_s": 1.0,
          "ns_per_atom_step": 625.0,
          "atom_steps_per_s": 1600000.0,
          "useful_pairs_per_atom": 27.0,
          "computed_pairs_per_atom": 108.0,
          "rebuilds": 5,
          "dangerous_rebuilds": 1,
          "lost_particles": 0,
          "energy_drift_per_atom": -0.0089259,
          "messages": 2600,
          "bytes": 208000000,
          "phases": {
            "integrate": {
              "calls": 200,
              "min_s": 0.05,
              "avg_s": 0.05,
              "max_s": 0.05
            },
            "migrate": {
              "calls": 0,
              "min_s": 0.0,
              "avg_s": 0.0,
        "#);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["phases"].as_object().unwrap().len(), Phase::ALL.len());
        assert_eq!(value["mpi"]["library"], "Open MPI v4.1.4, package: Debian");
        assert!(value.get("virial").is_none());
    }

    #[test]
    fn forces_adds_its_totals() {
        let context = RunContext { steps: 0, ..context() };
        let bytes = forces_summary_json(&two_ranks(), &context, &facts(), &TOTALS).unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["potential_energy"], -4351.5);
        assert_eq!(value["virial"], -568.67);
        assert_eq!(value["tail_energy"], -198.49);
        assert_eq!(value["pressure"], 0.1);
        assert_eq!((&value["ns_per_atom_step"], &value["atom_steps_per_s"]), (&0.0.into(), &0.0.into()));
    }

    #[test]
    fn a_number_that_is_not_finite_is_named() {
        let broken = RunFacts { energy_drift_per_atom: f64::NAN, ..facts() };
        let error = run_summary_json(&two_ranks(), &context(), &broken).unwrap_err();
        insta::assert_snapshot!(error, @"cannot write `summary.json`: `energy_drift_per_atom` is not a finite number");

        let mut ranks = two_ranks();
        ranks[0].phases[Phase::Force as usize].seconds = f64::INFINITY;
        let error = run_summary_json(&ranks, &context(), &facts()).unwrap_err().to_string();
        assert!(error.contains("`phases.force.avg_s`"), "{error}");
    }
}
