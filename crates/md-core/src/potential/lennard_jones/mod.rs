//! 12-6 Lennard-Jones (Jones 1924): U(r) = 4 epsilon [ (sigma/r)^12 - (sigma/r)^6 ], cut at `cutoff`.
//!
//! In the loops it is written with s = 1/r^2 and four constants per pair of species:
//!
//! ```text
//! U(r)        = s^3 (c12 s^3 - c6) - energy_shift + force_shift r     c12 = 4 eps sigma^12,  c6 = 4 eps sigma^6
//! -(dU/dr)/r  = s s^3 (f12 s^3 - f6) - force_shift / r                f12 = 12 c12,          f6 = 6 c6
//! ```

mod kernel;
#[cfg(test)]
mod tests;

use super::{KernelUser, Mixing, PairPotential, PairTerm, Tail};
use crate::Dimension;
use kernel::{ForceShift, ManySpecies, NoForceShift, OneSpecies};
use std::f64::consts::PI;

/// Depth and diameter of one pair's potential well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Well {
    /// Depth, \[energy\].
    pub epsilon: f64,
    /// Distance at which the uncut potential is zero, \[length\].
    pub sigma: f64,
}

/// What is subtracted at the cutoff.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Shift {
    /// Plain truncation.
    #[default]
    None,
    /// Energy is zero at the cutoff.
    Energy,
    /// Energy and force are zero at the cutoff.
    Force,
}

/// Why a potential could not be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LennardJonesError {
    /// An override for a species that does not exist.
    #[error("pair override for species {0} and {1}, but there are {2} species")]
    NoSuchSpecies(usize, usize, usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Constants {
    c12: f64,
    c6: f64,
    f12: f64,
    f6: f64,
    energy_shift: f64,
    force_shift: f64,
}

/// Lennard-Jones with a table of constants per pair of species.
#[derive(Debug, Clone)]
pub struct LennardJones {
    cutoff: f64,
    shift: Shift,
    wells: Vec<Well>,
    table: Vec<Constants>,
    species: usize,
}

impl LennardJones {
    /// For species with the given wells, mixed by `mixing` except for the `overrides` (a, b, well).
    ///
    /// # Errors
    /// An override names a species that does not exist.
    pub fn new(
        wells: &[Well],
        mixing: Mixing,
        overrides: &[(usize, usize, Well)],
        cutoff: f64,
        shift: Shift,
    ) -> Result<Self, LennardJonesError> {
        let species = wells.len();
        let mut pairs: Vec<Well> =
            wells.iter().flat_map(|&a| wells.iter().map(move |&b| mixing.mix(a, b))).collect();
        for &(a, b, well) in overrides {
            if a.max(b) >= species {
                return Err(LennardJonesError::NoSuchSpecies(a, b, species));
            }
            pairs[a * species + b] = well;
            pairs[b * species + a] = well;
        }
        let table = pairs.iter().map(|&well| Constants::new(well, cutoff, shift)).collect();
        Ok(Self { cutoff, shift, wells: pairs, table, species })
    }
}

impl Constants {
    fn new(well: Well, cutoff: f64, shift: Shift) -> Self {
        let s6 = well.sigma.powi(6);
        let (c12, c6) = (4.0 * well.epsilon * s6 * s6, 4.0 * well.epsilon * s6);
        let plain = Self { c12, c6, f12: 12.0 * c12, f6: 6.0 * c6, energy_shift: 0.0, force_shift: 0.0 };
        let at_cutoff = plain.term(cutoff * cutoff);
        match shift {
            Shift::None => plain,
            Shift::Energy => Self { energy_shift: at_cutoff.energy, ..plain },
            Shift::Force => {
                let force = at_cutoff.force_over_r * cutoff;
                Self { energy_shift: at_cutoff.energy + force * cutoff, force_shift: force, ..plain }
            }
        }
    }

    /// Whether f32 holds what the kernel computes at this distance.
    fn fit_single_precision(&self, r2: f64) -> bool {
        let s = 1.0 / r2;
        let s4 = s.powi(4);
        let repulsion = self.f12 * s.powi(3);
        [s4, self.f6, self.f12 * s, repulsion, s4 * repulsion, s4 * self.f6, self.c12 * s.powi(6)]
            .into_iter()
            .all(|number| number == 0.0 || (number as f32).is_normal())
    }

    fn term(&self, r2: f64) -> PairTerm {
        let s = 1.0 / r2;
        let s3 = s * s * s;
        PairTerm {
            energy: s3 * (self.c12 * s3 - self.c6) - self.energy_shift + self.force_shift * r2.sqrt(),
            force_over_r: s * s3 * (self.f12 * s3 - self.f6) - self.force_shift * s.sqrt(),
        }
    }
}

impl PairPotential for LennardJones {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> usize {
        self.species
    }

    fn term(&self, a: usize, b: usize, r2: f64) -> PairTerm {
        self.table[a * self.species + b].term(r2)
    }

    /// From half of sigma, where forces are ten thousand times as strong as at sigma, to the cutoff.
    fn fits_single_precision(&self) -> bool {
        self.table.iter().zip(&self.wells).all(|(constants, well)| {
            [0.5 * well.sigma, self.cutoff].into_iter().all(|r| constants.fit_single_precision(r * r))
        })
    }

    /// Integrals of the uncut potential from the cutoff to infinity with g(r) = 1 (Allen & Tildesley, eqs. 2.142f; the
    /// 2D form by the same integral over rings).
    fn tail(&self, counts: &[u64], volume: f64, dimension: Dimension) -> Tail {
        let mut tail = Tail::default();
        for (a, &count_a) in counts.iter().enumerate() {
            for (b, &count_b) in counts.iter().enumerate() {
                let Well { epsilon, sigma } = self.wells[a * self.species + b];
                let pairs = count_a as f64 * count_b as f64 / volume;
                let (x, area) = (sigma / self.cutoff, sigma * sigma);
                let (energy, virial) = match dimension {
                    Dimension::Three => (
                        8.0 * PI / 9.0 * area * sigma * (x.powi(9) - 3.0 * x.powi(3)),
                        32.0 * PI / 9.0 * area * sigma * (x.powi(9) - 1.5 * x.powi(3)),
                    ),
                    Dimension::Two => (
                        4.0 * PI * area * (x.powi(10) / 10.0 - x.powi(4) / 4.0),
                        4.0 * PI * area * (0.6 * x.powi(10) - 0.75 * x.powi(4)),
                    ),
                };
                tail.energy += pairs * epsilon * energy;
                tail.pressure += pairs / volume * epsilon * virial;
            }
        }
        tail
    }

    fn with_kernel<U: KernelUser>(&self, user: U) -> U::Output {
        let (table, species) = (self.table.as_slice(), self.species);
        match (self.species, self.shift) {
            (1, Shift::Force) => user.with(OneSpecies::<ForceShift>(self.table[0], ForceShift)),
            (1, _) => user.with(OneSpecies::<NoForceShift>(self.table[0], NoForceShift)),
            (_, Shift::Force) => user.with(ManySpecies { table, species, shift: ForceShift }),
            _ => user.with(ManySpecies { table, species, shift: NoForceShift }),
        }
    }
}
