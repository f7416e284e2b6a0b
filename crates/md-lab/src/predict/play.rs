//! Steps of a strategy, played.

use md_core::Region;
use md_core::shell::ForceReturn;
use md_engine::{Overlap, Phase};

use super::StepPhases;
use super::costs::{CollectiveTime, Costs};
use super::events::{Clocks, FORCES, Leg, PARTICLES, Rules, Spent, Window};
use super::plans::{Messages, Plans, Stage};
use super::protocol::Protocol;
use crate::Strategy;
use crate::machine::{ComputeCost, Operation};

/// Bytes of a position or a force.
pub(super) const VECTOR_BYTES: f64 = 24.0;
/// Bytes of a border message: position, id and species per particle, a count per cell.
const BORDER_BYTES: [f64; 2] = [40.0, 8.0];

/// Random numbers of a normal distribution by step and rank, for forces and for what is done particle by particle.
pub(super) struct Draws {
    ranks: usize,
    numbers: Vec<[f32; 2]>,
}

impl Draws {
    /// The same for all strategies.
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

    /// As factors with these relative residuals.
    fn factors(&self, step: usize, residuals: [f64; 2], into: &mut Vec<[f32; 2]>) {
        into.clear();
        let drawn = &self.numbers[step * self.ranks..][..self.ranks];
        into.extend(
            drawn
                .iter()
                .map(|drawn| [0, 1].map(|kind| (1.0 + residuals[kind] as f32 * drawn[kind]).max(0.0))),
        );
    }
}

/// Seconds of work by rank.
pub(super) struct Work {
    integrate_s: Vec<f64>,
    rebuild_s: Vec<f64>,
    /// By [`Region`].
    pairs: [Vec<f64>; Region::ALL.len()],
    force_s: [Vec<f64>; Region::ALL.len()],
}

impl Work {
    /// Of plans whose candidate pairs are computed to this part.
    pub(super) fn new(plans: &Plans, computed_share: f64, cost: &ComputeCost) -> Self {
        let column = |region: usize| plans.candidates.iter().map(move |it| computed_share * it[region]);
        let pairs = [0, 1, 2].map(|region| column(region).collect::<Vec<f64>>());
        let force =
            |pairs: &Vec<f64>| pairs.iter().map(|pairs| cost.per_computed_pair.seconds * pairs).collect();
        let entries = plans
            .candidates
            .iter()
            .map(|it| computed_share * it.iter().sum::<f64>() / cost.pairs_per_list_entry);
        let rebuild = plans.owned.iter().zip(entries).map(|(particles, entries)| {
            cost.per_particle_rebuilt.seconds * particles + cost.per_list_entry.seconds * entries
        });
        Self {
            integrate_s: plans.owned.iter().map(|particles| cost.per_particle.seconds * particles).collect(),
            rebuild_s: rebuild.collect(),
            force_s: pairs.each_ref().map(force),
            pairs,
        }
    }
}

/// A strategy, ready to be played.
pub(super) struct Play<'p, 'm> {
    costs: &'p Costs<'m>,
    work: &'p Work,
    rules: Rules,
    overlaps: bool,
    gather: Vec<Leg<'p>>,
    scatter: Vec<Leg<'p>>,
    border: Vec<Leg<'p>>,
    migration: Vec<Leg<'p>>,
    /// By rank, while positions and while forces travel.
    progress_s: [Vec<f64>; 2],
    /// Of all contexts together, at a rebuild.
    negotiation_s: f64,
    clocks: Clocks,
    noise: Vec<[f32; 2]>,
    phases: StepPhases,
}

/// Stages one way, each with what goes the other way.
fn legs<'p>(
    costs: &Costs,
    stages: impl Iterator<Item = ([&'p Messages; 2], &'p Stage)>,
    bytes: [f64; 2],
) -> Result<Vec<Leg<'p>>, String> {
    stages.map(|([plan, reversed], stage)| costs.leg(plan, reversed, &stage.images, bytes)).collect()
}

/// Whether a step makes the neighbourhood anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Steady,
    Rebuilds,
}

