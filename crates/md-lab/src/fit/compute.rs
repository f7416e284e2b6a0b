//! Cost of a rank's own work: short runs of several systems, whose phase times are regressed on the
//! work done in them.

use std::time::Instant;

use md_comm::World;
use md_core::Evaluation;
use md_core::force::{MethodKind, Precision};
use md_core::lattice::{Lattice, LatticeKind};
use md_core::potential::LennardJones;
use md_core::rebuild::RebuildPolicy;
use md_engine::{
    Config, EngineError, GasKeys, ParticleSource, Phase, RandomGas, RankTiming, Setup, Simulation,
};

use super::least_squares::{Coefficient, Fit, Residuals, half_widths};
use crate::machine::ComputeCost;
use crate::statistics::Interval;

/// Methods and precisions, each fitted separately.
const KINDS: [(MethodKind, Precision); 3] = [
    (MethodKind::Clusters, Precision::Double),
    (MethodKind::Clusters, Precision::Mixed),
    (MethodKind::Cells, Precision::Double),
];
/// Unit cells of 4 particles per rank and dimension: 2,048 to 108,000 particles.
const SIZES: [u32; 4] = [8, 13, 20, 30];
/// Density and cutoff of gases and liquids: 0.3 to 33 particles per cell, each with some pairs
/// within the cutoff.
const STATES: [[f64; 2]; 5] = [[0.005, 3.5], [0.02, 3.5], [0.3, 2.5], [0.6, 3.5], [0.85, 2.5]];
const TEMPERATURE: f64 = 1.44;
/// Density below which particles lie at random, since the sites of a lattice would be further apart
/// than the cutoff.
const DENSEST_GAS: f64 = 0.1;
/// Smallest distance of two particles of a gas: there their energy is 0.
const LEAST_DISTANCE: f64 = 1.0;
const SEED: u64 = 20_041;
/// Steps of a block, of which one rebuilds.
const BLOCK: u64 = 10;
const LEAST_BLOCKS: usize = 3;
const MOST_BLOCKS: usize = 40;
/// Bytes of a particle in an exchange, positions and forces.
const EXCHANGED_BYTES: f64 = 48.0;
/// Standard deviation of normal numbers, in units of their median absolute deviation.
const DEVIATION: f64 = 1.4826;

/// Work of a rank in a step of one system, and the time it takes; means over the ranks.
#[derive(Debug, Clone, PartialEq)]
struct Observation {
    /// Number of particles that a rank owns.
    owned: f64,
    /// Ghosts received in messages, and a rank's own periodic images.
    ghosts: [f64; 2],
    /// Number of cells, owned and ghost.
    cells: f64,
    /// Number of pairs computed in a step.
    pairs: f64,
    /// Whether it is held out of the fit, to judge it.
    held_out: bool,
    /// Seconds of each phase per step, from the medians over blocks.
    phases: [f64; Phase::ALL.len()],
    /// Relative standard deviation of forces and of integration over blocks of steps.
    scatter: [f64; 2],
}

impl Observation {
    /// Returns the seconds of a phase per step.
    fn phase_s(&self, phase: Phase) -> f64 {
        self.phases[phase as usize]
    }

    /// Returns the amounts that the costs of forces and lists depend on.
    fn work(&self) -> [f64; 3] {
        [self.pairs, self.owned, self.cells]
    }

    /// Returns the number of particles that are written into messages and to images.
    fn moved(&self) -> f64 {
        self.ghosts[0] + self.ghosts[1]
    }
}

/// A part of the model, with the names that its coefficients have in the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Name of the part.
    pub name: &'static str,
    /// Kind of work that its first coefficient counts.
    pub unit: &'static str,
    /// Names and values of the coefficients.
    pub coefficients: Vec<(&'static str, Coefficient)>,
    /// Residuals of the systems it was fitted to.
    pub residuals: Residuals,
    /// Residuals of the systems that were held out.
    pub held_out: Residuals,
    /// Measurements of all systems.
    pub points: Vec<PartPoint>,
}

