//! Barostats: scale the box and the particles in it so that the pressure approaches a given value.
//!
//! At a fixed interval of steps, each length L is multiplied by exp(strain). With the stochastic
//! barostat, the logarithm of the volume V follows (Bernetti and Bussi, J. Chem. Phys. 153, 114107
//! (2020), equation 5)
//!
//! ```text
//! d ln V = -(kappa / tau) (P0 - P) dt + sqrt(2 kT kappa / (V tau)) dW
//! ```
//!
//! where P is the instantaneous pressure, P0 the target pressure, kappa the compressibility and tau
//! the relaxation time. The strain is divided equally among the lengths. Velocities are divided by
//! the same factor, so that volumes have the distribution of the isobaric ensemble. If axes are
//! coupled one by one, each follows its own diagonal element of the pressure tensor, with kappa / d
//! in d dimensions, by the same argument: noise kT / V with drift (P - P0) leaves exp(-P0 V / kT)
//! invariant. Without noise and with unchanged velocities, the scheme is weak coupling (Berendsen
//! et al., J. Chem. Phys. 81, 3684 (1984)), for equilibration.
//!
//! Forces and energy are recomputed in the new box, so the energy added by the barostat is known
//! exactly; it is subtracted from the conserved energy.

use std::ops::RangeInclusive;

use md_core::random;
use md_core::{Boundary, Dimension, SymmetricTensor};

use crate::error::KeyFault;
use crate::motion::System;
use crate::motion::integrator::Integrator;

/// Keys of a barostat.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Barostat {
    /// Kind of barostat.
    pub kind: BarostatKind,
    /// Target pressure, in units of epsilon / sigma^3.
    pub pressure: f64,
    /// Relaxation time of the volume, in tau, if the compressibility is right. Must not be below
    /// the time between two changes of the box.
    pub relaxation: f64,
    /// Isothermal compressibility, in units of sigma^3 / epsilon; its order of magnitude is enough.
    #[cfg_attr(feature = "serde", serde(default = "usual_compressibility"))]
    pub compressibility: f64,
    /// Lengths that change, and whether together: a name, or a list of axes, each by its own
    /// pressure.
    #[cfg_attr(feature = "serde", serde(default))]
    pub axes: CoupledAxes,
    /// Steps between two changes of the box; derived from the relaxation time if absent.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "serde", schemars(range(min = 1)))]
    pub every: Option<u64>,
}

#[cfg(feature = "serde")]
fn usual_compressibility() -> f64 {
    0.1
}

/// Available barostats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum BarostatKind {
    /// Bernetti and Bussi's barostat: volumes fluctuate as in the isobaric ensemble. Needs an
    /// integrator with a temperature.
    StochasticCellRescaling,
    /// Weak coupling: for equilibration, samples no ensemble.
    Berendsen,
}

/// Lengths of the box that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(untagged), schemars(inline))]
pub enum CoupledAxes {
    /// A name.
    Named(NamedAxes),
    /// A list of axes, each by its own pressure.
    Listed(#[cfg_attr(feature = "serde", schemars(with = "Vec<BoxAxis>"))] ListedAxes),
}

impl Default for CoupledAxes {
    fn default() -> Self {
        Self::Named(NamedAxes::Isotropic)
    }
}

/// Names for the lengths of the box that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum NamedAxes {
    /// All by one factor, by the mean of the diagonal pressures.
    Isotropic,
    /// Each by its own pressure.
    Xyz,
    /// Only x.
    X,
    /// Only y.
    Y,
    /// Only z.
    Z,
    /// x and y, each by its own pressure.
    Xy,
    /// x and z, each by its own pressure.
    Xz,
    /// y and z, each by its own pressure.
    Yz,
}

/// An axis of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum BoxAxis {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
}

/// Axes as given in a list, in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<BoxAxis>", into = "Vec<BoxAxis>"))]
pub struct ListedAxes {
    /// Number of times each axis is listed.
    counts: [u8; 3],
}

impl From<Vec<BoxAxis>> for ListedAxes {
    fn from(list: Vec<BoxAxis>) -> Self {
        let mut counts = [0_u8; 3];
        list.into_iter().for_each(|axis| counts[axis as usize] = counts[axis as usize].saturating_add(1));
        Self { counts }
    }
}

impl From<ListedAxes> for Vec<BoxAxis> {
    fn from(ListedAxes { counts }: ListedAxes) -> Self {
        let named = [BoxAxis::X, BoxAxis::Y, BoxAxis::Z].into_iter().zip(counts);
        named.flat_map(|(axis, count)| std::iter::repeat_n(axis, count.into())).collect()
    }
}

