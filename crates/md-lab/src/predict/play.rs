//! Steps of a strategy, played with the event model.

use md_comm::Backend;
use md_core::shell::ForceReturn;
use md_core::{Region, Shell};
use md_engine::{Overlap, Phase};

use super::StepPhases;
use super::costs::Costs;
use super::events::{Clocks, FORCES, Leg, PARTICLES, Rules, Spent, Window};
use super::plans::{Plans, Stage, Way};
use crate::Strategy;
use crate::machine::ComputeCost;

/// Bytes of a position or a force.
pub(super) const VECTOR_BYTES: f64 = 24.0;
/// Bytes of a border message: position, id and species per particle, a count per cell.
const BORDER_BYTES: [f64; 2] = [40.0, 8.0];

/// Normal random numbers by step and rank, for forces and for other work on particles.
pub(super) struct Draws {
    ranks: usize,
    numbers: Vec<[f32; 2]>,
}

impl Draws {
    /// Draws the numbers; they are the same for all strategies.
    pub(super) fn new(seed: u64, ranks: usize, steps: usize) -> Self {
        let key = |step: usize, rank: usize| ((step as u64) << 32) + rank as u64;
        let all = (0..steps).flat_map(|step| (0..ranks).map(move |rank| key(step, rank)));
        let draw = |key| {
            let [x, y, _] = md_core::random::normal_vector(seed, key);
            [x as f32, y as f32]
        };
        Self { ranks, numbers: all.map(draw).collect() }
    }

    pub(super) fn steps(&self) -> usize {
        self.numbers.len() / self.ranks
    }

    /// Writes factors with mean 1 and these relative standard deviations into `into`.
    fn factors(&self, step: usize, scatter: [f64; 2], into: &mut Vec<[f32; 2]>) {
        into.clear();
        let drawn = &self.numbers[step * self.ranks..][..self.ranks];
        into.extend(
            drawn.iter().map(|drawn| [0, 1].map(|kind| (1.0 + scatter[kind] as f32 * drawn[kind]).max(0.0))),
        );
    }
}

/// Seconds of work by rank.
pub(super) struct Work {
    integrate_s: Vec<f64>,
    rebuild_s: Vec<f64>,
    /// Number of computed pairs, by [`Region`].
    pairs: [Vec<f64>; Region::ALL.len()],
    force_s: [Vec<f64>; Region::ALL.len()],
}

impl Work {
    /// Returns the work of the plans if this share of their candidate pairs is computed.
    pub(super) fn new(plans: &Plans, computed_share: f64, cost: &ComputeCost) -> Self {
        let column = |region: usize| plans.candidates.iter().map(move |it| computed_share * it[region]);
        let pairs = [0, 1, 2].map(|region| column(region).collect::<Vec<f64>>());
        let all_pairs: Vec<f64> =
            plans.candidates.iter().map(|it| computed_share * it.iter().sum::<f64>()).collect();
        let by_rank =
            |seconds: &dyn Fn(usize) -> f64| (0..plans.owned.len()).map(seconds).collect::<Vec<_>>();
        // Costs per particle and per cell are divided among the regions like the pairs.
        let force = |pairs: &Vec<f64>| {
            by_rank(&|rank| {
                let beside = cost.per_particle_forces_s * plans.owned[rank]
                    + cost.per_cell_forces_s * plans.cells[rank];
                pairs[rank] * (cost.per_computed_pair_s + beside / all_pairs[rank].max(1.0))
            })
        };
        Self {
            integrate_s: by_rank(&|rank| cost.per_particle_s * plans.owned[rank]),
            rebuild_s: by_rank(&|rank| {
                cost.per_particle_rebuilt_s * plans.owned[rank]
                    + cost.per_cell_rebuilt_s * plans.cells[rank]
                    + cost.per_list_entry_s * all_pairs[rank]
            }),
            force_s: pairs.each_ref().map(force),
            pairs,
        }
    }
}

