//! `summary.json`: the summary of a run, or of one force evaluation, in one JSON object.

use md_core::rebuild::RebuildPolicy;
use md_engine::{
    BoxReport, EnergyReport, ForceTotals, NeighborConfig, NeighborReport, Phase, Spread, Timings,
};
use md_files::store::OutputError;
use md_lab::{RunContext, Strategy};
use md_scenario::known_file::KnownFile;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::RunFacts;
use super::choices::ChoiceEntry;
use super::statistics::{PhaseStatistics, atom_steps_per_s, ns_per_atom_step, phase_statistics};

/// Returns the summary of a run. With the totals of energy and virial it is the summary of
/// `forces`, a run without steps.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn summary_json(
    timings: &Timings,
    context: &RunContext,
    facts: &RunFacts,
    totals: Option<&ForceTotals>,
) -> Result<Vec<u8>, OutputError> {
    in_json(&Summary { timings, context, facts, totals })
}

/// Returns the text of summary.json, in which every number must be finite.
///
/// # Errors
/// [`OutputError::NotFinite`], [`OutputError::Encode`].
pub fn in_json(summary: &impl Serialize) -> Result<Vec<u8>, OutputError> {
    let failed = |reason: serde_json::Error| OutputError::encode(KnownFile::SUMMARY, &reason);
    let value = serde_json::to_value(summary).map_err(failed)?;
    if let Some(key) = key_of_null(&value) {
        return Err(OutputError::NotFinite { file: KnownFile::SUMMARY.name(), key });
    }
    let mut bytes = serde_json::to_vec_pretty(summary).map_err(failed)?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Summary<'a> {
    timings: &'a Timings,
    context: &'a RunContext,
    facts: &'a RunFacts,
    totals: Option<&'a ForceTotals>,
}

/// Writes the keys in their order.
impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.what_ran(&mut map)?;
        self.how_it_went(&mut map)?;
        self.where_it_ran(&mut map)?;
        self.what_to_trust(&mut map)?;
        map.end()
    }
}

