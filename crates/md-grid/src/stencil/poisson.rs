//! Poisson equation on a grid, solved by conjugate gradients as for the pressure in a model of the
//! atmosphere.
//!
//! ```text
//! A u = b     A u(i) = sum over the axes of 2 u(i) - u(i - 1) - u(i + 1)    zero beyond open faces
//! ```
//!
//! An iteration exchanges the halo of one field and takes two sums over all ranks (Hestenes and
//! Stiefel 1952). b consists of a few dozen waves of the grid, whose eigenvalues are known, so the
//! discrete solution is known without any exchange. If all axes are periodic, it is known up to a
//! constant, which is 0 here: b has zero mean, and so has everything computed from it.

use md_comm::World;
use md_core::aligned::Place;
use md_engine::clock::PhaseClock;
use md_engine::{Flight, Overlap, Phase};

use super::modes::{Wave, distinct_waves, wave};
use super::problem::{Precision, Problem};
use super::swap::{extremes, visit};
use crate::application::{Application, Progress};
use crate::halo::Stage;
use crate::layout::{Bounds, Region};
use crate::resume::expect_words;
use crate::{Block, Decomposition, Field, GridError, Halo, HaloPlan, Layout, Neighbours, Resumable, total};

/// Maximum number of waves along each axis.
const WAVES: usize = 4;

/// One rank of the application.
pub(super) struct Poisson<'w> {
    world: &'w dyn World,
    nodes: usize,
    solution: Field<f64>,
    exact: Field<f64>,
    residual: Field<f64>,
    direction: Field<f64>,
    /// A times the direction.
    image: Field<f64>,
    halo: Halo<f64>,
    overlap: Overlap,
    clock: PhaseClock,
    tolerance: f64,
    /// Squared norm of the right-hand side.
    norm2: f64,
    /// Squared norm of the residual.
    residual2: f64,
    step: u64,
}

impl<'w> Poisson<'w> {
    /// Opens the context of the direction. *Collective.*
    pub(super) fn open(world: &'w dyn World, problem: &Problem, tolerance: f64) -> Result<Self, GridError> {
        if problem.precision == Precision::Single {
            let reason = "conjugate gradients are computed in double precision only";
            return Err(GridError::Shape(reason.to_owned()));
        }
        problem.expect_equations()?;
        let block = problem.decomposition.block(world.rank());
        let depth = depth(problem)?;
        let layout = Layout::new(block.size, depth, size_of::<f64>())?;
        let field = |place| Field::<f64>::at(place, layout, 1);
        let (mut exact, mut residual) = (field(Place::Id)?, field(Place::Velocity)?);
        let waves = waves(&problem.decomposition, &block);
        exact.fill_own(|_, node| superposition(&waves, node, |_| 1.0));
        residual.fill_own(|_, node| superposition(&waves, node, |eigenvalue| eigenvalue));
        let nodes = problem.nodes();
        let norm2 = total::dot(world, nodes, pairs(&residual, &residual))?;
        let plan = plan(depth);
        let options = problem.halo_options("direction");
        let mut direction = field(Place::Position)?;
        direction.values_mut().copy_from_slice(residual.values());
        Ok(Self {
            halo: Halo::open(world, &problem.decomposition, layout, &plan, options)?,
            solution: field(Place::Other)?,
            image: field(Place::Force)?,
            overlap: problem.overlap,
            clock: PhaseClock::default(),
            residual2: norm2,
            step: 0,
            world,
            nodes,
            exact,
            residual,
            direction,
            tolerance,
            norm2,
        })
    }

    fn is_found(&self) -> bool {
        self.residual2.sqrt() <= self.tolerance * self.norm2.sqrt()
    }

    /// Computes the image of the direction, at inner nodes while the halo is in flight.
    fn apply(&mut self) -> Result<(), GridError> {
        let Self { halo, direction, image, overlap, clock, .. } = self;
        let all = direction.layout().resolve(Region::OWN);
        match overlap {
            Overlap::Off => {
                halo.exchange(direction, clock)?;
                clock.time(Phase::Integrate, || laplacian(direction, image, all));
            }
            Overlap::On => {
                let inner = inner(all, direction.layout().depth());
                halo.start(direction, clock)?;
                let mut flight = Flight::UnderWay;
                for plane in inner.low[0]..inner.high[0] {
                    let mut slab = inner;
                    (slab.low[0], slab.high[0]) = (plane, plane + 1);
                    clock.time(Phase::Integrate, || laplacian(direction, image, slab));
                    if flight == Flight::UnderWay {
                        flight = halo.progress(direction, clock)?;
                    }
                }
                halo.finish(direction, clock)?;
                clock.time(Phase::Integrate, || {
                    shell(all, inner).into_iter().for_each(|bounds| laplacian(direction, image, bounds));
                });
            }
        }
        Ok(())
    }
}

