//! Operations of the arithmetic that use specific x86 instructions.

use bytemuck::{Pod, cast};
use pulp::x86::{V3, V4};
use pulp::{Simd, f32x4};
use std::any::Any;
use std::arch::x86_64::{__m256, __m256d, __m512, _CMP_LT_OQ};

/// Returns the level if it is AVX-512 with whole vectors.
#[inline(always)]
pub(super) fn as_avx512<S: Simd>(simd: S) -> Option<V4> {
    (&simd as &dyn Any).downcast_ref::<V4>().copied()
}

/// Returns the level if vectors have 256 bits.
#[inline(always)]
pub(super) fn as_avx2<S: Simd>(simd: S) -> Option<V3> {
    (&simd as &dyn Any).downcast_ref::<V3>().copied()
}

/// Returns a level with vectors of 256 bits if vectors have at least 256 bits.
#[inline(always)]
fn at_least_avx2<S: Simd>(simd: S) -> Option<V3> {
    as_avx512(simd).map(|v4| *v4).or_else(|| as_avx2(simd))
}

/// Aligned table, so that none of its vectors straddles two cache lines.
#[repr(align(64))]
struct Table<T>(T);

/// Masks with as many lanes as fit in 256 bits.
macro_rules! masks {
    ($number:ty, $bits:ty, $lanes:literal, $less:ident, $lanes_table:ident) => {
        /// Compares lane by lane. The compiler then recognises the comparison and can create masks
        /// in registers.
        #[inline(always)]
        pub(super) fn $less(a: [$number; $lanes], b: [$number; $lanes]) -> [$bits; $lanes] {
            let mut less = [0; $lanes];
            for lane in 0..$lanes {
                less[lane] = if a[lane] < b[lane] { <$bits>::MAX } else { 0 };
            }
            less
        }

        /// Returns a mask of the lanes whose bits are set, with all bits of each lane.
        #[inline(always)]
        pub(super) fn $lanes_table(bits: u16) -> [$bits; $lanes] {
            static TABLE: Table<[[$bits; $lanes]; 1 << $lanes]> = {
                let mut table = [[0; $lanes]; 1 << $lanes];
                let mut place = 0;
                while place < table.len() * $lanes {
                    let (bits, lane) = (place / $lanes, place % $lanes);
                    table[bits][lane] = (bits >> lane & 1) as $bits * <$bits>::MAX;
                    place += 1;
                }
                Table(table)
            };
            TABLE.0[usize::from(bits) % TABLE.0.len()]
        }
    };
}

masks!(f64, u64, 4, less_f64, lanes_f64);
masks!(f32, u32, 8, less_f32, lanes_f32);

/// Returns four numbers in the order that [`look_up_f64`] requires: with vectors of four lanes the
/// first halves of all, then the second halves.
#[inline(always)]
pub(super) fn row_f64<S: Simd>(simd: S, row: [f64; 4]) -> Option<[f64; 4]> {
    let halves = [0_u32, 2, 4, 6, 1, 3, 5, 7];
    Some(cast(as_avx2(simd)?.avx2._mm256_permutevar8x32_ps(cast(row), cast(halves))))
}

/// Returns the numbers at these indices. AVX2 can only permute units of four bytes.
#[inline(always)]
pub(super) fn look_up_f64<S: Simd, K: Pod, V: Pod>(simd: S, row: [f64; 4], kinds: K) -> Option<V> {
    if let Some(v4) = as_avx512(simd) {
        return Some(cast(v4.avx512f._mm512_permutexvar_pd(cast(kinds), cast([row; 2]))));
    }
    let V3 { avx, avx2, .. } = as_avx2(simd)?;
    let second_half = cast([0_u32, 4, 0, 4, 0, 4, 0, 4]);
    let halves = avx._mm256_or_ps(avx._mm256_moveldup_ps(cast(kinds)), second_half);
    Some(cast(avx2._mm256_permutevar8x32_ps(cast(row), cast(halves))))
}

/// Returns eight numbers in the order that [`look_up_wide_f64`] requires: with vectors of four
/// lanes the lower halves of all, then the upper halves.
#[inline(always)]
pub(super) fn wide_row_f64<S: Simd>(simd: S, row: [[f64; 4]; 2]) -> Option<[[f64; 4]; 2]> {
    let V3 { avx, avx2, .. } = as_avx2(simd)?;
    let [low, high] = [cast(row[0]), cast(row[1])];
    let in_order = |halves| cast(avx2._mm256_permute4x64_pd::<OUTER_AND_INNER>(cast(halves)));
    Some([
        in_order(avx._mm256_shuffle_ps::<FIRSTS>(low, high)),
        in_order(avx._mm256_shuffle_ps::<SECONDS>(low, high)),
    ])
}

