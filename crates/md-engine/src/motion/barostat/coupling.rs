//! Change of the box that a barostat requires at a pressure.

use md_core::{Dimension, SymmetricTensor, random};

use super::{Barostat, BarostatKind, CoupledAxes, NamedAxes};
use crate::motion::System;

/// State from which a barostat computes the change of the box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PressureMoment {
    pub(crate) step: u64,
    pub(crate) pressure: SymmetricTensor,
    pub(crate) volume: f64,
    /// Temperature of the heat bath; 0 with constant energy.
    pub(crate) temperature: f64,
}

/// Factors of a change of the box, for lengths and velocities.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) lengths: [f64; 3],
    pub(crate) velocities: [f64; 3],
    /// Whether the change was limited.
    pub(crate) extent: Extent,
}

/// Whether a change of the box is as large as the equation of motion requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// Limited, because larger changes between two steps are not made.
    Limited,
}

/// Number of times a barostat has changed the box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BoxReport {
    /// Number of changes.
    pub changes: u64,
    /// Changes limited to 5 % of a length: pressure, relaxation and compressibility required more.
    pub limited: u64,
}

impl BoxReport {
    pub(crate) fn note(&mut self, extent: Extent) {
        self.changes += 1;
        self.limited += u64::from(extent == Extent::Limited);
    }
}

/// State of a barostat during a run.
#[derive(Debug, Clone)]
pub(crate) struct BoxCoupling {
    keys: Barostat,
    seed: u64,
    dimension: Dimension,
    /// Steps between two changes.
    interval: u64,
    /// Time between two changes, \[time\].
    span: f64,
    /// Energy added to the particles by changes of the box, \[energy\].
    pub(crate) work: f64,
}

impl BoxCoupling {
    pub(crate) fn new(keys: Barostat, system: &System) -> Self {
        let interval = keys.interval(system.timestep);
        Self {
            keys,
            seed: system.seed,
            dimension: system.domain.dimension,
            interval,
            span: interval as f64 * system.timestep,
            work: 0.0,
        }
    }

    pub(crate) fn keys(&self) -> &Barostat {
        &self.keys
    }

    /// Returns whether the box changes after this step.
    pub(crate) fn acts_after(&self, step: u64) -> bool {
        step > 0 && step.is_multiple_of(self.interval)
    }

    /// Returns the change of the box, which is the same on all ranks.
    pub(crate) fn stretch(&self, now: &PressureMoment) -> Stretch {
        /// Largest change of a length between two steps, as a strain.
        const LARGEST_STRAIN: f64 = 0.05;
        let dimensions = self.dimension.count() as f64;
        let coupled = self.keys.axes.coupled(self.dimension);
        let normals = random::barostat_draw(self.seed, now.step);
        let SymmetricTensor([xx, yy, zz, ..]) = now.pressure;
        let own = [xx, yy, zz];
        let strain = |dim: usize| match self.keys.axes {
            _ if !coupled[dim] => 0.0,
            CoupledAxes::Named(NamedAxes::Isotropic) => {
                let mean = now.pressure.trace() / dimensions;
                self.strain_of(mean, normals[0], self.keys.compressibility, now) / dimensions
            }
            _ => self.strain_of(own[dim], normals[dim], self.keys.compressibility / dimensions, now),
        };
        let wanted = [0, 1, 2].map(strain);
        let is_limited = wanted.iter().any(|strain| strain.abs() > LARGEST_STRAIN);
        let lengths = wanted.map(|strain| strain.clamp(-LARGEST_STRAIN, LARGEST_STRAIN).exp());
        let velocities = match self.keys.kind {
            BarostatKind::StochasticCellRescaling => lengths.map(f64::recip),
            BarostatKind::Berendsen => [1.0; 3],
        };
        Stretch { lengths, velocities, extent: if is_limited { Extent::Limited } else { Extent::Whole } }
    }

    /// Returns the change of the logarithm of the volume, or of a length.
    fn strain_of(&self, pressure: f64, normal: f64, compressibility: f64, now: &PressureMoment) -> f64 {
        let rate = compressibility * self.span / self.keys.relaxation;
        let noise = match self.keys.kind {
            BarostatKind::StochasticCellRescaling => {
                (2.0 * now.temperature * rate / now.volume).sqrt() * normal
            }
            BarostatKind::Berendsen => 0.0,
        };
        rate * (pressure - self.keys.pressure) + noise
    }
}