/// Time of a part in one system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartPoint {
    /// Amount of work, in the part's unit.
    pub amount: f64,
    /// Seconds measured.
    pub measured_s: f64,
    /// Seconds of the model.
    pub model_s: f64,
    /// Whether it was held out of the fit.
    pub held_out: bool,
}

/// A system, the amounts of work in it and the seconds they took.
type Row<'o, const N: usize> = (&'o Observation, [f64; N], f64);

impl Part {
    /// Fits a part; `None` where there is nothing to fit.
    fn of<'o, const N: usize>(
        [name, unit]: [&'static str; 2],
        names: [&'static str; N],
        rows: impl Iterator<Item = Row<'o, N>>,
    ) -> Option<Self> {
        let says_something =
            |(_, columns, time_s): &Row<N>| *time_s > 0.0 && columns.iter().any(|it| *it > 0.0);
        let rows: Vec<_> = rows.filter(says_something).collect();
        let fitted = rows.iter().filter(|row| !row.0.held_out);
        let fit = Fit::of(&fitted.map(|&(_, columns, time_s)| (columns, time_s)).collect::<Vec<_>>())?;
        let point = |&(it, columns, measured_s): &Row<N>| PartPoint {
            amount: columns.into_iter().find(|it| *it > 0.0).unwrap_or(0.0),
            measured_s,
            model_s: fit.model(&columns),
            held_out: it.held_out,
        };
        let points: Vec<PartPoint> = rows.iter().map(point).collect();
        let held_out = points.iter().filter(|point| point.held_out);
        Some(Self {
            name,
            unit,
            coefficients: names.into_iter().zip(fit.coefficients).collect(),
            residuals: fit.residuals,
            held_out: Residuals::of(held_out.map(|point| (point.model_s, point.measured_s))),
            points,
        })
    }
}

/// Fit of a method with a precision.
#[derive(Debug, Clone, PartialEq)]
pub struct ComputeFit {
    /// Costs for the machine.
    pub cost: ComputeCost,
    /// Fitted parts of the model.
    pub parts: Vec<Part>,
}

/// Runs all systems on the ranks of this world until the budget ends, small ones first, and at
/// least the smallest of each state. All ranks return equal fits. *Collective.*
///
/// # Errors
/// See [`EngineError`].
pub(super) fn measure(
    world: &dyn World,
    budget_s: f64,
    mut tell: impl FnMut(usize, usize),
) -> Result<Vec<ComputeFit>, EngineError> {
    let begun = Instant::now();
    let systems = (0..SIZES.len()).flat_map(|size| (0..STATES.len()).map(move |state| (size, state)));
    let cases: Vec<_> = systems.flat_map(|system| (0..KINDS.len()).map(move |kind| (system, kind))).collect();
    let mut observations = vec![Vec::new(); KINDS.len()];
    for (done, &((size, state), kind)) in cases.iter().enumerate() {
        tell(done, cases.len());
        let mut left_s = [budget_s - begun.elapsed().as_secs_f64()];
        world.max(&mut left_s)?;
        if left_s[0] <= 0.0 && size > 0 {
            break;
        }
        let share_s = left_s[0].max(0.0) / (cases.len() - done) as f64;
        let observed = observe(world, SIZES[size], STATES[state], KINDS[kind], share_s)?;
        observations[kind].push(Observation { held_out: (size + state) % 2 == 1, ..observed });
    }
    tell(cases.len(), cases.len());
    Ok(KINDS.iter().zip(&observations).map(|(&kind, observations)| fit(kind, observations)).collect())
}

/// Measurements of a rank in one system.
struct Run {
    timing: RankTiming,
    /// Seconds of each phase in blocks of steps.
    blocks: Vec<[f64; Phase::ALL.len()]>,
    /// Sum over all ranks.
    computed_pairs: f64,
    /// Number of ghosts in messages.
    sent: f64,
    /// Number of cells, owned and ghost.
    cells: f64,
}

fn observe(
    world: &dyn World,
    size: u32,
    [density, cutoff]: [f64; 2],
    (method, precision): (MethodKind, Precision),
    budget_s: f64,
) -> Result<Observation, EngineError> {
    let ranks = world.ranks();
    let particles = particles(density, [size * ranks as u32, size, size]);
    let mut config = Config::new(particles, LennardJones::reduced(cutoff));
    config.temperature = Some(TEMPERATURE);
    (config.neighbor.method, config.neighbor.precision) = (method, precision);
    config.neighbor.rebuild = RebuildPolicy::Every(BLOCK);
    let Run { timing, blocks, computed_pairs, sent, cells } =
        run(world, &Setup::new(config, ranks)?, budget_s)?;
    let medians: [f64; Phase::ALL.len()] =
        std::array::from_fn(|phase| median(blocks.iter().map(|block| block[phase])));
    let scatter = |phase: Phase| {
        let centre = medians[phase as usize];
        DEVIATION * median(blocks.iter().map(|block| (block[phase as usize] / centre - 1.0).abs()))
    };
    let mut own = vec![timing.owned as f64, timing.ghosts as f64, sent, cells];
    own.extend([Phase::Force, Phase::Integrate].map(scatter));
    own.extend(medians.map(|block_s| block_s / BLOCK as f64));
    world.sum(&mut own)?;
    own.iter_mut().for_each(|sum| *sum /= ranks as f64);
    Ok(Observation {
        owned: own[0],
        ghosts: [own[2], own[1] - own[2]],
        cells: own[3],
        pairs: computed_pairs / ranks as f64,
        held_out: false,
        phases: std::array::from_fn(|phase| own[6 + phase]),
        scatter: [own[4], own[5]],
    })
}

/// Returns a lattice of `cells` unit cells, or a gas of as many particles in an equal box.
fn particles(density: f64, cells: [u32; 3]) -> ParticleSource {
    let lattice = Lattice::with_density(LatticeKind::Fcc, density, cells);
    if density > DENSEST_GAS {
        return lattice.into();
    }
    ParticleSource::Gas(RandomGas::new(GasKeys {
        atoms: lattice.len(),
        lengths: lattice.lengths(),
        is_periodic: [true; 3],
        dimensions: 3,
        least_distance: LEAST_DISTANCE,
        seed: SEED,
    }))
}

fn run(world: &dyn World, setup: &Setup, budget_s: f64) -> Result<Run, EngineError> {
    let begun = Instant::now();
    let mut simulation = Simulation::new(world, setup)?;
    let block = |simulation: &mut Simulation| {
        simulation.start_measuring()?;
        (0..BLOCK).try_for_each(|_| simulation.step(Evaluation::ForcesOnly))?;
        simulation.timing()
    };
    block(&mut simulation)?;
    let mut blocks = Vec::new();
    let timing = loop {
        let timing = block(&mut simulation)?;
        blocks.push(timing.phases.map(|phase| phase.seconds));
        let mut taken_s = [begun.elapsed().as_secs_f64()];
        world.max(&mut taken_s)?;
        let is_enough = taken_s[0] > budget_s && blocks.len() >= LEAST_BLOCKS;
        if is_enough || blocks.len() >= MOST_BLOCKS {
            break timing;
        }
    };
    simulation.step(Evaluation::WithEnergyAndVirial)?;
    let computed_pairs = simulation.system_sums()?.pairs.computed_pairs;
    let sent = simulation.freeze()?.traffic().bytes as f64 / EXCHANGED_BYTES;
    let cells = simulation.decomposition().plan.cell_count() as f64;
    simulation.finalise()?;
    Ok(Run { timing, blocks, computed_pairs, sent, cells })
}

fn fit((method, precision): (MethodKind, Precision), observations: &[Observation]) -> ComputeFit {
    let parts = parts(observations);
    let [force_scatter, particle_scatter] =
        [0, 1].map(|index| median(observations.iter().map(|it| it.scatter[index])));
    // A single rank gives no information on messages: reading is assumed to cost as much as
    // writing.
    let is_alone = observations.iter().all(|it| it.ghosts[0] == 0.0);
    let unpacked = if is_alone { "per_ghost_packed_s" } else { "per_ghost_unpacked_s" };
    let [residuals, held_out] =
        parts.first().map(|forces| [forces.residuals, forces.held_out]).unwrap_or_default();
    let [held_out_rms_residual, held_out_largest_residual] = held_out.deviations();
    let cost = ComputeCost {
        method,
        precision,
        threads: 1,
        per_computed_pair_s: value(&parts, "per_computed_pair_s"),
        per_particle_forces_s: value(&parts, "per_particle_forces_s"),
        per_cell_forces_s: value(&parts, "per_cell_forces_s"),
        per_particle_s: value(&parts, "per_particle_s"),
        per_list_entry_s: value(&parts, "per_list_entry_s"),
        per_particle_rebuilt_s: value(&parts, "per_particle_rebuilt_s"),
        per_cell_rebuilt_s: value(&parts, "per_cell_rebuilt_s"),
        per_ghost_packed_s: value(&parts, "per_ghost_packed_s"),
        per_ghost_unpacked_s: value(&parts, unpacked),
        force_scatter,
        particle_scatter,
        rms_residual: residuals.rms,
        largest_residual: residuals.largest,
        held_out_rms_residual,
        held_out_largest_residual,
        samples: residuals.count as u64,
        half_widths: half_widths(parts.iter().flat_map(|part| part.coefficients.iter().copied())),
    };
    ComputeFit { cost, parts }
}

/// Fits the parts of the model, forces first.
fn parts(observations: &[Observation]) -> Vec<Part> {
    let all = || observations.iter();
    let names = ["per_computed_pair_s", "per_particle_forces_s", "per_cell_forces_s"];
    let force = all().map(|it| (it, it.work(), it.phase_s(Phase::Force)));
    let forces = Part::of(["forces", "computed pairs"], names, force);
    let integrate = all().map(|it| (it, [it.owned], it.phase_s(Phase::Integrate)));
    let integration = Part::of(["integration", "particles"], ["per_particle_s"], integrate);
    let names = ["per_ghost_packed_s", "per_ghost_unpacked_s"];
    let packing = Part::of(["packing", "ghosts"], names, halo_rows(observations));
    let mut parts: Vec<Part> = [forces, integration, packing].into_iter().flatten().collect();
    let [packed_s, unpacked_s] = names.map(|name| value(&parts, name));
    let rebuild = all().map(|it| {
        let s = [Phase::Migrate, Phase::Border, Phase::Neighbor].map(|phase| it.phase_s(phase));
        let border_s = packed_s * it.moved() + unpacked_s * it.ghosts[0];
        (it, it.work(), BLOCK as f64 * s.iter().sum::<f64>() - border_s)
    });
    let names = ["per_list_entry_s", "per_particle_rebuilt_s", "per_cell_rebuilt_s"];
    parts.extend(Part::of(["rebuilding", "computed pairs"], names, rebuild));
    parts
}

/// Returns the rows of packing: in all steps, positions are packed, images are copied, and forces
/// are packed and added.
fn halo_rows(observations: &[Observation]) -> impl Iterator<Item = Row<'_, 2>> {
    observations.iter().flat_map(|it| {
        let [moved, received] = [it.moved(), it.ghosts[0]];
        [
            (it, [moved, 0.0], it.phase_s(Phase::HaloPack)),
            (it, [0.0, received], it.phase_s(Phase::HaloUnpack)),
            (it, [moved, received], it.phase_s(Phase::ForceReturn)),
        ]
    })
}