impl<'p, 'm> Play<'p, 'm> {
    /// # Errors
    /// What the machine does not say.
    pub(super) fn new(
        plans: &'p Plans,
        work: &'p Work,
        costs: &'p Costs<'m>,
        strategy: &Strategy,
        overlap: Overlap,
    ) -> Result<Self, String> {
        let (&Strategy { backend, shell, .. }, overlaps) = (strategy, overlap == Overlap::On);
        let returns = shell.force_return() == ForceReturn::Needed;
        let there = || plans.stages.iter().map(|stage| [&stage.gather, &stage.scatter]).zip(&plans.stages);
        let back = plans.stages.iter().rev().map(|stage| ([&stage.scatter, &stage.gather], stage));
        let gather = legs(costs, there(), [VECTOR_BYTES, 0.0])?;
        let border = legs(costs, there(), BORDER_BYTES)?;
        let scatter = legs(costs, back.filter(|_| returns), [VECTOR_BYTES, 0.0])?;
        let ranks = plans.owned.len();
        let contexts = (gather.len() + border.len() + scatter.len() + 1) as f64;
        let negotiates = Protocol::has_windows(backend) && ranks > 1;
        let allreduce_s = costs.collective_s(Operation::Allreduce).map_or(0.0, CollectiveTime::total_s);
        let progress = |legs: &[Leg], region: Region| match legs.first().filter(|_| overlaps) {
            Some(leg) => costs.progress_s(leg, &work.force_s[region as usize], &work.pairs[region as usize]),
            None => vec![0.0; ranks],
        };
        let migration = &plans.migration;
        Ok(Self {
            rules: costs.rules(backend)?,
            progress_s: [progress(&gather, Region::InnerFirst), progress(&scatter, Region::InnerSecond)],
            migration: vec![costs.leg(migration, migration, &vec![0.0; ranks], [0.0; 2])?],
            negotiation_s: if negotiates { contexts * allreduce_s } else { 0.0 },
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

    /// One step: how much later the last rank is afterwards.
    pub(super) fn step(&mut self, draws: &Draws, step: usize, kind: Kind) -> f64 {
        let before = self.clocks.latest_s();
        let compute = self.costs.compute;
        let residuals = [compute.per_computed_pair, compute.per_particle].map(|cost| cost.relative_residual);
        let mut noise = std::mem::take(&mut self.noise);
        draws.factors(step % draws.steps(), residuals, &mut noise);
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

    /// Positions travel with the border.
    fn rebuild(&mut self, noise: &[[f32; 2]]) {
        let spent = self.clocks.exchange(&mut self.migration, &self.rules, None);
        self.book(spent, [Phase::Migrate; 3]);
        self.phases[Phase::Neighbor as usize] += self.clocks.work(&self.work.rebuild_s, noise, PARTICLES);
        let spent = self.clocks.exchange(&mut self.border, &self.rules, None);
        self.book(spent, [Phase::Border; 3]);
        self.clocks.now_s.iter_mut().for_each(|now| *now += self.negotiation_s);
        self.phases[Phase::Border as usize] += self.negotiation_s * self.work.integrate_s.len() as f64;
        self.compute(Region::InnerFirst, noise);
    }

    /// Of positions beside the first inner part, of forces beside the second.
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

    /// Of messages at a rebuild and of forces the engine knows one phase, waiting for others excepted.
    fn book(&mut self, spent: Spent, [pack, calls, take]: [Phase; 3]) {
        let wait = if matches!(pack, Phase::Border | Phase::Migrate) { pack } else { Phase::HaloWait };
        let parts =
            [(pack, spent.pack_s), (calls, spent.calls_s), (take, spent.take_s), (wait, spent.wait_s)];
        for (phase, seconds) in parts.into_iter().chain([(Phase::Force, spent.work_s)]) {
            self.phases[phase as usize] += seconds;
        }
    }

    /// Seconds per step of each phase since last asked, mean over ranks.
    pub(super) fn take_phases(&mut self, steps: usize) -> StepPhases {
        let all = (steps * self.work.integrate_s.len()) as f64;
        std::mem::replace(&mut self.phases, [0.0; Phase::ALL.len()]).map(|seconds| seconds / all)
    }
}
