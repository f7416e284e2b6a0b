//! Tags: every context has a number, and every message of it has the tag (number, channel).

use std::collections::BTreeSet;

use crate::{Channel, CommError, MAX_CHANNEL};

/// Tags of each kind per context.
const CHANNELS: i32 = MAX_CHANNEL as i32 + 1;
/// Tags for messages of exchanges and for the words of negotiations.
const TAGS_PER_CONTEXT: i32 = 2 * CHANNELS;

/// Number of a context; the same on all ranks because contexts are opened and ended collectively.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContextNumber(i32);

impl ContextNumber {
    /// Number for messages that belong to no exchange.
    pub(super) const WORLD: Self = Self(0);

    /// Returns the MPI tag of messages on a channel.
    pub(super) fn tag(self, channel: Channel) -> i32 {
        self.0 * TAGS_PER_CONTEXT + i32::from(channel)
    }

    /// Returns the MPI tag of words between the two ends of an edge while no exchange is under way;
    /// receives for the next exchange may be posted already.
    pub(super) fn word_tag(self, channel: Channel) -> i32 {
        self.tag(channel) + CHANNELS
    }
}

/// The numbers in use. A number is reused only after `finalise`, whose barrier ensures that no rank
/// still awaits messages with its tags; a context that is merely dropped keeps its number.
#[derive(Debug)]
pub(crate) struct Numbers {
    used: BTreeSet<ContextNumber>,
    largest: ContextNumber,
}

impl Numbers {
    /// Creates the set of all numbers whose tags the library can represent.
    pub(super) fn new(largest_tag: i32) -> Self {
        let largest = ContextNumber((largest_tag - (TAGS_PER_CONTEXT - 1)) / TAGS_PER_CONTEXT);
        Self { used: BTreeSet::from([ContextNumber::WORLD]), largest }
    }

    /// Takes the smallest free numbers, all or none.
    pub(super) fn take<const MANY: usize>(&mut self) -> Result<[ContextNumber; MANY], CommError> {
        let free = (0..=self.largest.0).map(ContextNumber).filter(|number| !self.used.contains(number));
        let numbers = free.take(MANY).collect::<Vec<_>>().try_into().map_err(|_| {
            CommError::Setup(format!("more than {} exchange contexts are open", self.largest.0))
        })?;
        self.used.extend(numbers);
        Ok(numbers)
    }

    /// Frees numbers.
    pub(super) fn release(&mut self, numbers: &[ContextNumber]) {
        self.used.retain(|number| !numbers.contains(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lower bound that the standard guarantees for `MPI_TAG_UB`.
    const SMALLEST_UPPER_BOUND: i32 = 32_767;

    #[test]
    fn tags_stay_below_the_upper_bound() {
        let mut numbers = Numbers::new(SMALLEST_UPPER_BOUND);
        let mut last = ContextNumber::WORLD;
        while let Ok([number]) = numbers.take() {
            last = number;
        }
        assert_eq!(last.word_tag(MAX_CHANNEL), SMALLEST_UPPER_BOUND);
        assert_eq!(Numbers::new(i32::MAX).largest.word_tag(MAX_CHANNEL), i32::MAX);
    }

    #[test]
    fn released_numbers_come_back() {
        let mut numbers = Numbers::new(SMALLEST_UPPER_BOUND);
        let [first, second] = numbers.take().unwrap();
        assert!(first.tag(MAX_CHANNEL) < first.word_tag(0) && first.word_tag(MAX_CHANNEL) < second.tag(0));
        numbers.release(&[first]);
        assert_eq!(numbers.take().unwrap(), [first]);
    }

    #[test]
    fn where_not_all_are_to_be_had_none_is_taken() {
        let mut numbers = Numbers { largest: ContextNumber(2), ..Numbers::new(SMALLEST_UPPER_BOUND) };
        let error = numbers.take::<3>().unwrap_err().to_string();
        assert_eq!(error, "communication could not be set up: more than 2 exchange contexts are open");
        assert_eq!(numbers.take().unwrap(), [ContextNumber(1), ContextNumber(2)]);
    }
}
