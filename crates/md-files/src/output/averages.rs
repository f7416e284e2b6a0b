//! Means of the columns of thermo.csv and of the surface tension, with errors: a part of
//! summary.json.

use md_core::analysis::{Blocking, Estimate};
use md_engine::Thermo;
use md_scenario::SurfaceTension;
use md_scenario::messages::note;
use serde_json::{Map, Value, json};

use super::run_output::{Opening, StageBegin};
use super::schedule::SampleSchedule;
use super::thermo::{columns, values};
use crate::checkpoint::OutputMemory;

const NAME: &str = "averages";

/// Accumulated rows of the columns, on rank 0.
pub(super) struct Averages {
    looks: SampleSchedule,
    tension: Option<SurfaceTension>,
    /// Prefix of `output` in the scenario of the run.
    within: String,
    seen: Seen,
    /// Whether the rows may be in equilibrium, because the scenario gives their first step or
    /// because there were steps before the last stage.
    may_be_equilibrium: bool,
}

/// Accumulated values of the columns, and of the surface tension if it is requested.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// Steps between two rows.
    every: u64,
    /// Steps of the first and the last row.
    steps: Option<[u64; 2]>,
    blockings: Vec<Blocking>,
}

impl Averages {
    pub(super) fn open(opening: &Opening) -> Self {
        let output = &opening.scenario.output;
        let looks =
            SampleSchedule::new(output.thermo.every, output.analyses.averages.map(|averages| averages.start));
        let tension = output.analyses.surface_tension;
        let recalled = opening.recalled(NAME, |words| Seen::from_words(words, tension));
        let seen = recalled.unwrap_or_else(|| Seen::new(looks.every, tension));
        let may_be_equilibrium = output.analyses.averages.is_some();
        Self { looks, tension, within: opening.within.clone(), seen, may_be_equilibrium }
    }

    /// Begins anew if the interval of the rows changes, because their correlation changes with it.
    pub(super) fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.every = stage.plan.thermo;
        self.looks.begin_stage(stage);
        self.may_be_equilibrium |= stage.first_step > 0;
        if self.seen.every != self.looks.every {
            if self.seen.rows() > 0 {
                let within = &self.within;
                note(&format!(
                    "rows of thermo.csv have another interval from here on: `{within}output.averages` begins anew"
                ));
            }
            self.seen = Seen::new(self.looks.every, self.tension);
        }
    }

    /// Adds a row, if its step is one of those to be averaged.
    pub(super) fn add(&mut self, row: &Thermo) {
        if self.looks.are_due(row.step) {
            let first = self.seen.steps.map_or(row.step, |[first, _]| first);
            self.seen.steps = Some([first, row.step]);
            let tension = self.tension.map(|keys| surface_tension(row, keys));
            self.seen
                .blockings
                .iter_mut()
                .zip(values(row).chain(tension))
                .for_each(|(blocking, value)| blocking.add(value));
        }
    }

    pub(super) fn memory(&self) -> OutputMemory {
        OutputMemory { name: NAME.to_owned(), words: self.seen.words(self.tension) }
    }

    /// Returns the entries of summary.json: those by column, and the surface tension. There are
    /// none without rows. Averages from the first step of a run would cover its way to equilibrium,
    /// so they are left out unless the scenario requests them.
    pub(super) fn summary(&self, timestep: f64) -> Map<String, Value> {
        let rows = self.seen.rows();
        let (mut columns_of_rows, mut summary) = (Map::new(), Map::new());
        columns_of_rows.insert("rows".to_owned(), rows.into());
        // The frames of a trajectory may have a longer interval than the requested rows.
        let time = match self.seen.steps {
            Some([first, last]) if rows > 1 => (last - first) as f64 / (rows - 1) as f64 * timestep,
            _ => self.looks.every as f64 * timestep,
        };
        let names = columns().map(Some).chain(std::iter::once(None));
        for (name, blocking) in names.zip(&self.seen.blockings) {
            let (Some(entry), true) = (entry(blocking.estimate(), time), rows > 0) else { continue };
            match name {
                Some(name) => columns_of_rows.insert(name.to_owned(), entry),
                None => summary.insert("surface_tension".to_owned(), entry),
            };
        }
        if rows > 0 && self.may_be_equilibrium {
            summary.insert(NAME.to_owned(), Value::Object(columns_of_rows));
        }
        summary
    }
}

