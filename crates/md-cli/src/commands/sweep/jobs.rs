//! Jobs of a sweep: all possible combinations of ranks, threads, sizes and strategies.

use md_comm::Backend;
use md_core::words::counted;
use md_grid::application::PHASES;
use md_lab::sweep::{Kind, PARTICLES, Scaling, repeated_cells, scaled_cells};
use md_lab::{Strategy, name_of};
use md_scenario::failure::RunError;
use md_scenario::{Scenario, ScenarioSource, effective_toml, fault, load_as};

use super::{SweepJob, SweepSettings, first_of};
use crate::args::SweepArgs;
use crate::commands::{found_from_anywhere, refused};
use crate::grid_inputs::{GridInputs, GridModel};
use crate::inputs::Inputs;
use crate::report::grid::GridContext;
use crate::setup;
use crate::strategies::{Choices, adapt, keys_of};

/// Kind of a sweep over runs on grids.
const GRID: Kind = Kind {
    context: GridContext::COLUMNS,
    strategy: &["backend", "exchange", "field_messages"],
    size: "nodes",
    phases: &PHASES,
    rate: "updates_per_s",
};

/// Returns the jobs of a sweep with particles.
pub(super) fn particle_jobs(
    inputs: &Inputs,
    args: &SweepArgs,
    choices: &Choices,
) -> Result<SweepSettings, RunError> {
    let base = found_from_anywhere(inputs, &inputs.scenario)?;
    let mut alone = base.clone();
    (alone.parallel.ranks, alone.parallel.grid) = (1, None);
    let own = setup::of_scenario(inputs, &alone, 1)?.atoms();
    let sizes = if args.atoms.is_empty() { vec![own] } else { args.atoms.clone() };
    let strategies = choices.strategies(&base, &movers_here());
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for ([ranks, threads], &size) in
        counts(args).flat_map(|counts| sizes.iter().map(move |size| (counts, size)))
    {
        let copies = if args.scaling() == Scaling::Weak { ranks } else { 1 };
        for &strategy in &strategies {
            match of_particles(inputs, &base, [own, size, copies as u64], [ranks, threads], strategy) {
                Ok(job) => jobs.push(job),
                Err(reason) => left_out.push(format!(
                    "{}, {}, {strategy}: {}",
                    counted(ranks, "rank"),
                    counted(size * copies as u64, "atom"),
                    reason.lines().next().unwrap_or_default()
                )),
            }
        }
    }
    wanted(PARTICLES, args.scaling(), jobs, left_out, effective_toml(&base))
}

fn wanted(
    kind: Kind,
    scaling: Scaling,
    jobs: Vec<SweepJob>,
    left_out: Vec<String>,
    effective: String,
) -> Result<SweepSettings, RunError> {
    if jobs.is_empty() {
        let reasons = first_of(left_out.iter().map(String::as_str));
        return Err(refused(format!("no job is possible\n{reasons}")));
    }
    Ok(SweepSettings { kind, scaling, jobs, left_out, effective })
}

/// Returns the backends that a job can use here.
fn movers_here() -> Vec<Backend> {
    let can_run = |backend: &Backend| {
        !matches!(backend, Backend::Local | Backend::Auto) && backend.availability().is_ok()
    };
    Backend::ALL.iter().copied().filter(can_run).collect()
}

/// Returns all pairs of numbers of ranks and threads.
fn counts(args: &SweepArgs) -> impl Iterator<Item = [usize; 2]> {
    args.ranks.iter().flat_map(|&ranks| args.threads.iter().map(move |&threads| [ranks, threads]))
}

fn of_particles(
    inputs: &Inputs,
    base: &Scenario,
    particles: [u64; 3],
    [ranks, threads]: [usize; 2],
    strategy: Strategy,
) -> Result<SweepJob, String> {
    let mut scenario = adapt(strategy, base)?.scenario;
    let parallel = &mut scenario.parallel;
    (parallel.threads, parallel.grid) = (threads, None);
    parallel.ranks = if strategy.backend == Backend::Local { ranks } else { 1 };
    scenario.output.trajectory = None;
    scenario.stage.iter_mut().for_each(|stage| stage.output = None);
    resize(&mut scenario, particles)?;
    fault(&scenario).map_or(Ok(()), Err)?;
    let atoms = setup::of_scenario(inputs, &scenario, ranks).map_err(|error| error.to_string())?.atoms();
    let [backend, shell, exchange, partition] = strategy.names();
    Ok(SweepJob {
        command: "run",
        scenario: effective_toml(&scenario),
        backend: strategy.backend,
        ranks,
        title: format!("{}, {}, {strategy}", on_ranks(ranks, threads), counted(atoms, "atom")),
        columns: vec![
            ("backend", backend),
            ("shell", shell),
            ("exchange", exchange),
            ("partition", partition),
            ("ranks", ranks.to_string()),
            ("threads", threads.to_string()),
            ("atoms", atoms.to_string()),
        ],
    })
}

