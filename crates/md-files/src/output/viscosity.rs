//! `viscosity.csv`: the shear viscosity by the Green-Kubo relation.

use md_core::analysis::{Blocking, Correlation};
use md_engine::{Needs, Observer, ObserverError, RunsOn, Snapshot, Thermo};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use serde_json::json;

use super::analysis::{SampleSchedule, recalled};
use super::run_output::{Closing, Opened, Opening, OutputKind, RunOutput, Scope, StageBegin};
use super::tables::table;
use crate::checkpoint::{OutputMemory, OutputState};
use crate::store::OutputError;

/// Output of the viscosity.
pub const KIND: OutputKind = OutputKind { scope: Scope::Stage, files: &[KnownFile::VISCOSITY], open };

const NAME: &str = "viscosity";

struct Viscosity {
    looks: SampleSchedule,
    /// Time between two samples, \[time\].
    interval: f64,
    dimensions: usize,
    /// Accumulated samples, on rank 0.
    seen: Seen,
}

/// Accumulated samples from which the viscosity is computed.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    stress: Correlation,
    temperature: Blocking,
    volume: Blocking,
}

fn open<'a>(opening: &Opening<'a>) -> Result<Opened<'a>, OutputError> {
    let Opening { scenario, subject, .. } = opening;
    let Some(keys) = scenario.output.analyses.viscosity else { return Ok(Vec::new()) };
    let dimensions = subject.domain.dimension.count();
    let interval = keys.every as f64 * scenario.simulation.timestep;
    let (lags, components) = (keys.lags(scenario.simulation.timestep), stress_count(dimensions));
    let read = |words: &[u64]| {
        let (&[then], words) = words.split_first_chunk()?;
        let (temperature, words) = Blocking::from_words(words)?;
        let (volume, words) = Blocking::from_words(words)?;
        let stress = Correlation::from_words(words, lags, components)?;
        (then == interval.to_bits()).then_some(Seen { stress, temperature, volume })
    };
    let begin = || Seen {
        stress: Correlation::new(lags, components),
        temperature: Blocking::default(),
        volume: Blocking::default(),
    };
    let seen = recalled(opening, NAME, read).unwrap_or_else(begin);
    let looks = SampleSchedule::new(keys.every, keys.start);
    Ok(vec![Box::new(Viscosity { looks, interval, dimensions, seen })])
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

impl Observer for Viscosity {
    fn due(&self, step: u64) -> Option<Needs> {
        self.looks.are_due(step).then_some(Needs::ENERGY_AND_VIRIAL)
    }

    fn observe(&mut self, now: &Snapshot) -> Result<(), ObserverError> {
        if let Some(thermo) = now.thermo {
            self.seen.stress.add(&stresses(thermo, self.dimensions));
            self.seen.temperature.add(thermo.temperature);
            self.seen.volume.add(thermo.volume);
        }
        Ok(())
    }

    fn runs_on(&self) -> RunsOn {
        RunsOn::FirstRank
    }
}

impl Viscosity {
    /// Returns the factor that converts an integral of the correlation function over samples to a
    /// viscosity: V / kT times the time between two samples.
    fn factor(&self) -> f64 {
        let Seen { temperature, volume, .. } = &self.seen;
        volume.estimate().mean / temperature.estimate().mean * self.interval
    }

    fn csv(&self) -> Result<Vec<u8>, OutputError> {
        let factor = self.factor();
        let row = |(lag, at): (usize, md_core::analysis::Correlated)| {
            let (viscosity, error) = (factor * at.integral, factor * at.integral_error);
            (lag as f64 * self.interval, at.value, at.error, viscosity, error)
        };
        let header = "time,stress_correlation,stress_correlation_error,viscosity,viscosity_error";
        let known = self.seen.stress.function().into_iter().filter(|_| self.seen.stress.origins() > 0);
        table(KnownFile::VISCOSITY, &[header], known.enumerate().map(row))
    }
}

impl RunOutput for Viscosity {
    fn begin_stage(&mut self, stage: &StageBegin) {
        self.looks.begin_stage(stage);
    }

    fn kept(&mut self) -> Result<OutputState, ObserverError> {
        let Seen { stress, temperature, volume } = &self.seen;
        let head = std::iter::once(self.interval.to_bits()).chain(temperature.words()).chain(volume.words());
        let words = head.chain(stress.words()).collect();
        Ok(OutputState {
            memory: Some(OutputMemory { name: NAME.to_owned(), words }),
            ..OutputState::default()
        })
    }

    fn finish(self: Box<Self>, closing: &mut Closing) -> Result<(), RunError> {
        if let Some((lag, last)) = self.seen.stress.function().into_iter().enumerate().next_back()
            && self.seen.stress.origins() > 0
        {
            let factor = self.factor();
            let mut entry = json!({ "value": factor * last.integral, "time": lag as f64 * self.interval });
            if last.integral_error.is_finite() {
                entry["error"] = (factor * last.integral_error).into();
            }
            closing.summary.insert(NAME.to_owned(), entry);
        }
        Ok(closing.write_whole(KnownFile::VISCOSITY, || self.csv())?)
    }
}
