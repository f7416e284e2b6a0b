//! The potential of Sutton and Chen for metals (Phil. Mag. Lett. 61, 139 (1990)), an analytic form
//! of the embedded-atom method (Daw and Baskes 1984; Finnis and Sinclair 1984):
//!
//! U = epsilon [ sum over pairs of V(r) - c sum over particles of sqrt(rho) ],
//!
//! where V(r) = (a/r)^n, and rho, the electron density at a particle, is the sum over its partners
//! of (a/r)^m. Both powers are shifted at the cutoff as [`Shift`] says.
//!
//! ```text
//! densities of own particles and ghosts  ->  densities on ghosts to their owners (scatter-add)
//!   ->  embedding energy and its derivative of own particles
//!   ->  derivatives to ghosts (gather)  ->  forces, on ghosts too
//! ```
//!
//! Pairs are taken from a plain list that holds until the next rebuild, in one loop on one thread,
//! between the messages.

use md_core::force::{Newton, Pair, PairTerm, Precision, Summation};
use md_core::potential::Shift;
use md_core::{Evaluation, Field, FieldSpec, OnGhosts, OnMigration, PairSums, Particles, SymmetricTensor};

use super::context::ForceContext;
use super::force::Force;
use super::model::ForceModel;
use super::particle_shares::particle_shares;
use crate::error::EngineError;
use crate::settings::{NeighborConfig, ParallelConfig, Protocol};

/// Parameters of one metal.
///
/// ```
/// use md_core::lattice::{Lattice, LatticeKind};
/// use md_core::potential::Shift;
/// use md_engine::{Config, Forces, SuttonChen};
///
/// // Copper, in units of its epsilon and of its lattice constant.
/// let (cutoff, shift) = (2.5, Shift::Force);
/// let copper = SuttonChen { epsilon: 1.0, a: 1.0, c: 39.432, n: 9, m: 6, cutoff, shift };
/// let lattice = Lattice::new(LatticeKind::Fcc, 1.0, [6; 3]);
/// assert_eq!(Config::new(lattice, Forces::new(copper)).forces.cutoff(), 2.5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuttonChen {
    /// Energy scale, \[energy\].
    pub epsilon: f64,
    /// Length scale: the lattice constant, \[length\].
    pub a: f64,
    /// Strength of the embedding energy.
    pub c: f64,
    /// Power of the repulsion, above [`Self::m`].
    pub n: i32,
    /// Power of the density.
    pub m: i32,
    /// Cutoff, \[length\].
    pub cutoff: f64,
    /// Shift of both powers at the cutoff.
    pub shift: Shift,
}

impl ForceModel for SuttonChen {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn species(&self) -> Option<usize> {
        Some(1)
    }

    fn check(&self, neighbor: &NeighborConfig, parallel: &ParallelConfig) -> Result<(), EngineError> {
        let &Self { epsilon, a, c, n, m, cutoff, .. } = self;
        for (name, value) in [("epsilon", epsilon), ("a", a), ("c", c), ("cutoff", cutoff)] {
            if !(value > 0.0 && value.is_finite()) {
                let what = format!("`{name}` of `sutton-chen` is {value}, not a positive number");
                return Err(EngineError::Config(what));
            }
        }
        if neighbor.summation == Summation::Exact {
            return Err(EngineError::NotReproducible("forces of another kind than `sutton-chen`".to_owned()));
        }
        let problem = match () {
            () if neighbor.precision == Precision::Mixed => "they have no mixed precision",
            () if parallel.protocol != Protocol::One => "they need the protocol `one`",
            () if !(0 < m && m < n) => "`n` must be above `m`, and `m` above 0",
            () => return Ok(()),
        };
        Err(EngineError::Config(format!("forces of kind `sutton-chen` with n = {n} and m = {m}: {problem}")))
    }

    fn force(&self, neighbor: &NeighborConfig, _: &ParallelConfig) -> Box<dyn Force> {
        let power = |power, factor| ShiftedPower::new(self, power, factor);
        Box::new(EmbeddedAtoms {
            repulsion: power(self.n, self.epsilon),
            density: power(self.m, 1.0),
            embedding: self.epsilon * self.c,
            cutoff: self.cutoff,
            list_radius: self.cutoff + neighbor.skin,
            // Replaced by `register`.
            densities: Field::FORCE,
            derivatives: Field::FORCE,
            listed: Vec::new(),
            near: Vec::new(),
        })
    }
}

/// factor (a/r)^power - e + f r.
#[derive(Debug, Clone, Copy)]
struct ShiftedPower {
    factor: f64,
    a: f64,
    power: i32,
    /// The constants e and f.
    shift: [f64; 2],
}

impl ShiftedPower {
    fn new(model: &SuttonChen, power: i32, factor: f64) -> Self {
        let plain = Self { factor, a: model.a, power, shift: [0.0; 2] };
        let at_cutoff = plain.term(model.cutoff);
        Self { shift: model.shift.constants(at_cutoff, model.cutoff), ..plain }
    }

    /// Returns the function and its negative derivative over r.
    fn term(&self, r: f64) -> PairTerm {
        let (plain, [e, f]) = (self.factor * (self.a / r).powi(self.power), self.shift);
        let force_over_r = (f64::from(self.power) * plain / r - f) / r;
        PairTerm { energy: plain - e + f * r, force_over_r }
    }
}

/// Pair of the list.
#[derive(Debug, Clone, Copy)]
struct Listed {
    i: u32,
    j: u32,
    newton: Newton,
}