impl ListedAxes {
    /// Checks that no axis is listed twice and that at least one is listed.
    fn check(self) -> Result<(), KeyFault> {
        let fault = |problem: String| Err(KeyFault { key: "barostat.axes", problem });
        let repeated = ['x', 'y', 'z'].into_iter().zip(self.counts).find(|(_, count)| *count > 1);
        match repeated {
            Some((axis, _)) => fault(format!("names {axis} more than once")),
            None if self.counts == [0; 3] => fault("names no axis".to_owned()),
            None => Ok(()),
        }
    }
}

impl CoupledAxes {
    /// Returns which of x, y and z change in a space of this dimension.
    fn coupled(self, dimension: Dimension) -> [bool; 3] {
        let chosen = match self {
            Self::Named(name) => name.axes(),
            Self::Listed(ListedAxes { counts }) => counts.map(|count| count > 0),
        };
        [0, 1, 2].map(|dim| chosen[dim] && dim < dimension.count())
    }
}

impl NamedAxes {
    fn axes(self) -> [bool; 3] {
        match self {
            Self::Isotropic | Self::Xyz => [true; 3],
            Self::X => [true, false, false],
            Self::Y => [false, true, false],
            Self::Z => [false, false, true],
            Self::Xy => [true, true, false],
            Self::Xz => [true, false, true],
            Self::Yz => [false, true, true],
        }
    }
}

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

impl Barostat {
    /// Range of the magnitudes of pressures and compressibilities. Within it, their products with
    /// volumes and with each other are finite.
    pub const SIZES: RangeInclusive<f64> = 1e-100..=1e100;

    /// Checks that the relaxation time is not below the time between two changes of the box.
    ///
    /// # Errors
    /// A relaxation time below the time between two changes of the box.
    pub fn check_relaxation(&self, timestep: f64) -> Result<(), KeyFault> {
        let span = self.interval(timestep) as f64 * timestep;
        if self.relaxation >= span {
            return Ok(());
        }
        let relaxation = self.relaxation;
        let problem = format!("is {relaxation:?}, shorter than the {span:?} between two changes of the box");
        Err(KeyFault { key: "barostat.relaxation", problem })
    }

    /// Returns `factor` for the axes that change and 1 for the others.
    pub(crate) fn coupled(&self, dimension: Dimension, factor: f64) -> [f64; 3] {
        self.axes.coupled(dimension).map(|is_coupled| if is_coupled { factor } else { 1.0 })
    }

    /// Returns the number of steps between two changes.
    fn interval(&self, timestep: f64) -> u64 {
        /// Changes per relaxation time. In a twentieth of it the pressure changes little; more
        /// frequent changes cost force computations.
        const PART: f64 = 20.0;
        const LONGEST: f64 = 20.0;
        let usual = (self.relaxation / (PART * timestep)).floor().clamp(1.0, LONGEST) as u64;
        self.every.unwrap_or(usual)
    }

    /// Checks the keys with this box and integrator.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn check(
        &self,
        dimension: Dimension,
        boundary: [Boundary; 3],
        integrator: &Integrator,
    ) -> Result<(), KeyFault> {
        let fault = |key, problem: &str| Err(KeyFault { key, problem: problem.to_owned() });
        if !self.pressure.is_finite() {
            let found = format!("must be a finite number, found {:?}", self.pressure).to_lowercase();
            return fault("barostat.pressure", &found);
        }
        KeyFault::unless_positive("barostat.relaxation", self.relaxation)?;
        KeyFault::unless_positive("barostat.compressibility", self.compressibility)?;
        let within = |key, value: f64| {
            if value == 0.0 || Self::SIZES.contains(&value.abs()) {
                return Ok(());
            }
            let (least, most) = (Self::SIZES.start(), Self::SIZES.end());
            fault(
                key,
                &format!(
                    "is {value:e}, but must be of a size from {least:e} to {most:e}, so that its products are numbers"
                ),
            )
        };
        within("barostat.pressure", self.pressure)?;
        within("barostat.compressibility", self.compressibility)?;
        KeyFault::unless_at_least_one("barostat.every", self.every)?;
        if let CoupledAxes::Listed(axes) = self.axes {
            axes.check()?;
        }
        let coupled = self.axes.coupled(dimension);
        if (0..3).any(|dim| coupled[dim] && boundary[dim] != Boundary::Periodic) {
            return fault(
                "barostat.axes",
                "includes a direction with walls, along which a box keeps its length",
            );
        }
        if coupled == [false; 3] {
            return fault("barostat.axes", "is z alone, which a system in two dimensions does not have");
        }
        if matches!(integrator, Integrator::Fire(_)) {
            return fault(
                "barostat",
                "cannot be beside `fire`, which ends when forces are small, whatever the pressure: minimise at constant volume, or let a thermostat with a low temperature and a barostat relax the box",
            );
        }
        if self.kind == BarostatKind::StochasticCellRescaling && integrator.temperature().is_none() {
            return fault(
                "barostat.kind",
                "needs an integrator with a temperature to be `stochastic-cell-rescaling`",
            );
        }
        Ok(())
    }
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
    use md_core::{Domain, SimdLevel};

    use super::*;

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
