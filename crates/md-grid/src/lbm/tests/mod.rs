//! Tests with known flows, and of results that must not depend on the method of computation.

mod cavity;
mod drag;
mod known_flows;
mod mass;
mod same_bits;

use std::time::Duration;

use md_comm::{Buffering, World, local};
use md_core::Threads;
use md_core::simd::SimdLevel;
use md_engine::clock::PhaseClock;

use super::{
    Collision, Crossing, Flow, FlowOptions, FlowState, Forces, LaneReal, Mask, Moments, Overlap, POPULATIONS,
    Pattern, Stores, Totals, WallVelocities,
};
use crate::halo::Stage;
use crate::{Decomposition, Edges, Layout, Messages};

/// Flow and method of computation.
#[derive(Debug, Clone)]
struct Case {
    nodes: [usize; 3],
    edges: [Edges; 3],
    collision: Collision,
    viscosity: f64,
    body_force: [f64; 3],
    walls: WallVelocities,
    solid: fn([usize; 3]) -> bool,
    /// Seed and share of further solid nodes, at random.
    scattered: Option<(u64, f64)>,
    initial: fn([usize; 3], [usize; 3]) -> FlowState,
    steps: usize,
    pattern: Pattern,
    stores: Option<Stores>,
    crossing: Crossing,
    overlap: Overlap,
    simd: SimdLevel,
    threads: usize,
    ranks: usize,
    grid: Option<[usize; 3]>,
    /// Number of exchanges between steps, which must not change anything.
    extra_exchanges: usize,
    /// Step after which another flow continues with this pattern.
    restart: Option<(usize, Pattern)>,
}

/// A node's number in the whole grid, and its populations.
type OwnNode<T> = (usize, [T; POPULATIONS]);

impl Default for Case {
    fn default() -> Self {
        Self {
            nodes: [8; 3],
            edges: [Edges::Periodic; 3],
            collision: Collision::Bgk,
            viscosity: 0.1,
            body_force: [0.0; 3],
            walls: WallVelocities::default(),
            solid: |_| false,
            scattered: None,
            initial: |_, _| FlowState::default(),
            steps: 10,
            pattern: Pattern::SingleGrid,
            stores: None,
            crossing: Crossing::Direct,
            overlap: Overlap::InnerNodes,
            simd: SimdLevel::detect(),
            threads: 1,
            ranks: 1,
            grid: None,
            extra_exchanges: 0,
            restart: None,
        }
    }
}

/// Final state of a flow: populations of all nodes, x slowest, and totals before and after.
struct Outcome<T> {
    nodes: [usize; 3],
    populations: Vec<[T; POPULATIONS]>,
    totals: [Totals; 2],
    forces: Forces,
    body_force: [f64; 3],
}

impl<T: LaneReal> Outcome<T> {
    fn velocity(&self, [x, y, z]: [usize; 3]) -> [f64; 3] {
        let [_, ny, nz] = self.nodes;
        Moments::of(&self.populations[(x * ny + y) * nz + z]).velocity(self.body_force)
    }

    fn bits(&self) -> Vec<u64> {
        let forces = self.forces.on_obstacles.into_iter().chain(self.forces.on_walls);
        let populations = self.populations.iter().flatten().map(|value| value.to_f64());
        populations.chain(forces).map(f64::to_bits).collect()
    }
}

impl Case {
    /// Runs the case on ranks that are threads of this process.
    fn run<T: LaneReal>(&self) -> Outcome<T> {
        let parts = local::run(self.ranks, Duration::from_secs(60), |world| self.run_rank::<T>(world));
        let mut populations = vec![[T::ZERO; POPULATIONS]; self.nodes.iter().product()];
        let mut ends = None;
        for part in parts {
            let (own, end) = part.unwrap();
            ends = Some(end);
            own.into_iter().for_each(|(place, values)| populations[place] = values);
        }
        let (totals, forces) = ends.unwrap();
        Outcome { nodes: self.nodes, populations, totals, forces, body_force: self.body_force }
    }

    fn is_solid(&self, node: [usize; 3]) -> bool {
        let is_scattered = |(seed, share): (u64, f64)| {
            let words = node.map(|index| index as u64);
            let mixed = words.into_iter().fold(seed + 1, |sum, word| {
                let mixed = (sum ^ (word + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed ^ (mixed >> 29)
            });
            ((mixed >> 40) as f64) < share * f64::from(1 << 24)
        };
        (self.solid)(node) || self.scattered.is_some_and(is_scattered)
    }

    /// Returns the populations of own nodes, and the totals and forces at the end.
    fn run_rank<T: LaneReal>(&self, world: &dyn World) -> (Vec<OwnNode<T>>, ([Totals; 2], Forces)) {
        let grid = Decomposition::new(self.nodes, world.ranks(), self.grid, self.edges).unwrap();
        let block = grid.block(world.rank());
        let layout = Layout::new(block.size, [1; 3], size_of::<T>()).unwrap();
        let global = |node: [usize; 3]| [0, 1, 2].map(|axis| block.origin[axis] + node[axis]);
        let own = || every_node(block.size);
        let mask = || {
            let mut mask = Mask::fluid(layout).unwrap();
            for node in own().filter(|&node| self.is_solid(global(node))) {
                mask.set_solid(node.map(|index| index as isize));
            }
            mask
        };
        let options = |pattern| FlowOptions {
            collision: self.collision,
            viscosity: self.viscosity,
            body_force: self.body_force,
            wall_velocities: self.walls,
            pattern,
            stores: self.stores,
            crossing: self.crossing,
            overlap: self.overlap,
            messages: Messages::Aggregated,
            buffering: Buffering::Double,
            simd: self.simd,
            threads: Threads::new(self.threads).unwrap(),
        };
        let initial = |node| (self.initial)(node, self.nodes);
        let start = |pattern| Flow::<T>::new(world, &grid, mask(), options(pattern), initial).unwrap();
        let mut flow = start(self.pattern);
        let before = flow.totals(world).unwrap();
        let mut clock = PhaseClock::default();
        for step in 0..self.steps {
            if let Some((_, pattern)) = self.restart.filter(|&(at, _)| at == step) {
                let ended = std::mem::replace(&mut flow, start(pattern));
                for node in own().filter(|&node| ended.state(node).is_some()) {
                    flow.set_populations(node, ended.populations(node));
                }
                closed(ended);
            }
            (0..self.extra_exchanges).for_each(|_| flow.exchange(&mut clock).unwrap());
            flow.step(&mut clock).unwrap();
        }
        let ends = ([before, flow.totals(world).unwrap()], flow.forces(world).unwrap());
        let [_, ny, nz] = self.nodes;
        let place = |[x, y, z]: [usize; 3]| (x * ny + y) * nz + z;
        let fluid = own().filter(|&node| flow.state(node).is_some());
        let populations = fluid.map(|node| (place(global(node)), flow.populations(node))).collect();
        closed(flow);
        (populations, ends)
    }
}

fn closed<T: LaneReal>(flow: Flow<T>) {
    flow.into_stages().into_iter().try_for_each(Stage::finalise).unwrap();
}

fn every_node([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nx).flat_map(move |x| (0..ny).flat_map(move |y| (0..nz).map(move |z| [x, y, z])))
}
