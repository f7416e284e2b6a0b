//! Choice of skin and interval between rebuilds from the thermal motion of the particles.
//!
//! With a wider skin, lists hold for more steps but have more pairs. Two policies use the model:
//!
//! - Lists that never miss a pair ([`ListModel::best_skin`]). The life of a list follows from the
//!   fastest particle. Relative to the thermal speed, this is nearly the same in all systems.
//! - Lists for a fixed number of steps, in which the pairs that are missed change the energy by
//!   less than a tolerance ([`DriftModel::best`]). The estimate is that of GROMACS (Pall and Hess,
//!   *Comput. Phys. Commun.* 184, 2641, 2013, with the manual's section on the Verlet buffer): the
//!   displacement of a pair along its distance has a Gaussian distribution, whose variance follows
//!   from that of free particles, 2 kT/m t^2. A pair that is outside the list at its beginning and
//!   within the cutoff at its end adds its potential energy when the list is rebuilt.

use std::f64::consts::{PI, SQRT_2};

use super::neighbor::ToleratedDrift;
use md_core::rebuild::LONGEST_PREDICTED_INTERVAL;
use md_core::{Dimension, PairPotential};

/// System, as far as the life of its lists depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ListModel {
    /// Cutoff, \[length\].
    pub cutoff: f64,
    /// Distance that a particle moves in a step at the thermal speed sqrt(kT / m) of the lightest
    /// species, \[length\].
    pub thermal_step: f64,
    /// Widest skin that the box allows, \[length\].
    pub widest: f64,
}

/// Difference between two of the skins that are considered, over the cutoff, and their number.
const SPACING: f64 = 0.02;
const SKINS: u64 = 20;

/// ```
/// use md_engine::ListModel;
///
/// // A melt at the triple point, time step 0.005.
/// let widest = f64::INFINITY;
/// let melt = ListModel { cutoff: 2.5, thermal_step: 0.72_f64.sqrt() * 0.005, widest };
/// assert_eq!(melt.best_skin(), 0.35);
/// // Slower particles, narrower skin.
/// let cold = ListModel { thermal_step: 0.2 * melt.thermal_step, ..melt };
/// assert!(cold.best_skin() < 0.25);
/// ```
impl ListModel {
    /// Returns the skins that are considered.
    fn skins(&self) -> impl Iterator<Item = f64> {
        // The shortest decimal representation is exact.
        let rounded = |skin: f64| format!("{skin:.6e}").parse().unwrap_or(skin);
        let Self { cutoff, widest, .. } = *self;
        let skins = (1..=SKINS).map(move |number| rounded(SPACING * number as f64 * cutoff));
        skins.filter(move |skin| *skin <= widest)
    }

    /// Returns the number of steps after which the fastest particle has moved by half the skin from
    /// its predicted position. The coefficients are those of a melt of 131,072 particles, with
    /// lists made for the middle of their life.
    fn life(&self, skin: f64) -> f64 {
        /// Skin over thermal step, per step and per squared step.
        const LINEAR: f64 = 5.8;
        const SQUARE: f64 = 0.09;
        let width = skin / self.thermal_step;
        1.0 + (LINEAR * LINEAR + 4.0 * SQUARE * width).sqrt().mul_add(0.5, -0.5 * LINEAR) / SQUARE
    }

    /// Returns the time of a step, up to a factor, with lists that are rebuilt every `life` steps.
    fn time(&self, skin: f64, life: f64) -> f64 {
        /// Width of clusters over the cutoff: lists hold the pairs of whole clusters.
        const CLUSTER: f64 = 0.2;
        /// Growth of the time for forces with the radius. It is less than that of the number of
        /// pairs, because lists are pruned (measured with skins from 0.3 to 0.6, cutoff 2.5).
        const EXPONENT: f64 = 1.2;
        /// Time of a rebuild over that of the forces.
        const REBUILD: f64 = 2.5;
        (self.cutoff * (1.0 + CLUSTER) + skin).powf(EXPONENT) * (1.0 + REBUILD / life)
    }

    /// Returns the skin with which steps are fastest if no pair may be missed, \[length\].
    pub fn best_skin(&self) -> f64 {
        let time = |skin: &f64| self.time(*skin, self.life(*skin));
        self.skins().min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(self.widest)
    }
}

/// System, as far as the energy of missed pairs depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftModel {
    lists: ListModel,
    timestep: f64,
    /// Missed pairs per particle and distance: half the surface of a sphere or circle of radius 1
    /// times the density.
    pairs: f64,
    dimension: Dimension,
    /// Largest energy of a pair at the cutoff, and its first two derivatives, as absolute values.
    at_cutoff: [f64; 3],
}

/// Lists that are rebuilt after a number of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedLists {
    /// Skin, \[length\].
    pub skin: f64,
    /// Steps between rebuilds.
    pub interval: u64,
    /// Pairs that they miss.
    pub tolerated: ToleratedDrift,
}

