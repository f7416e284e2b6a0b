//! Which boxes of nodes travel, to whom, in which stages.
//!
//! A halo exchange is a list of [`Transfer`]s, the same on all ranks: the box that is read here and sent towards an offset is
//! written, at the rank there, to the box that the same transfer names. From owners to ghosts, an own slab next to a face
//! becomes the ghosts of the neighbour beyond it; from ghosts to owners it is the other way round, which is all that a
//! lattice Boltzmann code that pushes populations into its ghosts needs.
//!
//! | | stages | messages in 3D | corners |
//! | --- | --- | --- | --- |
//! | direct | 1 | 6 faces, 12 edges, 8 corners | messages of their own |
//! | staged | x, y, z | 6 | travel with the faces: a slab includes the ghosts of the stages before |

use crate::decomposition::Offset;
use crate::layout::{Region, Span};

/// One box of nodes on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Where it goes; what this rank receives by the same transfer comes from the opposite side.
    pub towards: Offset,
    /// The box that is read here.
    pub read: Region,
    /// The box that is written at the rank there: as many nodes along each axis.
    pub write: Region,
    /// The components that travel.
    pub components: Vec<usize>,
}

/// Which neighbours of a rank are reached by messages of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Neighbours {
    /// Across faces: at most 6.
    Faces,
    /// And across edges: at most 18.
    FacesAndEdges,
    /// And across corners: at most 26.
    #[default]
    All,
}

impl Neighbours {
    /// The offsets to them along axes that have ghosts, faces first.
    pub(crate) fn offsets(self, depth: [usize; 3]) -> Vec<Offset> {
        let steps = |axis: usize| if depth[axis] > 0 { -1..=1 } else { 0..=0 };
        let axes_crossed = |offset: &Offset| offset.iter().filter(|&&step| step != 0).count();
        let most = match self {
            Self::Faces => 1,
            Self::FacesAndEdges => 2,
            Self::All => 3,
        };
        let mut offsets: Vec<Offset> = steps(0)
            .flat_map(|x| steps(1).flat_map(move |y| steps(2).map(move |z| [x, y, z])))
            .filter(|offset| (1..=most).contains(&axes_crossed(offset)))
            .collect();
        offsets.sort_by_key(axes_crossed);
        offsets
    }
}

/// A halo exchange: transfers, stage by stage. A stage begins when the one before has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaloPlan {
    /// At least one.
    pub stages: Vec<Vec<Transfer>>,
}

impl HaloPlan {
    /// From owners to ghosts, straight to all neighbours that are asked for. Axes with a depth of 0 have no ghosts.
    pub fn direct(depth: [usize; 3], neighbours: Neighbours, components: &[usize]) -> Self {
        let transfer = |towards: Offset| Transfer {
            towards,
            read: region(towards, |axis, side| side.own(depth[axis]), Span::Own),
            write: region(towards, |axis, side| side.opposite().ghosts(depth[axis]), Span::Own),
            components: components.to_vec(),
        };
        Self { stages: vec![neighbours.offsets(depth).into_iter().map(transfer).collect()] }
    }

    /// From owners to ghosts along x, then y, then z; all ghosts are filled, those beyond edges and corners too.
    pub fn staged(depth: [usize; 3], components: &[usize]) -> Self {
        let transfer = |axis: usize, step: i8| {
            let mut towards = [0; 3];
            towards[axis] = step;
            let along = |span: Span| {
                let mut spans = [Span::Own; 3];
                spans[..axis].fill(Span::WithGhosts);
                spans[axis] = span;
                Region(spans)
            };
            let side = Side::of(step);
            Transfer {
                towards,
                read: along(side.own(depth[axis])),
                write: along(side.opposite().ghosts(depth[axis])),
                components: components.to_vec(),
            }
        };
        let axes = (0..3).filter(|&axis| depth[axis] > 0);
        Self { stages: axes.map(|axis| vec![transfer(axis, -1), transfer(axis, 1)]).collect() }
    }

    /// One way only: each rank learns the ghosts on the low side of each axis, whose owners lie at smaller indices (an upwind
    /// scheme needs no others).
    #[must_use]
    pub fn upwards(mut self) -> Self {
        for stage in &mut self.stages {
            stage.retain(|transfer| transfer.towards.iter().all(|&step| step >= 0));
        }
        self
    }

    /// The same boxes back: what was written is read, and goes to where it was read; last stage first.
    #[must_use]
    pub fn reversed(self) -> Self {
        let back = |transfer: Transfer| Transfer {
            towards: transfer.towards.map(|step| -step),
            read: transfer.write,
            write: transfer.read,
            components: transfer.components,
        };
        let stages = self.stages.into_iter().rev();
        Self { stages: stages.map(|stage| stage.into_iter().map(back).collect()).collect() }
    }
}

/// One of the two sides of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Low,
    High,
}

impl Side {
    fn of(step: i8) -> Self {
        if step < 0 { Self::Low } else { Self::High }
    }

    fn opposite(self) -> Self {
        match self {
            Self::Low => Self::High,
            Self::High => Self::Low,
        }
    }

    fn own(self, depth: usize) -> Span {
        match self {
            Self::Low => Span::LowOwn(depth),
            Self::High => Span::HighOwn(depth),
        }
    }

    fn ghosts(self, depth: usize) -> Span {
        match self {
            Self::Low => Span::LowGhosts(depth),
            Self::High => Span::HighGhosts(depth),
        }
    }
}

/// `crossed(axis, side)` on the axes that an offset crosses, `along` on the others.
fn region(towards: Offset, crossed: impl Fn(usize, Side) -> Span, along: Span) -> Region {
    Region([0, 1, 2].map(|axis| match towards[axis] {
        0 => along,
        step => crossed(axis, Side::of(step)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direct_plan_has_one_message_per_neighbour() {
        let count = |depth, neighbours| HaloPlan::direct(depth, neighbours, &[0]).stages[0].len();
        assert_eq!(count([1, 1, 1], Neighbours::Faces), 6);
        assert_eq!(count([1, 1, 1], Neighbours::FacesAndEdges), 18);
        assert_eq!(count([2, 1, 1], Neighbours::All), 26);
        assert_eq!(count([2, 2, 0], Neighbours::All), 8);
        assert_eq!(HaloPlan::direct([2, 2, 0], Neighbours::All, &[0]).upwards().stages[0].len(), 3);
    }

    #[test]
    fn an_own_slab_becomes_the_ghosts_beyond_the_face() {
        let plan = HaloPlan::direct([2, 2, 0], Neighbours::Faces, &[3, 4]);
        let towards_x = plan.stages[0].iter().find(|transfer| transfer.towards == [1, 0, 0]).unwrap();
        assert_eq!(towards_x.read, Region([Span::HighOwn(2), Span::Own, Span::Own]));
        assert_eq!(towards_x.write, Region([Span::LowGhosts(2), Span::Own, Span::Own]));
        assert_eq!(towards_x.components, [3, 4]);
    }

    #[test]
    fn later_stages_forward_the_ghosts_of_earlier_ones() {
        let plan = HaloPlan::staged([1, 0, 2], &[0]);
        assert_eq!(plan.stages.len(), 2);
        assert_eq!(plan.stages[1][0].read, Region([Span::WithGhosts, Span::WithGhosts, Span::LowOwn(2)]));
        let back = plan.clone().reversed();
        assert_eq!(back.stages[0][0].read, plan.stages[1][0].write);
        assert_eq!(back.stages[0][0].towards, [0, 0, 1]);
        assert_eq!(back.reversed(), plan);
    }
}
