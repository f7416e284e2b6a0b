//! Differences between a scenario and that of a checkpoint, and their consequences for the resumed
//! run.

use std::cmp::Ordering;

use md_engine::barostat::BarostatKind;
use md_engine::integrator::Temperature;
use md_scenario::{IntegratorTable, Model, Scenario, StagePlan, effective_toml};
use toml::{Table, Value};

use super::BegunStage;

/// Keys that have changed, each with its old and its new value, grouped by their consequences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Keys of the simulated system: particles, forces or faces.
    pub system: Vec<String>,
    /// Keys of the integrator of the present stage and its random numbers.
    pub motion: Vec<String>,
    /// The length of the present stage, if something changes linearly over its steps.
    pub ramp: Vec<String>,
    /// Keys of stages that have not begun.
    pub ahead: Vec<String>,
    /// Keys of stages that have ended.
    pub over: Vec<String>,
    /// Keys of the particles with which a run begins.
    pub start: Vec<String>,
    /// Keys of the precision and of the order in which numbers are added.
    pub rounding: Vec<String>,
}

impl Differences {
    /// Returns the differences for a particle run that is resumed in the stage `begun`. `then` is
    /// the effective scenario of the checkpoint.
    pub(super) fn of_particles(then: &str, scenario: &Scenario, begun: BegunStage) -> Self {
        let now = effective_toml(scenario);
        let mut all = Self::default();
        for text in changes(&entries(then, &FREE), &entries(&now, &FREE)) {
            // The time for which lists are kept follows from it.
            let decides_rebuilds = scenario.neighbor.rebuild.drift.is_some() && is_of(&text, &[TEMPERATURE]);
            let kind = if is_of(&text, &START) && !decides_rebuilds {
                &mut all.start
            } else if is_of(&text, &SYSTEM) && !decides_rebuilds {
                &mut all.system
            } else {
                &mut all.rounding
            };
            kind.push(text);
        }
        let plans = scenario.stages();
        let seed = changes(&entries_of(then, SEED), &entries_of(&now, SEED));
        all.motion.extend(seed.iter().filter(|_| plans.get(begun.number).is_some_and(draws)).cloned());
        if all.motion.is_empty() {
            all.ahead.extend(seed.into_iter().filter(|_| plans.iter().skip(begun.number + 1).any(draws)));
        }
        all.compare_stages([then, &now], &plans, begun.number);
        all
    }

    /// Returns the differences for a grid, for which all keys that matter belong to the system.
    pub(super) fn of_a_grid<M: Model>(then: &str, scenario: &M) -> Self {
        let now = effective_toml(scenario);
        let system = changes(&entries(then, &FREE_ON_GRIDS), &entries(&now, &FREE_ON_GRIDS));
        Self { system, ..Self::default() }
    }

    /// Returns whether the next steps give the same bits as in an uninterrupted run.
    pub(super) fn keep_bits(&self) -> bool {
        [&self.system, &self.motion, &self.rounding].iter().all(|texts| texts.is_empty())
    }

    /// Returns whether the integrator of the present stage has changed, so that its stored state is
    /// not used.
    pub(super) fn have_other_integrator(&self) -> bool {
        self.motion.iter().any(|text| !is_of(text, &[SEED]))
    }

    /// Returns whether results change from the checkpoint on, and not only in their last digits.
    pub fn change_results(&self) -> bool {
        [&self.system, &self.motion, &self.ramp].iter().any(|texts| !texts.is_empty())
    }