/// Does what [`look_up_f64`] does for eight numbers.
#[inline(always)]
pub(super) fn look_up_wide_f64<S: Simd, K: Pod, V: Pod>(simd: S, row: [[f64; 4]; 2], kinds: K) -> Option<V> {
    if let Some(v4) = as_avx512(simd) {
        return Some(cast(v4.avx512f._mm512_permutexvar_pd(cast(kinds), cast(row))));
    }
    let V3 { avx, avx2, .. } = as_avx2(simd)?;
    let twice = cast(avx._mm256_moveldup_ps(cast(kinds)));
    let [lower, upper] = row.map(|halves| avx2._mm256_permutevar8x32_ps(cast(halves), twice));
    Some(cast(avx._mm256_blend_ps::<EVERY_SECOND>(lower, upper)))
}

/// Does what [`look_up_f64`] does for eight f32.
#[inline(always)]
pub(super) fn look_up_f32<S: Simd, K: Pod, V: Pod>(simd: S, row: [f32; 8], kinds: K) -> Option<V> {
    if let Some(v4) = as_avx512(simd) {
        return Some(cast(v4.avx512f._mm512_permutexvar_ps(cast(kinds), cast([row; 2]))));
    }
    Some(cast(as_avx2(simd)?.avx2._mm256_permutevar8x32_ps(cast(row), cast(kinds))))
}

/// Returns the numbers at these indices below 4, each from its own quarter of the row.
#[inline(always)]
pub(super) fn look_up_in_quarters<S: Simd, K: Pod, V: Pod>(
    simd: S,
    row: [[f32; 4]; 4],
    kinds: K,
) -> Option<V> {
    if let Some(v3) = as_avx2(simd) {
        let [first, second, ..] = row;
        return Some(cast(v3.avx._mm256_permutevar_ps(cast([first, second]), cast(kinds))));
    }
    Some(cast(as_avx512(simd)?.avx512f._mm512_permutevar_ps(cast(row), cast(kinds))))
}

/// Returns the numbers at these indices below 8, each from the eight numbers of a row of 32 that
/// belong to its quarter.
#[inline(always)]
pub(super) fn look_up_in_eighths<S: Simd, K: Pod, V: Pod>(
    simd: S,
    row: [[f32; 8]; 4],
    kinds: K,
) -> Option<V> {
    if let Some(V3 { avx, avx2, .. }) = as_avx2(simd) {
        let [first, second, ..] =
            row.map(|numbers| avx2._mm256_permutevar8x32_ps(cast(numbers), cast(kinds)));
        return Some(cast(avx._mm256_blend_ps::<SECOND_HALF>(first, second)));
    }
    let avx = as_avx512(simd)?.avx512f;
    let starts = cast([[0_u32; 4], [8; 4], [16; 4], [24; 4]]);
    let [low, high]: [__m512; 2] = cast(row);
    Some(cast(avx._mm512_permutex2var_ps(low, avx._mm512_or_si512(cast(kinds), starts), high)))
}

/// Returns the sums of three vectors. Together they take half as many instructions as one by one.
#[inline(always)]
pub(super) fn sums_f32<S: Simd, V: Pod>(simd: S, a: [V; 3]) -> Option<[f32; 4]> {
    let (v3, [x, y, z]) = if let Some(v4) = as_avx512(simd) {
        let folded = |a: V| {
            let [low, high]: [__m256; 2] = cast(a);
            v4.avx._mm256_add_ps(low, high)
        };
        (*v4, [folded(a[0]), folded(a[1]), folded(a[2])])
    } else {
        (as_avx2(simd)?, [cast(a[0]), cast(a[1]), cast(a[2])])
    };
    let avx = v3.avx;
    // In each half: x y x y, then z z z z, then x y z z.
    let xy = avx._mm256_add_ps(avx._mm256_unpacklo_ps(x, y), avx._mm256_unpackhi_ps(x, y));
    let xy = avx._mm256_add_ps(xy, avx._mm256_permute_ps::<OTHER_PAIR>(xy));
    let z = avx._mm256_add_ps(z, avx._mm256_permute_ps::<OTHER_PAIR>(z));
    let z = avx._mm256_add_ps(z, avx._mm256_permute_ps::<NEIGHBOUR>(z));
    let [low, high]: [f32x4; 2] = cast(avx._mm256_shuffle_ps::<FIRST_PAIRS>(xy, z));
    Some(cast(v3.sse._mm_add_ps(cast(low), cast(high))))
}