impl Summary<'_> {
    fn what_ran<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self { context, facts, .. } = self;
        let Strategy { backend, shell, exchange, partition } = context.strategy;
        map.serialize_entry("atoms", &context.atoms)?;
        map.serialize_entry("degrees_of_freedom", &facts.degrees_of_freedom)?;
        map.serialize_entry("steps", &context.steps)?;
        map.serialize_entry("ranks", &context.ranks)?;
        map.serialize_entry("threads", &context.threads)?;
        map.serialize_entry("backend", &backend)?;
        map.serialize_entry("shell", &shell)?;
        map.serialize_entry("exchange", &exchange)?;
        map.serialize_entry("partition", &partition)?;
        map.serialize_entry("grid", &context.grid)?;
        map.serialize_entry("precision", &context.precision)?;
        map.serialize_entry("simd", &facts.simd)?;
        map.serialize_entry("shape", &facts.shape)?;
        map.serialize_entry("seed", &context.seed)?;
        map.serialize_entry("timestep", &facts.timestep)
    }

    fn how_it_went<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self { timings, context, facts, totals } = *self;
        map.serialize_entry("wall_s", &facts.wall_s)?;
        map.serialize_entry("ns_per_atom_step", &ns_per_atom_step(context, facts))?;
        map.serialize_entry("atom_steps_per_s", &atom_steps_per_s(context, facts))?;
        map.serialize_entry("useful_pairs_per_atom", &facts.useful_pairs_per_atom)?;
        map.serialize_entry("computed_pairs_per_atom", &facts.computed_pairs_per_atom)?;
        map.serialize_entry("rebuilds", &facts.neighborhood.rebuilds)?;
        map.serialize_entry("dangerous_rebuilds", &facts.neighborhood.dangerous_rebuilds)?;
        self.how_lists_were_made(map)?;
        map.serialize_entry("lost_particles", &facts.lost_particles)?;
        map.serialize_entry("energy_drift_per_atom", &facts.energy_drift_per_atom)?;
        map.serialize_entry("conserved_drift_per_atom", &facts.energy.drift)?;
        map.serialize_entry("ended", facts.ended.name())?;
        if let Some(step) = facts.resumed_from_step {
            map.serialize_entry("resumed_from_step", &step)?;
        }
        if let Some(trajectory) = &facts.trajectory {
            map.serialize_entry("trajectory", trajectory)?;
        }
        if let Some(ForceTotals { potential_energy, virial, virial_tensor, tail_energy, pressure }) = totals {
            map.serialize_entry("potential_energy", potential_energy)?;
            map.serialize_entry("virial", virial)?;
            map.serialize_entry("virial_tensor", &virial_tensor.0)?;
            map.serialize_entry("tail_energy", tail_energy)?;
            map.serialize_entry("pressure", pressure)?;
        }
        facts.analyses.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.serialize_entry("messages", &timings.messages)?;
        map.serialize_entry("bytes", &timings.bytes)?;
        map.serialize_entry("halo_hidden_s", &timings.phase(Phase::HaloHidden).seconds.avg)?;
        let Spread { min, avg, max } = timings.second_share;
        map.serialize_entry("second_share", &json!({ "min": min, "avg": avg, "max": max }))?;
        self.how_it_was_balanced(map)?;
        map.serialize_entry("phases", &Phases(phase_statistics(timings).to_vec()))
    }

    fn how_lists_were_made<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self { facts, context, .. } = self;
        let NeighborConfig { skin, rebuild, tolerated, .. } = facts.lists;
        let rebuilds = facts.neighborhood.rebuilds;
        let mut list = json!({
            "skin": skin,
            "rebuild": match rebuild {
                RebuildPolicy::Every(steps) => json!({ "every": steps }),
                RebuildPolicy::Displacement => json!({ "displacement": true }),
            },
        });
        let steps = context.steps + facts.resumed_from_step.unwrap_or(0);
        let interval = (rebuilds > 0).then(|| steps as f64 / rebuilds as f64);
        let known = [
            ("interval", interval),
            ("inner_skin", facts.inner_skin),
            ("estimated_drift", tolerated.map(|tolerated| tolerated.drift)),
        ];
        for (name, value) in known {
            if let Some(value) = value {
                list[name] = value.into();
            }
        }
        map.serialize_entry("list", &list)
    }

    /// Writes nothing if the balance was not checked.
    fn how_it_was_balanced<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let balance = &self.facts.balance;
        let (Some(first), Some(last)) = (balance.imbalance_first, balance.imbalance_last) else {
            return Ok(());
        };
        let entry = json!({
            "checks": balance.checks,
            "balancings": balance.balancings.len(),
            "imbalance_first": first,
            "imbalance_last": last,
            "particles_moved": balance.particles_moved(),
            "spent_s": balance.spent_s,
            "won_s": balance.won_s(),
        });
        map.serialize_entry("balance", &entry)
    }

    fn where_it_ran<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let Self { context, facts, .. } = self;
        let mpi = json!({ "library": context.mpi_library, "rma_component": facts.rma_component });
        map.serialize_entry("mpi", &mpi)?;
        if !facts.choices.is_empty() {
            let choices: Vec<_> = facts.choices.iter().map(ChoiceEntry::from).collect();
            map.serialize_entry("choices", &choices)?;
        }
        map.serialize_entry("version", &context.version)?;
        map.serialize_entry("git", &facts.git)?;
        map.serialize_entry("host", &context.host)
    }

    fn what_to_trust<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let NeighborReport { dangerous_checks, largest_displacement, first_dangerous_step, .. } =
            self.facts.neighborhood;
        map.serialize_entry("dangerous_checks", &dangerous_checks)?;
        map.serialize_entry("largest_displacement_over_half_skin", &largest_displacement)?;
        if let Some(step) = first_dangerous_step {
            map.serialize_entry("first_dangerous_step", &step)?;
        }
        let BoxReport { changes, limited } = self.facts.box_changes;
        if changes > 0 {
            map.serialize_entry("box_changes", &changes)?;
            map.serialize_entry("limited_box_changes", &limited)?;
        }
        if self.facts.integrity_checks > 0 {
            map.serialize_entry("integrity", &json!({ "checks": self.facts.integrity_checks }))?;
        }
        let EnergyReport { largest_change, mean_kinetic, .. } = self.facts.energy;
        map.serialize_entry("largest_energy_change_per_atom", &largest_change)?;
        map.serialize_entry("mean_kinetic_per_atom", &mean_kinetic)?;
        let RunFacts { crowding, warned, warnings, .. } = self.facts;
        let warnings: Vec<&String> = crowding.iter().chain(warned).chain(warnings).collect();
        map.serialize_entry("warnings", &warnings)
    }
}

