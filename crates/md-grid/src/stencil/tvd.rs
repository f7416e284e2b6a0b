//! Advection of tracers at a constant velocity, without new extrema (TVD: total variation
//! diminishing).
//!
//! One sweep per axis (dimensional splitting; sweeps of constant velocity commute except for the
//! limiter). With the Courant number c, cells i and fluxes F(i) through their low faces, for c > 0:
//!
//! ```text
//! F(i) = c [u(i-1) + (1 - c)/2 d(i-1)]
//! u(i) <- u(i) - F(i+1) + F(i)
//! ```
//!
//! where d is the slope of a cell: van Leer's harmonic mean of its two differences, 0 at extrema.
//!
//! The scheme is that of Lax and Wendroff where the tracer is smooth, so it is of second order in
//! space and time (van Leer, J. Comput. Phys. 14, 1974). The last cell of a rank needs the flux
//! through the first face of the next rank. As in MONC, that rank computes its first plane of
//! fluxes before all others, sends it to the rank before it, and computes the others while it is in
//! flight: a one-way swap. Every flux is computed once and used by both of its cells, so mass is
//! conserved to rounding.

use md_comm::World;
use md_core::aligned::Place;
use md_engine::clock::PhaseClock;
use md_engine::{Overlap, Phase};

use super::problem::Problem;
use super::swap::{extremes, visit};
use crate::application::{Application, Progress};
use crate::decomposition::{AXES, Block, Offset};
use crate::halo::Stage;
use crate::layout::{Bounds, Region, Span};
use crate::resume::expect_words;
use crate::{
    Decomposition, Edges, Field, GridError, Halo, HaloPlan, Layout, Real, Resumable, Transfer, total,
};

/// Number of cells on each side of a face that its flux needs.
const DEPTH: usize = 2;
/// Mean and amplitude of the initial tracers.
const INITIAL: [f64; 2] = [1.0, 0.5];

/// One rank of the application.
pub(super) struct Tvd<'w, T> {
    world: &'w dyn World,
    decomposition: Decomposition,
    block: Block,
    tracers: Field<T>,
    fluxes: Field<T>,
    sweeps: Vec<Sweep<T>>,
    overlap: Overlap,
    clock: PhaseClock,
    courant: [f64; 3],
    step: u64,
}

/// Sweep that moves tracers along one axis.
struct Sweep<T> {
    axis: usize,
    courant: T,
    /// Exchange of tracers in both directions.
    tracers: Halo<T>,
    /// Exchange of fluxes through the first plane, in one direction.
    fluxes: Halo<T>,
}

impl<'w, T: Real> Tvd<'w, T> {
    /// Opens two contexts per axis along which tracers move. *Collective.*
    pub(super) fn open(
        world: &'w dyn World,
        problem: &Problem,
        fields: usize,
        courant: [f64; 3],
    ) -> Result<Self, GridError> {
        let decomposition = problem.decomposition;
        expect_courant(&decomposition, courant)?;
        let block = decomposition.block(world.rank());
        let depth = depth(problem, courant)?;
        let layout = Layout::new(block.size, depth, size_of::<T>())?;
        let components: Vec<usize> = (0..fields).collect();
        let sweep = |axis: usize| {
            let [both_ways, backwards] = plans(axis, &components);
            let open = |name, plan: HaloPlan| {
                Halo::open(world, &decomposition, layout, &plan, problem.halo_options(name))
            };
            Ok::<_, GridError>(Sweep {
                axis,
                courant: T::from_f64(courant[axis]),
                tracers: open("tracers", both_ways)?,
                fluxes: open("fluxes", backwards)?,
            })
        };
        let mut tvd = Self {
            sweeps: (0..3).filter(|&axis| depth[axis] > 0).map(sweep).collect::<Result<_, _>>()?,
            tracers: Field::at(Place::Position, layout, fields)?,
            fluxes: Field::at(Place::Force, layout, fields)?,
            overlap: problem.overlap,
            clock: PhaseClock::default(),
            step: 0,
            world,
            decomposition,
            block,
            courant,
        };
        let exact = tvd.exact();
        tvd.tracers.fill_own(|component, node| T::from_f64(exact.value(component, node)));
        Ok(tvd)
    }

    /// Returns the initial state, displaced by the wind.
    fn exact(&self) -> Exact {
        let wave = |axis: usize| {
            let nodes = self.decomposition.nodes()[axis] as f64;
            let moved = self.courant[axis] * self.step as f64;
            let own = self.block.origin[axis]..self.block.origin[axis] + self.block.size[axis];
            let angle = |node: usize| 2.0 * std::f64::consts::PI * (node as f64 - moved) / nodes;
            match self.decomposition.nodes()[axis] {
                1 => own.map(|_| [0.0, 1.0]).collect::<Vec<_>>(),
                _ => own.map(|node| [angle(node).sin(), angle(node).cos()]).collect(),
            }
        };
        Exact([wave(0), wave(1), wave(2)])
    }