/// Returns the layers of ghosts. Axes that are never divided have them too; they stay zero.
pub(super) fn depth(problem: &Problem) -> Result<[usize; 3], GridError> {
    let depth = problem.depth(1)?;
    Ok([0, 1, 2].map(|axis| depth[axis].max(usize::from(problem.decomposition.nodes()[axis] > 1))))
}

/// Returns the exchange of an iteration.
pub(super) fn plan(depth: [usize; 3]) -> HaloPlan {
    HaloPlan::direct(depth, Neighbours::Faces, &[0])
}

/// Returns the waves of the right-hand side along each axis.
fn waves(decomposition: &Decomposition, block: &Block) -> [Vec<Wave>; 3] {
    [0, 1, 2].map(|axis| {
        let numbers = 1..=WAVES.min(distinct_waves(decomposition, axis));
        numbers.map(|number| wave(decomposition, block, axis, number)).collect()
    })
}

/// Returns the sum over all products of waves times `factor` of their eigenvalue, with smaller
/// weights for higher wave numbers.
fn superposition(waves: &[Vec<Wave>; 3], node: [usize; 3], factor: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (i, x) in waves[0].iter().enumerate() {
        for (j, y) in waves[1].iter().enumerate() {
            for (k, z) in waves[2].iter().enumerate() {
                let eigenvalue = x.eigenvalue + y.eigenvalue + z.eigenvalue;
                let product = x.values[node[0]] * y.values[node[1]] * z.values[node[2]];
                sum += factor(eigenvalue) * product / (1 + i + j + k) as f64;
            }
        }
    }
    sum
}

fn pairs<'f>(a: &'f Field<f64>, b: &'f Field<f64>) -> impl Iterator<Item = (&'f [f64], &'f [f64])> + Clone {
    a.own_rows(0).zip(b.own_rows(0))
}

/// Returns a box without the nodes that need ghosts.
fn inner(all: Bounds, depth: [usize; 3]) -> Bounds {
    let mut inner = all;
    for (axis, margin) in depth.into_iter().enumerate() {
        let margin = margin as isize;
        inner.low[axis] = (all.low[axis] + margin).min(all.high[axis]);
        inner.high[axis] = (all.high[axis] - margin).max(inner.low[axis]);
    }
    inner
}

/// Returns a box without its inner part, in up to six pieces.
fn shell(all: Bounds, inner: Bounds) -> Vec<Bounds> {
    let (mut rest, mut pieces) = (all, Vec::new());
    for axis in 0..3 {
        let (mut low, mut high) = (rest, rest);
        low.high[axis] = inner.low[axis];
        high.low[axis] = inner.high[axis];
        pieces.extend([low, high]);
        (rest.low[axis], rest.high[axis]) = (inner.low[axis], inner.high[axis]);
    }
    pieces
}

/// Computes `image = A field` at the nodes of a box.
fn laplacian(field: &Field<f64>, image: &mut Field<f64>, bounds: Bounds) {
    let layout = field.layout();
    let length = bounds.length(2);
    let axes: Vec<usize> = (0..3).filter(|&axis| layout.depth()[axis] > 0).collect();
    let (values, image) = (field.component(0), image.component_mut(0));
    for row in bounds.rows() {
        let start = layout.index(row);
        let out = &mut image[start..start + length];
        out.fill(0.0);
        for &axis in &axes {
            let stride = layout.strides()[axis];
            let before = &values[start - stride..][..length];
            let (here, after) = (&values[start..][..length], &values[start + stride..][..length]);
            for (((out, &before), &here), &after) in out.iter_mut().zip(before).zip(here).zip(after) {
                *out += (here - before) + (here - after);
            }
        }
    }
}

/// Computes `to += factor * from` at own nodes.
fn add(to: &mut Field<f64>, factor: f64, from: &Field<f64>) {
    each_row(to, from, |to, from| *to += factor * from);
}

