//! Solid nodes, walls of the domain, and half-way bounce-back.
//!
//! A population that would enter a wall turns round half-way and is back at its node at the end of
//! the step, in the opposite direction; a wall that moves with velocity u adds -6 w (e u) to it
//! (Ladd 1994). The sweep does not distinguish walls: it pushes such populations into the wall's
//! nodes, where no others are stored, and afterwards they are fetched from there. Messages do not
//! distinguish walls either, so they must have arrived before (001, figure 5.2a): the data that
//! they bring from a wall's node is replaced.

use super::d3q19::{POPULATIONS, VELOCITIES, along, opposite, weight};
use super::kernel::Components;
use super::rows::{Ends, Rows};
use crate::{Decomposition, Edges, Field, Layout, Real, Region};

/// Faces of the domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Face {
    /// Minimum of x.
    XLow,
    /// Maximum of x.
    XHigh,
    /// Minimum of y.
    YLow,
    /// Maximum of y.
    YHigh,
    /// Minimum of z.
    ZLow,
    /// Maximum of z.
    ZHigh,
}

impl Face {
    /// All faces by axis, the lower one first.
    pub const ALL: [Self; 6] = [Self::XLow, Self::XHigh, Self::YLow, Self::YHigh, Self::ZLow, Self::ZHigh];

    /// Returns the axis normal to the face.
    pub fn axis(self) -> usize {
        self as usize / 2
    }

    /// Returns the name in scenarios.
    pub fn name(self) -> &'static str {
        ["x_low", "x_high", "y_low", "y_high", "z_low", "z_high"][self as usize]
    }
}

/// Velocities of the walls of the domain, in nodes per step; ignored for faces without a wall.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WallVelocities(pub [[f64; 3]; 6]);

/// Solid nodes of a rank and its ghosts.
#[derive(Debug)]
pub struct Mask {
    nodes: Field<f32>,
}

impl Mask {
    /// Creates a mask without solid nodes.
    ///
    /// # Errors
    /// [`crate::GridError::OutOfMemory`].
    pub fn fluid(layout: Layout) -> Result<Self, crate::GridError> {
        Ok(Self { nodes: Field::new(layout, 1)? })
    }

    /// Makes a node solid. Indices are relative to the first own node; ghosts have indices below 0
    /// or at least the size.
    pub fn set_solid(&mut self, node: [isize; 3]) {
        let place = self.nodes.layout().index(node);
        self.nodes.values_mut()[place] = 1.0;
    }

    /// Returns whether a node is solid.
    pub fn is_solid(&self, node: [isize; 3]) -> bool {
        self.nodes.values()[self.nodes.layout().index(node)] > 0.0
    }

    /// Returns the number of solid nodes among the rank's own nodes.
    pub fn solid_nodes(&self) -> usize {
        self.nodes.own_rows(0).flatten().filter(|&&node| node > 0.0).count()
    }

    /// Returns the field mutably, so that ghosts can be received from their owners.
    pub fn field_mut(&mut self) -> &mut Field<f32> {
        &mut self.nodes
    }
}

/// Contiguous values in one component, and their destination in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turned {
    from: usize,
    to: usize,
    length: usize,
}

/// Body that reflects populations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Solid nodes.
    Obstacle,
    /// A face of the domain.
    Wall,
}

/// Fluid nodes from which one population meets bodies of one kind with one gain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Links<T> {
    /// Kind of the body.
    pub(super) body: Body,
    /// The population that moves towards the wall.
    pub(super) population: usize,
    /// Addition from a moving wall.
    pub(super) gain: T,
    /// Moves from the wall to the nodes of the opposite population, after a push or a shifted step.
    pushed: Vec<Turned>,
    /// Moves from the nodes of the opposite population to the wall, after a local step.
    left: Vec<Turned>,
}

/// Walls that affect the nodes of a rank.
#[derive(Debug, Clone)]
pub(super) struct Walls<T> {
    links: Vec<Links<T>>,
}

/// Places where populations are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Each at its own node: after a push or a shifted step.
    Natural,
    /// Single grid after a local step: each in the component of its opposite, and before streaming.
    Swapped,
}

/// Walls that a population may meet on its way from a node.
struct Encounter<'a> {
    decomposition: &'a Decomposition,
    origin: [usize; 3],
    mask: &'a Mask,
    velocities: WallVelocities,
}

