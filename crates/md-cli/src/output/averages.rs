//! Means of the columns of thermo.csv and the surface tension, with errors: a part of summary.json.

use md_core::analysis::{Blocking, Estimate};
use md_engine::Thermo;
use serde_json::{Map, Value, json};

use super::analysis::{Looks, recalled};
use super::run_output::{Opening, StageBegin};
use super::thermo::{columns, values};
use crate::checkpoint::OutputMemory;
use crate::scenario::SurfaceTension;

const NAME: &str = "averages";

/// What has been seen of the columns, on rank 0.
pub(super) struct Averages {
    looks: Looks,
    tension: Option<SurfaceTension>,
    /// Of the columns, and of the surface tension where it is asked for.
    blockings: Vec<Blocking>,
}

impl Averages {
    pub(super) fn open(opening: &Opening) -> Self {
        let output = &opening.scenario.output;
        let looks = Looks::new(output.thermo.every, output.averages.map(|averages| averages.start));
        let tension = output.surface_tension;
        let count = columns().count() + usize::from(tension.is_some());
        let recalled = recalled(opening, NAME, |words| from_words(words, count));
        Self { looks, tension, blockings: recalled.unwrap_or_else(|| vec![Blocking::default(); count]) }
    }

    pub(super) fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.every = stage.plan.thermo;
        self.looks.begin_stage(stage);
    }

    /// Takes a row in, if it is one of those that are asked for.
    pub(super) fn add(&mut self, row: &Thermo) {
        if self.looks.are_due(row.step) {
            let tension = self.tension.map(|keys| surface_tension(row, keys));
            self.blockings
                .iter_mut()
                .zip(values(row).chain(tension))
                .for_each(|(blocking, value)| blocking.add(value));
        }
    }

    pub(super) fn memory(&self) -> OutputMemory {
        OutputMemory {
            name: NAME.to_owned(),
            words: self.blockings.iter().flat_map(Blocking::words).collect(),
        }
    }

    /// Entries of summary.json: by column, and the surface tension; nothing where there are no rows.
    pub(super) fn summary(&self, timestep: f64) -> Map<String, Value> {
        let rows = self.blockings.first().map_or(0, |blocking| blocking.estimate().samples);
        let (mut columns_of_rows, mut summary) = (Map::new(), Map::new());
        columns_of_rows.insert("rows".to_owned(), rows.into());
        let time = self.looks.every as f64 * timestep;
        let names = columns().map(Some).chain(std::iter::once(None));
        for (name, blocking) in names.zip(&self.blockings) {
            let (Some(entry), true) = (entry(blocking.estimate(), time), rows > 0) else { continue };
            match name {
                Some(name) => columns_of_rows.insert(name.to_owned(), entry),
                None => summary.insert("surface_tension".to_owned(), entry),
            };
        }
        if rows > 0 {
            summary.insert(NAME.to_owned(), Value::Object(columns_of_rows));
        }
        summary
    }
}

/// None of a column that has not been a number all the time.
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

/// The length of the box across the surfaces times the excess of the pressure along that axis over that along the other two, for each
/// surface (Kirkwood and Buff), \[energy / length^2\].
fn surface_tension(row: &Thermo, SurfaceTension { axis, surfaces }: SurfaceTension) -> f64 {
    let axis = axis as usize;
    let normal = |dim: usize| row.pressure_tensor.0[dim];
    let sum: f64 = (0..3).map(normal).sum();
    let tangential = 0.5 * (sum - normal(axis));
    row.lengths[axis] * (normal(axis) - tangential) / surfaces as f64
}

fn from_words(mut words: &[u64], count: usize) -> Option<Vec<Blocking>> {
    let mut next = |_| {
        let (blocking, rest) = Blocking::from_words(words)?;
        words = rest;
        Some(blocking)
    };
    let all = (0..count).map(&mut next).collect::<Option<Vec<_>>>()?;
    words.is_empty().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixtures::thermo_rows;
    use crate::scenario::Axis;

    #[test]
    fn the_surface_tension_is_what_stretches_a_surface() {
        let row = &thermo_rows()[0];
        // -5, -5 and -5.059121888 along the axes, each 16.795961913825074 long.
        for (axis, excess) in [(Axis::X, 0.5 * 0.059121888), (Axis::Z, -0.059121888)] {
            let found = surface_tension(row, SurfaceTension { axis, surfaces: 2 });
            assert!((found - 0.5 * 16.795961913825074 * excess).abs() < 1e-12, "{axis:?}: {found}");
        }
    }
}
