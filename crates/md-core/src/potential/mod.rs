//! Pair potentials.
//!
//! A potential defines the pair term twice: as scalar arithmetic ([`PairPotential::term`], the
//! reference for direct summation and tests) and as a SIMD kernel ([`PairKernel`]), which
//! [`PairPotential::compute`] passes to a loop over pairs. The loop is compiled for each kernel, in
//! the crate that implements the potential, so a potential in another crate is as fast as those in
//! this one. If a potential is a formula with a few constants per pair of species, implement
//! [`Formula`] and store the constants in a [`PairTable`], which has kernels for one species and
//! for many.
//!
//! Each potential of this crate is one file in this directory; the interface is that of the loops
//! over pairs, in `force`.

mod lennard_jones;
mod mixing;
mod morse;
mod shift;
mod table;
mod well;

pub use crate::force::{Distance, PairKernel, PairPotential, PairTerm, Tail};
pub use lennard_jones::LennardJones;
pub use mixing::Mixing;
pub use morse::{Morse, MorsePair};
pub use shift::Shift;
pub use table::{Formula, PairTable, PotentialError, SpeciesPair};
pub use well::Well;