    /// Moves all tracers along one axis.
    fn sweep(&mut self, number: usize) -> Result<(), GridError> {
        let Self { sweeps, tracers, fluxes, clock, overlap, .. } = self;
        let Sweep { axis, courant, tracers: both_ways, fluxes: backwards } = &mut sweeps[number];
        let (axis, courant) = (*axis, *courant);
        both_ways.exchange(tracers, clock)?;
        let layout = tracers.layout();
        let planes = layout.size()[axis] as isize;
        let slab = |low: isize, high: isize| {
            let mut bounds = layout.resolve(Region::OWN);
            (bounds.low[axis], bounds.high[axis]) = (low, high);
            bounds
        };
        clock.time(Phase::Integrate, || compute_fluxes(tracers, fluxes, axis, courant, slab(0, 1)));
        backwards.start(fluxes, clock)?;
        match overlap {
            Overlap::On => {
                for plane in 1..planes {
                    clock.time(Phase::Integrate, || {
                        compute_fluxes(tracers, fluxes, axis, courant, slab(plane, plane + 1));
                    });
                    backwards.progress(fluxes, clock)?;
                }
                backwards.finish(fluxes, clock)?;
            }
            Overlap::Off => {
                backwards.finish(fluxes, clock)?;
                clock.time(Phase::Integrate, || {
                    compute_fluxes(tracers, fluxes, axis, courant, slab(1, planes));
                });
            }
        }
        clock.time(Phase::Integrate, || apply_fluxes(tracers, fluxes, axis));
        Ok(())
    }
}

/// Sine and cosine waves along all axes at the own nodes.
struct Exact([Vec<[f64; 2]>; 3]);

impl Exact {
    /// Returns the exact value; tracers differ in their phases.
    fn value(&self, component: usize, node: [usize; 3]) -> f64 {
        let phase = 0.5 * component as f64;
        let along = |axis: usize| {
            let [sine, cosine] = self.0[axis][node[axis]];
            if sine == 0.0 && cosine == 1.0 && self.0[axis].len() == 1 {
                1.0
            } else {
                sine * phase.cos() + cosine * phase.sin()
            }
        };
        INITIAL[0] + INITIAL[1] * along(0) * along(1) * along(2)
    }
}

fn expect_courant(decomposition: &Decomposition, courant: [f64; 3]) -> Result<(), GridError> {
    for axis in 0..3 {
        let (name, number) = (AXES[axis], courant[axis]);
        if !(-1.0..=1.0).contains(&number) {
            return Err(GridError::Shape(format!(
                "the Courant number along {name} is {number}, but the scheme is stable between -1 and 1 only"
            )));
        }
        if number != 0.0 && decomposition.edges()[axis] == Edges::Open {
            return Err(GridError::Shape(format!(
                "the Courant number along {name} is {number}, but nothing flows through the open faces there"
            )));
        }
    }
    Ok(())
}

/// Returns the layers of ghosts; only axes with a non-zero Courant number have any.
pub(super) fn depth(problem: &Problem, courant: [f64; 3]) -> Result<[usize; 3], GridError> {
    let depth = problem.depth(DEPTH)?;
    Ok([0, 1, 2].map(|axis| if courant[axis] == 0.0 { 0 } else { depth[axis] }))
}

/// Returns the exchanges of a sweep along an axis: tracers, then fluxes.
pub(super) fn plans(axis: usize, components: &[usize]) -> [HaloPlan; 2] {
    [both_ways(axis, components), vec![backwards(axis, components)]]
        .map(|transfers| HaloPlan { stages: vec![transfers] })
}

/// Returns the transfers of tracers to both neighbours along an axis.
fn both_ways(axis: usize, components: &[usize]) -> Vec<Transfer> {
    let transfer = |step: i8, read: Span, write: Span| Transfer {
        towards: along(axis, step),
        read: slab(axis, read),
        write: slab(axis, write),
        components: components.to_vec(),
    };
    vec![
        transfer(-1, Span::LowOwn(DEPTH), Span::HighGhosts(DEPTH)),
        transfer(1, Span::HighOwn(DEPTH), Span::LowGhosts(DEPTH)),
    ]
}

/// Returns the transfer of the first plane of fluxes to the previous neighbour.
fn backwards(axis: usize, components: &[usize]) -> Transfer {
    Transfer {
        towards: along(axis, -1),
        read: slab(axis, Span::LowOwn(1)),
        write: slab(axis, Span::HighGhosts(1)),
        components: components.to_vec(),
    }
}

fn along(axis: usize, step: i8) -> Offset {
    let mut offset = [0; 3];
    offset[axis] = step;
    offset
}

fn slab(axis: usize, span: Span) -> Region {
    let mut region = Region::OWN;
    region.0[axis] = span;
    region
}

