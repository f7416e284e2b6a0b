//! Standard errors of means of correlated samples, by blocking (Flyvbjerg and Petersen, J. Chem.
//! Phys. 91, 461 (1989)).
//!
//! Neighbouring samples are averaged in pairs, then these averages again, and so on. Each level
//! gives an error as if its values were independent. This error grows with the length of the blocks
//! until they really are independent; beyond that it stays constant, with increasing uncertainty.
//! Levels only store sums, so samples need not be kept.

/// Sums of one quantity at all levels of blocking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Blocking {
    /// Number subtracted from every sample, so that squares of large numbers do not cancel: the
    /// first sample.
    origin: f64,
    levels: Vec<Level>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Level {
    count: u64,
    sum: f64,
    squares: f64,
    /// The first of two values that will be averaged for the next level.
    waiting: f64,
}

/// Result of blocking for one quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Number of samples.
    pub samples: u64,
    /// Their mean.
    pub mean: f64,
    /// Standard error of the mean, or `None` with fewer than two samples.
    pub standard_error: Option<f64>,
    /// Integrated correlation time in samples, which is half a sample for independent ones. `None`
    /// if the quantity is constant.
    pub correlation: Option<f64>,
}

impl Blocking {
    /// Adds a sample.
    pub fn add(&mut self, sample: f64) {
        if self.levels.is_empty() {
            self.origin = sample;
        }
        let mut value = sample - self.origin;
        for number in 0.. {
            if number == self.levels.len() {
                self.levels.push(Level::default());
            }
            let level = &mut self.levels[number];
            level.count += 1;
            level.sum += value;
            level.squares += value * value;
            if !level.count.is_multiple_of(2) {
                level.waiting = value;
                return;
            }
            value = 0.5 * (level.waiting + value);
        }
    }

    /// Returns mean and error. The error is taken from the level with the shortest blocks, of B
    /// samples, for which B^3 > 2 n (s / s1)^4, where n is the number of samples, s the error at
    /// that level and s1 that of single samples (Lee et al., Phys. Rev. E 83, 066706 (2011)). If
    /// the run is too short for that, it is taken from the longest blocks of which there are at
    /// least four.
    pub fn estimate(&self) -> Estimate {
        let Some(first) = self.levels.first() else {
            return Estimate { samples: 0, mean: 0.0, standard_error: None, correlation: None };
        };
        let samples = first.count;
        let mean = self.origin + first.sum / samples as f64;
        let Some(single) = first.error() else {
            return Estimate { samples, mean, standard_error: None, correlation: None };
        };
        let ratio2 = |error: f64| (error / single).powi(2);
        let long_enough = |(number, error): &(i32, f64)| {
            8_f64.powi(*number) > 2.0 * samples as f64 * ratio2(*error).powi(2)
        };
        let levels = self.levels.iter().filter(|level| level.count >= FEWEST).filter_map(Level::error);
        let errors: Vec<(i32, f64)> = (0..).zip(levels).collect();
        let chosen = errors.iter().find(|found| long_enough(found)).or(errors.last());
        let error = chosen.map_or(single, |(_, error)| *error).max(single);
        let correlation = (single > 0.0).then(|| 0.5 * ratio2(error));
        Estimate { samples, mean, standard_error: Some(error), correlation }
    }

    /// Returns the state as words for a checkpoint.
    pub fn words(&self) -> Vec<u64> {
        let level = |level: &Level| {
            [level.count, level.sum.to_bits(), level.squares.to_bits(), level.waiting.to_bits()]
        };
        let head = [self.levels.len() as u64, self.origin.to_bits()];
        head.into_iter().chain(self.levels.iter().flat_map(level)).collect()
    }

    /// Restores the state from words that begin with [`Self::words`], and returns the remaining
    /// words. Returns `None` if the words are invalid.
    pub fn from_words(words: &[u64]) -> Option<(Self, &[u64])> {
        let (&[count, origin], words) = words.split_first_chunk()?;
        let (levels, rest) =
            words.split_at_checked(usize::try_from(count).ok().filter(|&count| count <= 64)? * 4)?;
        let level = |words: &[u64]| {
            let [sum, squares, waiting] = [1, 2, 3].map(|at: usize| f64::from_bits(words[at]));
            Level { count: words[0], sum, squares, waiting }
        };
        let levels: Vec<Level> = levels.chunks_exact(4).map(level).collect();
        let is_sound = levels.iter().all(|level| (1..1 << 62).contains(&level.count));
        is_sound.then_some((Self { origin: f64::from_bits(origin), levels }, rest))
    }
}

/// Smallest number of blocks at a level that is used.
const FEWEST: u64 = 4;

impl Level {
    /// Returns the standard error of the mean, assuming independent values, or `None` with fewer
    /// than two.
    fn error(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0);
        (self.count >= 2).then(|| (variance / (count - 1.0)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// Returns the estimate for x' = a x + noise, whose variance, error and correlation time are
    /// known.
    fn chain(memory: f64, count: u64) -> Estimate {
        let (mut blocking, mut x) = (Blocking::default(), 0.0);
        for id in 0..count {
            let [noise, ..] = random::normal_vector(5, id);
            x = memory * x + noise;
            blocking.add(1e4 + x);
        }
        blocking.estimate()
    }

    #[test]
    fn the_error_of_a_chain_with_memory_is_the_exact_one() {
        let count = 1 << 17;
        for memory in [0.0, 0.5, 0.9, 0.99] {
            let found = chain(memory, count);
            let correlation = 0.5 * (1.0 + memory) / (1.0 - memory);
            let error = (1.0 - memory).recip() / (count as f64).sqrt();
            let ratio = found.standard_error.unwrap() / error;
            assert!((0.8..1.2).contains(&ratio), "{memory}: {ratio}");
            assert!(
                (0.64..1.44).contains(&(found.correlation.unwrap() / correlation)),
                "{memory}: {found:?}"
            );
            assert!((found.mean - 1e4).abs() < 3.5 * error, "{memory}: {found:?}");
        }
    }

    #[test]
    fn few_and_constant_samples() {
        let mut blocking = Blocking::default();
        assert_eq!(blocking.estimate().samples, 0);
        blocking.add(7.5);
        let one = Estimate { samples: 1, mean: 7.5, standard_error: None, correlation: None };
        assert_eq!(blocking.estimate(), one);
        blocking.add(7.5);
        assert_eq!(blocking.estimate(), Estimate { samples: 2, standard_error: Some(0.0), ..one });
        blocking.add(10.5);
        let three = blocking.estimate();
        assert!(
            (three.mean - 8.5).abs() < 1e-15 && (three.standard_error.unwrap() - 1.0).abs() < 1e-15,
            "{three:?}"
        );
    }

    #[test]
    fn words_come_back() {
        let mut blocking = Blocking::default();
        for step in 0..77 {
            let mut words = blocking.words();
            words.push(5);
            assert_eq!(Blocking::from_words(&words), Some((blocking.clone(), &[5][..])));
            assert_eq!(Blocking::from_words(&words[..words.len() - 2]), None);
            blocking.add(f64::from(step) * 0.3);
        }
    }
}