fn each_row(to: &mut Field<f64>, from: &Field<f64>, change: impl Fn(&mut f64, f64)) {
    let layout = to.layout();
    let length = layout.size()[2];
    let (to, from) = (to.component_mut(0), from.component(0));
    for row in layout.resolve(Region::OWN).rows() {
        let row = layout.index(row)..layout.index(row) + length;
        to[row.clone()].iter_mut().zip(&from[row]).for_each(|(to, &from)| change(to, from));
    }
}

/// The state excludes the image of the direction, which is recomputed in every step.
impl Resumable for Poisson<'_> {
    fn words_per_node(&self) -> usize {
        3
    }

    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
        let fields = [&self.solution, &self.residual, &self.direction];
        fields.into_iter().for_each(|field| field.append_node(node, words));
    }

    fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
        let fields = [&mut self.solution, &mut self.residual, &mut self.direction];
        fields.into_iter().zip(words.chunks(1)).for_each(|(field, word)| field.restore_node(node, word));
    }

    fn shared_words(&self) -> Vec<u64> {
        vec![self.step, self.residual2.to_bits()]
    }

    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError> {
        let residual2;
        [self.step, residual2] = expect_words(words)?;
        self.residual2 = f64::from_bits(residual2);
        if self.is_found() {
            return Err(GridError::NothingLeft("the solution is found".to_owned()));
        }
        Ok(())
    }
}

impl Application for Poisson<'_> {
    fn step(&mut self) -> Result<Progress, GridError> {
        if self.is_found() {
            return Ok(Progress::Converged);
        }
        self.apply()?;
        let Self { world, nodes, solution, residual, direction, image, clock, .. } = self;
        let curvature = clock.time(Phase::Reduce, || total::dot(*world, *nodes, pairs(direction, image)))?;
        let length = self.residual2 / curvature;
        clock.time(Phase::Integrate, || {
            add(solution, length, direction);
            add(residual, -length, image);
        });
        let residual2 =
            clock.time(Phase::Reduce, || total::dot(*world, *nodes, pairs(residual, residual)))?;
        self.step += 1;
        if !residual2.is_finite() {
            let problem = "the residual is not a finite number".to_owned();
            return Err(GridError::Failed { step: self.step, problem });
        }
        let ratio = residual2 / self.residual2;
        clock.time(Phase::Integrate, || {
            each_row(direction, residual, |direction, residual| *direction = residual + ratio * *direction);
        });
        self.residual2 = residual2;
        Ok(if self.is_found() { Progress::Converged } else { Progress::GoesOn })
    }

    fn exchange(&mut self) -> Result<(), GridError> {
        self.halo.exchange(&mut self.direction, &mut self.clock)
    }

    fn columns(&self) -> &'static [&'static str] {
        &["sum", "minimum", "maximum", "residual", "error"]
    }

    fn row(&mut self) -> Result<Vec<f64>, GridError> {
        let [sum, minimum, maximum] = extremes(self.world, self.nodes, &self.solution, self.step)?;
        let mut largest = [0.0_f64; 2];
        for (solution, exact) in pairs(&self.solution, &self.exact) {
            for (solution, exact) in solution.iter().zip(exact) {
                largest = [largest[0].max((solution - exact).abs()), largest[1].max(exact.abs())];
            }
        }
        self.world.max(&mut largest)?;
        let residual = (self.residual2 / self.norm2).sqrt();
        Ok(vec![sum, minimum, maximum, residual, largest[0] / largest[1]])
    }

    fn shortfall(&self) -> Option<String> {
        let text = || {
            let found = (self.residual2 / self.norm2).sqrt();
            format!(
                "the solution is not found: the residual is {found:.1e}, above the tolerance of {:e}",
                self.tolerance
            )
        };
        (!self.is_found()).then(text)
    }

    fn visit(&self, take: &mut dyn FnMut(usize, [usize; 3], u64)) {
        visit(&self.solution, take);
    }

    fn clock(&mut self) -> &mut PhaseClock {
        &mut self.clock
    }

    fn layout(&self) -> Layout {
        self.solution.layout()
    }

    fn stages(&self) -> Vec<&Stage> {
        self.halo.stages.iter().collect()
    }

    fn into_stages(self: Box<Self>) -> Vec<Stage> {
        self.halo.stages
    }
}