/// A strategy that is ready to be played.
pub(super) struct Play<'p, 'm> {
    costs: &'p Costs<'m>,
    backend: Backend,
    work: &'p Work,
    rules: Rules,
    overlaps: bool,
    gather: Vec<Leg<'p>>,
    scatter: Vec<Leg<'p>>,
    border: Vec<Leg<'p>>,
    migration: Vec<Leg<'p>>,
    /// By rank: seconds of progress calls while positions travel and while forces travel.
    progress_s: [Vec<f64>; 2],
    /// Messages with the sizes that peers send each other at a rebuild in every context; `None` if
    /// the machine has no costs of `p2p`.
    sizes: Option<(Vec<Leg<'p>>, Rules)>,
    contexts: usize,
    clocks: Clocks,
    noise: Vec<[f32; 2]>,
    phases: StepPhases,
}

fn legs<'p>(
    costs: &Costs,
    ways: impl Iterator<Item = Way<'p>>,
    bytes: [f64; 2],
) -> Result<Vec<Leg<'p>>, String> {
    ways.map(|way| costs.leg(way, bytes)).collect()
}

/// Returns the stages of the positions, and those of the forces if the shell returns them.
///
/// # Errors
/// The measurement that is missing.
pub(super) fn steady<'p>(costs: &Costs, plans: &'p Plans, shell: Shell) -> Result<[Vec<Leg<'p>>; 2], String> {
    let returns = shell.force_return() == ForceReturn::Needed;
    let [there, back] = [plans.stages.iter(), plans.stages.iter()];
    let back = back.rev().filter(|_| returns).map(Stage::back);
    let bytes = [VECTOR_BYTES, 0.0];
    Ok([legs(costs, there.map(Stage::there), bytes)?, legs(costs, back, bytes)?])
}

/// Returns the seconds of these exchanges, one after the other, repeated and without work.
///
/// # Errors
/// The measurement that is missing.
pub(super) fn exchange_s<'p>(
    costs: &Costs,
    backend: Backend,
    legs: impl IntoIterator<Item = Leg<'p>>,
) -> Result<f64, String> {
    /// Number of repetitions; the last one counts, as the first may start from another state.
    const EXCHANGES: usize = 4;
    let (rules, mut legs) = (costs.rules(backend)?, legs.into_iter().collect::<Vec<_>>());
    let mut clocks = Clocks::new(costs.ranks());
    let mut end_s = || {
        for leg in legs.chunks_mut(1) {
            clocks.exchange(leg, &rules, None);
        }
        clocks.latest_s()
    };
    let before_s = (1..EXCHANGES).map(|_| end_s()).last().unwrap_or(0.0);
    Ok(end_s() - before_s)
}

/// Kind of a step: with or without a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Steady,
    Rebuilds,
}

impl<'p, 'm> Play<'p, 'm> {
    /// Creates a strategy from its plans, work and costs.
    ///
    /// # Errors
    /// The measurement that is missing.
    pub(super) fn new(
        plans: &'p Plans,
        work: &'p Work,
        costs: &'p Costs<'m>,
        strategy: &Strategy,
        overlap: Overlap,
    ) -> Result<Self, String> {
        let (&Strategy { backend, shell, .. }, overlaps) = (strategy, overlap == Overlap::On);
        let [gather, scatter] = steady(costs, plans, shell)?;
        let border = legs(costs, plans.stages.iter().map(Stage::there), BORDER_BYTES)?;
        let ranks = plans.owned.len();
        let (migration, idle) = (plans.migration.there(), ComputeCost::default());
        let words = costs.with(Backend::P2p, &idle);
        let sizes =
            words.leg(migration, [0.0; 2]).and_then(|leg| Ok((vec![leg], words.rules(Backend::P2p)?)));
        let progress = |legs: &[Leg], region: Region| match legs.first().filter(|_| overlaps) {
            Some(leg) => costs.progress_s(leg, &work.force_s[region as usize], &work.pairs[region as usize]),
            None => vec![0.0; ranks],
        };
        Ok(Self {
            rules: costs.rules(backend)?,
            progress_s: [progress(&gather, Region::InnerFirst), progress(&scatter, Region::InnerSecond)],
            migration: vec![costs.leg(migration, [0.0; 2])?],
            sizes: sizes.ok(),
            contexts: gather.len() + border.len() + scatter.len() + 1,
            backend,
            clocks: Clocks::new(ranks),
            noise: Vec::with_capacity(ranks),
            phases: [0.0; Phase::ALL.len()],
            costs,
            work,
            overlaps,
            gather,
            scatter,
            border,
        })
    }