/// An object with a key per phase, in the order of a step.
pub struct Phases(pub Vec<PhaseStatistics>);

impl Serialize for Phases {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|row| (row.phase.name(), row)))
    }
}

/// Returns the first key with the value null. `serde_json` writes NaN and infinities as null, and
/// no key of the summary is optional, so a null stands for such a number.
pub(super) fn key_of_null(value: &Value) -> Option<String> {
    let Value::Object(entries) = value else { return None };
    entries.iter().find_map(|(key, value)| match value {
        Value::Null => Some(key.clone()),
        nested => key_of_null(nested).map(|rest| format!("{key}.{rest}")),
    })
}

#[cfg(test)]
mod tests {
    use md_core::SymmetricTensor;

    use super::*;
    use crate::report::fixtures::{context, facts, reduced, two_ranks};

    const TOTALS: ForceTotals = ForceTotals {
        potential_energy: -4351.5,
        virial: -568.67,
        virial_tensor: SymmetricTensor([-189.0, -189.0, -190.67, 1.0, 0.0, -2.5]),
        tail_energy: -198.49,
        pressure: 0.1,
    };

    #[test]
    fn the_summary_of_a_run_begins_with_its_settings_and_results() {
        let text =
            String::from_utf8(summary_json(&reduced(&two_ranks()), &context(), &facts(), None).unwrap())
                .unwrap();
        let start = text.split_inclusive('\n').take(36).collect::<String>();
        insta::assert_snapshot!(start, @r#"
        {
          "atoms": 16000,
          "degrees_of_freedom": 47997,
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
          "shape": "cpu",
          "seed": 87287,
          "timestep": 0.005,
          "wall_s": 1.0,
          "ns_per_atom_step": 625.0,
          "atom_steps_per_s": 1600000.0,
          "useful_pairs_per_atom": 27.0,
          "computed_pairs_per_atom": 108.0,
          "rebuilds": 5,
          "dangerous_rebuilds": 1,
          "list": {
            "interval": 20.0,
            "rebuild": {
              "displacement": true
            },
            "skin": 0.3
          },
          "lost_particles": 0,
          "energy_drift_per_atom": -0.0089259,
          "conserved_drift_per_atom": -0.0089259,
          "ended": "steps",
          "messages": 2600,
          "bytes": 208000000,
        "#);
    }

    #[test]
    fn the_summary_of_a_run_has_all_phases_and_the_library_but_no_totals() {
        let bytes = summary_json(&reduced(&two_ranks()), &context(), &facts(), None).unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["phases"].as_object().unwrap().len(), Phase::ALL.len());
        let integrate = json!({ "calls": 200, "min_s": 0.05, "avg_s": 0.05, "max_s": 0.05 });
        assert_eq!(value["phases"]["integrate"], integrate);
        assert_eq!(value["mpi"]["library"], "Open MPI v4.1.4, package: Debian");
        assert!(value.get("virial").is_none());
    }

    #[test]
    fn forces_adds_its_totals() {
        let context = RunContext { steps: 0, ..context() };
        let bytes = summary_json(&reduced(&two_ranks()), &context, &facts(), Some(&TOTALS)).unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["potential_energy"], -4351.5);
        assert_eq!(value["virial"], -568.67);
        assert_eq!(value["virial_tensor"], json!([-189.0, -189.0, -190.67, 1.0, 0.0, -2.5]));
        assert_eq!(value["tail_energy"], -198.49);
        assert_eq!(value["pressure"], 0.1);
        assert_eq!((&value["ns_per_atom_step"], &value["atom_steps_per_s"]), (&0.0.into(), &0.0.into()));
    }

    #[test]
    fn a_number_that_is_not_finite_is_named() {
        let broken = RunFacts { energy_drift_per_atom: f64::NAN, ..facts() };
        let error = summary_json(&reduced(&two_ranks()), &context(), &broken, None).unwrap_err();
        insta::assert_snapshot!(error, @"cannot write `summary.json`: `energy_drift_per_atom` is not a finite number");

        let mut ranks = two_ranks();
        ranks[0].phases[Phase::Force as usize].seconds = f64::INFINITY;
        let error = summary_json(&reduced(&ranks), &context(), &facts(), None).unwrap_err().to_string();
        assert!(error.contains("`phases.force.avg_s`"), "{error}");
    }
}
