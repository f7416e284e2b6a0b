//! The choice between all pairs of the lists and those of the inner lists.
//!
//! ```text
//! outer list     pairs that were within cutoff + skin at the rebuild
//! inner list     those of them that were within cutoff + inner skin when the list was last pruned
//! ```
//!
//! A list for many steps holds many pairs beyond the cutoff, and each costs as much as a pair
//! within. The inner list holds fewer, but is valid for a few steps only, until a particle or ghost
//! is further than half the inner skin from its position of reference. Then the list is pruned: the
//! inner list is made anew from the outer one, without a search (Pall and Hess, *Comput. Phys.
//! Commun.* 184, 2641, 2013). As at a rebuild, the positions of reference are those in the middle
//! of the life of the list ([`crate::prediction`]). They follow from the positions in two
//! consecutive steps, because ghosts have no velocities:
//!
//! ```text
//! first step       all pairs; positions are stored
//! second step      positions of reference from present and stored positions; list pruned
//! further steps    pairs of the inner list; displacements are checked
//! last of them     the same, and positions are stored: the next step is like the second
//! ```
//!
//! All pairs within the cutoff are in both lists, in the same order, so forces do not depend on the
//! list in any bit. Each rank therefore prunes when it is best for itself, without communication.
//! If displacements grow faster than expected, it computes all pairs of the outer list.

mod ahead;

use super::trial::{InnerLists, Trial};
use crate::aligned::{Column, Place};
use crate::displacement::largest_displacement2;
use crate::domain::Domain;
use crate::force::Region;
use crate::particles::Particles;
use crate::simd::SimdLevel;
use crate::threads::Threads;
use ahead::Prediction;
use std::ops::Range;

/// Steps for which a list is pruned.
const LIFE: f32 = 7.0;

/// Steps from the positions at pruning to those of reference.
const STEPS_AHEAD: f32 = 0.5 * (LIFE - 1.0);

/// Half the inner skin over the longest way in [`STEPS_AHEAD`] steps at constant velocities.
const MARGIN: f32 = 1.1;

/// Longest displacement just after pruning, over half the inner skin. The rest is for rounding
/// errors and for particles that do not go on as predicted.
const LONGEST_SHIFT: f32 = 0.95;

/// Widest inner skin over the skin. With a wider one, pruning always costs more than the pairs it
/// saves.
const WIDEST: f64 = 0.5;

/// Expected growth of the largest displacement in a step, over that in the step before.
const GROWTH: f32 = 1.1;

/// Error of a distance between positions in f32, over the longest side of the box: half the box and
/// ghosts, three dimensions, two particles.
const ROUNDING: f64 = 4.0 * f32::EPSILON as f64;

/// The pairs of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ListKind {
    /// All of them.
    #[default]
    Outer,
    /// Those of the inner list.
    Inner,
}

/// Work in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// None until the next rebuild: inner lists would not save time.
    #[default]
    Idle,
    /// The positions are stored.
    Store,
    /// The positions of reference are computed, and lists are pruned.
    Prune,
    /// Displacements from the positions of reference are checked.
    Check,
}

/// What is to be done before a region is swept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// The region's lists must be pruned.
    Pruning,
}

/// A region before it is swept.
pub(super) struct Upcoming<'a> {
    pub region: Region,
    /// The particles and ghosts whose positions have arrived since the previous region.
    pub new: Range<usize>,
    pub particles: &'a Particles,
    pub threads: &'a Threads,
    pub simd: SimdLevel,
}

impl Upcoming<'_> {
    fn positions(&self, range: &Range<usize>) -> [&[f64]; 3] {
        self.particles.position.each_ref().map(|column| &column[range.clone()])
    }
}

/// The positions of reference of one rank's inner lists, and when these are valid.
#[derive(Debug, Clone)]
pub(super) struct Pruning {
    pub skin: f64,
    /// Error of a distance between positions of reference, \[length\].
    pub precision: f64,
    /// Middle of the box, from which positions of reference are counted.
    origin: [f64; 3],
    /// Positions of reference, or those of the step before pruning: f32, two in a number.
    reference: [Column<u64>; 3],
    stage: Stage,
    /// The stage of the next step.
    next: Stage,
    kinds: [ListKind; Region::ALL.len()],
    half_skin: f32,
    /// Longest way of a particle in one step when the lists were last pruned.
    way: f32,
    /// Largest displacement in this step, as far as known, and in the step before.
    displacement: [f32; 2],
    /// Whether inner lists are used at all.
    pub trial: Trial,
}

impl Pruning {
    /// Creates the positions of reference for lists with this skin.
    pub(super) fn new(skin: f64) -> Self {
        Self {
            skin,
            origin: [0.0; 3],
            precision: 0.0,
            reference: Column::three_from(Place::Reaction),
            stage: Stage::Idle,
            next: Stage::Idle,
            kinds: Default::default(),
            half_skin: 0.0,
            way: 0.0,
            displacement: [0.0; 2],
            trial: Trial::default(),
        }
    }

    /// Begins anew at a rebuild. Stores the positions for which lists are to be made.
    pub(super) fn restart(
        &mut self,
        domain: &Domain,
        particles: &Particles,
        threads: &Threads,
        simd: SimdLevel,
    ) {
        self.precision = ROUNDING * domain.longest_side();
        self.origin = [0, 1, 2].map(|dim| domain.origin[dim] + 0.5 * domain.lengths[dim]);
        let new = 0..particles.len();
        for column in &mut self.reference {
            column.set_len(new.len().div_ceil(2));
        }
        self.store(&Upcoming { region: Region::ALL[0], new: new.clone(), particles, threads, simd }, new);
        self.trial.begin_life();
        self.next = match self.trial.choice() {
            InnerLists::Used if self.skin > 0.0 => Stage::Store,
            InnerLists::Used | InnerLists::NotUsed => Stage::Idle,
        };
    }

