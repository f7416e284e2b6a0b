//! Time correlation functions and their integrals (Green-Kubo).

use std::collections::VecDeque;

use crate::analysis::batches::Batches;

/// The mean of a(t0) a(t0 + t) over t0 and the components of a, for lags t of 0, 1, ... samples,
/// and its running integral.
#[derive(Debug, Clone, PartialEq)]
pub struct Correlation {
    lags: usize,
    components: usize,
    /// The most recent samples, newest first.
    recent: VecDeque<Vec<f64>>,
    batches: Batches,
}

/// A correlation function at one lag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlated {
    /// Value.
    pub value: f64,
    /// Standard error of the value; NaN if it is unknown.
    pub error: f64,
    /// Integral from 0 to this lag by the trapezoidal rule, in units of the time between two
    /// samples.
    pub integral: f64,
    /// Standard error of the integral.
    pub integral_error: f64,
}

impl Correlation {
    /// Creates a correlation function of `components` components for lags up to `lags` samples.
    pub fn new(lags: usize, components: usize) -> Self {
        Self { lags, components, recent: VecDeque::new(), batches: Batches::new(2 * (lags + 1)) }
    }

    /// Adds a sample: one value of each component.
    pub fn add(&mut self, sample: &[f64]) {
        self.recent.push_front(sample.to_vec());
        if self.recent.len() <= self.lags {
            return;
        }
        self.recent.truncate(self.lags + 1);
        let product = |then: &Vec<f64>| {
            sample.iter().zip(then).map(|(a, b)| a * b).sum::<f64>() / self.components as f64
        };
        let products: Vec<f64> = self.recent.iter().map(product).collect();
        let integrals = integrals(&products);
        self.batches.add(products.into_iter().chain(integrals));
    }

    /// Returns the number of samples for which all lags were available.
    pub fn origins(&self) -> u64 {
        self.batches.samples()
    }

    /// Returns the function at all lags.
    pub fn function(&self) -> Vec<Correlated> {
        let (means, errors) = (self.batches.means(), self.batches.errors());
        let count = self.lags + 1;
        let at = |lag: usize| Correlated {
            value: means[lag],
            error: errors[lag],
            integral: means[count + lag],
            integral_error: errors[count + lag],
        };
        (0..count).map(at).collect()
    }

    /// Returns the state as words for a checkpoint.
    pub fn words(&self) -> Vec<u64> {
        let head = [self.lags as u64, self.components as u64, self.recent.len() as u64];
        let recent = self.recent.iter().flatten().map(|value| value.to_bits());
        head.into_iter().chain(recent).chain(self.batches.words()).collect()
    }

    /// Restores the state from [`Self::words`]. Returns `None` if the words do not describe `lags`
    /// lags and `components` components.
    pub fn from_words(words: &[u64], lags: usize, components: usize) -> Option<Self> {
        let (&[found, found_components, recent], words) = words.split_first_chunk()?;
        let is_same =
            [found, found_components] == [lags as u64, components as u64] && recent <= lags as u64 + 1;
        let (recent, words) = words.split_at_checked((recent as usize).checked_mul(components)?)?;
        let batches = Batches::from_words(words, 2 * (lags + 1))?;
        let recent = recent.chunks_exact(components);
        let recent = recent.map(|sample| sample.iter().copied().map(f64::from_bits).collect()).collect();
        is_same.then_some(Self { lags, components, recent, batches })
    }
}

/// Returns the running integrals by the trapezoidal rule.
fn integrals(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let steps = values.windows(2).map(|two| {
        sum += 0.5 * (two[0] + two[1]);
        sum
    });
    std::iter::once(0.0).chain(steps).take(values.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// Compares x' = a x + noise with its correlation function a^t / (1 - a^2).
    #[test]
    fn of_a_chain_with_memory() {
        const MEMORY: f64 = 0.8;
        let (mut correlation, mut x) = (Correlation::new(20, 2), [0.0; 2]);
        for id in 0..40_000 {
            let noise = random::normal_vector(9, id);
            x = [0, 1].map(|at: usize| MEMORY * x[at] + noise[at]);
            correlation.add(&x);
        }
        assert_eq!(correlation.origins(), 40_000 - 20);
        let mut integral = 0.0;
        let mut last = None;
        for (lag, found) in correlation.function().iter().enumerate() {
            let expected = MEMORY.powi(lag as i32) / (1.0 - MEMORY * MEMORY);
            integral += last.map_or(0.0, |last: f64| 0.5 * (last + expected));
            last = Some(expected);
            assert!((found.value - expected).abs() < 4.0 * found.error, "{lag}: {found:?} {expected}");
            assert!(found.error < 0.05, "{lag}: {found:?}");
            assert!(
                (found.integral - integral).abs() <= 4.0 * found.integral_error,
                "{lag}: {found:?} {integral}"
            );
        }
    }

    #[test]
    fn words_come_back() {
        let mut correlation = Correlation::new(3, 2);
        for step in 0..12 {
            let words = correlation.words();
            assert_eq!(Correlation::from_words(&words, 3, 2), Some(correlation.clone()));
            assert_eq!(Correlation::from_words(&words, 4, 2), None);
            assert_eq!(Correlation::from_words(&words[..words.len() - 1], 3, 2), None);
            correlation.add(&[f64::from(step), 0.5]);
        }
    }
}
