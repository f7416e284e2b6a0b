//! The division of the work and its history as words of a checkpoint, so that a continued run keeps
//! its division.

use md_core::CellGrid;
use md_core::partition::saved::from_words;

use super::Continuation;
use super::shared::MOST_STEPS;
use crate::balance::{BalanceReport, Balancing};
use crate::division::{Decomposition, Division};
use crate::error::EngineError;
use crate::setup::Setup;

/// Words of a balancing before its text: step, both imbalances, particles moved, both times, length
/// of the text.
const WORDS_BEFORE_TEXT: usize = 7;

/// Returns the kind of partition and the number of ranks.
fn owner(setup: &Setup) -> [u64; 2] {
    [setup.config.parallel.partition as u64, setup.ranks as u64]
}

/// Returns the words of a division: kind of partition, ranks, cells along x, y and z, and the words
/// of the partition.
pub(crate) fn words(setup: &Setup, Decomposition { grid, partition, .. }: &Decomposition) -> Vec<u64> {
    [&owner(setup)[..], &grid.counts().map(|count| count as u64), &partition.words(grid)].concat()
}

/// Returns the division with these words if it fits the setup's partition and ranks; with
/// [`Continuation::Anew`] it must also have the setup's numbers of cells.
///
/// # Errors
/// [`EngineError::Config`]: it does not fit although nothing has changed.
pub(crate) fn division(
    words: &[u64],
    setup: &Setup,
    continuation: Continuation,
) -> Result<Option<Division>, EngineError> {
    let divided = |(&[kind, ranks, cells @ ..], partition): (&[u64; 5], &[u64])| {
        let grid = match continuation {
            Continuation::Identical => grid(cells, setup),
            Continuation::Anew => Some(&setup.division.grid).filter(|grid| is_of(grid, cells)).cloned(),
        };
        let grid = grid.filter(|_| [kind, ranks] == owner(setup))?;
        Some(Division { partition: from_words(partition, &grid, setup.ranks)?, grid })
    };
    let found = words.split_first_chunk().and_then(divided);
    if found.is_none() && setup.ranks > 1 && continuation == Continuation::Identical {
        let what = format!(
            "the division of the work in the checkpoint is none of its box among {} ranks",
            setup.ranks
        );
        return Err(EngineError::Config(what));
    }
    Ok(found)
}

fn is_of(grid: &CellGrid, cells: [u64; 3]) -> bool {
    grid.counts().map(|count| count as u64) == cells
}

/// Returns the grid of the setup's box with these numbers of cells. They usually equal the setup's,
/// but with a barostat the cells are kept for a while when the box changes.
fn grid(cells: [u64; 3], setup: &Setup) -> Option<CellGrid> {
    let Setup { config, domain, division: Division { grid, .. }, ranks, .. } = setup;
    if is_of(grid, cells) {
        return Some(grid.clone());
    }
    let most = Division::most_cells(setup.atoms(), *ranks).max(grid.len() as u64);
    let all = cells.iter().try_fold(1_u64, |product, &count| product.checked_mul(count))?;
    let [x, y, z] = cells.map(|count| i32::try_from(count).ok());
    let grid = CellGrid::new(*domain, [x?, y?, z?]);
    let fits = (1..=most).contains(&all) && setup.check_cells(&grid, config.forces.cutoff()).is_ok();
    fits.then_some(grid)
}

impl BalanceReport {
    /// Returns the words for a checkpoint; none before the first check. The time spent is left out:
    /// like the times of all phases it is counted anew in a continued run.
    pub(super) fn words(&self) -> Vec<u64> {
        let Self { checks, imbalance_first, imbalance_last, balancings, .. } = self;
        if *checks == 0 {
            return Vec::new();
        }
        let imbalances = [imbalance_first, imbalance_last].map(|it| it.unwrap_or_default().to_bits());
        let words = [*checks].into_iter().chain(imbalances);
        words.chain(balancings.iter().flat_map(Balancing::words)).collect()
    }

