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

mod axes;
mod coupling;

use std::ops::RangeInclusive;

use md_core::{Boundary, Dimension};

use super::integrator::Integrator;
use crate::error::KeyFault;
pub use axes::{BoxAxis, CoupledAxes, ListedAxes, NamedAxes};
pub use coupling::BoxReport;
pub(crate) use coupling::{BoxCoupling, Extent, PressureMoment, Stretch};

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
        self.check_sizes()?;
        KeyFault::unless_at_least_one("barostat.every", self.every)?;
        self.check_axes(dimension, boundary)?;
        let fault = |key, problem: &str| Err(KeyFault { key, problem: problem.to_owned() });
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

    fn check_sizes(&self) -> Result<(), KeyFault> {
        if !self.pressure.is_finite() {
            let found = format!("must be a finite number, found {:?}", self.pressure).to_lowercase();
            return Err(KeyFault { key: "barostat.pressure", problem: found });
        }
        KeyFault::unless_positive("barostat.relaxation", self.relaxation)?;
        KeyFault::unless_positive("barostat.compressibility", self.compressibility)?;
        let within = |key, value: f64| {
            if value == 0.0 || Self::SIZES.contains(&value.abs()) {
                return Ok(());
            }
            let (least, most) = (Self::SIZES.start(), Self::SIZES.end());
            let problem = format!(
                "is {value:e}, but must be of a size from {least:e} to {most:e}, so that its products are numbers"
            );
            Err(KeyFault { key, problem })
        };
        within("barostat.pressure", self.pressure)?;
        within("barostat.compressibility", self.compressibility)
    }

    fn check_axes(&self, dimension: Dimension, boundary: [Boundary; 3]) -> Result<(), KeyFault> {
        let fault = |problem: &str| Err(KeyFault { key: "barostat.axes", problem: problem.to_owned() });
        if let CoupledAxes::Listed(axes) = self.axes {
            axes.check()?;
        }
        let coupled = self.axes.coupled(dimension);
        if (0..3).any(|dim| coupled[dim] && boundary[dim] != Boundary::Periodic) {
            return fault("includes a direction with walls, along which a box keeps its length");
        }
        if coupled == [false; 3] {
            return fault("is z alone, which a system in two dimensions does not have");
        }
        Ok(())
    }
}
