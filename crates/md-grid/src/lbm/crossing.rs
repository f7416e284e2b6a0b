//! Populations exchanged between ranks.
//!
//! A push leaves populations that have moved to other ranks in the ghosts: 5 beyond a face, 1
//! beyond an edge, none beyond a corner. They are sent to the nodes they belong to. The single
//! grid's local step leaves in the own nodes the populations that the next step reads from the
//! ghosts: the same places of the same populations, in the opposite direction, so the same plan is
//! used in reverse.
//!
//! ```text
//! direct     one message for each of 6 faces and 12 edges, one stage; each place of a population
//!            is in only one of them
//! staged     along x, then y, then z; populations that move along two axes go along the first one
//!            into the ghosts of the second
//! ```
//!
//! If the ends of rows along z are joined, sweeps need no copies along z (`rows`). Populations that
//! also move along z are then sent with the others, from the places they were pushed to.

use super::d3q19::{POPULATIONS, VELOCITIES};
use super::nodes::Overlap;
use super::rows::Ends;
use crate::{Beside, Decomposition, Exchanged, HaloPlan, Messages, Offset, Region, Schedule, Span, Transfer};

/// Order in which populations are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Crossing {
    /// To all neighbours at once.
    #[default]
    Direct,
    /// Along x, then y, then z.
    Staged,
}

impl Crossing {
    /// Returns the exchange of a step, with the computation of inner nodes during it if `overlap`
    /// requests that. The steps of the single grid send it alternately in this direction and in
    /// reverse.
    pub fn schedule(
        self,
        decomposition: Decomposition,
        messages: Messages,
        number_bytes: usize,
        overlap: Overlap,
    ) -> Schedule {
        let beside = match overlap {
            Overlap::InnerNodes => Beside::InnerNodes(1.0),
            Overlap::Nothing => Beside::Nothing,
        };
        let exchanges = vec![Exchanged { plan: self.scatter(Ends::of(&decomposition)), beside }];
        Schedule { decomposition, depth: [1; 3], messages, number_bytes, exchanges, reductions: 0 }
    }

    /// Returns the plan from ghosts to the nodes that own them.
    pub(super) fn scatter(self, ends: Ends) -> HaloPlan {
        self.plan(ends, Span::Moved)
    }

    /// Returns the plan from own nodes to their ghosts on the neighbours.
    pub(super) fn gather(self, ends: Ends) -> HaloPlan {
        self.plan(ends, |_| Span::Own).reversed()
    }

    /// `joined`: the span along z, by velocity along z, in rows whose ends are joined.
    fn plan(self, ends: Ends, joined: fn(i8) -> Span) -> HaloPlan {
        let axes = match ends {
            Ends::Apart => 3,
            Ends::Joined => 2,
        };
        let along = |axis: usize, step: i8, span: Span| if axis < axes { span } else { joined(step) };
        let direct = || {
            offsets(axes).into_iter().flat_map(|towards| {
                let goes_there = move |&population: &usize| {
                    (0..axes).all(|axis| towards[axis] == 0 || towards[axis] == VELOCITIES[population][axis])
                };
                (1..POPULATIONS).filter(goes_there).map(move |population| {
                    transfer(towards, population, |axis, step| along(axis, step, moved_into(step)))
                })
            })
        };
        let stage = |first: usize| {
            [-1, 1].into_iter().flat_map(move |step: i8| {
                let mut towards = [0; 3];
                towards[first] = step;
                let others = move |axis: usize| if axis > first { Span::WithGhosts } else { Span::Own };
                let crossing =
                    (1..POPULATIONS).filter(move |&population| VELOCITIES[population][first] == step);
                crossing.map(move |population| {
                    transfer(towards, population, |axis, step| along(axis, step, others(axis)))
                })
            })
        };
        match self {
            Self::Direct => HaloPlan { stages: vec![direct().collect()] },
            Self::Staged => HaloPlan { stages: (0..axes).map(|first| stage(first).collect()).collect() },
        }
    }
}

/// Returns the offsets of all faces, then of all edges, along the first `axes` axes.
fn offsets(axes: usize) -> Vec<Offset> {
    let mut offsets: Vec<Offset> = VELOCITIES[1..].to_vec();
    offsets.retain(|offset| offset[axes..].iter().all(|&step| step == 0));
    offsets.sort_by_key(|offset| offset.iter().filter(|&&step| step != 0).count());
    offsets
}

/// Returns the own nodes along an axis that a population reaches from own nodes.
fn moved_into(step: i8) -> Span {
    match step {
        1 => Span::OwnFrom(1),
        -1 => Span::OwnUpTo(1),
        _ => Span::Own,
    }
}

/// `along`: the span along each axis that is not crossed, by the population's velocity there.
fn transfer(towards: Offset, population: usize, along: impl Fn(usize, i8) -> Span) -> Transfer {
    let along = |axis: usize| along(axis, VELOCITIES[population][axis]);
    let region = |at: fn(i8) -> Span| {
        Region([0, 1, 2].map(|axis| if towards[axis] == 0 { along(axis) } else { at(towards[axis]) }))
    };
    Transfer {
        towards,
        read: region(|step| if step > 0 { Span::HighGhosts(1) } else { Span::LowGhosts(1) }),
        write: region(|step| if step > 0 { Span::LowOwn(1) } else { Span::HighOwn(1) }),
        components: vec![population],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_populations_cross_a_face_and_one_an_edge() {
        for (ends, axes, edges) in [(Ends::Apart, 3, 12), (Ends::Joined, 2, 4)] {
            let stage = &Crossing::Direct.scatter(ends).stages[0];
            let carried =
                |towards: Offset| stage.iter().filter(|transfer| transfer.towards == towards).count();
            for towards in offsets(axes) {
                let crossed = towards.iter().filter(|&&step| step != 0).count();
                assert_eq!(carried(towards), if crossed == 1 { 5 } else { 1 });
            }
            assert_eq!(stage.len(), 2 * axes * 5 + edges);
            let staged = Crossing::Staged.scatter(ends).stages;
            assert_eq!(staged.iter().map(Vec::len).collect::<Vec<_>>(), vec![10; axes]);
        }
    }
}
