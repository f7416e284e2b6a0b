//! Linear models fitted by relative residuals: they minimise the sum of (model / measured - 1)^2,
//! so that a microsecond of a short message counts as much as a millisecond of a long one. No
//! coefficient is negative.

use crate::machine::HalfWidths;

/// Maximum number of columns.
const MOST_COLUMNS: usize = 4;
/// Smallest pivot; a column closer to dependent on the others does not determine its coefficient.
const LEAST_PIVOT: f64 = 1e-12;

/// A fitted coefficient.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Coefficient {
    /// Value, not negative.
    pub value: f64,
    /// Half of its 95 % interval, if the residuals are normal; infinite with as many coefficients
    /// as measurements, 0 for a coefficient that was held at 0.
    pub half_width: f64,
}

impl Coefficient {
    /// Coefficient that was not measured.
    pub(super) const UNKNOWN: Self = Self { value: 0.0, half_width: f64::INFINITY };

    /// Returns whether it is 0 only because it must not be negative.
    pub fn is_at_bound(&self) -> bool {
        (self.value, self.half_width) == (0.0, 0.0)
    }
}

/// Returns the half widths of those that have an interval.
pub(super) fn half_widths<'c>(coefficients: impl IntoIterator<Item = (&'c str, Coefficient)>) -> HalfWidths {
    let known = |it: &(&str, Coefficient)| !it.1.is_at_bound() && it.1.half_width.is_finite();
    let all = coefficients.into_iter().filter(known);
    all.map(|(name, coefficient)| (name.to_owned(), coefficient.half_width)).collect()
}

/// A fitted model, one coefficient per column.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit<const N: usize> {
    /// Coefficients in the order of the columns.
    pub coefficients: [Coefficient; N],
    /// Residuals of the fit.
    pub residuals: Residuals,
}

/// Deviation of a model from measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Residuals {
    /// Root mean square of (model / measured - 1).
    pub rms: f64,
    /// Largest of these, in magnitude.
    pub largest: f64,
    /// Number of measurements.
    pub count: usize,
}

impl Residuals {
    /// Computes the residuals of pairs (model, measured).
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut found = Self::default();
        let mut sum = 0.0;
        for (model, measured) in pairs {
            let residual = (model / measured - 1.0).abs();
            sum += residual * residual;
            found.largest = found.largest.max(residual);
            found.count += 1;
        }
        found.rms = (sum / found.count.max(1) as f64).sqrt();
        found
    }

    /// Returns `rms` and `largest`, if there are any measurements.
    pub(super) fn deviations(&self) -> [Option<f64>; 2] {
        [self.rms, self.largest].map(|it| Some(it).filter(|_| self.count > 0))
    }

    /// Returns the sum of the squares.
    pub(super) fn sum(&self) -> f64 {
        self.rms * self.rms * self.count as f64
    }
}

impl<const N: usize> Fit<N> {
    /// Fits rows of columns and the measured value, which is positive. `None` if no set of columns
    /// can be fitted, as without rows or with columns that are all 0.
    pub fn of(rows: &[([f64; N], f64)]) -> Option<Self> {
        const { assert!(N <= MOST_COLUMNS) };
        // With few columns, all sets of non-zero coefficients are tried; the best one without
        // negative values counts.
        let fits = (1..1_usize << N).filter_map(|set| Self::of_columns(rows, set));
        fits.min_by(|a, b| a.residuals.sum().total_cmp(&b.residuals.sum()))
    }

    fn of_columns(rows: &[([f64; N], f64)], set: usize) -> Option<Self> {
        let is_in = |column: usize| set >> column & 1 == 1;
        let columns = (0..N).filter(|&column| is_in(column)).count();
        let mut scale = [0.0; N];
        for (row, measured) in rows {
            (0..N).for_each(|column| scale[column] += (row[column] / measured).powi(2));
        }
        let scale = scale.map(f64::sqrt);
        if rows.len() < columns || (0..N).any(|column| is_in(column) && scale[column] <= 0.0) {
            return None;
        }
        let (matrix, right) = normal_equations(rows, &scale, is_in);
        let inverse = inverse(matrix)?;
        let values: [f64; N] = std::array::from_fn(|i| {
            let value: f64 = (0..N).map(|j| inverse[i][j] * right[j]).sum();
            if is_in(i) { value / scale[i] } else { 0.0 }
        });
        if values.iter().any(|value| *value < 0.0) {
            return None;
        }
        let residuals = Residuals::of(rows.iter().map(|(row, measured)| (dot(row, &values), *measured)));
        let free = rows.len() - columns;
        let deviation = (residuals.sum() / free.max(1) as f64).sqrt();
        let half_width = |i: usize| match (is_in(i), free) {
            (false, _) => 0.0,
            (true, 0) => f64::INFINITY,
            (true, _) => student_t(free) * deviation * inverse[i][i].sqrt() / scale[i],
        };
        let coefficients =
            std::array::from_fn(|i| Coefficient { value: values[i], half_width: half_width(i) });
        Some(Self { coefficients, residuals })
    }

    /// Returns the value of the model for a row.
    pub fn model(&self, row: &[f64; N]) -> f64 {
        dot(row, &self.coefficients.map(|coefficient| coefficient.value))
    }
}