#[cfg(test)]
mod tests {
    use md_core::force::Summation;
    use md_core::{Boundary, Domain, SimdLevel};

    use super::*;
    use crate::motion::barostat::BoxAxis;

    fn coupling(kind: BarostatKind, axes: CoupledAxes) -> BoxCoupling {
        let domain = Domain {
            dimension: Dimension::Three,
            origin: [0.0; 3],
            lengths: [8.0; 3],
            boundary: [Boundary::Periodic; 3],
        };
        let system = System {
            domain: &domain,
            masses: &[1.0],
            atoms: 500,
            timestep: 0.005,
            schedule: &(0..0),
            seed: 0,
            summation: Summation::Rounded,
            simd: SimdLevel::Baseline,
        };
        let keys =
            Barostat { kind, pressure: 1.0, relaxation: 1.0, compressibility: 0.05, axes, every: Some(2) };
        BoxCoupling::new(keys, &system)
    }

    /// An ideal gas of N particles whose box follows only the barostat, with momenta drawn anew
    /// each time: the volume has a gamma distribution, exp(-P0 V / kT) V^N, with mean (N + 1) kT /
    /// P0 and variance (N + 1) (kT / P0)^2.
    #[test]
    fn volumes_of_an_ideal_gas_have_their_distribution() {
        const ATOMS: f64 = 50.0;
        const TEMPERATURE: f64 = 2.0;
        for axes in [NamedAxes::Isotropic, NamedAxes::Xyz, NamedAxes::Z].map(CoupledAxes::Named) {
            let mut coupling = coupling(BarostatKind::StochasticCellRescaling, axes);
            coupling.keys.compressibility = 1.0;
            coupling.span = 0.004;
            let (mut volume, mut sums, mut samples) = (100.0, [0.0; 2], 0.0);
            for step in 1..=400_000 {
                let pressure = SymmetricTensor::diagonal([ATOMS * TEMPERATURE / volume; 3]);
                let now = PressureMoment { step, pressure, volume, temperature: TEMPERATURE };
                volume *= coupling.stretch(&now).lengths.iter().product::<f64>();
                if step > 10_000 {
                    samples += 1.0;
                    sums[0] += volume;
                    sums[1] += volume * volume;
                }
            }
            let mean = sums[0] / samples;
            let variance = sums[1] / samples - mean * mean;
            let expected = ((ATOMS + 1.0) * TEMPERATURE, (ATOMS + 1.0) * TEMPERATURE * TEMPERATURE);
            assert!((mean / expected.0 - 1.0).abs() < 0.04, "{axes:?}: mean {mean}");
            assert!((variance / expected.1 - 1.0).abs() < 0.25, "{axes:?}: variance {variance}");
        }
    }

    #[test]
    fn axes_that_are_not_coupled_keep_their_length() {
        let now = PressureMoment {
            step: 2,
            pressure: SymmetricTensor([3.0, 0.0, 1.0, 5.0, 5.0, 5.0]),
            volume: 10.0,
            temperature: 1.0,
        };
        let named = CoupledAxes::Named;
        let lengths = |axes| coupling(BarostatKind::Berendsen, axes).stretch(&now).lengths;
        let [x, y, z] = lengths(named(NamedAxes::Xyz));
        assert!(x > 1.0 && y < 1.0 && z == 1.0);
        assert_eq!(lengths(named(NamedAxes::Yz)), [1.0, y, 1.0]);
        let listed = |axes: &[BoxAxis]| CoupledAxes::Listed(axes.to_vec().into());
        assert_eq!(lengths(listed(&[BoxAxis::Z, BoxAxis::Y])), [1.0, y, 1.0]);
        let [x, y, z] = lengths(named(NamedAxes::Isotropic));
        assert!(x > 1.0 && x == y && y == z);
        assert_eq!(coupling(BarostatKind::Berendsen, named(NamedAxes::X)).stretch(&now).velocities, [1.0; 3]);
    }
}
