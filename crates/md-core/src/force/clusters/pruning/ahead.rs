//! Positions of reference of inner lists: those in a few steps, if particles go straight on.

use super::STEPS_AHEAD;
use crate::displacement::{SIDE_BY_SIDE, in_chunks};

/// Prediction of positions [`STEPS_AHEAD`] steps ahead, from those of the last step.
#[derive(Clone, Copy)]
pub(super) struct Prediction {
    pub origin: [f64; 3],
    /// Longest way from the present position.
    pub longest: f32,
}

impl Prediction {
    /// Replaces the positions in the last step by predicted ones. Returns the longest way of a
    /// particle since the last step.
    #[inline(always)]
    pub(super) fn replace(self, now: [&[f64]; 3], before: [&mut [f32]; 3]) -> f32 {
        let (chunks, rests) = in_chunks(now);
        let [(x, x_rest), (y, y_rest), (z, z_rest)] = before.map(<[f32]>::as_chunks_mut);
        let mut largest = [0.0_f32; SIDE_BY_SIDE];
        for index in 0..chunks[0].len() {
            let mut before = [&mut x[index], &mut y[index], &mut z[index]];
            let squares = self.replace_chunk(chunks.map(|column| &column[index]), &mut before);
            for lane in 0..SIDE_BY_SIDE {
                largest[lane] = if squares[lane] > largest[lane] { squares[lane] } else { largest[lane] };
            }
        }
        for index in 0..rests[0].len() {
            let mut before =
                [&mut x_rest[index], &mut y_rest[index], &mut z_rest[index]].map(std::array::from_mut);
            let now = rests.map(|rest| std::array::from_ref(&rest[index]));
            let [square] = self.replace_chunk(now, &mut before);
            largest[0] = largest[0].max(square);
        }
        largest.into_iter().fold(0.0, f32::max).sqrt()
    }

    /// Returns the squared ways.
    #[inline(always)]
    fn replace_chunk<const N: usize>(self, now: [&[f64; N]; 3], before: &mut [&mut [f32; N]; 3]) -> [f32; N] {
        let (mut way, mut squares, mut steps) = ([[0.0_f32; N]; 3], [0.0_f32; N], [0.0_f32; N]);
        for dim in 0..3 {
            for lane in 0..N {
                way[dim][lane] = (now[dim][lane] - self.origin[dim] - f64::from(before[dim][lane])) as f32;
                squares[lane] += way[dim][lane] * way[dim][lane];
            }
        }
        for lane in 0..N {
            let most = self.longest / squares[lane].sqrt();
            steps[lane] = if most < STEPS_AHEAD { most } else { STEPS_AHEAD };
        }
        for dim in 0..3 {
            for lane in 0..N {
                let position = (now[dim][lane] - self.origin[dim]) as f32;
                before[dim][lane] = position + way[dim][lane] * steps[lane];
            }
        }
        squares
    }
}
