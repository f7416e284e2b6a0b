//! Random forces: three standard normal numbers per particle and step, fast enough to be drawn for
//! every particle in every step.
//!
//! Like all random numbers here, a number is a function of its key alone and does not depend on
//! ranks, threads or the order of particles: a block cipher scrambles a counter (particle id,
//! step). The cipher is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
//! as 1, 2, 3, SC 2011), which makes 128 random bits from a counter of 128 bits. Two pairs of 32
//! bits become two pairs of normal numbers by the Box-Muller method; the fourth number is not used.
//!
//! The loops consist of plain arithmetic without fused multiply-adds, so the compiler can vectorise
//! them to any width with bit-identical results. Normal numbers are computed in f32, because 32
//! random bits do not support more digits. The largest possible number is 6.8.

use crate::simd::SimdLevel;

/// Number of particles for which numbers are drawn together; the intermediate results fit in the
/// first-level cache.
pub const BLOCK: usize = 256;

const ROUNDS: usize = 10;
const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Key of the random forces for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey([u32; 2]);

/// Standard normal numbers of a block of particles, per dimension.
#[derive(Debug, Clone)]
pub struct NormalBlock(pub [[f32; BLOCK]; 3]);

impl Default for NormalBlock {
    fn default() -> Self {
        Self([[0.0; BLOCK]; 3])
    }
}

impl NoiseKey {
    /// Returns the key for a run's seed.
    pub fn of_seed(seed: u64) -> Self {
        // Consecutive seeds get unrelated keys (finaliser of SplitMix64).
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let mixed = mixed ^ (mixed >> 31);
        Self([mixed as u32, (mixed >> 32) as u32])
    }

    /// Fills the first elements of `normals` with the numbers of up to [`BLOCK`] particles in a
    /// step.
    #[inline]
    pub fn fill(self, step: u64, ids: &[u64], simd: SimdLevel, normals: &mut NormalBlock) {
        let ids = &ids[..ids.len().min(BLOCK)];
        let mut bits = [[0_u32; BLOCK]; 4];
        simd.vectorise(
            #[inline(always)]
            || {
                self.fill_bits(step, ids, &mut bits);
                let [a, b, c, d] = &bits;
                let [x, y, z] = &mut normals.0;
                for i in 0..ids.len() {
                    let (radius, other_radius) = (radius_of(a[i]), radius_of(c[i]));
                    let ([cosine, sine], [other_cosine, _]) = (direction_of(b[i]), direction_of(d[i]));
                    x[i] = radius * cosine;
                    y[i] = radius * sine;
                    z[i] = other_radius * other_cosine;
                }
            },
        );
    }

    #[inline(always)]
    fn fill_bits(self, step: u64, ids: &[u64], bits: &mut [[u32; BLOCK]; 4]) {
        let [a, b, c, d] = bits;
        let (low, high) = (step & LOW, step >> 32);
        for (i, id) in ids.iter().enumerate() {
            let words = self.scramble([id & LOW, id >> 32, low, high]);
            (a[i], b[i]) = (words[0] as u32, words[1] as u32);
            (c[i], d[i]) = (words[2] as u32, words[3] as u32);
        }
    }

    /// Applies Philox4x32-10. The 32-bit words are stored in 64 bits, so that their products fit.
    #[inline(always)]
    fn scramble(self, mut counter: [u64; 4]) -> [u64; 4] {
        let mut key = self.0;
        for _ in 0..ROUNDS {
            let products = [MULTIPLIERS[0] * counter[0], MULTIPLIERS[1] * counter[2]];
            counter = [
                (products[1] >> 32) ^ counter[1] ^ u64::from(key[0]),
                products[1] & LOW,
                (products[0] >> 32) ^ counter[3] ^ u64::from(key[1]),
                products[0] & LOW,
            ];
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        counter
    }
}

const LOW: u64 = 0xFFFF_FFFF;

/// Returns the radius of the Box-Muller method, sqrt(-2 ln u) for u = (bits + 1/2) / 2^32.
#[inline(always)]
fn radius_of(bits: u32) -> f32 {
    const UNIT: f32 = 1.0 / 4_294_967_296.0;
    (-2.0 * logarithm((bits as f32 + 0.5) * UNIT)).max(0.0).sqrt()
}

/// Returns ln x for a normal number, with an error of 1e-7, absolute or relative, like logf in
/// Moshier's Cephes library.
#[inline(always)]
fn logarithm(x: f32) -> f32 {
    /// ln 2 in two parts. The first has so few digits that its products with exponents are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    /// Coefficients of P in ln(1 + t) = t - t^2 / 2 + t^3 P(t), highest power first.
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -1.151_461e-1,
        1.167_699_84e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_7e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        0.333_333_3,
    ];
    /// Bits of the square root of one half. Numbers from there on get the exponent of the next
    /// power of two.
    const ROOT_OF_HALF: u32 = 0x3F35_04F3;
    const ONE: u32 = 0x3F80_0000;
    let shifted = x.to_bits().wrapping_add(ONE - ROOT_OF_HALF);
    let exponent = ((shifted >> 23) as i32 - 127) as f32;
    let t = f32::from_bits((shifted & 0x007F_FFFF) + ROOT_OF_HALF) - 1.0;
    let mut sum = P[0];
    for coefficient in &P[1..] {
        sum = sum * t + coefficient;
    }
    let square = t * t;
    let tail = t * square * sum + exponent * LN_2[1] - 0.5 * square;
    t + tail + exponent * LN_2[0]
}

