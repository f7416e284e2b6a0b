//! The largest displacement of particles from positions of reference.

use crate::simd::SimdLevel;
use crate::threads::Threads;

/// Particles that are compared side by side, in one vector of any CPU or several.
pub(crate) const SIDE_BY_SIDE: usize = 16;

/// Returns the largest squared distance between positions and those of reference, which are counted
/// from `origin`; NaN if one is NaN.
pub(crate) fn largest_displacement2<T: Copy + Into<f64> + Sync>(
    now: [&[f64]; 3],
    then: [&[T]; 3],
    origin: [f64; 3],
    threads: &Threads,
    simd: SimdLevel,
) -> f64 {
    let larger = |a: f64, b: f64| if a > b || a.is_nan() { a } else { b };
    let of_part = |(now, then): ([&[f64]; 3], [&[T]; 3])| {
        simd.vectorise(
            #[inline(always)]
            || largest_of_part(now, then, origin),
        )
    };
    threads.fold((now, then), of_part, larger)
}

#[inline(always)]
fn largest_of_part<T: Copy + Into<f64>>(now: [&[f64]; 3], then: [&[T]; 3], origin: [f64; 3]) -> f64 {
    let (chunks, rests) = in_chunks(now);
    let (chunks0, rests0) = in_chunks(then);
    let (mut largest, mut not_a_number) = ([0.0_f64; SIDE_BY_SIDE], [false; SIDE_BY_SIDE]);
    // Arrays, because the compiler would compare an index with the lengths of six slices.
    for index in 0..chunks[0].len() {
        let squares =
            squares(chunks.map(|column| &column[index]), chunks0.map(|column| &column[index]), origin);
        for lane in 0..SIDE_BY_SIDE {
            largest[lane] = if squares[lane] > largest[lane] { squares[lane] } else { largest[lane] };
            not_a_number[lane] |= squares[lane].is_nan();
        }
    }
    for index in 0..rests[0].len() {
        let [square] = squares(
            rests.map(|rest| std::array::from_ref(&rest[index])),
            rests0.map(|rest| std::array::from_ref(&rest[index])),
            origin,
        );
        largest[0] = if square > largest[0] { square } else { largest[0] };
        not_a_number[0] |= square.is_nan();
    }
    if not_a_number.contains(&true) { f64::NAN } else { largest.into_iter().fold(0.0, f64::max) }
}

/// Chunks of three columns, and what is left of each.
pub(crate) type Chunks<'a, T> = ([&'a [[T; SIDE_BY_SIDE]]; 3], [&'a [T]; 3]);

/// Cuts columns of equal lengths into chunks.
#[inline(always)]
pub(crate) fn in_chunks<T>(columns: [&[T]; 3]) -> Chunks<'_, T> {
    let [(x, x_rest), (y, y_rest), (z, z_rest)] = columns.map(<[T]>::as_chunks);
    ([x, &y[..x.len()], &z[..x.len()]], [x_rest, y_rest, z_rest])
}

/// Returns the squared distances.
#[inline(always)]
fn squares<T: Copy + Into<f64>, const N: usize>(
    now: [&[f64; N]; 3],
    then: [&[T; N]; 3],
    origin: [f64; 3],
) -> [f64; N] {
    let mut squares = [0.0; N];
    for dim in 0..3 {
        for lane in 0..N {
            let distance = now[dim][lane] - origin[dim] - then[dim][lane].into();
            squares[lane] += distance * distance;
        }
    }
    squares
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the largest displacement of particles at rest, of which one has moved by (1, 2, 2)
    /// times a factor.
    fn largest(len: usize, moved: usize, factor: f64) -> f64 {
        let origin = [10.0, 20.0, 30.0];
        let then = [1.5_f32, -2.0, 0.25].map(|x| vec![x; len]);
        let mut now = [11.5, 18.0, 30.25].map(|x| vec![x; len]);
        for (column, way) in now.iter_mut().zip([1.0, 2.0, 2.0]) {
            column[moved] += factor * way;
        }
        let (now, then) = (now.each_ref().map(Vec::as_slice), then.each_ref().map(Vec::as_slice));
        largest_displacement2(now, then, origin, &Threads::one(), SimdLevel::detect()).sqrt()
    }

    #[test]
    fn wherever_the_particle_is_it_is_found() {
        for len in [1, SIDE_BY_SIDE - 1, SIDE_BY_SIDE, 2 * SIDE_BY_SIDE + 3] {
            for moved in 0..len {
                assert_eq!(largest(len, moved, 1.0), 3.0, "{moved} of {len}");
                assert!(largest(len, moved, f64::NAN).is_nan(), "{moved} of {len}");
            }
        }
        let none: [&[f64]; 3] = [&[]; 3];
        assert_eq!(largest_displacement2(none, none, [0.0; 3], &Threads::one(), SimdLevel::detect()), 0.0);
    }
}