    /// Plays one step, and returns how much the clock of the last rank advances.
    pub(super) fn step(&mut self, draws: &Draws, step: usize, kind: Kind) -> f64 {
        let before = self.clocks.latest_s();
        let compute = self.costs.compute;
        let mut noise = std::mem::take(&mut self.noise);
        draws.factors(step % draws.steps(), [compute.force_scatter, compute.particle_scatter], &mut noise);
        self.phases[Phase::Integrate as usize] += self.clocks.work(&self.work.integrate_s, &noise, PARTICLES);
        match kind {
            Kind::Rebuilds => self.rebuild(&noise),
            Kind::Steady => self.positions(&noise),
        }
        self.compute(Region::Boundary, &noise);
        if !self.overlaps || self.scatter.is_empty() {
            self.compute(Region::InnerSecond, &noise);
        }
        let spent = self.exchange(Region::InnerSecond, &noise);
        self.book(spent, [Phase::ForceReturn; 3]);
        self.noise = noise;
        let duration = self.clocks.latest_s() - before;
        self.phases[Phase::Total as usize] += duration * self.work.integrate_s.len() as f64;
        duration
    }

    fn positions(&mut self, noise: &[[f32; 2]]) {
        let spent = self.exchange(Region::InnerFirst, noise);
        self.book(spent, [Phase::HaloPack, Phase::HaloTransfer, Phase::HaloUnpack]);
        if !self.overlaps {
            self.compute(Region::InnerFirst, noise);
        }
    }

    /// Plays a rebuild for predicted positions, after which the true ones are exchanged.
    fn rebuild(&mut self, noise: &[[f32; 2]]) {
        let spent = self.clocks.exchange(&mut self.migration, &self.rules, None);
        self.book(spent, [Phase::Migrate; 3]);
        self.phases[Phase::Neighbor as usize] += self.clocks.work(&self.work.rebuild_s, noise, PARTICLES);
        let spent = self.clocks.exchange(&mut self.border, &self.rules, None);
        self.book(spent, [Phase::Border; 3]);
        self.negotiate();
        self.positions(noise);
    }

    fn negotiate(&mut self) {
        let Self { clocks, sizes, contexts, phases, costs, backend, .. } = self;
        let begun_s: f64 = clocks.now_s.iter().sum();
        if let Some((leg, rules)) = sizes {
            (0..*contexts).for_each(|_| {
                clocks.exchange(leg, rules, None);
            });
        }
        let windows_s = *contexts as f64 * costs.negotiation_s(*backend);
        if windows_s > 0.0 {
            let latest_s = clocks.latest_s();
            clocks.now_s.fill(latest_s + windows_s);
        }
        phases[Phase::Border as usize] += clocks.now_s.iter().sum::<f64>() - begun_s;
    }

    /// Exchanges positions during the first inner part, or forces during the second.
    fn exchange(&mut self, beside: Region, noise: &[[f32; 2]]) -> Spent {
        let Self { gather, scatter, progress_s: [first, second], work, overlaps, clocks, rules, .. } = self;
        let (legs, progress_s) =
            if beside == Region::InnerFirst { (gather, first) } else { (scatter, second) };
        let window = overlaps.then_some(Window { work_s: &work.force_s[beside as usize], noise, progress_s });
        clocks.exchange(legs, rules, window)
    }

    fn compute(&mut self, region: Region, noise: &[[f32; 2]]) {
        self.phases[Phase::Force as usize] +=
            self.clocks.work(&self.work.force_s[region as usize], noise, FORCES);
    }

    /// Adds the times of an exchange to the phases. As in the engine, the messages of a rebuild and
    /// the return of forces are one phase each, except that waiting for forces counts as
    /// `HaloWait`.
    fn book(&mut self, spent: Spent, [pack, calls, take]: [Phase; 3]) {
        let wait = if matches!(pack, Phase::Border | Phase::Migrate) { pack } else { Phase::HaloWait };
        let parts =
            [(pack, spent.pack_s), (calls, spent.calls_s), (take, spent.take_s), (wait, spent.wait_s)];
        for (phase, seconds) in parts.into_iter().chain([(Phase::Force, spent.work_s)]) {
            self.phases[phase as usize] += seconds;
        }
    }

    /// Returns the seconds per step of each phase since the last call, mean over ranks.
    pub(super) fn take_phases(&mut self, steps: usize) -> StepPhases {
        let all = (steps * self.work.integrate_s.len()) as f64;
        std::mem::replace(&mut self.phases, [0.0; Phase::ALL.len()]).map(|seconds| seconds / all)
    }
}
