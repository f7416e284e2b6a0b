//! Means of several quantities with standard errors from batches of consecutive samples.
//!
//! Batches that are shorter than the correlation time of the samples are correlated too. The
//! correlation r of neighbouring batches is measured, and the error is multiplied by the root of
//! (1 + r) / (1 - r).

use super::origins::mean;

/// Smallest number of batches, once there are twice as many samples.
const LEAST: usize = 16;

/// Means of a fixed number of quantities.
///
/// Samples are added up in batches of equal length. When there are 32 batches, they are merged in
/// pairs. The spread of the batches' means gives the error, which includes correlations between
/// neighbouring samples as far as they are shorter than a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Batches {
    width: usize,
    /// Samples per batch.
    length: u64,
    /// Samples in the last batch, which is incomplete.
    begun: u64,
    /// Sums of the batches, the last of which is incomplete.
    sums: Vec<Vec<f64>>,
}

impl Batches {
    /// Creates empty batches for `width` quantities.
    pub fn new(width: usize) -> Self {
        Self { width, length: 1, begun: 0, sums: vec![vec![0.0; width]] }
    }

    /// Adds a sample: one value of each quantity.
    pub fn add(&mut self, sample: impl IntoIterator<Item = f64>) {
        if let Some(sum) = self.sums.last_mut() {
            sum.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
        }
        self.begun += 1;
        if self.begun < self.length {
            return;
        }
        self.begun = 0;
        if self.sums.len() == 2 * LEAST {
            self.length *= 2;
            let joined =
                self.sums.chunks_exact(2).map(|two| two[0].iter().zip(&two[1]).map(|(a, b)| a + b).collect());
            self.sums = joined.collect();
        }
        self.sums.push(vec![0.0; self.width]);
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        (self.sums.len() as u64 - 1) * self.length + self.begun
    }

    /// Returns the means of all samples, or zeros if there are none.
    pub fn means(&self) -> Vec<f64> {
        let samples = self.samples().max(1) as f64;
        (0..self.width).map(|at| self.sums.iter().map(|sum| sum[at]).sum::<f64>() / samples).collect()
    }

    /// Returns the standard errors of the means, or NaN if there are fewer than two batches.
    pub fn errors(&self) -> Vec<f64> {
        let full = &self.sums[..self.sums.len() - 1];
        let error = |at: usize| {
            let batches: Vec<f64> = full.iter().map(|sum| sum[at]).collect();
            error_of_batches(&batches, mean(&batches)) / self.length as f64
        };
        (0..self.width).map(error).collect()
    }

    /// Returns the ratio of the means of two quantities and its standard error. Both are NaN if the
    /// second mean is zero, and the error is NaN if there are fewer than two batches.
    pub fn ratio(&self, above: usize, below: usize) -> (f64, f64) {
        let total = |at: usize| self.sums.iter().map(|sum| sum[at]).sum::<f64>();
        let ratio = total(above) / total(below);
        if total(below) == 0.0 {
            return (f64::NAN, f64::NAN);
        }
        let full = &self.sums[..self.sums.len() - 1];
        let differences: Vec<f64> = full.iter().map(|sum| sum[above] - ratio * sum[below]).collect();
        let below = full.iter().map(|sum| sum[below]).sum::<f64>() / full.len() as f64;
        (ratio, error_of_batches(&differences, 0.0) / below.abs())
    }

    /// Returns the state as words for a checkpoint.
    pub fn words(&self) -> Vec<u64> {
        let sums = self.sums.iter().flatten().map(|sum| sum.to_bits());
        [self.width as u64, self.length, self.begun].into_iter().chain(sums).collect()
    }

    /// Restores the state from [`Self::words`]. Returns `None` if the words do not describe `width`
    /// quantities.
    pub fn from_words(words: &[u64], width: usize) -> Option<Self> {
        let (&[found, length, begun], sums) = words.split_first_chunk()?;
        let batches = sums.len().checked_div(width)?;
        let is_sound = found == width as u64
            && sums.len() == batches * width
            && (1..=2 * LEAST).contains(&batches)
            && begun < length
            && length < 1 << 62;
        let sums = sums.chunks_exact(width).map(|sum| sum.iter().copied().map(f64::from_bits).collect());
        is_sound.then(|| Self { width, length, begun, sums: sums.collect() })
    }
}

