//! Skin and interval of neighbour lists, where the scenario leaves them to the program.

use std::borrow::Cow;
use std::path::Path;

use md_comm::World;
use md_core::force::MethodKind;
use md_core::rebuild::RebuildPolicy;
use md_engine::{Config, DriftModel, EngineError, Integrator, ListModel, NeighborConfig, Setup, TimedLists};
use md_files::checkpoint;
use md_scenario::failure::RunError;
use md_scenario::{Neighbor, Scenario, ScenarioError, ScenarioSource, Skin};

use super::Inputs;

/// Skin over the cutoff, where no thermal motion is known and for methods without a model: 0.3 with
/// the usual cutoff of 2.5.
const USUAL_SKIN: f64 = 0.12;

/// Returns the inputs with the skin of the run that wrote a checkpoint on as many ranks, if theirs
/// is left to the program: the choice depends on keys that have no effect on a resumed run.
/// *Collective.*
///
/// # Errors
/// A file that cannot be read; communication.
pub(crate) fn with_skin_of_checkpoint<'i>(
    world: &dyn World,
    inputs: &'i Inputs,
    path: Option<&Path>,
) -> Result<Cow<'i, Inputs>, RunError> {
    let Some(path) = path.filter(|_| inputs.scenario.neighbor.skin == Skin::Auto) else {
        return Ok(Cow::Borrowed(inputs));
    };
    Ok(checkpoint::skin_at(world, path)?.map_or(Cow::Borrowed(inputs), |skin| with_skin(inputs, skin)))
}

/// Returns the inputs with the skin of a set-up instead of one that is left to the program, for
/// the effective scenario and checkpoints.
pub(crate) fn with_chosen_skin<'i>(inputs: &'i Inputs, setup: &Setup) -> Cow<'i, Inputs> {
    match inputs.scenario.neighbor.skin {
        Skin::Auto => with_skin(inputs, setup.config.neighbor.skin),
        Skin::Given(_) => Cow::Borrowed(inputs),
    }
}

fn with_skin(inputs: &Inputs, skin: f64) -> Cow<'_, Inputs> {
    let mut inputs = inputs.clone();
    inputs.scenario.neighbor.skin = Skin::Given(skin);
    Cow::Owned(inputs)
}

/// Returns the configuration of lists. Skin and interval are the usual ones or those of the
/// scenario until [`choose`] replaces them.
pub(super) fn at_first(neighbor: &Neighbor, cutoff: f64) -> NeighborConfig {
    let Neighbor { method, precision, .. } = *neighbor;
    let skin = match neighbor.skin {
        Skin::Given(skin) => skin,
        Skin::Auto => USUAL_SKIN * cutoff,
    };
    let rebuild = match neighbor.rebuild.every {
        Some(steps) => RebuildPolicy::Every(steps),
        None => RebuildPolicy::Displacement,
    };
    NeighborConfig { method, skin, rebuild, precision, ..NeighborConfig::default() }
}

/// Chooses the skin and the interval that the scenario leaves to the program, from the highest
/// temperature of the start and of all stages. The skin is at most `widest`.
///
/// # Errors
/// A tolerated drift that cannot be estimated, at its key.
pub(super) fn choose(
    source: &ScenarioSource,
    scenario: &Scenario,
    config: &mut Config,
    widest: f64,
) -> Result<(), ScenarioError> {
    let model = model(scenario, config, widest);
    let Some(most) = scenario.neighbor.rebuild.drift else {
        let has_model =
            config.neighbor.method == MethodKind::Clusters && scenario.neighbor.rebuild.every.is_none();
        if let (Skin::Auto, Some(model), true) = (scenario.neighbor.skin, model, has_model) {
            config.neighbor.skin = model.best_skin();
        }
        return Ok(());
    };
    let refused = |message: &str| {
        let help = "use `rebuild = { displacement = true }`".to_owned();
        Err(ScenarioError::at(source, "neighbor.rebuild.drift", message.to_owned(), help))
    };
    let Some(potential) = config.forces.pair_potential() else {
        let message = "`neighbor.rebuild.drift` estimates missed pairs of a pair potential, and these are no pair forces";
        return refused(message);
    };
    if scenario.stages().iter().any(|stage| matches!(stage.integrator.kind, Integrator::Fire(_))) {
        let message = "`neighbor.rebuild.drift` is for thermal motion, and there is a minimisation";
        return refused(message);
    }
    if scenario.stages().iter().any(|stage| stage.integrator.barostat.is_some()) {
        let message = "`neighbor.rebuild.drift` is for a box that does not change, and there is a barostat";
        return refused(message);
    }
    let Some(model) = model else {
        let message =
            "`neighbor.rebuild.drift` needs a temperature, that of `system.temperature` or of a thermostat";
        return refused(message);
    };
    let (timestep, dimension) = (config.timestep, config.dimension);
    let density = config.atoms() as f64 / config.domain().volume();
    let drifts = DriftModel::new(model, timestep, density, dimension, potential);
    let lists = match scenario.neighbor.skin {
        Skin::Auto => drifts.best(most),
        Skin::Given(skin) => drifts.with_skin(skin, most),
    };
    adopt(&mut config.neighbor, lists);
    Ok(())
}

fn adopt(neighbor: &mut NeighborConfig, TimedLists { skin, interval, tolerated }: TimedLists) {
    neighbor.skin = skin;
    neighbor.rebuild = RebuildPolicy::Every(interval);
    neighbor.tolerated = Some(tolerated);
}

/// Returns the model of the lists, or `None` if the particles are at rest as far as is known.
fn model(scenario: &Scenario, config: &Config, widest: f64) -> Option<ListModel> {
    let lightest = config.masses.iter().copied().fold(f64::INFINITY, f64::min);
    let thermal_speed = (temperature(scenario) / lightest).sqrt();
    let (cutoff, thermal_step) = (config.forces.cutoff(), thermal_speed * config.timestep);
    let model = ListModel { cutoff, thermal_step, widest };
    (model.thermal_step > 0.0 && model.thermal_step.is_finite()).then_some(model)
}

/// Returns the highest temperature in the scenario. That of a file's particles is not used, because
/// each rank may know only some of them.
fn temperature(scenario: &Scenario) -> f64 {
    let stages = scenario.stages();
    let targets = stages.iter().filter_map(|stage| stage.integrator.kind.temperature());
    let targets = targets.flat_map(md_engine::integrator::Temperature::ends);
    targets.fold(scenario.system.temperature.unwrap_or(0.0), f64::max)
}

/// Returns the set-up of a configuration. If its box is too small for a skin that the scenario
/// leaves to the program, takes a narrower one.
///
/// # Errors
/// The errors of [`Setup::new`] with the narrowest skin.
pub(super) fn set_up(
    source: &ScenarioSource,
    scenario: &Scenario,
    config: &Config,
    ranks: usize,
) -> Result<Setup, EngineError> {
    /// Parts of the skin that are tried.
    const PARTS: [f64; 6] = [0.75, 0.5, 0.375, 0.25, 0.125, 0.0625];
    let mut made = Setup::new(config.clone(), ranks);
    for part in PARTS {
        if scenario.neighbor.skin != Skin::Auto || !matches!(made, Err(EngineError::Grid(_))) {
            break;
        }
        let mut narrower = config.clone();
        let widest = config.neighbor.skin * part;
        narrower.neighbor.skin = widest;
        if choose(source, scenario, &mut narrower, widest).is_ok() {
            made = Setup::new(narrower, ranks);
        }
    }
    made
}