fn value(parts: &[Part], name: &str) -> f64 {
    let mut all = parts.iter().flat_map(|part| &part.coefficients);
    all.find(|(known, _)| *known == name).map_or(0.0, |(_, coefficient)| coefficient.value)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    Interval::of(&values.collect::<Vec<_>>()).map_or(0.0, |interval| interval.median_s)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    #[test]
    fn known_costs_are_found() {
        let observation = |number: usize| {
            let owned = 1000.0 * number as f64;
            let (pairs, ghosts) = (
                owned * (20.0 + (number % 3) as f64 * 30.0),
                [owned / 4.0, owned / 8.0 * (number % 2) as f64],
            );
            let mut phases = [0.0; Phase::ALL.len()];
            let moved = ghosts[0] + ghosts[1];
            let cells = owned / [0.5, 4.0, 20.0][number % 3] + 100.0;
            phases[Phase::Force as usize] = 2e-9 * pairs + 5e-9 * owned + 11e-9 * cells;
            phases[Phase::Integrate as usize] = 3e-9 * owned;
            phases[Phase::HaloPack as usize] = 1e-9 * moved;
            phases[Phase::HaloUnpack as usize] = 4e-9 * ghosts[0];
            phases[Phase::ForceReturn as usize] = 1e-9 * moved + 4e-9 * ghosts[0];
            phases[Phase::Neighbor as usize] =
                (7e-9 * pairs + 60e-9 * owned + 9e-9 * cells + 1e-9 * moved + 4e-9 * ghosts[0])
                    / BLOCK as f64;
            Observation {
                owned,
                ghosts,
                cells,
                pairs,
                held_out: number % 4 == 1,
                phases,
                scatter: [0.03, 0.01],
            }
        };
        let fit = fit(KINDS[0], &(1..17).map(observation).collect::<Vec<_>>());
        let cost = &fit.cost;
        let found = [
            (cost.per_computed_pair_s, 2.0),
            (cost.per_particle_forces_s, 5.0),
            (cost.per_cell_forces_s, 11.0),
            (cost.per_particle_s, 3.0),
            (cost.per_ghost_packed_s, 1.0),
            (cost.per_ghost_unpacked_s, 4.0),
            (cost.per_list_entry_s, 7.0),
            (cost.per_particle_rebuilt_s, 60.0),
            (cost.per_cell_rebuilt_s, 9.0),
        ];
        found.iter().for_each(|(s, ns)| assert!((1e9 * s / ns - 1.0).abs() < 1e-6, "{s} {ns}"));
        assert_eq!((cost.force_scatter, cost.particle_scatter), (0.03, 0.01));
        let close = |it: &Residuals| it.count > 0 && it.largest < 1e-6;
        assert!(fit.parts.iter().all(|part| close(&part.residuals) && close(&part.held_out)), "{fit:?}");
    }

    #[test]
    fn every_system_has_pairs_from_the_first_step_on() {
        for state in STATES {
            let observe = |world: &dyn World| observe(world, SIZES[0], state, KINDS[0], 0.0).unwrap();
            let all = local::run(1, Duration::from_secs(60), observe);
            let Observation { owned, pairs, .. } = all.into_iter().next().unwrap().unwrap();
            assert_eq!(owned, 2048.0);
            // Half of the particles of a random gas within the cutoff around each.
            let [density, cutoff] = state;
            let expected = 0.5 * owned * density * 4.0 / 3.0 * std::f64::consts::PI * cutoff.powi(3);
            assert!(
                pairs > 0.8 * expected,
                "{state:?}: {pairs} pairs computed, {expected} expected within the cutoff"
            );
        }
    }

    #[test]
    fn runs_count_what_they_do() {
        let observe = |world: &dyn World| observe(world, SIZES[0], STATES[3], KINDS[0], 0.0).unwrap();
        for ranks in [1, 2] {
            let all = local::run(ranks, Duration::from_secs(60), observe);
            let all: Vec<Observation> = all.into_iter().map(Result::unwrap).collect();
            assert!(all.iter().all(|it| *it == all[0]), "the same on all ranks");
            let Observation { owned, ghosts: [received, images], pairs, .. } = all[0];
            assert_eq!(owned, 2048.0);
            assert_eq!(received > 0.0, ranks > 1);
            assert!(images > 0.0 && pairs > 20.0 * owned, "{all:?}");
        }
    }
}
