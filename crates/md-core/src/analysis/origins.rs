//! Time correlations with several origins, in bounded memory for any length of a run.
//!
//! New origins begin at a fixed interval of samples. When the largest number of origins is reached,
//! every second one is dropped and the interval is doubled. When there are [`MOST_LAGS`] samples,
//! every second sample is dropped, and later ones are taken half as often. Origins are therefore
//! always spread evenly over the run, the first sample is always an origin, and nothing depends on
//! the length of the run.

use std::ops::RangeInclusive;

/// Number of samples after which every second one is dropped; the largest number of rows of a
/// table.
pub const MOST_LAGS: u64 = 2048;

/// Origins and the series of values since each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Origins {
    /// Largest number of origins.
    most: usize,
    /// Values per origin and sample.
    width: usize,
    /// Number of calls of [`Self::advance`].
    calls: u64,
    /// Calls per sample.
    thinning: u64,
    /// Samples between two origins.
    spacing: u64,
    /// The samples at which the origins began, in ascending order.
    begun: Vec<u64>,
    /// Values since each origin, sample by sample.
    series: Vec<Vec<f64>>,
}

/// Instructions for the current call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// Origins to be dropped, by their indices in descending order.
    pub dropped: Vec<usize>,
    /// Whether this call takes a sample.
    pub is_sample: bool,
    /// Whether the sample is a new origin, which becomes the last one.
    pub begins: bool,
}

/// Mean and standard error over the origins of one value at one lag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtLag {
    /// Mean.
    pub mean: f64,
    /// Standard error, which takes the overlap of stretches into account. NaN if they correspond to
    /// fewer than two independent ones.
    pub error: f64,
    /// Number of origins that have reached this lag.
    pub origins: usize,
}

impl Origins {
    /// Creates a series of at most `most` origins with `width` values per sample each.
    pub fn new(most: usize, width: usize) -> Self {
        let (begun, series) = (Vec::new(), Vec::new());
        Self { most: most.max(1), width, calls: 0, thinning: 1, spacing: 1, begun, series }
    }

    /// Begins the next call. If it takes a sample, [`Self::record`] must follow.
    pub fn advance(&mut self) -> Look {
        let mut look = Look { dropped: Vec::new(), is_sample: false, begins: false };
        let call = self.calls;
        self.calls += 1;
        if !call.is_multiple_of(self.thinning) {
            return look;
        }
        let mut sample = call / self.thinning;
        if sample == MOST_LAGS {
            if !self.spacing.is_multiple_of(2) {
                look.dropped = self.thin_origins();
            }
            self.thin_samples();
            sample /= 2;
        }
        if sample.is_multiple_of(self.spacing) && self.begun.len() == self.most {
            let dropped = self.thin_origins();
            // The first indices refer to the origins before any of this call are dropped.
            look.dropped.extend(dropped);
        }
        look.is_sample = true;
        look.begins = sample.is_multiple_of(self.spacing) && self.begun.len() < self.most;
        if look.begins {
            self.begun.push(sample);
            self.series.push(Vec::new());
        }
        look
    }

    /// Adds the values of a sample: those of each origin in turn.
    pub fn record(&mut self, values: impl IntoIterator<Item = f64>) {
        let mut values = values.into_iter();
        self.series.iter_mut().for_each(|series| series.extend(values.by_ref().take(self.width)));
    }

    /// Keeps every second origin and returns the indices of the others.
    fn thin_origins(&mut self) -> Vec<usize> {
        self.spacing *= 2;
        let mut dropped = Vec::new();
        for place in (0..self.begun.len()).rev() {
            if !self.begun[place].is_multiple_of(self.spacing) {
                self.begun.remove(place);
                self.series.remove(place);
                dropped.push(place);
            }
        }
        dropped
    }

    /// Keeps every second sample, which includes all origins.
    fn thin_samples(&mut self) {
        self.thinning *= 2;
        self.spacing /= 2;
        self.begun.iter_mut().for_each(|sample| *sample /= 2);
        for series in &mut self.series {
            let kept = series.chunks_exact(self.width).step_by(2);
            *series = kept.flatten().copied().collect();
        }
    }

    /// Returns the number of origins.
    pub fn count(&self) -> usize {
        self.begun.len()
    }

    /// Returns the number of calls between two samples.
    pub fn thinning(&self) -> u64 {
        self.thinning
    }

    /// Returns the number of lags, including 0.
    pub fn lags(&self) -> usize {
        self.series.first().map_or(0, |series| series.len() / self.width)
    }

    /// Returns one of the values at a lag, averaged over all origins that have reached it.
    pub fn at(&self, lag: usize, value: usize) -> AtLag {
        let reached =
            |(begun, series): (&u64, &Vec<f64>)| Some((*begun, *series.get(lag * self.width + value)?));
        let (begun, found): (Vec<u64>, Vec<f64>) =
            self.begun.iter().zip(&self.series).filter_map(reached).unzip();
        AtLag { origins: found.len(), mean: mean(&found), error: error_of_stretches(&begun, &found, lag) }
    }

