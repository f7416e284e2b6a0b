//! Pruning: the entries of a list with a pair within a shorter radius, in the same order.

use super::lists::Lists;
use super::near::Near;
use super::shape::ShapeKernel;
use pulp::Simd;

/// Pruning of one list.
pub(super) struct Prune<'a> {
    pub lists: &'a mut Lists,
    /// Positions of reference, padded to whole clusters.
    pub position: [&'a [f32]; 3],
    pub radius: f64,
}

impl ShapeKernel for Prune<'_> {
    #[inline(always)]
    fn run<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize>(self, simd: S) {
        let near = Near::<S, I, WIDTH, LANES>::new(simd, self.position, self.radius);
        self.lists.prune(
            #[inline(always)]
            |particle, entries, to| {
                let place = near.spread(particle);
                let mut end = 0;
                for &word in entries {
                    to[end] = word;
                    end += usize::from(near.is_any_near(place, near.load(word.cluster())));
                }
                end
            },
        );
    }
}
