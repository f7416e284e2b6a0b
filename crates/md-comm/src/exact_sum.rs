//! Sums over the ranks that do not depend on their order: integer arithmetic, rounded once.
//!
//! Structure: the ranks first agree on the highest exponent ([`weight`], reduced to its maximum).
//! Relative to it every rank splits its number into digits to base 2^32, in lanes of 64 bits
//! ([`digits`]), which any reduction of integers adds without rounding for up to 2^31 ranks. The
//! sum is rounded once ([`rounded`]), to the nearest number. Each term is truncated below 2^-126 of
//! the highest number, in the same way on all ranks.
//! Cost: two reductions, of one and of four words per number, whatever the number of ranks.
//! Advantage: the same, correctly rounded bits on all ranks and for all transports.
//! (`md_core::exact_sum` adds many terms of a known size inside a rank, before anything is reduced;
//! the two share no code, because neither crate depends on the other.)

/// Digits to base 2^32, lowest first. The highest has the sign, in two's complement.
pub(crate) type Digits = [u64; 4];

const DIGIT_BITS: u32 = 32;
/// Bits by which a number of the highest exponent is shifted to the left. With its 53 bits and the
/// sign it fills the digits.
const HEADROOM: i32 = 74;
/// Stored bits of a mantissa.
const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
/// Offset with which an exponent is stored.
const EXPONENT_BIAS: i32 = f64::MAX_EXP - 1;

/// [`weight`] of negative zero, which is the sum only if all terms are negative zeros.
const NEGATIVE_ZERO: u64 = 0;
const ZERO: u64 = 1;
/// Lower bound of the weights of numbers that are not finite. Weights of finite numbers are their
/// exponents as stored, above [`ZERO`].
const NOT_FINITE: u64 = ZERO + 0x7ff;

/// Returns a word that grows with a number's size. The highest of all ranks fixes the scale of the
/// digits.
pub(crate) fn weight(value: f64) -> u64 {
    if value == 0.0 {
        return if value.is_sign_negative() { NEGATIVE_ZERO } else { ZERO };
    }
    ZERO + exponent(value).max(1)
}

/// Returns the exponent as it is stored.
fn exponent(value: f64) -> u64 {
    (value.abs().to_bits()) >> MANTISSA_BITS
}

/// Returns the digits of a number, to be added over the ranks, lane by lane, as wrapping integers.
pub(crate) fn digits(value: f64, highest: u64) -> Digits {
    match highest {
        NEGATIVE_ZERO | ZERO => Digits::default(),
        NOT_FINITE => {
            [value.is_nan(), value == f64::INFINITY, value == f64::NEG_INFINITY, false].map(u64::from)
        }
        _ => {
            let below = highest.saturating_sub(weight(value).max(ZERO + 1)) as i32;
            let stored = value.abs().to_bits() & ((1 << MANTISSA_BITS) - 1);
            let mantissa = i128::from(stored | u64::from(exponent(value) > 0) << MANTISSA_BITS);
            let shift = HEADROOM - below;
            let size =
                if shift < 0 { mantissa.checked_shr(-shift as u32).unwrap_or(0) } else { mantissa << shift };
            let number = if value < 0.0 { -size } else { size };
            let digit = |index: u32| u64::from((number >> (DIGIT_BITS * index)) as u32);
            [digit(0), digit(1), digit(2), (number >> (DIGIT_BITS * 3)) as u64]
        }
    }
}

/// Returns the number that sums of [`digits`] represent.
pub(crate) fn rounded(sums: Digits, highest: u64) -> f64 {
    match (highest, sums) {
        (NEGATIVE_ZERO, _) => -0.0,
        (ZERO, _) => 0.0,
        (NOT_FINITE, [0, _, 0, _]) => f64::INFINITY,
        (NOT_FINITE, [0, 0, ..]) => f64::NEG_INFINITY,
        (NOT_FINITE, _) => f64::NAN,
        _ => from_digits(sums, (highest - ZERO) as i32 - EXPONENT_BIAS - MANTISSA_BITS as i32 - HEADROOM),
    }
}

/// Returns the number whose digits are in units of 2^`power`.
fn from_digits(sums: Digits, power: i32) -> f64 {
    const LOW_BITS: u32 = 3 * DIGIT_BITS;
    const LOW: u128 = 1 << LOW_BITS;
    let [first, second, third, last] = sums;
    let carried =
        u128::from(first) + (u128::from(second) << DIGIT_BITS) + (u128::from(third) << (2 * DIGIT_BITS));
    let (high, low) = (last.wrapping_add((carried >> LOW_BITS) as u64) as i64, carried % LOW);
    let (high_size, low_size) = match (high < 0, low) {
        (true, 1..) => (high.unsigned_abs() - 1, LOW - low),
        _ => (high.unsigned_abs(), low),
    };
    // The bits cut here are far below the bit that decides the rounding; only whether any was set
    // matters.
    let (size, power) = if high_size >> (DIGIT_BITS - 1) == 0 {
        (u128::from(high_size) << LOW_BITS | low_size, power)
    } else {
        let cut = u128::from(low_size as u32 > 0);
        (u128::from(high_size) << (2 * DIGIT_BITS) | low_size >> DIGIT_BITS | cut, power + DIGIT_BITS as i32)
    };
    // In two steps, of which the first is exact: not every power that occurs is itself a number.
    let size = size as f64 * power_of_two(power / 2) * power_of_two(power - power / 2);
    if high < 0 { -size } else { size }
}