/// Returns cosine and sine of the angle 2 pi bits / 2^32 to 1e-7. They are computed from the angle
/// to the nearest axis and then exchanged and signed.
#[inline(always)]
fn direction_of(bits: u32) -> [f32; 2] {
    /// A quarter turn over 2^30.
    const UNIT: f32 = std::f32::consts::FRAC_PI_2 / 1_073_741_824.0;
    let axis = bits.wrapping_add(1 << 29) >> 30;
    let angle = bits.wrapping_sub(axis << 30) as i32 as f32 * UNIT;
    let square = angle * angle;
    // Polynomials of sinf and cosf in Cephes, for up to an eighth of a turn.
    let sine = ((-1.951_529_6e-4 * square + 8.332_161e-3) * square - 1.666_665_5e-1) * square * angle + angle;
    let cosine = ((2.443_315_7e-5 * square - 1.388_731_6e-3) * square + 4.166_664_6e-2) * square * square
        - 0.5 * square
        + 1.0;
    let (along, across) = if axis & 1 == 0 { (cosine, sine) } else { (sine, cosine) };
    // Cosines are negative from the first axis to the third, sines from the second on.
    let sign_of = |is_negative: u32| is_negative << 31;
    let with_sign = |value: f32, sign: u32| f32::from_bits(value.to_bits() ^ sign);
    [with_sign(along, sign_of((axis ^ (axis >> 1)) & 1)), with_sign(across, sign_of(axis >> 1 & 1))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of Random123, `tests/kat_vectors`.
    #[test]
    fn the_cipher_is_philox() {
        let scrambled = |counter: [u64; 4], key| NoiseKey(key).scramble(counter);
        let zeros = scrambled([0; 4], [0; 2]);
        assert_eq!(zeros, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = scrambled([0xffff_ffff; 4], [0xffff_ffff; 2]);
        assert_eq!(ones, [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let of_pi =
            scrambled([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]);
        assert_eq!(of_pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn radius_and_direction_are_those_of_the_formulas() {
        let samples = (0..=u32::MAX).step_by(65_537).chain([0, 1, 2, u32::MAX, u32::MAX - 1]);
        for bits in samples {
            let u = (f64::from(bits) + 0.5) / 4_294_967_296.0;
            let expected = (-2.0 * u.ln()).sqrt();
            let (found, square) = (f64::from(radius_of(bits)), -2.0 * u.ln());
            // Near u = 1 the nearest f32 differs from u by up to 6e-8.
            assert!((found * found - square).abs() < 4e-7 * square.max(1.0), "{bits}: {found} {expected}");
            let angle = std::f64::consts::TAU * f64::from(bits) / 4_294_967_296.0;
            let [cosine, sine] = direction_of(bits).map(f64::from);
            assert!((cosine - angle.cos()).abs() < 2e-7, "{bits}: {cosine} {}", angle.cos());
            assert!((sine - angle.sin()).abs() < 2e-7, "{bits}: {sine} {}", angle.sin());
        }
    }

    fn drawn(key: NoiseKey, step: u64, ids: &[u64], simd: SimdLevel) -> Vec<[u32; 3]> {
        let mut normals = NormalBlock::default();
        let draw = |ids: &[u64]| {
            key.fill(step, ids, simd, &mut normals);
            (0..ids.len()).map(|i| [0, 1, 2].map(|dim| normals.0[dim][i].to_bits())).collect::<Vec<_>>()
        };
        ids.chunks(BLOCK).flat_map(draw).collect()
    }

    #[test]
    fn numbers_depend_on_seed_id_and_step_alone() {
        let key = NoiseKey::of_seed(5);
        let ids: Vec<u64> = (1..=1001).map(|id| id * 3_000_000_019).collect();
        let expected = drawn(key, 7, &ids, SimdLevel::Baseline);
        for simd in SimdLevel::available() {
            assert_eq!(drawn(key, 7, &ids, simd), expected, "{simd:?}");
            let backwards: Vec<u64> = ids.iter().rev().copied().collect();
            let mut found = drawn(key, 7, &backwards[3..], simd);
            found.reverse();
            assert_eq!(found, expected[..ids.len() - 3], "{simd:?}");
        }
        for other in [
            drawn(key, 8, &ids, SimdLevel::Baseline),
            drawn(NoiseKey::of_seed(6), 7, &ids, SimdLevel::Baseline),
        ] {
            assert!(other.iter().zip(&expected).all(|(a, b)| a != b));
        }
    }

    /// Checks mean, variance, kurtosis and correlations of 300,000 numbers to within five standard
    /// errors.
    #[test]
    fn numbers_are_normal_and_independent() {
        const COUNT: f64 = 100_000.0;
        let ids: Vec<u64> = (1..=COUNT as u64).collect();
        let key = NoiseKey::of_seed(1);
        let numbers = |step| -> Vec<[f64; 3]> {
            let bits = drawn(key, step, &ids, SimdLevel::detect());
            bits.into_iter().map(|row| row.map(|bits| f64::from(f32::from_bits(bits)))).collect()
        };
        let (now, next) = (numbers(1), numbers(2));
        let mean = |of: &dyn Fn(usize) -> f64| (0..now.len()).map(of).sum::<f64>() / COUNT;
        let error = |variance: f64| 5.0 * (variance / COUNT).sqrt();
        for dim in 0..3 {
            assert!(mean(&|i| now[i][dim]).abs() < error(1.0));
            assert!((mean(&|i| now[i][dim].powi(2)) - 1.0).abs() < error(2.0));
            assert!((mean(&|i| now[i][dim].powi(4)) - 3.0).abs() < error(96.0));
            assert!(mean(&|i| now[i][dim] * now[i][(dim + 1) % 3]).abs() < error(1.0));
            assert!(mean(&|i| now[i][dim] * next[i][dim]).abs() < error(1.0));
            assert!(mean(&|i| now[i][dim] * now[(i + 1) % now.len()][dim]).abs() < error(1.0));
        }
    }
}
