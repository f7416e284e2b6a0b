//! A distributed molecular-dynamics simulation as a library.
//!
//! A [`Config`] describes what is simulated and how; [`Setup`] is a checked configuration for a
//! number of ranks; [`Simulation`] is one rank of a running simulation. An [`Observer`] inspects a
//! run. The library does not read or write files, print, or end the process. The ranks are those of
//! an [`md_comm::World`]: threads of this process, or processes over MPI.
//!
//! | to provide | implement | and pass it to |
//! | --- | --- | --- |
//! | a pair potential | [`md_core::PairPotential`] | [`Config::new`] |
//! | forces of another kind | [`Force`] | [`Simulation::with_forces`] |
//! | an integrator | [`Integrate`] | [`Simulation::set_integrator`] |
//! | a partition | [`md_core::partition::Ownership`] | [`Simulation::replace_decomposition`] |
//! | an observer | [`Observer`], or a closure with [`every`] | [`Simulation::run`] |
//!
//! ```
//! use md_core::lattice::{Lattice, LatticeKind};
//! use md_core::potential::LennardJones;
//! use md_engine::{Config, EngineError, Needs, Setup, Simulation, every};
//! use std::time::Duration;
//!
//! let energies = md_comm::local::run(2, Duration::from_secs(60), |world| {
//!     let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [5; 3]);
//!     let mut config = Config::new(lattice, LennardJones::reduced(2.5));
//!     config.temperature = Some(1.44);
//!     let mut simulation = Simulation::new(world, &Setup::new(config, world.ranks())?)?;
//!     let mut energies = Vec::new();
//!     let mut observer = every(10, Needs::ENERGY_AND_VIRIAL, |now| {
//!         energies.extend(now.thermo.map(|thermo| thermo.total_per_atom));
//!         Ok(())
//!     });
//!     simulation.run(20, &mut [&mut observer])?;
//!     simulation.finalise()?;
//!     Ok::<_, EngineError>(energies)
//! });
//! let energies = energies.into_iter().next().unwrap().unwrap().unwrap();
//! assert_eq!(energies.len(), 3);
//! assert!((energies[2] - energies[0]).abs() < 1e-2);
//! ```
#![forbid(unsafe_code)]

pub mod balance;
mod checkpoint;
pub mod clock;
mod collective;
pub mod config;
mod division;
mod error;
mod forces;
mod generate;
mod measure;
mod motion;
mod reference;
pub mod report;
mod settings;
mod setup;
mod simulation;
mod start;
mod state;
mod wall;

pub use balance::{BalanceReport, Balancing};
pub use checkpoint::{Carried, Continuation, Restored, SavedState, id_of_row};
pub use clock::Phase;
pub use collective::for_each_rank;
pub use config::{
    Balance, BalanceRule, BalanceWeights, Config, FirstOfAll, NeighborConfig, Overlap, ParallelConfig,
    ParticleSource, Protocol, SecondShare, Share, SimdChoice, TailCorrection,
};
pub use division::{Decomposition, Division, Flight, FrozenHalo, Halo};
pub use error::{Attribute, EngineError, ParticleFault, Scope};
pub use forces::{Force, ForceContext, ForceList, ForceModel, Forces, NearPairs, PairForces, SuttonChen};
pub use generate::{GasKeys, LatticeRegion, LatticeRegions, RandomGas};
pub use measure::{
    Every, Needs, Observer, ObserverError, PhaseSpread, RankTiming, RunsOn, Snapshot, Spread, Timings,
    analysis, every,
};
pub use motion::barostat::{Barostat, BoxReport};
pub use motion::integrator::{Integrate, Integrator};
pub use motion::{barostat, integrator};
pub use reference::{forces_by_direct_sum, forces_without_halo};
pub use report::{EnergyReport, ForceTotals, NeighborReport, ParticleRow, RowVector, Thermo};
pub use settings::{DriftModel, ListModel, TimedLists, ToleratedDrift};
pub use setup::Setup;
pub use simulation::{ColdStart, Simulation};
pub use state::State;
pub use wall::{Side, SolidWall};