/// Returns the matrix and the right-hand side of the normal equations of columns of length 1;
/// excluded columns have those of the identity.
fn normal_equations<const N: usize>(
    rows: &[([f64; N], f64)],
    scale: &[f64; N],
    is_in: impl Fn(usize) -> bool,
) -> ([[f64; N]; N], [f64; N]) {
    let (mut matrix, mut right) = ([[0.0; N]; N], [0.0; N]);
    for (row, measured) in rows {
        let scaled = |column: usize| if is_in(column) { row[column] / measured / scale[column] } else { 0.0 };
        for i in 0..N {
            right[i] += scaled(i);
            (0..N).for_each(|j| matrix[i][j] += scaled(i) * scaled(j));
        }
    }
    (0..N).filter(|&column| !is_in(column)).for_each(|column| matrix[column][column] = 1.0);
    (matrix, right)
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Inverts a symmetric positive matrix by Gauss-Jordan elimination. `None` if its columns are not
/// independent.
fn inverse<const N: usize>(mut matrix: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut inverse = [[0.0; N]; N];
    (0..N).for_each(|i| inverse[i][i] = 1.0);
    for pivot in 0..N {
        let divisor = matrix[pivot][pivot];
        if divisor < LEAST_PIVOT {
            return None;
        }
        for rows in [&mut matrix, &mut inverse] {
            rows[pivot].iter_mut().for_each(|value| *value /= divisor);
        }
        for row in (0..N).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            for rows in [&mut matrix, &mut inverse] {
                let from = rows[pivot];
                rows[row].iter_mut().zip(from).for_each(|(value, from)| *value -= factor * from);
            }
        }
    }
    Some(inverse)
}

/// Returns the 97.5 % point of Student's distribution: Cornish-Fisher expansion (Abramowitz and
/// Stegun 26.7.5), with exact values where the expansion is inaccurate.
fn student_t(free: usize) -> f64 {
    const EXACT: [f64; 4] = [12.706, 4.303, 3.182, 2.776];
    const NORMAL: f64 = 1.959_964;
    let n = free as f64;
    let first = (NORMAL.powi(3) + NORMAL) / 4.0;
    let second = (5.0 * NORMAL.powi(5) + 16.0 * NORMAL.powi(3) + 3.0 * NORMAL) / 96.0;
    let series = NORMAL + first / n + second / (n * n);
    EXACT.get(free.wrapping_sub(1)).copied().unwrap_or(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY_S: f64 = 2e-6;
    const BYTE_S: f64 = 1e-10;

    fn sizes() -> impl Iterator<Item = f64> {
        (0..16).map(|power| f64::from(8 << power))
    }

    fn assert_close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    }

    #[test]
    fn exact_data_give_exact_coefficients() {
        // A ping-pong takes 2 (L + N / B), a shift around a ring L + 2 N / B.
        let ping_pong = |bytes: f64| ([1.0, bytes], 2.0 * (LATENCY_S + bytes * BYTE_S) / 2.0);
        let ring_shift = |bytes: f64| ([1.0, 2.0 * bytes], LATENCY_S + 2.0 * bytes * BYTE_S);
        for rows in [sizes().map(ping_pong).collect::<Vec<_>>(), sizes().map(ring_shift).collect()] {
            let fit = Fit::of(&rows).unwrap();
            assert_close(fit.coefficients[0].value, LATENCY_S);
            assert_close(fit.coefficients[1].value, BYTE_S);
            assert!(fit.residuals.largest < 1e-9 && fit.residuals.count == 16);
        }
        let row = |i: f64| ([1.0, i, i * i, (i * 3.0) % 7.0], 4.0 + 3.0 * i + 2.0 * i * i + (i * 3.0) % 7.0);
        let fit = Fit::of(&(1..20).map(f64::from).map(row).collect::<Vec<_>>()).unwrap();
        [4.0, 3.0, 2.0, 1.0]
            .iter()
            .zip(fit.coefficients)
            .for_each(|(it, fitted)| assert_close(fitted.value, *it));
    }

    #[test]
    fn noisy_data_lie_within_the_interval_as_often_as_it_says() {
        let mut inside = 0;
        for seed in 0..200 {
            let row = |(number, bytes): (usize, f64)| {
                let noise = 1.0 + 0.03 * md_core::random::normal_vector(seed, number as u64)[0];
                ([1.0, bytes], (LATENCY_S + bytes * BYTE_S) * noise)
            };
            let fit = Fit::of(&sizes().enumerate().map(row).collect::<Vec<_>>()).unwrap();
            let Coefficient { value, half_width } = fit.coefficients[1];
            inside += usize::from((value - BYTE_S).abs() <= half_width);
            assert!(half_width < 0.2 * BYTE_S);
        }
        assert!((180..=200).contains(&inside), "{inside} of 200");
    }

    #[test]
    fn no_coefficient_is_negative_and_what_cannot_be_known_is_not_made_up() {
        let falling = [([1.0, 1.0], 3.0), ([1.0, 2.0], 2.0), ([1.0, 3.0], 1.5)];
        let fit = Fit::of(&falling).unwrap();
        assert_eq!(fit.coefficients[1], Coefficient::default());
        assert!(fit.coefficients[0].value > 1.5);
        // One of two identical columns has the whole coefficient.
        let twins = Fit::of(&[([1.0, 1.0], 2.0), ([2.0, 2.0], 4.0), ([3.0, 3.0], 6.0)]).unwrap();
        assert_close(twins.coefficients.iter().map(|it| it.value).sum(), 2.0);
        assert_eq!(Fit::<2>::of(&[]), None);
        assert_eq!(Fit::of(&[([0.0], 1.0)]), None);
        assert_eq!(Fit::of(&[([2.0], 1.0)]).unwrap().coefficients[0].half_width, f64::INFINITY);
    }

    #[test]
    fn points_of_student() {
        for (free, expected) in [(1, 12.706), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)] {
            assert!((student_t(free) - expected).abs() < 0.02 * expected, "{free}");
        }
    }
}
