//! The systems, and one run of the engine on them.

use md_cli::inputs::Inputs;
use md_cli::setup;
use md_comm::{Buffering, World};
use md_engine::{Needs, ParticleRow, RowVector, Simulation, Thermo, every};
use md_scenario::failure::RunError;

use crate::strategy::Decomposition;

pub(crate) const STEPS: u64 = 200;
/// Interval of the compared observables.
pub(crate) const THERMO_EVERY: u64 = 20;

/// 864 atoms, dense and hot: particles cross all faces, and there are 20 rebuilds.
const MELT: &str = r#"
[simulation]
steps = 200
timestep = 0.005
seed = 11
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 1.44
[neighbor]
rebuild = { every = 10 }
"#;

/// 512 atoms of a gas: messages of few or no particles, and a rebuild in every second step. In
/// mixed precision, so that both precisions occur with every strategy.
const SPARSE: &str = r#"
[simulation]
steps = 200
timestep = 0.004
seed = 1
[system]
lattice = { kind = "sc", spacing = 4.4447, cells = [8, 8, 8] }
temperature = 3.0
[[species]]
name = "A"
epsilon = 2.0
sigma = 1.15
[interaction]
cutoff = 3.5
[neighbor]
precision = "mixed"
skin = 0.4
rebuild = { every = 2 }
"#;

/// Names and texts of the systems.
pub(crate) const SYSTEMS: [(&str, &str); 2] = [("melt", MELT), ("sparse", SPARSE)];

/// Results of a run, complete on rank 0 only.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// Particles in the order of their ids.
    pub(crate) particles: Vec<ParticleRow>,
    pub(crate) thermo: Vec<Thermo>,
    pub(crate) rebuilds: u64,
}

/// Runs a system. *Collective.*
pub(crate) fn run(
    world: &dyn World,
    text: &str,
    decomposition: Decomposition,
    buffering: Buffering,
) -> Result<Outcome, RunError> {
    let mut overrides = decomposition.settings();
    overrides.push(format!("parallel.rma.slots={}", buffering.count()));
    let setup = setup::of_inputs(&Inputs::from_text("system", text, overrides)?, world.ranks())?;
    let mut simulation = Simulation::new(world, &setup)?;
    let mut thermo = Vec::new();
    let mut observer = every(THERMO_EVERY, Needs::ENERGY_AND_VIRIAL, |now| {
        thermo.extend(now.thermo.copied());
        Ok(())
    });
    simulation.run(STEPS, &mut [&mut observer])?;
    let particles = simulation.gather_rows(RowVector::Velocity)?;
    let rebuilds = simulation.neighbor_report().rebuilds;
    simulation.finalise()?;
    Ok(Outcome { particles, thermo, rebuilds })
}