    /// Compares the integrators and lengths of the stages that both scenarios have. Stages that
    /// have ended come last, because a key that they share with other stages matters to those.
    fn compare_stages(&mut self, [then, now]: [&str; 2], plans: &[StagePlan], begun: usize) {
        let [then, now] = [then, now].map(|text| text.parse().unwrap_or_default());
        let [then, now]: [Vec<StageText>; 2] = [&then, &now].map(stages_of);
        let mut pairs: Vec<_> = then.iter().zip(&now).zip(plans).enumerate().collect();
        pairs.sort_by_key(|(number, _)| *number < begun);
        // Stages without their own integrator have the same keys, which are listed once.
        let mut told = Vec::new();
        for (number, ((then, now), plan)) in pairs {
            let mut motion = changes(&then.motion(&now.integrator_key), &now.motion(&now.integrator_key));
            motion.retain(|text| !told.contains(text));
            told.extend(motion.iter().cloned());
            let matters = number < begun || has_ramp(plan);
            let length = changes(&then.length(&now.steps_key), &now.length(&now.steps_key));
            let length = if matters { length } else { Vec::new() };
            match number.cmp(&begun) {
                Ordering::Less => self.over.extend([motion, length].concat()),
                Ordering::Equal => {
                    self.motion.extend(motion);
                    self.ramp.extend(length);
                }
                Ordering::Greater => self.ahead.extend([motion, length].concat()),
            }
        }
    }
}

/// Returns whether a stage draws random numbers.
fn draws(plan: &StagePlan) -> bool {
    let IntegratorTable { kind, barostat } = plan.integrator;
    kind.is_random() || barostat.is_some_and(|it| it.kind == BarostatKind::StochasticCellRescaling)
}

/// Returns whether the temperature of a stage changes with the fraction of its completed steps.
fn has_ramp(plan: &StagePlan) -> bool {
    let ends = plan.integrator.kind.temperature().map(Temperature::ends);
    ends.is_some_and(|[from, to]| from != to)
}

/// A key and its value.
type Entry = (String, String);

/// A stage in the text of a scenario.
struct StageText<'t> {
    steps_key: String,
    steps: Option<&'t Value>,
    integrator_key: String,
    integrator: Option<&'t Value>,
}

impl StageText<'_> {
    /// Returns the integrator with the key that it has in the other scenario.
    fn motion(&self, key: &str) -> Vec<Entry> {
        let mut all = Vec::new();
        self.integrator.iter().for_each(|value| flatten(key, value, &mut all));
        all
    }

    /// Returns the number of steps with the key that it has in the other scenario.
    fn length(&self, key: &str) -> Vec<Entry> {
        self.steps.iter().map(|steps| (key.to_owned(), steps.to_string())).collect()
    }
}

fn stage_text<'t>(number: usize, stage: &'t Value, common: Option<&'t Value>) -> StageText<'t> {
    let own = stage.get("integrator");
    StageText {
        steps_key: format!("stage[{number}].steps"),
        steps: stage.get("steps"),
        integrator_key: own.map_or("integrator".to_owned(), |_| format!("stage[{number}].integrator")),
        integrator: own.or(common),
    }
}

/// Returns the stages of a run, as [`Scenario::stages`] does.
fn stages_of<'s>(scenario: &'s Table) -> Vec<StageText<'s>> {
    let common = scenario.get("integrator");
    let whole = || StageText {
        steps_key: "simulation.steps".to_owned(),
        steps: scenario.get("simulation").and_then(|simulation| simulation.get("steps")),
        integrator_key: "integrator".to_owned(),
        integrator: common,
    };
    let stages = scenario.get("stage").and_then(Value::as_array).filter(|stages| !stages.is_empty());
    let all = |stages: &'s Vec<Value>| {
        stages.iter().enumerate().map(|(number, stage)| stage_text(number, stage, common)).collect()
    };
    stages.map_or_else(|| vec![whole()], all)
}

/// The key of the seed of all random numbers.
const SEED: &str = "simulation.seed";

/// Keys of the simulated system.
const SYSTEM: [&str; 5] = ["species", "interaction", "system", "simulation.dimension", "simulation.timestep"];

/// Keys of the particles with which a run begins. They have no effect on a resumed run, because a
/// checkpoint contains particles.
const START: [&str; 5] = ["system.lattice", "system.regions", "system.gas", TEMPERATURE, "system.drift"];