impl Encounter<'_> {
    /// Returns the body that reflects a population and the addition there, or `None` if it moves
    /// on.
    fn of(&self, node: [isize; 3], population: usize) -> Option<(Body, f64)> {
        let step = VELOCITIES[population];
        let faces = (0..3).filter_map(|axis| self.face_crossed(node, step, axis));
        // Where two walls meet, each adds its own part, so that the total addition of a wall at a
        // node is zero in any surroundings.
        let parts = faces.map(|face| along(population, self.velocities.0[face as usize]));
        if let Some(along_all) = parts.reduce(|sum, part| sum + part) {
            return Some((Body::Wall, -6.0 * weight(population) * along_all));
        }
        let there = [0, 1, 2].map(|axis| node[axis] + isize::from(step[axis]));
        self.mask.is_solid(there).then_some((Body::Obstacle, 0.0))
    }

    fn face_crossed(&self, node: [isize; 3], step: [i8; 3], axis: usize) -> Option<Face> {
        if self.decomposition.edges()[axis] == Edges::Periodic {
            return None;
        }
        let there = self.origin[axis] as isize + node[axis] + isize::from(step[axis]);
        match there {
            -1 => Some(Face::ALL[2 * axis]),
            there if there == self.decomposition.nodes()[axis] as isize => Some(Face::ALL[2 * axis + 1]),
            _ => None,
        }
    }
}

impl<T: Real> Walls<T> {
    /// Finds the walls around the fluid nodes of a rank. `mask` contains one layer of ghosts.
    pub(super) fn find(
        decomposition: &Decomposition,
        origin: [usize; 3],
        layout: Layout,
        mask: &Mask,
        velocities: WallVelocities,
    ) -> Self {
        let encounter = Encounter { decomposition, origin, mask, velocities };
        let (rows, shifts) = (Rows::new(layout, Ends::of(decomposition)), shifts(layout));
        let mut links: Vec<Links<T>> = Vec::new();
        for row in layout.resolve(Region::OWN).rows() {
            for z in 0..layout.size()[2] as isize {
                let node = [row[0], row[1], z];
                if mask.is_solid(node) {
                    continue;
                }
                for (population, &shift) in shifts.iter().enumerate().skip(1) {
                    if let Some((body, gain)) = encounter.of(node, population) {
                        let place = layout.index(node);
                        let wall = place.wrapping_add_signed(shift);
                        let elsewhere = rows.elsewhere(opposite(population), z as usize);
                        let links = with_effect(&mut links, body, population, T::from_f64(gain));
                        append(&mut links.pushed, wall, place.wrapping_add_signed(elsewhere));
                        append(&mut links.left, place, wall.wrapping_add_signed(elsewhere));
                    }
                }
            }
        }
        Self { links }
    }

    /// Reflects populations at walls.
    pub(super) fn bounce(&self, grid: &mut Components<'_, T>, placement: Placement) {
        for Links { population, gain, pushed, left, .. } in &self.links {
            let (runs, components) = match placement {
                Placement::Natural => (pushed, [*population, opposite(*population)]),
                Placement::Swapped => (left, [opposite(*population), *population]),
            };
            let Ok([source, target]) = grid.get_disjoint_mut(components) else { continue };
            for &Turned { from, to, length } in runs {
                let values = target[to..][..length].iter_mut().zip(&source[from..][..length]);
                values.for_each(|(to, from)| *to = *from + *gain);
            }
        }
    }

    /// Returns the populations reflected in the last step, run by run, with the links they belong
    /// to.
    pub(super) fn returned<'g>(
        &'g self,
        grid: &'g Field<T>,
        placement: Placement,
    ) -> impl Iterator<Item = (&'g Links<T>, &'g [T])> {
        self.links.iter().flat_map(move |links| {
            let (runs, component) = match placement {
                Placement::Natural => (&links.pushed, opposite(links.population)),
                Placement::Swapped => (&links.left, links.population),
            };
            runs.iter().map(move |run| (links, &grid.component(component)[run.to..][..run.length]))
        })
    }
}

/// Returns the links of a population with a body and a gain, created if needed.
fn with_effect<T: Real>(links: &mut Vec<Links<T>>, body: Body, population: usize, gain: T) -> &mut Links<T> {
    let like = |links: &Links<T>| (links.body, links.population, links.gain) == (body, population, gain);
    let number = links.iter().position(like).unwrap_or_else(|| {
        links.push(Links { body, population, gain, pushed: Vec::new(), left: Vec::new() });
        links.len() - 1
    });
    &mut links[number]
}

fn append(runs: &mut Vec<Turned>, from: usize, to: usize) {
    match runs.last_mut() {
        Some(last) if last.from + last.length == from && last.to + last.length == to => last.length += 1,
        _ => runs.push(Turned { from, to, length: 1 }),
    }
}

/// Returns the distance from a node's place in a component to that of the neighbour each population
/// moves to.
pub(super) fn shifts(layout: Layout) -> [isize; POPULATIONS] {
    let strides = layout.strides().map(|stride| stride as isize);
    VELOCITIES.map(|step| (0..3).map(|axis| isize::from(step[axis]) * strides[axis]).sum())
}
