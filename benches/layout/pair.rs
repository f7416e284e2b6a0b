//! The inner loop: one particle with the particles of a cell.

use std::ops::Range;

use md_core::potential::Well;

use crate::storage::Storage;

/// The Lennard-Jones pair.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    cutoff2: f64,
    f12: f64,
    f6: f64,
}

impl Pair {
    pub(crate) fn new(cutoff2: f64, Well { epsilon, sigma }: Well) -> Self {
        let s6 = sigma.powi(6);
        Self { cutoff2, f12: 48.0 * epsilon * s6 * s6, f6: 24.0 * epsilon * s6 }
    }

    #[inline(always)]
    /// Computes the pairs of particle i with a range of others. With `HALF`, these get the force
    /// too.
    pub(crate) fn one_with_all<S: Storage, const HALF: bool>(
        self,
        storage: &mut S,
        i: usize,
        partners: Range<usize>,
    ) {
        let at = storage.position(i);
        let mut sum = [0.0; 3];
        for j in partners {
            let partner = storage.position(j);
            let d = [at[0] - partner[0], at[1] - partner[1], at[2] - partner[2]];
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 < self.cutoff2 {
                let s = 1.0 / r2;
                let s3 = s * s * s;
                let force_over_r = s * s3 * (self.f12 * s3 - self.f6);
                let force = d.map(|component| force_over_r * component);
                sum = [sum[0] + force[0], sum[1] + force[1], sum[2] + force[2]];
                if HALF {
                    storage.add_force(j, force.map(|component| -component));
                }
            }
        }
        storage.add_force(i, sum);
    }
}