/// Returns a power of two whose exponent is in the range of normal numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + EXPONENT_BIAS) as u64) << MANTISSA_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    /// Adds values as the ranks do.
    fn sum(values: &[f64]) -> f64 {
        let highest = values.iter().copied().map(weight).max().unwrap();
        let add = |mut sums: Digits, value: &f64| {
            let digits = digits(*value, highest);
            sums.iter_mut().zip(digits).for_each(|(sum, digit)| *sum = sum.wrapping_add(digit));
            sums
        };
        rounded(values.iter().fold(Digits::default(), add), highest)
    }

    #[track_caller]
    fn expect(values: &[f64], expected: f64) {
        let found = sum(values);
        let same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(same, "{values:?}: {found:?}, not {expected:?}");
    }

    /// Returns a number of up to 53 bits, with either sign, and an exponent from `range` values
    /// above `lowest`.
    fn number(random: &mut Random, lowest: i32, range: usize) -> (i128, f64) {
        let most = 1 << (1 + random.below(53));
        let bits = random.below(most) as i128;
        let shift = random.below(range + 1);
        let number = if random.below(2) == 0 { bits << shift } else { -bits << shift };
        (number, (number as f64) * power_of_two(lowest / 2) * power_of_two(lowest - lowest / 2))
    }

    #[test]
    fn sums_are_those_of_integers_rounded_once() {
        for seed in 0..3000 {
            let mut random = Random::keyed(&[seed]);
            let (many, lowest) = (1 + random.below(200), random.below(1900) as i32 - 1074);
            let numbers: Vec<_> = (0..many).map(|_| number(&mut random, lowest, 60)).collect();
            let exact: i128 = numbers.iter().map(|&(number, _)| number).sum();
            let expected = exact as f64 * power_of_two(lowest / 2) * power_of_two(lowest - lowest / 2);
            expect(&numbers.iter().map(|&(_, value)| value).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn order_does_not_matter_however_large_the_differences() {
        for seed in 0..1000 {
            let mut random = Random::keyed(&[seed]);
            let mut values = Vec::new();
            for _ in 0..1 + random.below(30) {
                let lowest = random.below(1900) as i32 - 1074;
                values.push(number(&mut random, lowest, 20).1);
            }
            let forward = sum(&values);
            for _ in 0..3 {
                random.shuffle(&mut values);
                expect(&values, forward);
            }
        }
    }

    #[test]
    fn a_single_number_stays_as_it_is() {
        for value in [1.0, -1.5, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -5e-324, 0.1, -0.0, 0.0] {
            expect(&[value], value);
            expect(&[value, -0.0], value);
            expect(&[value, 0.0], if value == 0.0 { 0.0 } else { value });
        }
    }

    #[test]
    fn what_cancels_leaves_the_rest() {
        expect(&[1.0, -1.0], 0.0);
        expect(&[1e16, 1.0, -1e16], 1.0);
        expect(&[1.0, 2f64.powi(-126), -1.0], 2f64.powi(-126));
        expect(&[1.0, 2f64.powi(-127), -1.0], 0.0);
        expect(&[f64::MAX, f64::MAX, f64::MIN], f64::MAX);
    }

    #[test]
    fn ties_are_rounded_to_even_and_what_breaks_them_counts() {
        let half_a_bit = f64::EPSILON / 2.0;
        expect(&[1.0, half_a_bit], 1.0);
        expect(&[1.0 + f64::EPSILON, half_a_bit], 1.0 + 2.0 * f64::EPSILON);
        expect(&[1.0, half_a_bit, 1e-30], 1.0 + f64::EPSILON);
        expect(&[-1.0, -half_a_bit, -1e-30], -1.0 - f64::EPSILON);
    }

    #[test]
    fn many_ranks_have_room() {
        let ranks = (1_u64 << 31) - 1;
        let highest = weight(f64::MAX);
        for (value, many) in [(1.5, ranks), (-1.75, ranks), (0.1, ranks), (-0.1, 1 << 20)] {
            let sums = digits(value, weight(value)).map(|digit| digit.wrapping_mul(many));
            assert_eq!(
                rounded(sums, weight(value)).to_bits(),
                (value * many as f64).to_bits(),
                "{value} {many}"
            );
        }
        let sums = digits(f64::MIN, highest).map(|digit| digit.wrapping_mul(ranks));
        assert_eq!(rounded(sums, highest), f64::NEG_INFINITY);
    }

    #[test]
    fn what_is_not_finite_comes_out_as_it_should() {
        expect(&[f64::NAN, 1.0], f64::NAN);
        expect(&[f64::INFINITY, -1e300], f64::INFINITY);
        expect(&[f64::NEG_INFINITY, 1e300, f64::NEG_INFINITY], f64::NEG_INFINITY);
        expect(&[f64::INFINITY, f64::NEG_INFINITY], f64::NAN);
        expect(&[f64::MAX, f64::MAX], f64::INFINITY);
        expect(&[f64::MIN, f64::MIN], f64::NEG_INFINITY);
        expect(&[f64::MAX, f64::MAX * f64::EPSILON / 8.0], f64::MAX);
    }

    #[test]
    fn a_negative_zero_takes_negative_zeros_only() {
        expect(&[-0.0, -0.0], -0.0);
        expect(&[-0.0, 0.0], 0.0);
        expect(&[-5e-324, 5e-324], 0.0);
    }
}