/// Speed over the thermal speed of the fastest particle of a large system in equilibrium, with a
/// margin.
const FASTEST: f64 = 6.0;

impl DriftModel {
    /// Creates the model of a system with this number of particles per volume (in two dimensions,
    /// per area).
    pub fn new(
        lists: ListModel,
        timestep: f64,
        density: f64,
        dimension: Dimension,
        potential: &dyn PairPotential,
    ) -> Self {
        let sphere = if dimension == Dimension::Two { 2.0 * PI } else { 4.0 * PI };
        let species = potential.species();
        let pairs = (0..species).flat_map(|a| (a..species).map(move |b| [a, b]));
        let largest = |all: [f64; 3], one: [f64; 3]| [0, 1, 2].map(|order| f64::max(all[order], one[order]));
        let at_cutoff = pairs.map(|[a, b]| derivatives(potential, a, b)).fold([0.0; 3], largest);
        Self { lists, timestep, pairs: 0.5 * sphere * density, dimension, at_cutoff }
    }

    /// Returns the estimated change of the energy per particle and time.
    pub fn drift(&self, skin: f64, interval: u64) -> f64 {
        /// Deviation from the predicted positions over that from the positions at the rebuild. It
        /// is 1/2 for free particles, and in a liquid 0.58 after 10 steps and 0.78 after 20.
        const PREDICTED: f64 = 0.8;
        let steps = interval.saturating_sub(1) as f64;
        let part = if interval <= LONGEST_PREDICTED_INTERVAL { PREDICTED } else { 1.0 };
        let deviation = SQRT_2 * self.lists.thermal_step * steps * part;
        if deviation == 0.0 {
            return 0.0;
        }
        let radius = self.lists.cutoff + skin + deviation;
        let surface = if self.dimension == Dimension::Two { radius } else { radius * radius };
        let [energy, slope, curvature] = self.at_cutoff;
        let [mean, square, cube] = moments_beyond(skin, deviation);
        let energy = energy * mean + slope * square / 2.0 + curvature * cube / 6.0;
        self.pairs * surface * energy / (interval as f64 * self.timestep)
    }

    /// Returns lists with this skin whose estimated drift is at most `most`, with the longest
    /// possible interval.
    pub fn with_skin(&self, skin: f64, most: f64) -> TimedLists {
        /// No list is older.
        const LONGEST: u64 = 100;
        let interval = (1..=LONGEST).take_while(|&steps| self.drift(skin, steps) <= most).last().unwrap_or(1);
        // The first list is made for present positions.
        let fastest = FASTEST * self.lists.thermal_step * interval as f64;
        let largest_displacement = (2.0 * fastest / skin).max(1.0);
        let tolerated = ToleratedDrift { drift: self.drift(skin, interval), largest_displacement };
        TimedLists { skin, interval, tolerated }
    }

    /// Returns the lists with which steps are fastest, of those whose estimated drift is at most
    /// `most`.
    pub fn best(&self, most: f64) -> TimedLists {
        let time = |lists: &TimedLists| self.lists.time(lists.skin, lists.interval as f64);
        let all = self.lists.skins().map(|skin| self.with_skin(skin, most));
        all.min_by(|a, b| time(a).total_cmp(&time(b)))
            .unwrap_or_else(|| self.with_skin(self.lists.widest, most))
    }
}

/// Returns the absolute values of a pair's energy and its first two derivatives at the cutoff.
fn derivatives(potential: &dyn PairPotential, a: usize, b: usize) -> [f64; 3] {
    /// Difference of two distances over the cutoff.
    const STEP: f64 = 1e-4;
    let cutoff = potential.cutoff();
    // Just within the cutoff, at which the force may be cut.
    let [(energy, last), (_, before)] = [1.0, 2.0].map(|steps| {
        let r = cutoff * (1.0 - steps * STEP);
        let term = potential.term(a, b, r * r);
        (term.energy, term.force_over_r * r)
    });
    [energy.abs(), last.abs(), ((last - before) / (cutoff * STEP)).abs()]
}

/// Returns the means of z - b, (z - b)^2 and (z - b)^3 over the part z > b of a Gaussian
/// distribution with this standard deviation.
fn moments_beyond(b: f64, deviation: f64) -> [f64; 3] {
    let (x, variance) = (b / deviation, deviation * deviation);
    let density = (-0.5 * x * x).exp() / (2.0 * PI).sqrt();
    let tail = 0.5 * libm::erfc(x / SQRT_2);
    let square = (variance + b * b) * tail - b * deviation * density;
    let cube = (b * b + 2.0 * variance) * deviation * density - b * (b * b + 3.0 * variance) * tail;
    [deviation * density - b * tail, square, cube].map(|moment| moment.max(0.0))
}
