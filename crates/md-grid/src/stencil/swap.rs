//! Halo exchange of all fields at the start of a step, without overlap, as at the start of MONC's
//! time step.

use md_comm::World;
use md_core::ExchangePattern;
use md_core::aligned::Place;
use md_engine::Phase;
use md_engine::clock::PhaseClock;

use super::problem::{Compute, Problem};
use crate::application::{Application, Progress, mixed};
use crate::decomposition::Offset;
use crate::halo::Stage;
use crate::layout::Region;
use crate::resume::expect_words;
use crate::{Edges, Field, GridError, Halo, HaloPlan, Layout, Neighbours, Real, Resumable, total};

/// Total weight of all neighbours in the average of a node.
const NEIGHBOURS_WEIGHT: f64 = 0.5;

/// One rank of the application.
pub(super) struct Swap<'w, T> {
    world: &'w dyn World,
    nodes: usize,
    field: Field<T>,
    /// New values of one field.
    next: Field<T>,
    halo: Halo<T>,
    /// Distances from a node to its neighbours, in numbers; empty if nothing is computed.
    neighbours: Vec<isize>,
    clock: PhaseClock,
    step: u64,
}

impl<'w, T: Real> Swap<'w, T> {
    /// Opens the context of all fields. *Collective.*
    pub(super) fn open(
        world: &'w dyn World,
        problem: &Problem,
        fields: usize,
        neighbours: Neighbours,
        compute: Compute,
    ) -> Result<Self, GridError> {
        let block = problem.decomposition.block(world.rank());
        let layout = Layout::new(block.size, problem.depth(problem.kind.depth())?, size_of::<T>())?;
        let plan = plan(problem, layout.depth(), fields, neighbours);
        let options = problem.halo_options("fields");
        let mut field = Field::at(Place::Position, layout, fields)?;
        let global = problem.decomposition.nodes();
        field.fill_own(|component, node| {
            let place = [0, 1, 2].map(|axis| block.origin[axis] + node[axis]);
            initial(component, (place[0] * global[1] + place[1]) * global[2] + place[2])
        });
        Ok(Self {
            halo: Halo::open(world, &problem.decomposition, layout, &plan, options)?,
            next: Field::at(Place::Force, layout, if compute == Compute::Average { 1 } else { 0 })?,
            neighbours: match compute {
                Compute::Average => reach(&layout, neighbours, problem.decomposition.edges()),
                Compute::Nothing => Vec::new(),
            },
            nodes: problem.nodes(),
            clock: PhaseClock::default(),
            step: 0,
            world,
            field,
        })
    }

    /// Replaces every node of every field by an average.
    fn average(&mut self) {
        let Self { field, next, neighbours, .. } = self;
        let layout = field.layout();
        let length = layout.size()[2];
        let own = T::from_f64(1.0 - NEIGHBOURS_WEIGHT);
        let share = T::from_f64(NEIGHBOURS_WEIGHT / neighbours.len() as f64);
        for number in 0..field.components() {
            let (old, new) = (field.component_mut(number), next.component_mut(0));
            for row in layout.resolve(Region::OWN).rows() {
                let start = layout.index(row);
                let sums = &mut new[start..start + length];
                sums.fill(T::ZERO);
                for &offset in &*neighbours {
                    let from = start.wrapping_add_signed(offset);
                    sums.iter_mut().zip(&old[from..from + length]).for_each(|(sum, &value)| *sum += value);
                }
                let centre = &old[start..start + length];
                sums.iter_mut().zip(centre).for_each(|(sum, &value)| *sum = own * value + share * *sum);
            }
            for row in layout.resolve(Region::OWN).rows() {
                let row = layout.index(row)..layout.index(row) + length;
                old[row.clone()].copy_from_slice(&new[row]);
            }
        }
    }
}

/// Returns the exchange of a step.
pub(super) fn plan(problem: &Problem, depth: [usize; 3], fields: usize, neighbours: Neighbours) -> HaloPlan {
    let components: Vec<usize> = (0..fields).collect();
    match problem.exchange {
        ExchangePattern::Direct => HaloPlan::direct(depth, neighbours, &components),
        ExchangePattern::Staged => HaloPlan::staged(depth, &components),
    }
}

/// Returns a number between 0 and 1 that depends only on field and node.
fn initial<T: Real>(component: usize, node: usize) -> T {
    let bits = mixed((node as u64).wrapping_mul(64).wrapping_add(component as u64 + 1));
    T::from_f64((bits >> 11) as f64 / (1_u64 << 53) as f64)
}

