//! Which populations travel between ranks.
//!
//! A push leaves in the ghosts what has moved on to other ranks: 5 populations beyond a face, 1 beyond an edge, none beyond a
//! corner. They go to the nodes they belong to. The single grid's local step leaves in the own nodes what the next step reads from the
//! ghosts: the same places of the same populations, the other way, so it is the same plan reversed.
//!
//! ```text
//! direct     a message for each of 6 faces and 12 edges, one stage; a place of a population is carried by one of them only
//! staged     along x, then y, then z; what has moved along two axes goes along the first one into the ghosts of the second
//! ```

use super::d3q19::{POPULATIONS, VELOCITIES};
use super::nodes::Overlap;
use crate::{Beside, Decomposition, Exchanged, HaloPlan, Messages, Offset, Region, Schedule, Span, Transfer};

/// The order in which populations leave.
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
    /// What a step exchanges, while what has no neighbours on other ranks is computed, where that is wanted. The single grid's steps
    /// take turns in sending it this way and the other.
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
        let exchanges = vec![Exchanged { plan: self.scatter(), beside }];
        Schedule { decomposition, depth: [1; 3], messages, number_bytes, exchanges, reductions: 0 }
    }

    /// From ghosts to the nodes that own them.
    pub(super) fn scatter(self) -> HaloPlan {
        match self {
            Self::Direct => HaloPlan { stages: vec![direct()] },
            Self::Staged => HaloPlan { stages: (0..3).map(stage).collect() },
        }
    }

    /// From own nodes to the ghosts that neighbours have of them.
    pub(super) fn gather(self) -> HaloPlan {
        self.scatter().reversed()
    }
}

fn direct() -> Vec<Transfer> {
    let mut transfers = Vec::new();
    for towards in offsets() {
        for (population, step) in VELOCITIES.into_iter().enumerate().skip(1) {
            let goes_there = (0..3).all(|axis| towards[axis] == 0 || towards[axis] == step[axis]);
            if goes_there {
                transfers.push(transfer(towards, vec![population], |axis| moved_into(step[axis])));
            }
        }
    }
    transfers
}

/// All faces, then all edges.
fn offsets() -> Vec<Offset> {
    let mut offsets: Vec<Offset> = VELOCITIES[1..].to_vec();
    offsets.sort_by_key(|offset| offset.iter().filter(|&&step| step != 0).count());
    offsets
}

/// Own nodes that a population reaches from own nodes.
fn moved_into(step: i8) -> Span {
    match step {
        1 => Span::OwnFrom(1),
        -1 => Span::OwnUpTo(1),
        _ => Span::Own,
    }
}

fn stage(axis: usize) -> Vec<Transfer> {
    let towards = |step: i8| {
        let mut towards = [0; 3];
        towards[axis] = step;
        let crossing = (1..POPULATIONS).filter(|&population| VELOCITIES[population][axis] == step).collect();
        transfer(towards, crossing, |other| if other > axis { Span::WithGhosts } else { Span::Own })
    };
    vec![towards(-1), towards(1)]
}

fn transfer(towards: Offset, components: Vec<usize>, along: impl Fn(usize) -> Span) -> Transfer {
    let region = |at: fn(i8) -> Span| {
        Region([0, 1, 2].map(|axis| if towards[axis] == 0 { along(axis) } else { at(towards[axis]) }))
    };
    Transfer {
        towards,
        read: region(|step| if step > 0 { Span::HighGhosts(1) } else { Span::LowGhosts(1) }),
        write: region(|step| if step > 0 { Span::LowOwn(1) } else { Span::HighOwn(1) }),
        components,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_populations_cross_a_face_and_one_an_edge() {
        let stage = &Crossing::Direct.scatter().stages[0];
        let carried = |towards: Offset| stage.iter().filter(|transfer| transfer.towards == towards).count();
        for towards in offsets() {
            let axes = towards.iter().filter(|&&step| step != 0).count();
            assert_eq!(carried(towards), if axes == 1 { 5 } else { 1 });
        }
        let staged = Crossing::Staged.scatter().stages;
        assert!(staged.iter().flatten().all(|transfer| transfer.components.len() == 5));
        assert_eq!(staged.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
    }
}