    /// Returns the range of lags for fitting a straight line, and its slope per lag for every
    /// origin that has reached the end of the range. The stretches are blocks that do not overlap
    /// if these are long enough, and otherwise only that of the first origin. The first fifth of
    /// the lags is left out. Returns `None` if there are too few samples.
    pub fn slopes(&self, value: usize) -> Option<(RangeInclusive<usize>, Vec<f64>)> {
        const LEAST: usize = 5;
        let spacing = self.spacing as usize;
        let are_blocks = spacing >= LEAST && self.lags() > spacing && self.most > 1;
        let last = if are_blocks { spacing } else { self.lags().checked_sub(1)? };
        if last < LEAST {
            return None;
        }
        let lags = last.div_ceil(5)..=last;
        let complete = self.series.iter().filter(|series| series.len() / self.width > last);
        let slope = |series: &Vec<f64>| {
            let points = lags.clone().map(|lag| (lag as f64, series[lag * self.width + value]));
            slope(&points.collect::<Vec<_>>())
        };
        let slopes = complete.take(if are_blocks { usize::MAX } else { 1 }).map(slope).collect();
        Some((lags, slopes))
    }

    /// Returns the state as words for a checkpoint.
    pub fn words(&self) -> Vec<u64> {
        let Self { most, width, calls, thinning, spacing, begun, series } = self;
        let mut words = vec![*most as u64, *width as u64, *calls, *thinning, *spacing, begun.len() as u64];
        words.extend(begun);
        words.extend(series.iter().map(|series| series.len() as u64));
        words.extend(series.iter().flatten().map(|value| value.to_bits()));
        words
    }

    /// Restores the state from [`Self::words`]. Returns `None` if the words do not describe `most`
    /// origins and `width` values.
    pub fn from_words(words: &[u64], most: usize, width: usize) -> Option<Self> {
        let (&[found, found_width, calls, thinning, spacing, count], words) = words.split_first_chunk()?;
        let count = usize::try_from(count).ok().filter(|&count| count <= most)?;
        let is_sound = found == most as u64
            && found_width == width as u64
            && calls < 1 << 62
            && (1..1 << 62).contains(&thinning)
            && (1..1 << 62).contains(&spacing);
        let (begun, words) = words.split_at_checked(count)?;
        let (lengths, mut values) = words.split_at_checked(count)?;
        let mut series = Vec::new();
        for &length in lengths {
            let (own, rest) = values.split_at_checked(usize::try_from(length).ok()?)?;
            series.push(own.iter().copied().map(f64::from_bits).collect::<Vec<_>>());
            values = rest;
        }
        let is_sound = is_sound
            && values.is_empty()
            && series
                .iter()
                .all(|series| series.len().is_multiple_of(width) && series.len() <= series_most(width));
        is_sound.then(|| Self { most, width, calls, thinning, spacing, begun: begun.to_vec(), series })
    }
}

fn series_most(width: usize) -> usize {
    width.saturating_mul(MOST_LAGS as usize)
}

/// Returns the standard error of the mean of squared displacements over stretches of length
/// `length`, which began at the samples `begun`.
///
/// Two stretches that share the fraction f of their length have the correlation f^2, like squares
/// of sums of independent steps. With the correlations c of all pairs, n stretches of variance s^2
/// have a mean of variance s^2 sum(c) / n^2, and their spread gives s^2 (1 - the mean of c over
/// different pairs).
fn error_of_stretches(begun: &[u64], values: &[f64], length: usize) -> f64 {
    /// Smallest number of independent stretches to which overlapping ones must correspond; fewer
    /// give no spread.
    const FEWEST: f64 = 2.0;
    let count = values.len() as f64;
    let common = |a: &u64, b: &u64| (1.0 - a.abs_diff(*b) as f64 / length.max(1) as f64).max(0.0).powi(2);
    let all: f64 = begun.iter().map(|a| begun.iter().map(|b| common(a, b)).sum::<f64>()).sum();
    if values.len() < 2 || count * count / all < FEWEST {
        return f64::NAN;
    }
    let between = (all - count) / (count * (count - 1.0));
    error_of_mean(values) * (all / count / (1.0 - between)).sqrt()
}

/// Returns the mean of some numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the standard error of the mean of independent numbers, or NaN for fewer than two.
pub fn error_of_mean(values: &[f64]) -> f64 {
    let (mean, count) = (mean(values), values.len() as f64);
    if values.len() < 2 {
        return f64::NAN;
    }
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0) / count).sqrt()
}

