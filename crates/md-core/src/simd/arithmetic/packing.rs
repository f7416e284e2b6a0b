//! Packing of the selected lanes of a vector at its front, so that later steps only process
//! these.

#[cfg(target_arch = "x86_64")]
use super::x86;
use bytemuck::Pod;
use pulp::Simd;

/// Returns, as bits, those of the selected lanes that are less than the limit.
#[inline(always)]
pub(crate) fn less_in<S: Simd, const LANES: usize>(
    simd: S,
    numbers: [f32; LANES],
    limit: f32,
    bits: usize,
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if let Some(less) = x86::less_bits(simd, numbers, limit) {
        return less & bits;
    }
    let mut less = 0;
    for (lane, number) in numbers.into_iter().enumerate() {
        less |= usize::from(number < limit) << lane;
    }
    less & bits
}

/// Writes the lanes whose bits are set, in order. The following places, as many as there are other
/// lanes, get unspecified values.
#[inline(always)]
pub(crate) fn pack<S: Simd, T: Pod, const LANES: usize>(
    simd: S,
    lanes: [T; LANES],
    bits: usize,
    to: &mut [T],
) {
    let to = &mut to[..LANES];
    #[cfg(target_arch = "x86_64")]
    if let Some(packed) = x86::pack(simd, lanes, bits) {
        to.copy_from_slice(&packed);
        return;
    }
    let mut place = 0;
    for (lane, number) in lanes.into_iter().enumerate() {
        // A store and an addition for every bit: a branch would be mispredicted half of the time.
        to[place % LANES] = number;
        place += bits >> lane & 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::SimdLevel;
    use pulp::WithSimd;

    struct Packing<const LANES: usize>;

    impl<const LANES: usize> WithSimd for Packing<LANES> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            for bits in 0..1_usize << LANES {
                let is_set = |lane: &usize| bits >> lane & 1 != 0;
                let numbers: [u32; LANES] = std::array::from_fn(|lane| 100 + lane as u32);
                let mut packed = vec![0; LANES];
                pack(simd, numbers, bits, &mut packed);
                let expected: Vec<u32> = (0..LANES).filter(is_set).map(|lane| numbers[lane]).collect();
                assert_eq!(packed[..expected.len()], expected, "{bits:b}");

                let numbers = std::array::from_fn(|lane| if is_set(&lane) { 1.0 } else { 2.0 });
                let all = (1 << LANES) - 1;
                assert_eq!(less_in::<_, LANES>(simd, numbers, 2.0, all), bits);
                assert_eq!(less_in::<_, LANES>(simd, [1.0; LANES], 2.0, bits), bits);
                assert_eq!(less_in::<_, LANES>(simd, [f32::NAN; LANES], 2.0, bits), 0);
            }
        }
    }

    #[test]
    fn lanes_are_packed_in_their_order_at_every_level() {
        for level in SimdLevel::available() {
            level.dispatch(Packing::<1>);
            level.dispatch(Packing::<2>);
            level.dispatch(Packing::<4>);
            level.dispatch(Packing::<8>);
        }
    }
}