/// Returns the entry of a column, or `None` if a value was not a finite number.
fn entry(estimate: Estimate, interval: f64) -> Option<Value> {
    let Estimate { mean, standard_error, correlation, .. } = estimate;
    let mut entry = json!({ "mean": mean });
    let correlation = correlation.map(|samples| samples * interval);
    for (key, number) in [("standard_error", standard_error), ("correlation_time", correlation)] {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            entry[key] = number.into();
        }
    }
    mean.is_finite().then_some(entry)
}

/// Returns the surface tension (Kirkwood and Buff), \[energy / length^2\]: the length of the box
/// along the axis, times the excess of the pressure along the axis over the mean pressure along the
/// other two, divided by the number of surfaces.
fn surface_tension(row: &Thermo, SurfaceTension { axis, surfaces }: SurfaceTension) -> f64 {
    let axis = axis as usize;
    let normal = |dim: usize| row.pressure_tensor.0[dim];
    let sum: f64 = (0..3).map(normal).sum();
    let tangential = 0.5 * (sum - normal(axis));
    row.lengths[axis] * (normal(axis) - tangential) / surfaces as f64
}

impl Seen {
    fn new(every: u64, tension: Option<SurfaceTension>) -> Self {
        let count = columns().count() + usize::from(tension.is_some());
        Self { every, steps: None, blockings: vec![Blocking::default(); count] }
    }

    fn rows(&self) -> u64 {
        self.blockings.first().map_or(0, |blocking| blocking.estimate().samples)
    }

    fn words(&self, tension: Option<SurfaceTension>) -> Vec<u64> {
        // `u64::MAX` stands for no rows.
        let steps = self.steps.unwrap_or([u64::MAX; 2]);
        let head = [self.every].into_iter().chain(steps).chain(tension_words(tension));
        head.chain(self.blockings.iter().flat_map(Blocking::words)).collect()
    }

    /// Restores the state from its words. Returns `None` if they have a different number of columns
    /// or another surface tension.
    fn from_words(words: &[u64], tension: Option<SurfaceTension>) -> Option<Self> {
        let (&[every, first, last, found @ ..], mut words) = words.split_first_chunk::<5>()?;
        let mut seen = Self::new(every, tension);
        seen.steps = Some([first, last]).filter(|_| last != u64::MAX);
        for blocking in &mut seen.blockings {
            (*blocking, words) = Blocking::from_words(words)?;
        }
        (words.is_empty() && found == tension_words(tension)).then_some(seen)
    }
}

/// Returns the number of surfaces, 0 if no surface tension is requested, and the axis.
fn tension_words(tension: Option<SurfaceTension>) -> [u64; 2] {
    tension.map_or([0; 2], |SurfaceTension { axis, surfaces }| [surfaces, axis as u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixtures::thermo_rows;
    use md_scenario::Axis;

    #[test]
    fn the_surface_tension_is_what_stretches_a_surface() {
        let row = &thermo_rows()[0];
        // The pressures are -5, -5 and -5.059121888 along the axes, each 16.795961913825074 long.
        for (axis, excess) in [(Axis::X, 0.5 * 0.059121888), (Axis::Z, -0.059121888)] {
            let found = surface_tension(row, SurfaceTension { axis, surfaces: 2 });
            assert!((found - 0.5 * 16.795961913825074 * excess).abs() < 1e-12, "{axis:?}: {found}");
        }
    }

    #[test]
    fn what_was_seen_comes_back_for_the_same_surfaces() {
        let tension = |axis, surfaces| Some(SurfaceTension { axis, surfaces });
        let all = [None, tension(Axis::X, 2), tension(Axis::Z, 2), tension(Axis::Z, 1)];
        for then in all {
            let mut seen = Seen::new(10, then);
            seen.blockings.iter_mut().for_each(|blocking| blocking.add(0.5));
            for now in all {
                let same = (then == now).then(|| seen.clone());
                assert_eq!(Seen::from_words(&seen.words(then), now), same, "{then:?} {now:?}");
            }
        }
    }
}