    /// Returns the report with these words, or `None` if they are invalid.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        if words.is_empty() {
            return Some(Self::default());
        }
        let (&[checks, first, last], mut rest) = words.split_first_chunk()?;
        let [first, last] = [first, last].map(f64::from_bits);
        let mut balancings = Vec::new();
        while !rest.is_empty() {
            let (balancing, others) = Balancing::from_words(rest)?;
            balancings.push(balancing);
            rest = others;
        }
        let moved = |sum: u64, balancing: &Balancing| sum.checked_add(balancing.particles_moved);
        balancings.iter().try_fold(0, moved)?;
        let is_sound = checks <= MOST_STEPS && [first, last].iter().all(|number| number.is_finite());
        let [imbalance_first, imbalance_last] = [first, last].map(|number| (number > 0.0).then_some(number));
        is_sound.then_some(Self { checks, imbalance_first, imbalance_last, spent_s: 0.0, balancings })
    }
}

impl Balancing {
    fn words(&self) -> Vec<u64> {
        let Self { step, imbalance_before, imbalance_after, particles_moved, spent_s, won_s, division } =
            self;
        let [before, after, spent, won] =
            [imbalance_before, imbalance_after, spent_s, won_s].map(|it| it.to_bits());
        let mut words = vec![*step, before, after, *particles_moved, spent, won, division.len() as u64];
        let letters =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << u8::BITS | u64::from(byte));
        words.extend(division.as_bytes().chunks(size_of::<u64>()).map(letters));
        words
    }

    /// Returns the balancing and the words after it.
    fn from_words(words: &[u64]) -> Option<(Self, &[u64])> {
        let (&[step, before, after, particles_moved, spent, won, length], rest) =
            words.split_first_chunk::<WORDS_BEFORE_TEXT>()?;
        let numbers = [before, after, spent, won].map(f64::from_bits);
        let [imbalance_before, imbalance_after, spent_s, won_s] = numbers;
        let length = usize::try_from(length).ok()?;
        let (letters, rest) = rest.split_at_checked(length.div_ceil(size_of::<u64>()))?;
        let division: String =
            letters.iter().flat_map(|word| word.to_le_bytes()).map(char::from).take(length).collect();
        let is_told = division.chars().all(|letter| letter.is_ascii_digit() || "+:;".contains(letter));
        let is_sound = is_told && step <= MOST_STEPS && numbers.iter().all(|number| number.is_finite());
        let balancing =
            Self { step, imbalance_before, imbalance_after, particles_moved, spent_s, won_s, division };
        is_sound.then_some((balancing, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> BalanceReport {
        let balancing = |step, division: &str| Balancing {
            step,
            imbalance_before: 1.5,
            imbalance_after: 1.01,
            particles_moved: 70,
            spent_s: 0.25,
            won_s: -0.5,
            division: division.to_owned(),
        };
        BalanceReport {
            checks: 9,
            imbalance_first: Some(1.5),
            imbalance_last: Some(1.02),
            spent_s: 0.0,
            balancings: vec![balancing(10, ""), balancing(20, "12+3:0;17+1:2"), balancing(70, "1+2:134")],
        }
    }

    #[test]
    fn reports_are_read_back() {
        for report in
            [report(), BalanceReport { balancings: Vec::new(), ..report() }, BalanceReport::default()]
        {
            assert_eq!(BalanceReport::from_words(&report.words()), Some(report));
        }
    }

    #[test]
    fn words_that_are_no_report() {
        let words = report().words();
        let read = |words: &[u64]| BalanceReport::from_words(words);
        assert!((1..words.len()).filter(|&length| read(&words[..length]).is_some()).eq([3, 10, 19]));
        let with = |place: usize, word: u64| {
            let mut words = words.clone();
            words[place] = word;
            read(&words)
        };
        let (nan, newline) = (f64::NAN.to_bits(), u64::from(b'\n'));
        for (place, word) in
            [(0, u64::MAX), (1, nan), (3, u64::MAX), (4, nan), (6, u64::MAX), (9, u64::MAX), (17, newline)]
        {
            assert_eq!(with(place, word), None, "{place}");
        }
        assert_eq!(with(0, 10).map(|report| report.checks), Some(10));
    }
}
