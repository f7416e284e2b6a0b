//! Target temperature of a thermostat: constant, or a ramp over the run.

use std::ops::Range;

use super::KeyFault;

/// A constant temperature, or a linear ramp over the run or stage.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(untagged), schemars(inline))]
pub enum Temperature {
    /// Constant temperature.
    Constant(f64),
    /// Linear ramp from the first step to the last.
    Ramp(TemperatureRamp),
}

/// A linear temperature ramp.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields), schemars(inline))]
pub struct TemperatureRamp {
    /// Initial temperature.
    pub from: f64,
    /// Final temperature.
    pub to: f64,
}

impl Temperature {
    /// Returns the initial and the final temperature.
    pub fn ends(self) -> [f64; 2] {
        match self {
            Self::Constant(temperature) => [temperature; 2],
            Self::Ramp(TemperatureRamp { from, to }) => [from, to],
        }
    }

    pub(super) fn check(self) -> Result<(), KeyFault> {
        let names = match self {
            Self::Constant(_) => ["temperature"; 2],
            Self::Ramp(_) => ["temperature.from", "temperature.to"],
        };
        let faulty =
            names.into_iter().zip(self.ends()).find(|(_, value)| !(*value >= 0.0 && value.is_finite()));
        faulty.map_or(Ok(()), |(key, value)| Err(KeyFault::not_a_number_from_0(key, value)))
    }
}

/// A temperature over the steps of a run or stage.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    temperature: Temperature,
    /// First and last step of the ramp.
    steps: Range<u64>,
}

impl Schedule {
    pub(super) fn new(temperature: Temperature, steps: Range<u64>) -> Self {
        Self { temperature, steps }
    }

    /// Returns the temperature after a step. Beyond the last step it is the final one.
    pub(super) fn at(&self, step: u64) -> f64 {
        let [from, to] = self.temperature.ends();
        let Range { start, end } = self.steps;
        let done = step.saturating_sub(start) as f64 / end.saturating_sub(start).max(1) as f64;
        if from == to { from } else { from + (to - from) * done.min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_goes_from_the_first_step_to_the_last() {
        let ramp = Schedule::new(Temperature::Ramp(TemperatureRamp { from: 1.0, to: 3.0 }), 100..300);
        for (step, expected) in [(0, 1.0), (100, 1.0), (150, 1.5), (300, 3.0), (400, 3.0)] {
            assert_eq!(ramp.at(step), expected, "{step}");
        }
        let constant = Schedule::new(Temperature::Constant(0.7), 0..0);
        assert_eq!(constant.at(5), 0.7);
    }
}