    /// Returns the pairs to be computed in a region.
    pub(super) fn kind(&self, region: Region) -> ListKind {
        self.kinds[region as usize]
    }

    /// Returns whether lists have been pruned since the last rebuild.
    pub(super) fn is_used(&self) -> bool {
        self.stage == Stage::Prune || self.stage == Stage::Check
    }

    /// Returns the distance beyond the cutoff up to which the inner lists hold all pairs.
    pub(super) fn inner_skin(&self) -> f64 {
        2.0 * f64::from(self.half_skin)
    }

    /// Returns the positions of reference from the middle of the box, padded.
    pub(super) fn reference(&self) -> [&[f32]; 3] {
        self.reference.each_ref().map(|column| bytemuck::cast_slice(column.padded()))
    }

    fn reference_mut(&mut self, range: Range<usize>) -> [&mut [f32]; 3] {
        self.reference.each_mut().map(|column| {
            let all: &mut [f32] = bytemuck::cast_slice_mut(column.padded_mut());
            &mut all[range.clone()]
        })
    }

    /// Chooses the pairs to be computed in a region. The regions of a step come in their order.
    pub(super) fn choose(&mut self, upcoming: &Upcoming) -> Due {
        let region = upcoming.region;
        if region == Region::ALL[0] {
            self.begin_step(upcoming);
        }
        self.kinds[region as usize] = ListKind::Outer;
        match self.stage {
            Stage::Idle => Due::Nothing,
            Stage::Store => {
                self.store(upcoming, upcoming.new.clone());
                self.next = Stage::Prune;
                Due::Nothing
            }
            Stage::Prune => {
                self.predict(upcoming);
                self.kinds[region as usize] = ListKind::Inner;
                self.next = Stage::Check;
                Due::Pruning
            }
            Stage::Check => {
                self.check(upcoming);
                Due::Nothing
            }
        }
    }

    fn begin_step(&mut self, upcoming: &Upcoming) {
        self.trial.count_step();
        self.stage = self.next;
        self.displacement = [0.0, self.displacement[0]];
        if self.stage == Stage::Prune {
            // Those of ghosts are known only after the first pruning.
            let way = if self.way > 0.0 { self.way } else { self.largest_displacement(upcoming) };
            self.half_skin = MARGIN * STEPS_AHEAD * way;
            self.way = 0.0;
            let half_skin = f64::from(self.half_skin);
            // Not so if a position is NaN.
            let is_right = half_skin * f64::from(1.0 - LONGEST_SHIFT) >= self.precision
                && 2.0 * half_skin <= WIDEST * self.skin;
            if !is_right {
                (self.stage, self.next) = (Stage::Idle, Stage::Idle);
            }
        }
    }

    /// Checks the new positions. If the inner list may not be valid in the next step, stores the
    /// positions.
    fn check(&mut self, upcoming: &Upcoming) {
        let largest = self.largest_displacement(upcoming);
        let [now, before] = &mut self.displacement;
        *now = now.max(largest);
        // Particles of this region may have arrived with an earlier one.
        if *now <= self.half_skin {
            self.kinds[upcoming.region as usize] = ListKind::Inner;
        }
        let is_valid_next = *now + GROWTH * (*now - *before).max(0.0) <= self.half_skin;
        if self.next == Stage::Prune {
            self.store(upcoming, upcoming.new.clone());
        } else if !is_valid_next {
            self.store(upcoming, 0..upcoming.new.end);
            self.next = Stage::Prune;
        }
    }

    /// Stores the positions of these particles and ghosts.
    fn store(&mut self, upcoming: &Upcoming, range: Range<usize>) {
        let (simd, origin) = (upcoming.simd, self.origin);
        let now = upcoming.positions(&range);
        upcoming.threads.each((now, self.reference_mut(range)), |(now, reference)| {
            for ((reference, now), origin) in reference.into_iter().zip(now).zip(origin) {
                simd.vectorise(
                    #[inline(always)]
                    || {
                        for (to, from) in reference.iter_mut().zip(now) {
                            *to = (from - origin) as f32;
                        }
                    },
                );
            }
        });
    }

    /// Returns the largest distance of new positions from those in `reference`; infinity if one is
    /// NaN.
    fn largest_displacement(&self, upcoming: &Upcoming) -> f32 {
        let &Upcoming { ref new, threads, simd, .. } = upcoming;
        let then = self.reference().map(|column| &column[new.clone()]);
        let largest2 = largest_displacement2(upcoming.positions(new), then, self.origin, threads, simd);
        if largest2.is_nan() { f32::INFINITY } else { largest2.sqrt() as f32 }
    }

    /// Replaces the stored positions of new particles and ghosts by the positions of reference.
    fn predict(&mut self, upcoming: &Upcoming) {
        let (simd, now) = (upcoming.simd, upcoming.positions(&upcoming.new));
        let prediction = Prediction { origin: self.origin, longest: LONGEST_SHIFT * self.half_skin };
        let of_part = |(now, reference)| {
            simd.vectorise(
                #[inline(always)]
                || prediction.replace(now, reference),
            )
        };
        let columns = (now, self.reference_mut(upcoming.new.clone()));
        let way = upcoming.threads.fold(columns, of_part, f32::max);
        self.way = self.way.max(way);
        self.displacement[0] = self.displacement[0].max((STEPS_AHEAD * way).min(prediction.longest));
    }
}

#[cfg(test)]
mod tests;