/// Returns the slope of the straight line fitted by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x).powi(2))
    });
    above / below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// Checks walks of independent steps: the error of each agrees with the spread of all of them,
    /// whether or not their stretches overlap.
    #[test]
    fn errors_hold_where_stretches_overlap() {
        const WALKS: u64 = 400;
        const STEPS: u64 = 400;
        /// Number of particles of a walk, over which squares are averaged.
        const PARTICLES: usize = 8;
        let walk = |seed: u64| {
            let mut origins = Origins::new(40, 1);
            let (mut place, mut then) = ([0.0; PARTICLES], Vec::<[f64; PARTICLES]>::new());
            for step in 0..STEPS {
                let look = origins.advance();
                for &place in &look.dropped {
                    then.remove(place);
                }
                if look.begins {
                    then.push(place);
                }
                let square = |then: &[f64; PARTICLES]| {
                    place.iter().zip(then).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / PARTICLES as f64
                };
                origins.record(then.iter().map(square));
                let id = |particle: usize| (seed * STEPS + step) * PARTICLES as u64 + particle as u64;
                for (particle, place) in place.iter_mut().enumerate() {
                    *place += random::normal_vector(3, id(particle))[0];
                }
            }
            origins
        };
        let walks: Vec<Origins> = (0..WALKS).map(walk).collect();
        for lag in [5, 20, 60, 120] {
            let found: Vec<AtLag> = walks.iter().map(|walk| walk.at(lag, 0)).collect();
            let means: Vec<f64> = found.iter().map(|it| it.mean).collect();
            let spread = error_of_mean(&means) * (WALKS as f64).sqrt();
            let stated = (found.iter().map(|it| it.error.powi(2)).sum::<f64>() / WALKS as f64).sqrt();
            let ratio = spread / stated;
            assert!((0.85..1.15).contains(&ratio), "lag {lag}: {ratio}, {} origins", found[0].origins);
        }
        assert!(walks[0].at(350, 0).error.is_nan(), "one stretch and a half");
    }

    /// Records a clock: the value of each origin is the time since it began.
    fn clock(most: usize, calls: u64) -> (Origins, Vec<u64>) {
        let (mut origins, mut then) = (Origins::new(most, 1), Vec::new());
        for now in 0..calls {
            let look = origins.advance();
            for place in look.dropped {
                then.remove(place);
            }
            if look.begins {
                then.push(now);
            }
            if look.is_sample {
                origins.record(then.iter().map(|&then| (now - then) as f64));
            }
            assert_eq!(origins.count(), then.len());
        }
        (origins, then)
    }

    #[test]
    fn origins_are_spread_over_the_run() {
        for (most, calls, expected) in [
            (1, 100, vec![0]),
            (4, 4, vec![0, 1, 2, 3]),
            (4, 5, vec![0, 2, 4]),
            (4, 17, vec![0, 8, 16]),
            (5, 6, vec![0, 2, 4]),
            (10, 10_000, vec![0, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192, 9216]),
        ] {
            assert_eq!(clock(most, calls).1, expected, "{most} {calls}");
        }
    }

    #[test]
    fn every_lag_has_the_values_of_its_time() {
        for (most, calls) in [(1, 50), (10, 777), (3, 2049), (10, 10_000), (100, 5000)] {
            let (origins, _) = clock(most, calls);
            assert!(
                origins.lags() as u64 <= MOST_LAGS
                    && origins.lags() as u64 == (calls - 1) / origins.thinning() + 1
            );
            for lag in 0..origins.lags() {
                let found = origins.at(lag, 0);
                assert_eq!(found.mean, (lag as u64 * origins.thinning()) as f64, "{most} {calls} {lag}");
                assert!(found.origins > 1 || (found.origins == 1 && found.error.is_nan()));
            }
        }
    }

    #[test]
    fn slopes_are_of_blocks_or_of_the_first_origin() {
        let (lags, slopes) = clock(10, 1000).0.slopes(0).unwrap();
        assert_eq!(lags, 26..=128);
        assert!(slopes.len() == 7 && slopes.iter().all(|slope| (slope - 1.0).abs() < 1e-12), "{slopes:?}");
        let (lags, slopes) = clock(1, 11).0.slopes(0).unwrap();
        assert!(lags == (2..=10) && slopes.len() == 1);
        assert_eq!(clock(10, 5).0.slopes(0), None);
        assert_eq!(Origins::new(10, 1).slopes(0), None);
    }

    #[test]
    fn words_come_back() {
        for (most, calls) in [(3, 0), (1, 50), (10, 3000)] {
            let (origins, _) = clock(most, calls);
            let words = origins.words();
            assert_eq!(Origins::from_words(&words, most, 1), Some(origins));
            assert_eq!(Origins::from_words(&words, most + 1, 1), None);
            assert_eq!(Origins::from_words(&words[..words.len() - 1], most, 1), None);
        }
    }
}
