//! Flow on the ranks of a world, and its time step.

use std::time::Instant;

use md_comm::World;
use md_core::aligned::Place;
use md_core::simd::SimdLevel;
use md_engine::clock::PhaseClock;
use md_engine::{Flight, Phase};

use super::collision::{Coefficients, FlowState, Moments, Rates};
use super::d3q19::{POPULATIONS, VELOCITIES, opposite};
use super::drag::{self, Forces};
use super::kernel::{Pass, Run, Sweeper};
use super::lanes::LaneReal;
use super::nodes::{Nodes, Overlap};
use super::options::{FlowOptions, Pattern};
use super::rows::{Ends, Rows};
use super::stores::{Stores, StoresChoice};
use super::totals::{Sums, Totals};
use super::walls::{Mask, Placement, Walls, shifts};
use crate::halo::Stage;
use crate::layout::LINE;
use crate::{Block, Decomposition, Field, GridError, Halo, HaloOptions, HaloPlan, Layout, Region};

/// Number of parts in which inner nodes are computed, with a progress call for the messages after
/// each.
const BLOCKS: usize = 16;

/// This rank's part of a flow.
pub struct Flow<T> {
    block: Block,
    layout: Layout,
    /// Number of nodes on all ranks.
    all_nodes: usize,
    options: FlowOptions,
    mask: Mask,
    nodes: Nodes,
    walls: Walls<T>,
    sweeper: Sweeper<T>,
    shifts: [isize; POPULATIONS],
    rows: Rows,
    grid: Field<T>,
    grids: Grids<T>,
    /// Halo from ghosts to owners.
    scatter: Halo<T>,
    placement: Placement,
}

/// Storage of each pattern in addition to the grid.
enum Grids<T> {
    /// Halo from owners to ghosts.
    One(Box<Halo<T>>),
    /// The grid to be written, and the way it is written.
    Two(Field<T>, StoresChoice),
}

impl<T: LaneReal> Grids<T> {
    /// Creates a second grid.
    fn second(layout: Layout, stores: Option<Stores>) -> Result<Self, GridError> {
        let target = Field::staggered(Place::Reaction, layout, &leads())?;
        let bytes = 2 * POPULATIONS * layout.component_stride() * size_of::<T>();
        Ok(Self::Two(target, StoresChoice::new(stores, bytes)))
    }
}

impl<T: LaneReal> Flow<T> {
    /// Creates a flow whose fluid nodes start from `initial(global indices)`, around the solid
    /// nodes of `mask`, which contains those of this rank. *Collective.*
    ///
    /// # Errors
    /// [`GridError::Shape`], [`GridError::OutOfMemory`]; communication errors.
    pub fn new(
        world: &dyn World,
        decomposition: &Decomposition,
        mut mask: Mask,
        options: FlowOptions,
        initial: impl Fn([usize; 3]) -> FlowState,
    ) -> Result<Self, GridError> {
        let block = decomposition.block(world.rank());
        let layout = Layout::new(block.size, [1; 3], size_of::<T>())?;
        learn_ghosts(world, decomposition, &mut mask)?;
        let walls = Walls::find(decomposition, block.origin, layout, &mask, options.wall_velocities);
        // A single rank waits for no messages.
        let overlap = if world.ranks() > 1 { options.overlap } else { Overlap::Nothing };
        let halo = |plan: HaloPlan| Halo::open(world, decomposition, layout, &plan, options.halo_options());
        let (rates, ends) = (Rates::new(options.collision, options.viscosity), Ends::of(decomposition));
        let (shifts, rows) = (shifts(layout), Rows::new(layout, ends));
        let coefficients = |force| Coefficients::new(rates, force);
        let threads = options.threads.clone();
        let mut flow = Self {
            block,
            layout,
            all_nodes: decomposition.nodes().iter().product(),
            nodes: Nodes::of(decomposition, layout, &mask, overlap, options.crossing),
            walls,
            sweeper: Sweeper::new(coefficients, options.body_force, shifts, rows, options.simd, threads),
            shifts,
            rows,
            grid: Field::staggered(Place::Position, layout, &leads())?,
            grids: match options.pattern {
                Pattern::SingleGrid => Grids::One(Box::new(halo(options.crossing.gather(ends))?)),
                Pattern::TwoGrid => Grids::second(layout, options.stores)?,
            },
            scatter: halo(options.crossing.scatter(ends))?,
            mask,
            options,
            placement: Placement::Natural,
        };
        flow.fill(rates, initial);
        Ok(flow)
    }