/// Returns the standard error of the mean of batches with the mean `about`, or NaN for fewer than
/// two.
fn error_of_batches(batches: &[f64], about: f64) -> f64 {
    /// Batches by which a correlation can be told from noise.
    const FEWEST: usize = 8;
    /// Beyond, what is seen of a correlation is no measure of it. Below zero it counts as well:
    /// noise is as often negative, and would make the errors too large by a seventh if only its
    /// other half did.
    const MEASURED: std::ops::RangeInclusive<f64> = -0.5..=0.9;
    let count = batches.len() as f64;
    if batches.len() < 2 {
        return f64::NAN;
    }
    let apart =
        |lag: usize| batches.iter().zip(&batches[lag..]).map(|(a, b)| (a - about) * (b - about)).sum::<f64>();
    let squares = apart(0);
    // The mean is computed from the batches themselves, which reduces their apparent correlation by
    // about 1 / n.
    let seen = if batches.len() < FEWEST || squares == 0.0 { 0.0 } else { apart(1) / squares + 1.0 / count };
    let remembered = seen.clamp(*MEASURED.start(), *MEASURED.end());
    (squares / (count - 1.0) / count * (1.0 + remembered) / (1.0 - remembered)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn means_and_errors_of_independent_numbers() {
        let mut batches = Batches::new(2);
        let count = 4000;
        for id in 0..count {
            let [x, ..] = random::normal_vector(3, id);
            batches.add([x, 5.0]);
        }
        assert_eq!(batches.samples(), count);
        let (means, errors) = (batches.means(), batches.errors());
        let expected = 1.0 / (count as f64).sqrt();
        assert!(means[0].abs() < 3.0 * expected && (means[1] - 5.0).abs() < 1e-12, "{means:?}");
        assert!((0.6..1.6).contains(&(errors[0] / expected)) && errors[1] == 0.0, "{errors:?}");
    }

    #[test]
    fn few_samples_have_a_mean_but_no_error() {
        let mut batches = Batches::new(1);
        assert_eq!(batches.means(), [0.0]);
        batches.add([3.0]);
        assert!(batches.means() == [3.0] && batches.errors()[0].is_nan());
        batches.add([5.0]);
        assert_eq!((batches.means(), batches.errors()), (vec![4.0], vec![1.0]));
    }

    #[test]
    fn the_error_of_a_ratio_is_that_of_what_varies() {
        let (mut batches, count) = (Batches::new(3), 4000);
        for id in 0..count {
            let [x, y, _] = random::normal_vector(5, id);
            // Weights that vary by a fifth, for values of mean 3 and standard deviation 1/2.
            let weight = 1.0 + 0.2 * y;
            batches.add([weight * (3.0 + 0.5 * x), weight, 0.0]);
        }
        let (ratio, error) = batches.ratio(0, 1);
        let expected = 0.5 * (1.04 / count as f64).sqrt();
        assert!((ratio - 3.0).abs() < 3.0 * expected, "{ratio}");
        assert!((0.6..1.6).contains(&(error / expected)), "{error}, expected {expected}");
        assert_eq!(batches.ratio(1, 1), (1.0, 0.0));
        assert!(batches.ratio(0, 2).0.is_nan() && batches.ratio(2, 1) == (0.0, 0.0));
    }

    #[test]
    fn words_come_back() {
        let mut batches = Batches::new(3);
        for step in 0..77 {
            batches.add([0.1, f64::from(step), -1.0]);
            let words = batches.words();
            assert_eq!(Batches::from_words(&words, 3), Some(batches.clone()));
            assert!(
                Batches::from_words(&words, 2).is_none() && Batches::from_words(&words[..4], 3).is_none()
            );
        }
    }
}