/// The key of the temperature at the start.
const TEMPERATURE: &str = "system.temperature";

/// Keys that do not change the bits of later steps, that the checkpoint determines, or that are
/// compared stage by stage.
const FREE: [&str; 13] = [
    "simulation.title",
    "simulation.steps",
    SEED,
    "simulation.max_drift",
    "system.file",
    "integrator",
    "stage",
    "output",
    "parallel.backend",
    "parallel.between_nodes",
    "parallel.chunk",
    "parallel.overlap",
    "parallel.rma",
];

/// Such keys on grids, where the bits depend neither on the ranks nor on how messages are sent.
const FREE_ON_GRIDS: [&str; 18] = [
    "stencil.title",
    "stencil.steps",
    "stencil.grid",
    "stencil.grid_per_rank",
    "lbm.title",
    "lbm.steps",
    "lbm.initial",
    "lbm.pattern",
    "output",
    "parallel.backend",
    "parallel.between_nodes",
    "parallel.chunk",
    "parallel.exchange",
    "parallel.grid",
    "parallel.messages",
    "parallel.overlap",
    "parallel.threads",
    "parallel.rma",
];

/// Returns all keys of a scenario with their values, except `free` ones.
fn entries(scenario: &str, free: &[&str]) -> Vec<Entry> {
    let mut all = all_entries(scenario);
    // Ranks that are threads are included in the number of ranks of the world.
    all.retain(|(key, _)| !is_of(key, free) && key != "parallel.ranks" && key != "parallel.watchdog_s");
    all
}

/// Returns one key of a scenario, if it is there.
fn entries_of(scenario: &str, key: &str) -> Vec<Entry> {
    let mut all = all_entries(scenario);
    all.retain(|(own, _)| own == key);
    all
}

fn all_entries(scenario: &str) -> Vec<Entry> {
    let table: Table = scenario.parse().unwrap_or_default();
    let mut all = Vec::new();
    flatten("", &Value::Table(table), &mut all);
    all
}

/// Returns whether a text begins with one of these keys, or with a key inside them.
fn is_of(text: &str, keys: &[&str]) -> bool {
    let rests = |key: &&str| text.strip_prefix(*key);
    keys.iter().filter_map(rests).any(|rest| rest.is_empty() || rest.starts_with(['.', '[', ' ']))
}

/// Returns the keys with different values, and both values of each.
fn changes(then: &[Entry], now: &[Entry]) -> Vec<String> {
    let mut keys: Vec<&String> = then.iter().chain(now).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    let value = |of: &[Entry], key: &String| {
        let found = of.iter().find(|(other, _)| other == key);
        found.map_or_else(|| "not given".to_owned(), |(_, value)| value.clone())
    };
    let text = |key: &&String| {
        let (then, now) = (value(then, key), value(now, key));
        (then != now).then(|| format!("{key} was {then}, now {now}"))
    };
    keys.iter().filter_map(text).collect()
}

fn flatten(path: &str, value: &Value, all: &mut Vec<Entry>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| flatten(&below(key), value, all)),
        Value::Array(items) if items.iter().any(Value::is_table) => {
            let at = |number: usize| format!("{path}[{number}]");
            items.iter().enumerate().for_each(|(number, item)| flatten(&at(number), item, all));
        }
        value => all.push((path.to_owned(), value.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_change_no_bit_are_no_difference() {
        let text = |threads: usize, steps: u64, backend: &str| {
            format!(
                "[simulation]\nsteps = {steps}\n[parallel]\nthreads = {threads}\nbackend = \"{backend}\"\n[[species]]\nmass = 1.0\n"
            )
        };
        assert_eq!(entries(&text(1, 10, "p2p"), &FREE), entries(&text(1, 20, "local"), &FREE));
        let found = entries(&text(2, 10, "p2p"), &FREE);
        assert_eq!(
            found,
            [("parallel.threads", "2"), ("species[0].mass", "1.0")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }
}