/// Returns the distances from a node to the nodes in its average: up to the depth along axes, and
/// the next node diagonally if such neighbours exchange messages. Nodes across open axes are
/// excluded: the ghosts there belong to the application, and whether they exist depends on the
/// decomposition, on which values must not depend.
fn reach(layout: &Layout, neighbours: Neighbours, edges: [Edges; 3]) -> Vec<isize> {
    let (depth, strides) = (layout.depth(), layout.strides());
    let place = |offset: Offset, distance: isize| -> isize {
        (0..3).map(|axis| isize::from(offset[axis]) * distance * strides[axis] as isize).sum()
    };
    let mut places = Vec::new();
    for offset in neighbours.offsets(depth) {
        let crossed = (0..3).filter(|&axis| offset[axis] != 0);
        if crossed.clone().any(|axis| edges[axis] == Edges::Open) {
            continue;
        }
        let is_along_axis = crossed.clone().count() == 1;
        let farthest = if is_along_axis { crossed.map(|axis| depth[axis]).min().unwrap_or(1) } else { 1 };
        places.extend((1..=farthest as isize).map(|distance| place(offset, distance)));
    }
    places
}

impl<T: Real> Resumable for Swap<'_, T> {
    fn words_per_node(&self) -> usize {
        self.field.components()
    }

    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
        self.field.append_node(node, words);
    }

    fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
        self.field.restore_node(node, words);
    }

    fn shared_words(&self) -> Vec<u64> {
        vec![self.step]
    }

    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError> {
        [self.step] = expect_words(words)?;
        Ok(())
    }
}

impl<T: Real> Application for Swap<'_, T> {
    fn step(&mut self) -> Result<Progress, GridError> {
        self.exchange()?;
        if !self.neighbours.is_empty() {
            let mut clock = std::mem::take(&mut self.clock);
            clock.time(Phase::Integrate, || self.average());
            self.clock = clock;
        }
        self.step += 1;
        Ok(Progress::GoesOn)
    }

    fn exchange(&mut self) -> Result<(), GridError> {
        self.halo.exchange(&mut self.field, &mut self.clock)
    }

    fn columns(&self) -> &'static [&'static str] {
        &EXTREMES
    }

    fn row(&mut self) -> Result<Vec<f64>, GridError> {
        Ok(extremes(self.world, self.nodes, &self.field, self.step)?.to_vec())
    }

    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64)) {
        visit(&self.field, take);
    }

    fn clock(&mut self) -> &mut PhaseClock {
        &mut self.clock
    }

    fn layout(&self) -> Layout {
        self.field.layout()
    }

    fn stages(&self) -> Vec<&Stage> {
        self.halo.stages.iter().collect()
    }

    fn into_stages(self: Box<Self>) -> Vec<Stage> {
        self.halo.stages
    }
}

/// Calls `take` with the bits of all own values, field by field.
pub(super) fn visit<T: Real>(field: &Field<T>, take: &mut dyn FnMut(usize, [usize; 3], u64)) {
    let layout = field.layout();
    for component in 0..field.components() {
        for (row, values) in layout.resolve(Region::OWN).rows().zip(field.own_rows(component)) {
            let [x, y, _] = row.map(|index| index as usize);
            values
                .iter()
                .enumerate()
                .for_each(|(z, value)| take(component, [x, y, z], value.to_f64().to_bits()));
        }
    }
}

/// Columns of [`extremes`].
pub(super) const EXTREMES: [&str; 3] = ["sum", "minimum", "maximum"];

/// Returns the sum over all nodes of all fields, the smallest and the largest value. *Collective.*
pub(super) fn extremes<T: Real>(
    world: &dyn World,
    nodes: usize,
    field: &Field<T>,
    step: u64,
) -> Result<[f64; 3], GridError> {
    let rows = || (0..field.components()).flat_map(|component| field.own_rows(component));
    let mut ends = [f64::NEG_INFINITY; 2];
    for &value in rows().flatten() {
        let value = value.to_f64();
        if value.is_nan() {
            ends = [f64::INFINITY; 2];
            break;
        }
        ends = [ends[0].max(-value), ends[1].max(value)];
    }
    world.max(&mut ends)?;
    let sum = total::sum(world, nodes * field.components(), rows())?;
    if !(sum.is_finite() && ends.iter().all(|end| end.is_finite())) {
        return Err(GridError::Failed { step, problem: "a value is not a finite number".to_owned() });
    }
    Ok([sum, -ends[0], ends[1]])
}
