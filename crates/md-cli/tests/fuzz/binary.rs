//! Changes and checks that all binary files share.

use md_cli::commands::inspect::inspect;
use md_cli::error::RunError;
use md_cli::input::{InputError, Problem};
use proptest::prelude::*;
use proptest::sample::select;

use crate::case::{Case, check_refusal, is_harmless, refused};
use crate::scenarios::damaged;

/// Four-byte words that represent numbers of either kind.
const WORDS: [u32; 22] = [
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    9,
    10,
    11,
    72,
    1001,
    1995,
    2023,
    0x4106_6666,
    0x447a_0000,
    0x7f80_0000,
    0x7fc0_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// A change of a file. Places wrap around.
#[derive(Debug, Clone)]
pub(crate) enum ByteChange {
    /// A big-endian word among the first ones is replaced: place, number of these, new word.
    Word(usize, usize, u32),
    /// The file ends here.
    Cut(usize),
    /// A bit is flipped.
    Bit(usize, u8),
    /// A piece is inserted or removed.
    Damage(usize, usize, bool),
}

/// Returns changes of bytes, most of them within the first words of a file.
pub(crate) fn byte_change(first_words: usize) -> impl Strategy<Value = ByteChange> {
    let (at, word) = (any::<usize>, || select(WORDS.to_vec()));
    prop_oneof![
        3 => (at(), word()).prop_map(move |(place, word)| ByteChange::Word(place, first_words, word)),
        1 => (at(), word()).prop_map(|(place, word)| ByteChange::Word(place, usize::MAX, word)),
        1 => at().prop_map(ByteChange::Cut),
        2 => (at(), 0..8_u8).prop_map(|(place, bit)| ByteChange::Bit(place, bit)),
        1 => (at(), at(), any::<bool>()).prop_map(|(place, piece, put)| ByteChange::Damage(place, piece, put)),
    ]
}

impl ByteChange {
    pub(crate) fn apply(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Word(place, first_words, word) => {
                let at = place % (bytes.len() / 4).min(first_words).max(1) * 4;
                bytes.get_mut(at..at + 4).into_iter().for_each(|it| it.copy_from_slice(&word.to_be_bytes()));
            }
            Self::Bit(place, bit) if !bytes.is_empty() => {
                let at = place % bytes.len();
                bytes[at] ^= 1 << bit;
            }
            Self::Bit(..) => (),
            Self::Cut(place) => bytes.truncate(place % (bytes.len() + 1)),
            Self::Damage(place, piece, put) => {
                *bytes = damaged(std::mem::take(bytes), &[(place, piece, put)]);
            }
        }
    }
}

/// Runs an accepted file of this extension, and checks that `inspect` describes its content or its
/// fault.
pub(crate) fn check_binary(case: &Case, ending: &str) -> Result<(), String> {
    case.check_with(check_binary_refusal)?;
    case.with_files(|scenario| {
        let path = scenario.with_file_name("fuzz").with_extension(ending);
        std::fs::write(&path, &case.particles).map_err(|error| error.to_string())?;
        match inspect(&path) {
            Ok(text) if is_harmless(&text) => Ok(()),
            Ok(text) => Err(format!("control characters in {text:?}")),
            Err(error) => check_binary_refusal(&error),
        }
    })
}

/// Checks that a refusal names the faulty part, byte or number, as there are no lines.
fn check_binary_refusal(error: &RunError) -> Result<(), String> {
    let Some(InputError { problem, .. }) = error.find() else { return check_refusal(error) };
    let says_what = |letter: char| letter == '`' || letter.is_ascii_digit();
    refused(error, *problem == Problem::Empty || problem.to_string().contains(says_what))
}