/// Forces of one rank.
#[derive(Debug)]
struct EmbeddedAtoms {
    repulsion: ShiftedPower,
    density: ShiftedPower,
    /// Embedding energy over the root of the density.
    embedding: f64,
    cutoff: f64,
    list_radius: f64,
    /// Electron density at each particle.
    densities: Field,
    /// Derivative of the embedding energy by the density.
    derivatives: Field,
    /// Pairs within the list radius at the last rebuild.
    listed: Vec<Listed>,
    /// Pairs within the cutoff at present.
    near: Vec<Pair>,
}

impl EmbeddedAtoms {
    /// Computes the pairs within the cutoff, and density and derivative of all particles.
    /// *Collective.*
    fn embed(&mut self, context: &mut ForceContext) -> Result<f64, EngineError> {
        let Self { densities, derivatives, .. } = *self;
        context.compute(|context| {
            context.particles.clear(densities);
            self.find_near(context.particles);
            let column = &mut context.particles.components_mut(densities)[0];
            for &Pair { i, j, r2, newton, .. } in &self.near {
                let density = self.density.term(r2.sqrt()).energy;
                column[i] += density;
                if newton == Newton::On {
                    column[j] += density;
                }
            }
        });
        context.scatter_add(&[densities])?;
        let energy = context.compute(|context| {
            let mut energy = 0.0;
            for index in 0..context.particles.owned() {
                // A particle without partners has none that the derivative could act on.
                let root = context.particles.components(densities)[0][index].max(0.0).sqrt();
                energy -= self.embedding * root;
                let derivative = if root > 0.0 { -0.5 * self.embedding / root } else { 0.0 };
                context.particles.components_mut(derivatives)[0][index] = derivative;
            }
            energy
        });
        context.gather(&[derivatives])?;
        Ok(energy)
    }

    fn find_near(&mut self, particles: &Particles) {
        let cutoff2 = self.cutoff * self.cutoff;
        self.near.clear();
        for &Listed { i, j, newton } in &self.listed {
            let (i, j) = (i as usize, j as usize);
            let (a, b) = (particles.position_of(i), particles.position_of(j));
            let distance = [0, 1, 2].map(|dim| a[dim] - b[dim]);
            let r2 = distance.iter().map(|d| d * d).sum();
            if r2 < cutoff2 {
                self.near.push(Pair { i, j, distance, r2, newton });
            }
        }
    }

    /// Returns energy and force of a pair: its repulsion, and its share in both densities.
    fn term(&self, derivatives: &[f64], pair: &Pair) -> PairTerm {
        let r = pair.r2.sqrt();
        let (repulsion, density) = (self.repulsion.term(r), self.density.term(r));
        let slope = derivatives[pair.i] + derivatives[pair.j];
        PairTerm {
            energy: repulsion.energy,
            force_over_r: repulsion.force_over_r + slope * density.force_over_r,
        }
    }

    /// Returns the sums of a quantity of the pairs of each owned particle, and the energy of its
    /// embedding. *Collective.*
    fn shares<const N: usize>(
        &mut self,
        context: &mut ForceContext,
        of_pair: fn(&Pair, PairTerm) -> [f64; N],
    ) -> Result<[Vec<f64>; N], EngineError> {
        context.gather(self.ghost_fields())?;
        self.embed(context)?;
        particle_shares(context, self.cutoff, |particles, pair| {
            of_pair(pair, self.term(&particles.components(self.derivatives)[0], pair))
        })
    }
}

impl Force for EmbeddedAtoms {
    fn cutoff(&self) -> f64 {
        self.cutoff
    }

    fn register(&mut self, particles: &mut Particles) {
        let scalar = |name| FieldSpec {
            name,
            components: 1,
            on_migration: OnMigration::Recomputed,
            on_ghosts: OnGhosts::Allocated,
        };
        self.densities = particles.register(scalar("electron densities"));
        self.derivatives = particles.register(scalar("derivatives of the embedding energy"));
    }

    fn rebuild(&mut self, context: &mut ForceContext) -> Result<(), EngineError> {
        let Self { listed, list_radius, .. } = self;
        listed.clear();
        context.pairs.visit(
            context.cells,
            context.particles,
            *list_radius,
            |Pair { i, j, newton, .. }| {
                listed.push(Listed { i: i as u32, j: j as u32, newton });
            },
        );
        Ok(())
    }

    fn particle_energies(&mut self, context: &mut ForceContext) -> Result<Option<Vec<f64>>, EngineError> {
        let [mut energies] = self.shares(context, super::particle_shares::energy)?;
        let densities = &context.particles.components(self.densities)[0];
        for (energy, density) in energies.iter_mut().zip(densities.iter()) {
            *energy -= self.embedding * density.max(0.0).sqrt();
        }
        Ok(Some(energies))
    }

    fn particle_virials(&mut self, context: &mut ForceContext) -> Result<Option<[Vec<f64>; 3]>, EngineError> {
        self.shares(context, super::particle_shares::virial).map(Some)
    }

    fn add_forces(&mut self, context: &mut ForceContext, _: Evaluation) -> Result<PairSums, EngineError> {
        let energy = self.embed(context)?;
        let mut sums = PairSums { energy, computed_pairs: self.listed.len() as f64, ..PairSums::default() };
        context.compute(|context| {
            for pair in &self.near {
                let term = self.term(&context.particles.components(self.derivatives)[0], pair);
                let &Pair { i, j, distance, newton, .. } = pair;
                for (column, d) in context.particles.force.iter_mut().zip(distance) {
                    column[i] += term.force_over_r * d;
                    if newton == Newton::On {
                        column[j] -= term.force_over_r * d;
                    }
                }
                sums.energy += newton.weight() * term.energy;
                sums.virial +=
                    SymmetricTensor::product(distance, distance) * (newton.weight() * term.force_over_r);
                sums.useful_pairs += newton.weight();
            }
        });
        Ok(sums)
    }
}