    fn fill(&mut self, rates: Rates, initial: impl Fn([usize; 3]) -> FlowState) {
        let half_force = self.options.body_force.map(|component| 0.5 * component);
        for row in self.layout.resolve(Region::OWN).rows() {
            for z in 0..self.layout.size()[2] {
                let node = [row[0], row[1], z as isize];
                if self.mask.is_solid(node) {
                    continue;
                }
                let mut state = initial([0, 1, 2].map(|axis| self.block.origin[axis] + node[axis] as usize));
                // The measured velocity includes half a step of the force.
                for (velocity, force) in state.velocity.iter_mut().zip(half_force) {
                    *velocity -= force / (1.0 + state.excess_density);
                }
                let place = self.layout.index(node);
                for (population, component) in
                    self.grid.components_mut::<POPULATIONS>().into_iter().enumerate()
                {
                    let place = place.wrapping_add_signed(self.rows.elsewhere(population, z));
                    component[place] = T::from_f64(state.population(population, rates));
                }
            }
        }
    }

    /// Makes one time step.
    ///
    /// # Errors
    /// Communication errors.
    pub fn step(&mut self, clock: &mut PhaseClock) -> Result<(), GridError> {
        let Self { nodes, walls, sweeper, grid, grids, scatter, placement, .. } = self;
        let (boundary, inner) = (nodes.boundary.as_slice(), nodes.inner.as_slice());
        match grids {
            Grids::Two(target, choice) => {
                let (stores, mut sweeps_s) = (choice.next(), 0.0);
                let sweep = |target: &mut Field<T>, runs: &[Run]| {
                    let begun = Instant::now();
                    let (source, target) = (grid.components_mut(), target.components_mut());
                    sweeper.sweep(Pass::Push { source, stores, target }, runs);
                    sweeps_s += begun.elapsed().as_secs_f64();
                };
                overlapped(scatter, target, clock, [boundary, inner], sweep)?;
                choice.took(sweeps_s);
                std::mem::swap(grid, target);
            }
            Grids::One(gather) => match *placement {
                Placement::Natural => {
                    let sweep = |grid: &mut Field<T>, runs: &[Run]| {
                        sweeper.sweep(Pass::Local(grid.components_mut()), runs);
                    };
                    overlapped(gather, grid, clock, [boundary, inner], sweep)?;
                    *placement = Placement::Swapped;
                }
                Placement::Swapped => {
                    let sweep = |grid: &mut Field<T>, runs: &[Run]| {
                        sweeper.sweep(Pass::Shifted(grid.components_mut()), runs);
                    };
                    overlapped(scatter, grid, clock, [boundary, inner], sweep)?;
                    *placement = Placement::Natural;
                }
            },
        }
        clock.time(Phase::Integrate, || walls.bounce(&mut grid.components_mut(), *placement));
        Ok(())
    }

    /// Performs the exchange of a step once, between steps; this does not change the results.
    ///
    /// # Errors
    /// Communication errors.
    pub fn exchange(&mut self, clock: &mut PhaseClock) -> Result<(), GridError> {
        match &mut self.grids {
            // The next step overwrites the target anyway.
            Grids::Two(target, _) => self.scatter.exchange(target, clock),
            // Only the next step reads the ghosts, and it needs exactly these values or none.
            Grids::One(gather) => {
                gather.exchange(&mut self.grid, clock)?;
                if self.placement == Placement::Swapped {
                    self.walls.bounce(&mut self.grid.components_mut(), self.placement);
                }
                Ok(())
            }
        }
    }

    /// Returns the populations of a fluid node of this rank after the last step, as deviations from
    /// a fluid at rest. The bits are equal for both patterns.
    pub fn populations(&self, node: [usize; 3]) -> [T; POPULATIONS] {
        let place = self.layout.index(node.map(|index| index as isize));
        std::array::from_fn(|population| {
            let (component, shift) = self.place_of(population);
            let elsewhere = self.rows.elsewhere(population, node[2]);
            self.grid.component(component)[place.wrapping_add_signed(shift + elsewhere)]
        })
    }

    /// Returns the populations of all nodes of a row; those at its ends may be stored elsewhere.
    fn row(&self, first: [isize; 3]) -> [&[T]; POPULATIONS] {
        let place = self.layout.index(first);
        std::array::from_fn(|population| {
            let (component, shift) = self.place_of(population);
            &self.grid.component(component)[place.wrapping_add_signed(shift)..][..self.layout.size()[2]]
        })
    }

    /// Returns the component that holds a population, and the distance from its node.
    fn place_of(&self, population: usize) -> (usize, isize) {
        match self.placement {
            Placement::Natural => (population, 0),
            Placement::Swapped => (opposite(population), -self.shifts[population]),
        }
    }

    /// Replaces the populations of a fluid node of a flow at its start.
    pub(super) fn set_populations(&mut self, node: [usize; 3], populations: [T; POPULATIONS]) {
        let place = self.layout.index(node.map(|index| index as isize));
        if !self.mask.is_solid(node.map(|index| index as isize)) {
            let components = self.grid.components_mut::<POPULATIONS>().into_iter();
            for (population, (component, value)) in components.zip(populations).enumerate() {
                component[place.wrapping_add_signed(self.rows.elsewhere(population, node[2]))] = value;
            }
        }
    }

    /// Returns the density and velocity of a node of this rank, or `None` for a solid node.
    pub fn state(&self, node: [usize; 3]) -> Option<(f64, [f64; 3])> {
        if self.mask.is_solid(node.map(|index| index as isize)) {
            return None;
        }
        Some(self.state_of(&self.populations(node)))
    }