/// Does what [`sums_f32`] does in f64.
#[inline(always)]
pub(super) fn sums_f64<S: Simd, V: Pod>(simd: S, a: [V; 3]) -> Option<[f64; 4]> {
    let (v3, [x, y, z]) = if let Some(v4) = as_avx512(simd) {
        let folded = |a: V| {
            let [low, high]: [__m256d; 2] = cast(a);
            v4.avx._mm256_add_pd(low, high)
        };
        (*v4, [folded(a[0]), folded(a[1]), folded(a[2])])
    } else {
        (as_avx2(simd)?, [cast(a[0]), cast(a[1]), cast(a[2])])
    };
    let avx = v3.avx;
    // In each half: x y, and z z.
    let xy = avx._mm256_add_pd(avx._mm256_unpacklo_pd(x, y), avx._mm256_unpackhi_pd(x, y));
    let z = avx._mm256_add_pd(z, avx._mm256_permute_pd::<NEIGHBOURS>(z));
    let low = avx._mm256_permute2f128_pd::<LOW_HALVES>(xy, z);
    Some(cast(avx._mm256_add_pd(low, avx._mm256_permute2f128_pd::<HIGH_HALVES>(xy, z))))
}

/// Selects 2 3 0 1 of four f32.
const OTHER_PAIR: i32 = 0b01_00_11_10;
/// Selects 1 0 3 2 of four f32.
const NEIGHBOUR: i32 = 0b10_11_00_01;
/// Selects 0 1 of each of two times four f32.
const FIRST_PAIRS: i32 = 0b01_00_01_00;
/// Selects 1 0 of each of two times two f64.
const NEIGHBOURS: i32 = 0b0101;
/// Selects 0 2 of each of two times four f32.
const FIRSTS: i32 = 0b10_00_10_00;
/// Selects 1 3 of each of two times four f32.
const SECONDS: i32 = 0b11_01_11_01;
/// Selects 0 2 1 3 of four f64.
const OUTER_AND_INNER: i32 = 0b11_01_10_00;
/// Takes 1 3 5 7 of eight f32 from the second vector.
const EVERY_SECOND: i32 = 0b1010_1010;
/// Takes the last four of eight f32 from the second vector.
const SECOND_HALF: i32 = 0b1111_0000;
const LOW_HALVES: i32 = 0x20;
const HIGH_HALVES: i32 = 0x31;

/// Returns the sums over each group of four lanes of three vectors of 16: x, y and z of four
/// particles, and z again.
#[inline(always)]
pub(super) fn sums_of_quads<S: Simd, V: Pod>(simd: S, [x, y, z]: [V; 3]) -> Option<[[f32; 4]; 4]> {
    let avx = as_avx512(simd)?.avx512f;
    let (x, y, z): (__m512, __m512, __m512) = (cast(x), cast(y), cast(z));
    // In each quarter: x y x y, then z z z z (two sums, twice), then x y z z.
    let xy = avx._mm512_add_ps(avx._mm512_unpacklo_ps(x, y), avx._mm512_unpackhi_ps(x, y));
    let z = avx._mm512_add_ps(z, avx._mm512_permute_ps::<OTHER_PAIR>(z));
    let first = avx._mm512_shuffle_ps::<FIRST_PAIRS>(xy, z);
    let second = avx._mm512_shuffle_ps::<SECOND_PAIRS>(xy, z);
    let sums = avx._mm512_add_ps(first, second);
    Some(cast(avx._mm512_permutexvar_ps(cast(TRANSPOSED), sums)))
}

