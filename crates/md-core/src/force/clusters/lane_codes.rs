//! Codes of one byte for the sets of lanes of a list's entries, so that an entry is a word of four
//! bytes.
//!
//! ```text
//! up to 8 lanes      the code is the set, and the kernel reads no table
//! 16 lanes           codes 0 to 15: one lane each; the others in the order in which they occur:
//!                    all lanes, and those of clusters in which a cell pair starts or ends
//! ```
//!
//! A list of a melt has 20 to 80 sets. If a list has more than there are codes, an entry with
//! another set becomes several words, one per lane. The forces are the same to the last bit, because
//! only masked zeros are added.

use super::entry::{Entry, Word};

/// Number of codes.
pub(super) const CODES: usize = 1 << u8::BITS;
/// Largest number of lanes for which the code is the set.
pub(super) const MOST_DIRECT_LANES: usize = u8::BITS as usize;
/// Number of codes for one lane.
const SINGLE: usize = u16::BITS as usize;
/// Stands for a set without a code.
const NONE: u8 = u8::MAX;

/// The sets of lanes by code.
pub(super) type LanesByCode = [u16; CODES];

/// The sets of lanes of a list and their codes.
#[derive(Debug, Clone)]
pub(super) struct LaneCodes {
    lanes: LanesByCode,
    /// Number of codes in use.
    used: usize,
    /// Code by lanes; empty if the code is the set, and until the first set is added.
    codes: Vec<u8>,
    is_direct: bool,
}

impl Default for LaneCodes {
    fn default() -> Self {
        Self { lanes: [0; CODES], used: 0, codes: Vec::new(), is_direct: false }
    }
}

impl LaneCodes {
    /// Forgets all sets, and prepares for entries of `lanes` lanes.
    pub(super) fn clear(&mut self, lanes: usize) {
        self.is_direct = lanes <= MOST_DIRECT_LANES;
        if self.is_direct {
            *self =
                Self { lanes: std::array::from_fn(|code| code as u16), is_direct: true, ..Self::default() };
            return;
        }
        for code in 0..self.used {
            self.codes[usize::from(self.lanes[code])] = NONE;
        }
        self.used = 0;
    }

    /// Returns the lanes by code.
    pub(super) fn lanes(&self) -> &LanesByCode {
        &self.lanes
    }

    /// Appends entries, each as one word, or as one per lane if its set has no code.
    #[inline(always)]
    pub(super) fn append(&mut self, entries: &[Entry], words: &mut Vec<Word>) {
        if self.is_direct {
            words.extend(entries.iter().map(|entry| Word::entry(entry.cluster(), entry.lanes() as u8)));
            return;
        }
        // Without a branch for each entry, because new sets are rare.
        let (start, mut are_known) = (words.len(), true);
        words.extend(entries.iter().map(|entry| {
            let code = self.codes.get(usize::from(entry.lanes())).copied().unwrap_or(NONE);
            are_known &= code != NONE;
            Word::entry(entry.cluster(), code)
        }));
        if !are_known {
            words.truncate(start);
            self.append_new(entries, words);
        }
    }

    /// Returns an entry's word with the lanes of another entry added; `None` if that set has no
    /// code.
    pub(super) fn joined(&mut self, word: Word, entry: Entry) -> Option<Word> {
        let joined = entry.with(self.lanes[usize::from(word.code())]);
        if self.is_direct {
            return Some(Word::entry(joined.cluster(), joined.lanes() as u8));
        }
        let code = self.code_or_new(joined.lanes())?;
        Some(Word::entry(joined.cluster(), code))
    }

    #[cold]
    fn append_new(&mut self, entries: &[Entry], words: &mut Vec<Word>) {
        self.codes.resize(1 << u16::BITS, NONE);
        if self.used == 0 {
            (0..SINGLE).for_each(|lane| self.add(1 << lane));
        }
        for entry in entries {
            let word = |code| Word::entry(entry.cluster(), code);
            match self.code_or_new(entry.lanes()) {
                Some(code) => words.push(word(code)),
                None => {
                    let lanes = (0..SINGLE).map(|lane| 1 << lane).filter(|lane| entry.lanes() & lane != 0);
                    words.extend(lanes.filter_map(|lane| self.code(lane)).map(word));
                }
            }
        }
    }

    /// Returns the code of a set, which gets one if any is left.
    fn code_or_new(&mut self, lanes: u16) -> Option<u8> {
        if self.code(lanes).is_none() && self.used < usize::from(NONE) {
            self.add(lanes);
        }
        self.code(lanes)
    }

    fn code(&self, lanes: u16) -> Option<u8> {
        Some(self.codes[usize::from(lanes)]).filter(|&code| code != NONE)
    }

    fn add(&mut self, lanes: u16) {
        self.codes[usize::from(lanes)] = self.used as u8;
        self.lanes[self.used] = lanes;
        self.used += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns entries of the clusters 0, 1, ... with these lanes.
    fn entries(lanes: &[u16]) -> Vec<Entry> {
        lanes.iter().enumerate().map(|(cluster, &lanes)| Entry::new(cluster, lanes)).collect()
    }

    /// Returns the lanes of each cluster's words, joined.
    fn joined(words: &[Word], codes: &LaneCodes) -> Vec<u16> {
        let mut lanes = Vec::new();
        for entry in words.iter().map(|word| word.decoded(codes.lanes())) {
            lanes.resize(lanes.len().max(entry.cluster() + 1), 0);
            assert_eq!(lanes[entry.cluster()] & entry.lanes(), 0, "a lane twice");
            lanes[entry.cluster()] |= entry.lanes();
        }
        lanes
    }

    #[test]
    fn sets_without_a_code_become_one_word_per_lane() {
        let mut codes = LaneCodes::default();
        for first in [1, 40_000] {
            codes.clear(16);
            let sets: Vec<u16> = (first..first + 500).collect();
            let mut words = Vec::new();
            codes.append(&entries(&sets), &mut words);
            assert_eq!(joined(&words, &codes), sets);
            assert_eq!(codes.used, CODES - 1);
            assert!(words.len() > sets.len());
        }
    }

    #[test]
    fn few_sets_have_one_word_each() {
        let mut codes = LaneCodes::default();
        for _ in 0..3 {
            codes.clear(16);
            let (sets, mut words) = ([u16::MAX, 0x7777, 1, 0x8000, u16::MAX, 0x7777], Vec::new());
            codes.append(&entries(&sets), &mut words);
            assert_eq!((joined(&words, &codes), words.len()), (sets.to_vec(), sets.len()));
            assert_eq!(codes.used, SINGLE + 2);
        }
    }

    #[test]
    fn the_code_of_few_lanes_is_the_set() {
        let mut codes = LaneCodes::default();
        codes.append(&entries(&[u16::MAX]), &mut Vec::new());
        codes.clear(8);
        let (sets, mut words) = ((1..=u16::from(u8::MAX)).collect::<Vec<_>>(), Vec::new());
        codes.append(&entries(&sets), &mut words);
        assert_eq!(joined(&words, &codes), sets);
        assert!(words.iter().map(|word| u16::from(word.code())).eq(sets));
    }
}
