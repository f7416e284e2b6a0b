//! Time correlations of every particle over windows of equal length with evenly spaced starts.

use md_core::analysis::{Batches, Correlated};

/// Open windows, and the mean over complete ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Windows {
    /// Number of values per lag.
    width: usize,
    /// The last lag, in samples.
    length: u64,
    /// Samples between the starts of two windows.
    spacing: u64,
    samples: u64,
    /// Values of the open windows so far, lag by lag; the oldest window first.
    open: Vec<Vec<f64>>,
    /// Mean over complete windows: values, then their integrals.
    whole: Batches,
}

impl Windows {
    /// Creates windows of `length` samples, of which about `most` are open at a time, with `width`
    /// values per lag.
    pub fn new(length: u64, most: u64, width: usize) -> Self {
        let spacing = length.div_ceil(most.max(1)).max(1);
        let whole = Batches::new(2 * width * (length as usize + 1));
        Self { width, length, spacing, samples: 0, open: Vec::new(), whole }
    }

    /// Begins the next sample; returns whether a new window begins with it, which is then the last
    /// one. [`Self::record`] must follow.
    pub fn advance(&mut self) -> bool {
        let begins = self.samples.is_multiple_of(self.spacing);
        if begins {
            self.open.push(Vec::new());
        }
        self.samples += 1;
        begins
    }

    /// Adds the values of a sample, window by window; returns whether the oldest window is
    /// complete.
    pub fn record(&mut self, values: impl IntoIterator<Item = f64>) -> bool {
        let mut values = values.into_iter();
        self.open.iter_mut().for_each(|window| window.extend(values.by_ref().take(self.width)));
        let whole = (self.length as usize + 1) * self.width;
        let ends = self.open.first().is_some_and(|oldest| oldest.len() == whole);
        if ends {
            let values = self.open.remove(0);
            let integrals = integrals(&values, self.width);
            self.whole.add(values.into_iter().chain(integrals));
        }
        ends
    }

    /// Returns the number of open windows.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of complete windows.
    pub fn ended(&self) -> u64 {
        self.whole.samples()
    }

    /// Returns one of the values at all lags, averaged over the complete windows.
    pub fn function(&self, value: usize) -> Vec<Correlated> {
        let (means, errors) = (self.whole.means(), self.whole.errors());
        let integral = self.width * (self.length as usize + 1);
        let at = |lag: usize| {
            let place = lag * self.width + value;
            Correlated {
                value: means[place],
                error: errors[place],
                integral: means[integral + place],
                integral_error: errors[integral + place],
            }
        };
        (0..=self.length as usize).map(at).collect()
    }

    /// Returns the words for a checkpoint.
    pub fn words(&self) -> Vec<u64> {
        let Self { width, length, spacing, samples, open, whole } = self;
        let mut words = vec![*width as u64, *length, *spacing, *samples, open.len() as u64];
        words.extend(open.iter().map(|window| window.len() as u64));
        words.extend(open.iter().flatten().map(|value| value.to_bits()));
        words.extend(whole.words());
        words
    }

    /// Reads the words of [`Self::words`]; returns `None` if they do not fit the arguments of
    /// [`Self::new`].
    pub fn from_words(words: &[u64], length: u64, most: u64, width: usize) -> Option<Self> {
        let begin = Self::new(length, most, width);
        let (&[found, found_length, spacing, samples, count], words) = words.split_first_chunk()?;
        let is_same = found == width as u64 && found_length == length && spacing == begin.spacing;
        let whole = (length as usize + 1) * width;
        let count =
            usize::try_from(count).ok().filter(|&count| count as u64 <= length / spacing.max(1) + 2)?;
        let (lengths, mut rest) = words.split_at_checked(count)?;
        let mut open = Vec::new();
        for &own in lengths {
            let own = usize::try_from(own).ok().filter(|&own| own < whole)?;
            let (values, after) = rest.split_at_checked(own)?;
            open.push(values.iter().copied().map(f64::from_bits).collect());
            rest = after;
        }
        let whole = Batches::from_words(rest, 2 * whole)?;
        (is_same && samples < 1 << 62).then_some(Self { samples, open, whole, ..begin })
    }
}

/// Returns the cumulative integrals of each value by the trapezoidal rule, in units of the time
/// between two samples.
fn integrals(values: &[f64], width: usize) -> Vec<f64> {
    let mut sums = vec![0.0; width];
    let mut all = sums.clone();
    for place in width..values.len() {
        let sum = &mut sums[place % width];
        *sum += 0.5 * (values[place - width] + values[place]);
        all.push(*sum);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a clock: the values of each window are the time since its start, and twice that.
    fn clock(length: u64, most: u64, samples: u64) -> (Windows, Vec<u64>) {
        let (mut windows, mut then) = (Windows::new(length, most, 2), Vec::new());
        for now in 0..samples {
            if windows.advance() {
                then.push(now);
            }
            let values = |&then: &u64| [1.0, 2.0].map(|factor| factor * (now - then) as f64);
            if windows.record(then.iter().flat_map(values)) {
                then.remove(0);
            }
            assert_eq!(windows.open(), then.len());
        }
        (windows, then)
    }

    #[test]
    fn every_window_has_the_values_of_its_time() {
        for (length, most, samples) in [(10, 5, 200), (10, 100, 40), (7, 1, 30), (1, 3, 9)] {
            let (windows, then) = clock(length, most, samples);
            assert!(windows.ended() > 0 && then.len() as u64 <= most.min(length) + 2, "{then:?}");
            for (lag, [one, two]) in
                windows.function(0).into_iter().zip(windows.function(1)).map(<[_; 2]>::from).enumerate()
            {
                let lag = lag as f64;
                assert_eq!([one.value, one.integral], [lag, 0.5 * lag * lag]);
                assert_eq!([two.value, two.integral], [2.0 * lag, lag * lag]);
            }
        }
    }

    #[test]
    fn a_window_ends_with_its_last_sample() {
        assert_eq!([10, 11].map(|samples| clock(10, 1, samples).0.ended()), [0, 1]);
    }

    #[test]
    fn words_come_back() {
        for samples in [0, 1, 17, 50] {
            let (windows, _) = clock(10, 4, samples);
            let words = windows.words();
            assert_eq!(Windows::from_words(&words, 10, 4, 2), Some(windows));
            assert_eq!(Windows::from_words(&words, 11, 4, 2), None);
            assert_eq!(Windows::from_words(&words[..words.len() - 1], 10, 4, 2), None);
        }
    }
}
