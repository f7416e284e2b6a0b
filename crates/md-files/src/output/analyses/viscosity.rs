//! `viscosity.csv`: the shear viscosity by the Green-Kubo relation.

use md_comm::World;
use md_core::analysis::{Blocking, Correlated, Correlation};
use md_engine::{Needs, ObserverError, RunsOn, Snapshot, Thermo};
use md_scenario::{AnalysisKeys, AnalysisKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::super::run_output::Opening;
use super::Analysis;

/// The viscosity from the samples so far, which are on rank 0.
pub(super) struct Viscosity {
    /// Time between two samples, \[time\].
    interval: f64,
    dimensions: usize,
    stress: Correlation,
    temperature: Blocking,
    volume: Blocking,
}

/// Returns the number of independent components of the traceless stress.
fn stress_count(dimensions: usize) -> usize {
    if dimensions == 2 { 2 } else { 5 }
}

/// Returns the shear components and differences of the normal ones. In a liquid at rest all of them
/// have a mean of zero and the same correlation function (Daivis and Evans, J. Chem. Phys. 100, 541
/// (1994)).
fn stresses(thermo: &Thermo, dimensions: usize) -> Vec<f64> {
    let [xx, yy, zz, xy, xz, yz] = thermo.pressure_tensor.0;
    match dimensions {
        2 => vec![xy, 0.5 * (xx - yy)],
        _ => vec![xy, xz, yz, 0.5 * (xx - yy), 0.5 * (yy - zz)],
    }
}

impl Viscosity {
    /// Returns the factor that converts an integral of the correlation function over samples to a
    /// viscosity: V / kT times the time between two samples.
    fn factor(&self) -> f64 {
        self.volume.estimate().mean / self.temperature.estimate().mean * self.interval
    }

    /// Returns the correlation function by lag, if it is known.
    fn function(&self) -> impl DoubleEndedIterator<Item = (usize, Correlated)> {
        let known = if self.stress.origins() > 0 { self.stress.function() } else { Vec::new() };
        known.into_iter().enumerate()
    }
}

impl Analysis for Viscosity {
    const KIND: AnalysisKind = md_scenario::Viscosity::KIND;
    const NEEDS: Needs = Needs::ENERGY_AND_VIRIAL;
    const RUNS_ON: RunsOn = RunsOn::FirstRank;

    fn new(keys: &AnalysisKeys, opening: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let timestep = opening.scenario.simulation.timestep;
        let interval = keys.every as f64 * timestep;
        let dimensions = opening.subject.domain.dimension.count();
        let (lags, components) = (keys.lags(timestep), stress_count(dimensions));
        let (temperature, volume, stress) = match words {
            None => (Blocking::default(), Blocking::default(), Correlation::new(lags, components)),
            Some(words) => {
                let (&[then], words) = words.split_first_chunk()?;
                let (temperature, words) = Blocking::from_words(words)?;
                let (volume, words) = Blocking::from_words(words)?;
                let stress = Correlation::from_words(words, lags, components)?;
                (then == interval.to_bits()).then_some((temperature, volume, stress))?
            }
        };
        Some(Self { interval, dimensions, stress, temperature, volume })
    }

    fn sample(&mut self, now: &Snapshot, _: &dyn World) -> Result<(), ObserverError> {
        if let Some(thermo) = now.thermo {
            self.stress.add(&stresses(thermo, self.dimensions));
            self.temperature.add(thermo.temperature);
            self.volume.add(thermo.volume);
        }
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        let Self { interval, stress, temperature, volume, .. } = self;
        let head = std::iter::once(interval.to_bits()).chain(temperature.words()).chain(volume.words());
        head.chain(stress.words()).collect()
    }

    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        let factor = self.factor();
        self.function().map(move |(lag, at)| {
            let (viscosity, error) = (factor * at.integral, factor * at.integral_error);
            (lag as f64 * self.interval, at.value, at.error, viscosity, error)
        })
    }

    fn summary(&self, _: &[String]) -> Option<(&'static str, Value)> {
        let (factor, (lag, last)) = (self.factor(), self.function().next_back()?);
        let mut entry = json!({ "value": factor * last.integral, "time": lag as f64 * self.interval });
        if last.integral_error.is_finite() {
            entry["error"] = (factor * last.integral_error).into();
        }
        Some(("viscosity", entry))
    }
}