/// Computes fluxes through the low faces of the cells of a box.
fn compute_fluxes<T: Real>(
    tracers: &Field<T>,
    fluxes: &mut Field<T>,
    axis: usize,
    courant: T,
    bounds: Bounds,
) {
    let layout = tracers.layout();
    let stride = layout.strides()[axis];
    let length = bounds.length(2);
    // Distances from the face to the upwind cell, and to the cell upwind of that.
    let [upwind, before] = if courant > T::ZERO { [stride, 2 * stride] } else { [0, 0] };
    for number in 0..tracers.components() {
        let (cells, fluxes) = (tracers.component(number), fluxes.component_mut(number));
        for row in bounds.rows() {
            let start = layout.index(row);
            let row = |at: usize| &cells[at..at + length];
            let (up, down) = if courant > T::ZERO {
                (row(start - upwind), row(start))
            } else {
                (row(start), row(start - stride))
            };
            let behind = if courant > T::ZERO { row(start - before) } else { row(start + stride) };
            let out = &mut fluxes[start..start + length];
            for (((flux, &behind), &up), &down) in out.iter_mut().zip(behind).zip(up).zip(down) {
                *flux = flux_of(behind, up, down, courant);
            }
        }
    }
}

/// Returns the flux from cell `up` to `down`, the next one downwind; `behind` is the cell upwind of
/// both.
#[inline]
fn flux_of<T: Real>(behind: T, up: T, down: T, courant: T) -> T {
    let half = T::from_f64(0.5);
    courant * (up + half * (T::ONE - courant.abs()) * limited_slope(up - behind, down - up))
}

/// Returns van Leer's slope: the harmonic mean of two differences of equal sign, otherwise 0.
#[inline]
fn limited_slope<T: Real>(a: T, b: T) -> T {
    let product = a * b;
    if product > T::ZERO { (product + product) / (a + b) } else { T::ZERO }
}

/// Subtracts the flux through each cell's high face and adds the flux through its low face.
fn apply_fluxes<T: Real>(tracers: &mut Field<T>, fluxes: &Field<T>, axis: usize) {
    let layout = tracers.layout();
    let (stride, length) = (layout.strides()[axis], layout.size()[2]);
    for number in 0..tracers.components() {
        let (cells, fluxes) = (tracers.component_mut(number), fluxes.component(number));
        for row in layout.resolve(Region::OWN).rows() {
            let start = layout.index(row);
            let (low, high) =
                (&fluxes[start..start + length], &fluxes[start + stride..start + stride + length]);
            for ((cell, &low), &high) in cells[start..start + length].iter_mut().zip(low).zip(high) {
                *cell = *cell - high + low;
            }
        }
    }
}

impl<T: Real> Resumable for Tvd<'_, T> {
    fn words_per_node(&self) -> usize {
        self.tracers.components()
    }

    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
        self.tracers.append_node(node, words);
    }

    fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
        self.tracers.restore_node(node, words);
    }

    fn shared_words(&self) -> Vec<u64> {
        vec![self.step]
    }

    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError> {
        [self.step] = expect_words(words)?;
        Ok(())
    }
}

impl<T: Real> Application for Tvd<'_, T> {
    fn step(&mut self) -> Result<Progress, GridError> {
        // Every other step has the opposite order (Strang splitting), which cancels the effect of
        // the order of the sweeps.
        let count = self.sweeps.len();
        for number in 0..count {
            self.sweep(if self.step.is_multiple_of(2) { number } else { count - 1 - number })?;
        }
        self.step += 1;
        Ok(Progress::GoesOn)
    }

    fn exchange(&mut self) -> Result<(), GridError> {
        let Self { sweeps, tracers, fluxes, clock, .. } = self;
        for sweep in sweeps {
            sweep.tracers.exchange(tracers, clock)?;
            sweep.fluxes.exchange(fluxes, clock)?;
        }
        Ok(())
    }

    fn columns(&self) -> &'static [&'static str] {
        &["sum", "minimum", "maximum", "error"]
    }

    fn row(&mut self) -> Result<Vec<f64>, GridError> {
        let numbers = self.decomposition.nodes().iter().product::<usize>() * self.tracers.components();
        let nodes = numbers / self.tracers.components();
        let [sum, minimum, maximum] = extremes(self.world, nodes, &self.tracers, self.step)?;
        let exact = self.exact();
        let mut differences = Field::<f64>::new(Layout::new(self.block.size, [0; 3], size_of::<f64>())?, 1)?;
        let mut error = 0.0;
        for component in 0..self.tracers.components() {
            let (cells, layout) = (self.tracers.component(component), self.tracers.layout());
            differences.fill_own(|_, node| {
                let value = cells[layout.index(node.map(|index| index as isize))].to_f64();
                (value - exact.value(component, node)).abs()
            });
            error += total::sum(self.world, nodes, differences.own_rows(0))?;
        }
        Ok(vec![sum, minimum, maximum, error / numbers as f64])
    }

    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64)) {
        visit(&self.tracers, take);
    }

    fn clock(&mut self) -> &mut PhaseClock {
        &mut self.clock
    }

    fn layout(&self) -> Layout {
        self.tracers.layout()
    }

    fn stages(&self) -> Vec<&Stage> {
        let halos = self.sweeps.iter().flat_map(|sweep| [&sweep.tracers, &sweep.fluxes]);
        halos.flat_map(|halo| &halo.stages).collect()
    }

    fn into_stages(self: Box<Self>) -> Vec<Stage> {
        let halos = self.sweeps.into_iter().flat_map(|sweep| [sweep.tracers, sweep.fluxes]);
        halos.flat_map(|halo| halo.stages).collect()
    }
}
