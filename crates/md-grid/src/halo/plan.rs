//! Plan of a halo exchange: boxes of nodes, destinations and stages.
//!
//! A halo exchange is a list of [`Transfer`]s, equal on all ranks. The box that is read on this
//! rank and sent towards an offset is written on the receiving rank to the box given by the same
//! transfer. From owners to ghosts, an own slab next to a face becomes the ghosts of the neighbour
//! beyond it. The reverse, from ghosts to owners, is all that a lattice Boltzmann code needs that
//! pushes populations into its ghosts.
//!
//! | | stages | messages in 3D | corners |
//! | --- | --- | --- | --- |
//! | direct | 1 | 6 faces, 12 edges, 8 corners | separate messages |
//! | staged | x, y, z | 6 | included in the faces: a slab contains the ghosts of earlier stages |

use crate::decomposition::Offset;
use crate::layout::{Region, Span};

/// Transfer of one box of nodes.
///
/// ```
/// use md_grid::{HaloPlan, Neighbours, Region, Span};
///
/// let plan = HaloPlan::direct([2, 2, 2], Neighbours::Faces, &[0]);
/// let up = plan.stages[0].iter().find(|transfer| transfer.towards == [1, 0, 0]);
/// // The upper two own layers become the lower two ghost layers of the next rank along x.
/// let boxes = up.map(|transfer| (transfer.read, transfer.write));
/// let read = Region([Span::HighOwn(2), Span::Own, Span::Own]);
/// let write = Region([Span::LowGhosts(2), Span::Own, Span::Own]);
/// assert_eq!(boxes, Some((read, write)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Destination; data received by the same transfer comes from the opposite side.
    pub towards: Offset,
    /// Box that is read on this rank.
    pub read: Region,
    /// Box that is written on the receiving rank, with equal lengths along each axis.
    pub write: Region,
    /// Components that are sent.
    pub components: Vec<usize>,
}

/// Neighbours of a rank that receive separate messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Neighbours {
    /// Across faces: at most 6.
    Faces,
    /// Across faces and edges: at most 18.
    FacesAndEdges,
    /// Across faces, edges and corners: at most 26.
    #[default]
    All,
}

/// ```
/// use md_grid::{HaloPlan, Neighbours};
///
/// let all = [Neighbours::Faces, Neighbours::FacesAndEdges, Neighbours::All];
/// let messages = |neighbours| HaloPlan::direct([1; 3], neighbours, &[0]).stages[0].len();
/// assert_eq!(all.map(messages), [6, 6 + 12, 6 + 12 + 8]);
/// ```
impl Neighbours {
    /// Returns the offsets of the neighbours along axes that have ghosts, faces first.
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

/// Halo exchange: transfers, stage by stage. A stage begins when the data of the previous one has
/// been written.
///
/// ```
/// use md_grid::{HaloPlan, Neighbours};
///
/// // To all 26 neighbours at once, or two messages along each axis, one axis after the other.
/// let messages = |plan: HaloPlan| plan.stages.iter().map(Vec::len).collect::<Vec<_>>();
/// assert_eq!(messages(HaloPlan::direct([1; 3], Neighbours::All, &[0])), [26]);
/// assert_eq!(messages(HaloPlan::staged([1; 3], &[0])), [2, 2, 2]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HaloPlan {
    /// Transfers of each stage; at least one stage.
    pub stages: Vec<Vec<Transfer>>,
}

impl HaloPlan {
    /// Creates a plan from owners to ghosts, directly to all the given neighbours. Axes with a
    /// depth of 0 have no ghosts.
    pub fn direct(depth: [usize; 3], neighbours: Neighbours, components: &[usize]) -> Self {
        let transfer = |towards: Offset| Transfer {
            towards,
            read: region(towards, |axis, side| side.own(depth[axis]), Span::Own),
            write: region(towards, |axis, side| side.opposite().ghosts(depth[axis]), Span::Own),
            components: components.to_vec(),
        };
        Self { stages: vec![neighbours.offsets(depth).into_iter().map(transfer).collect()] }
    }

    /// Creates a plan from owners to ghosts along x, then y, then z. It fills all ghosts, including
    /// those beyond edges and corners.
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

    /// Reverses the transfers: the boxes that were written are read and sent back to where they
    /// came from, last stage first.
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

/// Returns the region with `crossed(axis, side)` on the axes that an offset crosses and `along` on
/// the others.
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
