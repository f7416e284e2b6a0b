//! The driver: from a scenario to a running simulation.
//!
//! [`setup`] turns a scenario and its particle file into core objects; [`initial`] places particles and velocities;
//! [`simulation`] holds the state of one rank and the time step, `rebuild` has what is made anew in some of the steps;
//! [`halo`] moves particles and ghosts between ranks; [`clock`] measures the phases; [`FrozenHalo`] exchanges the halo of
//! one moment over and over.

mod checks;
pub mod clock;
pub mod error;
mod frozen;
pub mod halo;
pub mod initial;
mod measure;
mod rebuild;
pub mod setup;
pub mod simulation;

pub use error::{RunError, Scope};
pub use frozen::FrozenHalo;
pub use measure::RowVector;
pub use setup::Setup;
pub use simulation::Simulation;
