//! Values just beyond the joined ends of a row of whole vectors.
//!
//! These are inserted into whole vectors in registers. If single numbers were written to memory
//! instead, reading a vector that includes one would wait until all earlier stores have reached the
//! caches. The first vector is computed last, when the values that belong there have been read with
//! the others.

use md_core::simd::Simd;

use super::lanes;
use crate::lbm::d3q19::{POPULATIONS, VELOCITIES};
use crate::lbm::lanes::{LaneReal, Lanes};

/// For each component, the number below the first node and that above the last one.
pub(super) struct Beyond<'g, T> {
    pub(super) values: [[&'g T; 2]; POPULATIONS],
    /// See [`super::Runs::below`].
    pub(super) below: i8,
}

impl<T: LaneReal> Beyond<'_, T> {
    /// Inserts the values that belong to the ends of the row, if this vector is one of them.
    #[inline(always)]
    pub(super) fn put<S: Simd>(&self, simd: S, rows: &mut [&mut [Lanes<S, T>]; POPULATIONS], at: usize) {
        let is_last = at + 1 == rows[0].len();
        if at > 0 && !is_last {
            return;
        }
        for (population, row) in rows.iter_mut().enumerate() {
            let [low, high] = self.values[population];
            let lane = match VELOCITIES[population][2] * self.below {
                1 if at == 0 => Some((0, high)),
                -1 if is_last => Some((lanes::<S, T>() - 1, low)),
                _ => None,
            };
            if let Some((lane, value)) = lane {
                row[at] = T::with_lane(simd, row[at], lane, *value);
            }
        }
    }
}

/// Returns the vectors of a row in the order of computation: the first one last. All are below
/// `count`; the filter repeats this so that the compiler omits the bounds checks of the rows.
#[inline(always)]
pub(super) fn in_turn(count: usize) -> impl Iterator<Item = usize> {
    (1..=count).map(move |step| if step < count { step } else { 0 }).filter(move |&at| at < count)
}