/// Returns the sums over each group of four lanes of three vectors of eight: x, y, z and z again of
/// two particles.
#[inline(always)]
pub(super) fn sums_of_halves<S: Simd, V: Pod>(simd: S, [x, y, z]: [V; 3]) -> Option<[[f32; 4]; 2]> {
    let avx = as_avx2(simd)?.avx;
    let (x, y, z) = (cast(x), cast(y), cast(z));
    // In each half: x y x y, then z z z z (two sums, twice), then x y z z.
    let xy = avx._mm256_add_ps(avx._mm256_unpacklo_ps(x, y), avx._mm256_unpackhi_ps(x, y));
    let z = avx._mm256_add_ps(z, avx._mm256_permute_ps::<OTHER_PAIR>(z));
    let first = avx._mm256_shuffle_ps::<FIRST_PAIRS>(xy, z);
    Some(cast(avx._mm256_add_ps(first, avx._mm256_shuffle_ps::<SECOND_PAIRS>(xy, z))))
}

/// Returns, for each lane of a quarter, the sum over the quarters of a vector of 16 or the halves
/// of one of eight.
#[inline(always)]
pub(super) fn sum_of_quarters<S: Simd, V: Pod>(simd: S, a: V) -> Option<[f32; 4]> {
    if let Some(v3) = as_avx2(simd) {
        let [low, high]: [f32x4; 2] = cast(a);
        return Some(cast(v3.sse._mm_add_ps(cast(low), cast(high))));
    }
    let v3 = *as_avx512(simd)?;
    let [low, high]: [__m256; 2] = cast(a);
    let [low, high]: [f32x4; 2] = cast(v3.avx._mm256_add_ps(low, high));
    Some(cast(v3.sse._mm_add_ps(cast(low), cast(high))))
}

/// Selects 2 3 of the first and 3 2 of the second of two times four f32.
const SECOND_PAIRS: i32 = 0b10_11_11_10;
/// Transposes four times four numbers.
const TRANSPOSED: [i32; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// Returns, as bits, the lanes of four, eight or 16 that are less than the limit.
#[inline(always)]
pub(super) fn less_bits<S: Simd, const LANES: usize>(
    simd: S,
    numbers: [f32; LANES],
    limit: f32,
) -> Option<usize> {
    if let (16, Some(v4)) = (LANES, as_avx512(simd)) {
        let limit = v4.avx512f._mm512_set1_ps(limit);
        return Some(v4.avx512f._mm512_cmp_ps_mask::<_CMP_LT_OQ>(cast(numbers), limit).into());
    }
    let V3 { sse, avx, .. } = at_least_avx2(simd)?;
    match LANES {
        4 => Some(sse._mm_movemask_ps(sse._mm_cmplt_ps(cast(numbers), sse._mm_set1_ps(limit))) as usize),
        8 => {
            let less = avx._mm256_cmp_ps::<_CMP_LT_OQ>(cast(numbers), avx._mm256_set1_ps(limit));
            Some(avx._mm256_movemask_ps(less) as usize)
        }
        _ => None,
    }
}

/// Moves the lanes of four or eight whose bits are set to the front.
#[inline(always)]
pub(super) fn pack<S: Simd, T: Pod, const LANES: usize>(
    simd: S,
    lanes: [T; LANES],
    bits: usize,
) -> Option<[T; LANES]> {
    static OF_FOUR: Table<[[u32; 4]; 1 << 4]> = Table(set_lanes());
    static OF_EIGHT: Table<[[u32; 8]; 1 << 8]> = Table(set_lanes());
    let V3 { avx, avx2, .. } = at_least_avx2(simd)?;
    match LANES {
        4 => Some(cast(avx._mm_permutevar_ps(cast(lanes), cast(OF_FOUR.0[bits % OF_FOUR.0.len()])))),
        8 => Some(match as_avx512(simd) {
            Some(v4) => cast(v4.avx512f._mm256_maskz_compress_ps(bits as u8, cast(lanes))),
            None => {
                cast(avx2._mm256_permutevar8x32_ps(cast(lanes), cast(OF_EIGHT.0[bits % OF_EIGHT.0.len()])))
            }
        }),
        _ => None,
    }
}

/// Returns a table with the numbers of the set lanes, indexed by the bits.
const fn set_lanes<const LANES: usize, const PLACES: usize>() -> [[u32; LANES]; PLACES] {
    let mut table = [[0; LANES]; PLACES];
    let mut bits = 0;
    while bits < PLACES {
        let (mut left, mut place) = (bits, 0);
        while left != 0 {
            table[bits][place] = left.trailing_zeros();
            left &= left - 1;
            place += 1;
        }
        bits += 1;
    }
    table
}
