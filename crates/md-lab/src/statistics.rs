//! Statistics of samples: median, confidence interval and range, for any distribution of times.

/// A median and its 95 % confidence interval, in seconds; with fewer than
/// [`SAMPLES_FOR_CONFIDENCE`] samples, their range instead of the interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Median of the samples.
    pub median_s: f64,
    /// Lower bound.
    pub low_s: f64,
    /// Upper bound.
    pub high_s: f64,
}

/// Smallest number of samples for which a 95 % interval exists; with fewer, the bounds are the
/// smallest and the largest sample.
pub const SAMPLES_FOR_CONFIDENCE: usize = 6;

impl Interval {
    /// Returns the interval of the samples, or `None` if there are none. The bounds are order
    /// statistics, so nothing is assumed about the distribution of times: the number of samples
    /// below the true median is binomial, B(n, 1/2), and the k-th smallest and k-th largest sample
    /// enclose the median with probability 1 - 2 P(B < k). The largest k with at least 95 % is
    /// used.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (&low_s, &high_s) = (sorted.get(left_out(count))?, sorted.iter().nth_back(left_out(count))?);
        let median_s = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        Some(Self { median_s, low_s, high_s })
    }

    /// Returns whether this interval lies entirely below the other one, without touching it.
    pub fn is_below(&self, other: &Self) -> bool {
        self.high_s < other.low_s
    }

    /// Returns the interval with all times multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { median_s: factor * self.median_s, low_s: factor * self.low_s, high_s: factor * self.high_s }
    }
}

/// Statistics of a set of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The median and its confidence interval.
    pub interval: Interval,
    /// Smallest sample.
    pub min_s: f64,
    /// Largest sample.
    pub max_s: f64,
    /// Number of samples.
    pub samples: usize,
}

impl Summary {
    /// Returns the statistics of the samples, or `None` if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let interval = Interval::of(samples)?;
        let [min_s, max_s] = [f64::min, f64::max].map(|pick| samples.iter().copied().fold(samples[0], pick));
        Some(Self { interval, min_s, max_s, samples: samples.len() })
    }
}

/// Returns the number of samples outside the interval at each end. Valid for up to 1000 samples.
fn left_out(count: usize) -> usize {
    const OUTSIDE: f64 = 0.05;
    let mut term = 0.5_f64.powf(count as f64);
    let (mut below, mut bound) = (0.0, 0);
    // `below` is P(B < bound), `term` is P(B = bound).
    while 2.0 * (below + term) <= OUTSIDE {
        below += term;
        term *= (count - bound) as f64 / (bound + 1) as f64;
        bound += 1;
    }
    bound.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_order_statistics_of_the_binomial_table() {
        // Rank of the lower bound among the sorted samples, from 1 (Conover, Practical
        // Nonparametric Statistics, table of the sign test at 5 %, two-sided).
        for (count, number) in
            [(1, 1), (5, 1), (6, 1), (8, 1), (9, 2), (10, 2), (12, 3), (15, 4), (20, 6), (25, 8)]
        {
            let samples: Vec<f64> = (1..=count).rev().map(f64::from).collect();
            let interval = Interval::of(&samples).unwrap();
            assert_eq!(interval.low_s, f64::from(number), "{count}");
            assert_eq!(interval.high_s, f64::from(count + 1 - number), "{count}");
        }
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(Interval::of(&[4.0, 1.0, 2.0, 3.0]).unwrap().median_s, 2.5);
        assert_eq!(Interval::of(&[]), None);
    }

    #[test]
    fn touching_intervals_prove_nothing() {
        let interval = |low_s, high_s| Interval { median_s: (low_s + high_s) / 2.0, low_s, high_s };
        assert!(interval(1.0, 2.0).is_below(&interval(2.1, 3.0)));
        assert!(!interval(1.0, 2.0).is_below(&interval(2.0, 3.0)));
    }
}