    fn state_of(&self, populations: &[T; POPULATIONS]) -> (f64, [f64; 3]) {
        let moments = Moments::of(populations);
        (1.0 + moments.excess_density, moments.velocity(self.options.body_force))
    }

    /// Returns the totals over all ranks. *Collective.*
    ///
    /// # Errors
    /// Communication errors.
    pub fn totals(&self, world: &dyn World) -> Result<Totals, GridError> {
        let mut sums = Sums::default();
        for row in self.layout.resolve(Region::OWN).rows() {
            let [x, y, _] = row.map(|index| index as usize);
            let (populations, last) = (self.row(row), self.layout.size()[2] - 1);
            for z in 0..=last {
                if self.mask.is_solid([row[0], row[1], z as isize]) {
                    continue;
                }
                // Populations of the nodes at the ends of a row may be stored elsewhere.
                let populations = match z {
                    _ if z == 0 || z == last => self.populations([x, y, z]),
                    _ => populations.map(|row| row[z]),
                };
                let (density, velocity) = self.state_of(&populations);
                sums.add(density, velocity);
            }
        }
        sums.over_ranks(world)
    }

    /// Returns the forces on obstacles and walls during the last step. *Collective.*
    ///
    /// # Errors
    /// Communication errors.
    pub fn forces(&self, world: &dyn World) -> Result<Forces, GridError> {
        let most_links = self.all_nodes.saturating_mul(POPULATIONS);
        drag::forces(world, &self.walls, (&self.grid, self.placement), most_links)
    }

    /// Returns the nodes of this rank.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Returns the number of fluid nodes of this rank.
    pub fn fluid_nodes(&self) -> usize {
        self.nodes.count
    }

    /// Returns the way in which the next step writes the second of two grids, or `None` with one
    /// grid.
    pub fn stores(&self) -> Option<Stores> {
        match &self.grids {
            Grids::One(_) => None,
            Grids::Two(_, choice) => Some(choice.next()),
        }
    }

    /// Returns the bytes that an update of a node moves between memory and CPU: every population is
    /// read and written once, and stores through the caches into another grid first read the line.
    pub fn bytes_per_update(&self) -> usize {
        let passes = match self.stores() {
            Some(Stores::Ordinary | Stores::Unfetched) => 3,
            Some(Stores::PastCaches) | None => 2,
        };
        passes * POPULATIONS * size_of::<T>()
    }

    /// Returns the instruction set of the kernels.
    pub fn simd(&self) -> SimdLevel {
        self.options.simd
    }

    /// Returns the memory layout of the nodes of this rank.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the stages of the halos.
    pub(super) fn stages(&self) -> Vec<&Stage> {
        let gather = match &self.grids {
            Grids::One(gather) => gather.stages.as_slice(),
            Grids::Two(..) => &[],
        };
        self.scatter.stages.iter().chain(gather).collect()
    }

    /// Returns the stages of the halos, without the values.
    pub(super) fn into_stages(self) -> Vec<Stage> {
        let gather = match self.grids {
            Grids::One(gather) => gather.stages,
            Grids::Two(..) => Vec::new(),
        };
        self.scatter.stages.into_iter().chain(gather).collect()
    }
}

/// Sweeps the boundary nodes, starts the messages, sweeps the inner nodes meanwhile, and finishes
/// the messages.
fn overlapped<T: LaneReal>(
    halo: &mut Halo<T>,
    field: &mut Field<T>,
    clock: &mut PhaseClock,
    [boundary, inner]: [&[Run]; 2],
    mut sweep: impl FnMut(&mut Field<T>, &[Run]),
) -> Result<(), GridError> {
    clock.time(Phase::Integrate, || sweep(field, boundary));
    halo.start(field, clock)?;
    let mut flight = Flight::UnderWay;
    for block in inner.chunks(inner.len().div_ceil(BLOCKS).max(1)) {
        clock.time(Phase::Integrate, || sweep(field, block));
        if flight == Flight::UnderWay {
            flight = halo.progress(field, clock)?;
        }
    }
    halo.finish(field, clock)
}

/// Fills the ghosts of the mask with other ranks' nodes or periodic images.
fn learn_ghosts(world: &dyn World, decomposition: &Decomposition, mask: &mut Mask) -> Result<(), GridError> {
    let field = mask.field_mut();
    let plan = HaloPlan::staged(field.layout().depth(), &[0]);
    let options = HaloOptions { name: "mask", ..HaloOptions::default() };
    let mut halo = Halo::open(world, decomposition, field.layout(), &plan, options)?;
    halo.exchange(field, &mut PhaseClock::default())?;
    halo.finalise()
}

/// Returns the leads of the components with which the places that a row's populations move to start
/// on cache lines.
fn leads() -> [usize; POPULATIONS] {
    VELOCITIES.map(|step| usize::try_from(-step[2]).unwrap_or(LINE - 1))
}
