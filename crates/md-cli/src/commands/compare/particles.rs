//! Comparison of strategies on particles, with a check of their forces against a reference.

use std::cell::Cell;

use md_comm::World;
use md_core::force::Precision;
use md_core::partition::PartitionKind;
use md_engine::{EngineError, NeighborReport, ParticleRow, RowVector, Setup};
use md_files::memory;
use md_lab::compare::{self as lab, Ground, Place, Prepared, Reference, ReferenceConditions};
use md_lab::{Problem, RunContext, Transports, Variant};
use md_scenario::failure::RunError;
use md_scenario::messages::warn;
use md_scenario::{Neighbor, Parallel, Scenario, ScenarioError};

use super::protocols::compare_protocols;
use super::{Call, open_on_root, output_directory, refused};
use crate::args::CompareArgs;
use crate::commands::timeline::expect_timeline;
use crate::commands::{ROOT, context, context_without_setup};
use crate::inputs::Inputs;
use crate::report::warnings::first_danger;
use crate::setup::{self, room};
use crate::strategies::{Choices, adapt_variant, by_ghosts};

/// Largest default number of steps per sample.
const STEPS: u64 = 20;

/// Compares strategies on this rank. `end_job` ends all ranks with an exit code, from any thread,
/// even while a call does not return. *Collective.*
///
/// # Errors
/// Returns [`Summarised`](crate::commands::ending::Summarised) if a strategy was wrong, failed or
/// timed out. See [`RunError`] for other errors.
pub fn compare(
    transports: &dyn Transports,
    inputs: &Inputs,
    args: &CompareArgs,
    choices: &Choices,
    end_job: fn(u8),
) -> Result<(), RunError> {
    if let Some(combined) = &choices.combined {
        return compare_protocols(transports, inputs, args, combined);
    }
    if let Some(option) = choices.of_grids() {
        return Err(refused(format!("{option} is for scenarios with a grid, and this one has particles")));
    }
    let agreement = transports.agreement();
    let (scenario, warning) = &by_ghosts(&inputs.scenario);
    warning.iter().filter(|_| agreement.rank() == ROOT).for_each(|text| warn(text));
    let variants = choices.variants(scenario, &transports.backends()).map_err(refused)?;
    let steps = args.steps.unwrap_or_else(|| steps(&scenario.neighbor));
    let is_own =
        |variant: &Variant| adapt_variant(variant, scenario).is_ok_and(|it| it.scenario == *scenario);
    let call = Call { transports, args, end_job };
    let conditions = call.conditions(&variants, is_own, scenario.parallel.between_nodes, steps)?;
    // Impossible computations and outputs are found before old results are removed.
    let setup = divided_by_any(inputs, agreement.ranks())?;
    expect_timeline(agreement, &args.trace)?;
    if setup.config.forces.pair_potential().is_none() {
        let message = "`compare` checks the forces of every strategy against a sum over pairs, and these are no pair forces";
        let help = "compare with kind `lennard-jones` or `morse` at the same density and cutoff: the messages are the same";
        return Err(ScenarioError::at(&inputs.source, "interaction.kind", message, help).into());
    }
    let outputs = open_on_root(agreement, || {
        room::expect(inputs, &setup, memory::of_machine())?;
        Ok::<_, RunError>(call.open::<RunContext>(&variants, |results, verbosity| {
            output_directory(inputs, results, verbosity)
        })?)
    })?;
    let reference = Reference::compute(agreement, &setup, terms(inputs))?;
    let available = memory::available_to_all(agreement)?;
    let warned = Cell::new(false);
    let look_at = &|report: &NeighborReport| {
        first_danger(report).filter(|_| !warned.replace(true)).iter().for_each(|danger| warn(danger));
    };
    let ground = Particles { inputs, scenario, agreement, available, steps, reference, look_at };
    call.conduct(&ground, conditions, outputs, "wrong forces")
}

/// The scenario, and the reference for the forces of every strategy.
struct Particles<'c> {
    inputs: &'c Inputs,
    scenario: &'c Scenario,
    agreement: &'c dyn World,
    /// Bytes available to each rank, or `None` if unknown.
    available: Option<f64>,
    /// Number of steps per sample.
    steps: u64,
    reference: Reference,
    /// Warns of stale neighbour lists, once.
    look_at: &'c dyn Fn(&NeighborReport),
}

impl Ground for Particles<'_> {
    type Setup = Setup;
    type Context = RunContext;
    type Seen = Vec<ParticleRow>;
    type Running<'s>
        = lab::ParticlesAtWork<'s>
    where
        Self: 's;

    fn prepare(&self, variant: &Variant) -> Result<Prepared<Setup, RunContext>, Problem> {
        let adapted = adapt_variant(variant, self.scenario).map_err(Problem::unavailable)?;
        let (note, scenario) = (adapted.note(), adapted.scenario);
        let setup = setup::of_scenario(self.inputs, &scenario, self.agreement.ranks())?;
        room::expect(self.inputs, &setup, self.available)?;
        let context = context(self.agreement, &scenario, &setup, self.steps);
        Ok(Prepared { setup, options: scenario.parallel.rma.options(), note, context })
    }

    fn context(&self, variant: &Variant) -> RunContext {
        let atoms = self.reference.atoms();
        let own = context_without_setup(self.agreement, self.scenario, self.steps);
        RunContext { strategy: variant.strategy, atoms, ..own }
    }

    fn open<'s>(
        &'s self,
        world: &'s dyn World,
        setup: &'s Setup,
    ) -> Result<lab::ParticlesAtWork<'s>, Problem> {
        lab::ParticlesAtWork::new(world, setup, self.look_at)
    }

    fn look(&self, place: Place, setup: &Setup) -> Result<Vec<ParticleRow>, Problem> {
        let displaced = setup.displaced(self.reference.diameter());
        self.at_work(place, &displaced, |lab::ParticlesAtWork { simulation, .. }| {
            simulation.recompute_from_fresh_halo()?;
            Ok(simulation.rows(RowVector::Force)?)
        })
    }

    fn judge(&self, agreement: Place, seen: &Vec<ParticleRow>) -> Result<Result<(), String>, EngineError> {
        self.reference.check(agreement, seen)
    }
}

/// Returns the set-up of the initial state with a partition that is possible for any number of
/// ranks.
fn divided_by_any(inputs: &Inputs, ranks: usize) -> Result<Setup, RunError> {
    let mut scenario = inputs.scenario.clone();
    scenario.parallel = Parallel { partition: PartitionKind::Stripe, ..Parallel::default() };
    scenario.neighbor.precision = Precision::Double;
    setup::of_scenario(inputs, &scenario, ranks)
}

fn terms(inputs: &Inputs) -> ReferenceConditions {
    let (interaction, species) = (&inputs.scenario.interaction, &inputs.scenario.species);
    ReferenceConditions {
        diameter: interaction.diameter(species),
        force_unit: interaction.force_unit(species),
        precision: inputs.scenario.neighbor.precision,
    }
}

/// Returns the number of steps per sample. If neighbour lists are rebuilt at an interval from 2 to
/// [`STEPS`], it is one less, so that no rebuild comes in between.
fn steps(neighbor: &Neighbor) -> u64 {
    match neighbor.rebuild.every {
        Some(every @ 2..=STEPS) => every - 1,
        _ => STEPS,
    }
}
