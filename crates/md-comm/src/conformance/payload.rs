//! Payloads that reveal every mix-up: a header with the message's identity, then bytes keyed by the
//! same identity.

use super::random::Random;
use crate::{Channel, Rank};

/// Words of the header: salt, sender, receiver, channel, sequence, length, checksum of these.
const HEADER_WORDS: usize = 7;
const HEADER_NAMES: [&str; HEADER_WORDS] =
    ["context", "sender", "receiver", "channel", "sequence number", "length", "checksum"];
const WORD: usize = size_of::<u64>();

/// Identity of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) salt: u64,
    pub(super) sender: Rank,
    pub(super) receiver: Rank,
    pub(super) channel: Channel,
    pub(super) sequence: u64,
}

impl Stamp {
    pub(super) fn random(&self) -> Random {
        let Self { salt, sender, receiver, channel, sequence } = *self;
        Random::keyed(&[salt, sender as u64, receiver as u64, u64::from(channel), sequence])
    }

    fn header(&self, length: usize) -> [u64; HEADER_WORDS] {
        let Self { salt, sender, receiver, channel, sequence } = *self;
        let channel = u64::from(channel);
        let mut words = [salt, sender as u64, receiver as u64, channel, sequence, length as u64, 0];
        words[HEADER_WORDS - 1] = Random::keyed(&words).next();
        words
    }

    /// Returns the message's 8-byte words; the last one may be cut.
    fn words(&self, length: usize) -> impl Iterator<Item = [u8; WORD]> + use<> {
        let mut random = self.random();
        let body = std::iter::repeat_with(move || random.next());
        self.header(length).into_iter().chain(body).map(u64::to_le_bytes)
    }

    /// Writes the message.
    pub(super) fn fill(&self, bytes: &mut [u8]) {
        let words = self.words(bytes.len());
        for (chunk, word) in bytes.chunks_mut(WORD).zip(words) {
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// Returns what is wrong with an arrived message, if anything.
    pub(super) fn flaw(&self, length: usize, bytes: &[u8]) -> Option<String> {
        if bytes.len() != length {
            return Some(format!("{self:?} has {} bytes instead of {length}", bytes.len()));
        }
        let differs = |(chunk, word): (&[u8], [u8; WORD])| chunk != &word[..chunk.len()];
        let position = bytes.chunks(WORD).zip(self.words(length)).position(differs)?;
        let part = HEADER_NAMES.get(position).copied().unwrap_or("body");
        Some(format!("{self:?} of {length} bytes has a wrong {part} (word {position})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { salt: 1, sender: 2, receiver: 3, channel: 4, sequence: 5 };

    #[test]
    fn a_message_verifies_and_every_change_shows() {
        for length in [0, 1, 8, 55, 56, 57, 100, 1000] {
            let mut bytes = vec![0; length];
            STAMP.fill(&mut bytes);
            assert_eq!(STAMP.flaw(length, &bytes), None);
            for i in 0..length {
                bytes[i] ^= 1;
                assert!(STAMP.flaw(length, &bytes).is_some(), "byte {i} of {length}");
                bytes[i] ^= 1;
            }
        }
    }

    #[test]
    fn the_flaw_names_what_differs() {
        let mut bytes = [0; 80];
        Stamp { sequence: 4, ..STAMP }.fill(&mut bytes);
        assert!(STAMP.flaw(80, &bytes).unwrap().contains("sequence number"));
        assert!(STAMP.flaw(81, &bytes).unwrap().contains("80 bytes instead of 81"));
    }
}
