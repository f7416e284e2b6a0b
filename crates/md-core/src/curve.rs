//! The order of the particles in a cell: a Hilbert curve through the parts of the cell.
//!
//! ```text
//! 1 - 2
//! |   |        the curve through 2 x 2 parts: it starts and ends at y = 0, so curves in a row join
//! 0   3 ->     (in three dimensions 2 x 2 x 2 or 4 x 4 x 4 parts)
//! ```
//!
//! Neighbours on the curve are neighbours in space, equally in all directions. If particles were
//! sorted along x, four consecutive ones would form a slab as wide as the cell. For a melt, lists
//! with such clusters compute a tenth more pairs.

/// Largest number of times that the side of a cell is halved.
const MOST_LEVELS: usize = 2;

/// Mean number of particles in a cell from which its sides are halved once, twice.
const ENOUGH: [usize; MOST_LEVELS] = [4, 16];

/// The curve through a cell divided into parts.
#[derive(Debug)]
pub(crate) struct Curve {
    levels: usize,
    /// Place on the curve, by part (x first).
    places: [u8; 1 << (3 * MOST_LEVELS)],
}

/// Curves by the number of times a side is halved.
static CURVES: [Curve; MOST_LEVELS + 1] = [Curve::new(0), Curve::new(1), Curve::new(2)];

impl Curve {
    /// Returns the curve for cells with about `count` particles. Nearly empty cells are not
    /// divided.
    pub(crate) fn for_particles(count: usize) -> &'static Self {
        &CURVES[ENOUGH.iter().filter(|&&enough| count >= enough).count()]
    }

    const fn new(levels: usize) -> Self {
        let mut places = [0; 1 << (3 * MOST_LEVELS)];
        let mut part = 0;
        while part < 1 << (3 * levels) {
            let mask = (1 << levels) - 1;
            let place = place([part & mask, part >> levels & mask, part >> (2 * levels)], levels);
            places[part as usize] = place as u8;
            part += 1;
        }
        Self { levels, places }
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        1 << (3 * self.levels)
    }

    /// Returns the place on the curve of the part at `depth`, which goes from 0 to 1 along each
    /// side.
    #[inline]
    pub(crate) fn part(&self, depth: [f64; 3]) -> u32 {
        let parts = 1_u32 << self.levels;
        let [x, y, z] = depth.map(|depth| ((depth * f64::from(parts)) as u32).min(parts - 1));
        u32::from(self.places[((z * parts + y) * parts + x) as usize])
    }
}

/// Returns the place on the curve through a cube with 2^levels parts per side. The curve ends along
/// the first axis (Skilling 2004, Programming the Hilbert curve). At most 21 levels are possible in
/// three dimensions.
pub(crate) const fn place<const N: usize>(mut axes: [u32; N], levels: usize) -> u64 {
    // Undo the rotations of the larger parts.
    let mut bit = 1 << levels >> 1;
    while bit > 1 {
        let low = bit - 1;
        let mut dim = 0;
        while dim < N {
            if axes[dim] & bit != 0 {
                axes[0] ^= low;
            } else {
                let swapped = (axes[0] ^ axes[dim]) & low;
                axes[0] ^= swapped;
                axes[dim] ^= swapped;
            }
            dim += 1;
        }
        bit >>= 1;
    }
    // Decode the Gray code.
    let mut dim = 1;
    while dim < N {
        axes[dim] ^= axes[dim - 1];
        dim += 1;
    }
    let (mut turns, mut bit) = (0, 1 << levels >> 1);
    while bit > 1 {
        if axes[N - 1] & bit != 0 {
            turns ^= bit - 1;
        }
        bit >>= 1;
    }
    let (mut place, mut level) = (0, levels);
    while level > 0 {
        level -= 1;
        let mut dim = 0;
        while dim < N {
            place = place << 1 | ((axes[dim] ^ turns) >> level & 1) as u64;
            dim += 1;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_passes_through_all_parts_step_by_step_along_x() {
        for curve in &CURVES {
            let parts = 1 << curve.levels;
            let centre = |part: usize| (part as f64 + 0.5) / f64::from(parts as u32);
            let mut path = vec![None; curve.parts()];
            for z in 0..parts {
                for y in 0..parts {
                    for x in 0..parts {
                        let place = curve.part([centre(x), centre(y), centre(z)]) as usize;
                        assert_eq!(path[place].replace([x, y, z]), None, "two parts at one place");
                    }
                }
            }
            let path: Vec<[usize; 3]> = path.into_iter().flatten().collect();
            assert_eq!(path.len(), curve.parts());
            assert_eq!((path[0], path[path.len() - 1]), ([0, 0, 0], [parts - 1, 0, 0]));
            for step in path.windows(2) {
                let length: usize = (0..3).map(|dim| step[0][dim].abs_diff(step[1][dim])).sum();
                assert_eq!(length, 1, "{step:?}");
            }
        }
    }

    #[test]
    fn positions_on_the_faces_belong_to_parts() {
        for curve in &CURVES {
            assert_eq!(curve.part([0.0; 3]), 0);
            assert!((curve.part([1.0; 3]) as usize) < curve.parts());
        }
    }
}