/// Changes the number of particles from `own` to `copies` times `size`.
fn resize(scenario: &mut Scenario, [own, size, copies]: [u64; 3]) -> Result<(), String> {
    match &mut scenario.system.lattice {
        Some(lattice) => {
            let cells = scaled_cells(lattice.kind, lattice.cells, own, size);
            lattice.cells = repeated_cells(lattice.kind, cells, copies as u32);
            Ok(())
        }
        None if size * copies != own => {
            Err("only the particles of a lattice can be made more or fewer".to_owned())
        }
        None => Ok(()),
    }
}

/// Returns the jobs of a sweep with a grid. The scenario gives the number of nodes, or of nodes per
/// rank.
pub(super) fn grid_jobs<M: GridModel>(
    inputs: &GridInputs<M>,
    args: &SweepArgs,
    choices: &Choices,
) -> Result<SweepSettings, RunError> {
    let of_particles = [
        (choices.of_particles(), ""),
        ((!args.atoms.is_empty()).then_some("--atoms"), ": the scenario says how many nodes there are"),
    ];
    if let Some((Some(option), advice)) = of_particles.into_iter().find(|(option, _)| option.is_some()) {
        return Err(refused(format!(
            "{option} is for scenarios of particles, and this one has a grid{advice}"
        )));
    }
    let scaling = if inputs.scenario.grows() { Scaling::Weak } else { args.scaling() };
    let strategies = choices.strategies(&keys_of(inputs)?, &movers_here());
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for [ranks, threads] in counts(args) {
        let mut inputs = inputs.clone();
        inputs.scenario.parallel_mut().grid = None;
        if scaling == Scaling::Weak {
            inputs.scenario.grow(ranks)?;
        }
        for Strategy { backend, exchange, .. } in &strategies {
            match on_grid(&inputs, [ranks, threads], *backend, *exchange) {
                Ok(job) => jobs.push(job),
                Err(reason) => {
                    let (backend, exchange) = (name_of(backend), name_of(exchange));
                    let reason = reason.lines().next().unwrap_or_default().to_owned();
                    left_out.push(format!("{}, {backend} {exchange}: {reason}", counted(ranks, "rank")));
                }
            }
        }
    }
    wanted(GRID, scaling, jobs, left_out, effective_toml(&inputs.scenario))
}

fn on_grid<M: GridModel>(
    inputs: &GridInputs<M>,
    [ranks, threads]: [usize; 2],
    backend: Backend,
    exchange: md_core::ExchangePattern,
) -> Result<SweepJob, String> {
    let mut inputs = inputs.clone();
    M::find_files(&mut inputs).map_err(|error| error.to_string())?;
    let parallel = inputs.scenario.parallel_mut();
    (parallel.backend, parallel.exchange, parallel.threads) = (backend, exchange, threads);
    parallel.ranks = if backend == Backend::Local { ranks } else { 1 };
    let text = effective_toml(&inputs.scenario);
    let source = ScenarioSource { name: "scenario".to_owned(), text: text.clone(), overrides: Vec::new() };
    load_as::<M>(&source).map_err(|error| error.to_string())?;
    let problem = M::problem(&inputs, ranks).map_err(|error| error.to_string())?;
    let nodes = M::decomposition(&problem).nodes().map(|count| count.to_string()).join("x");
    let (names, how) = ([name_of(backend), name_of(exchange)], inputs.scenario.parallel().messages);
    Ok(SweepJob {
        command: M::TABLE,
        scenario: text,
        backend,
        ranks,
        title: format!("{}, {nodes} nodes, {}", on_ranks(ranks, threads), names.join(" ")),
        columns: vec![
            ("backend", names[0].clone()),
            ("exchange", names[1].clone()),
            ("field_messages", name_of(how)),
            ("ranks", ranks.to_string()),
            ("threads", threads.to_string()),
            ("nodes", nodes),
        ],
    })
}

fn on_ranks(ranks: usize, threads: usize) -> String {
    format!("{} x {}", counted(ranks, "rank"), counted(threads, "thread"))
}
