//! A gzip file that grows by whole records and is complete after each.
//!
//! It is one member, because OVITO reads no more than the first: blocks of deflate, each record's without reference to earlier ones, then an empty
//! last block, the checksum of all text and its length. The next record takes the place of that end. The checksum is continued from there, so a
//! run that goes on needs no other memory. (RFC 1951, RFC 1952.)

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::write::DeflateEncoder;

/// Magic number, method deflate, no flags, no time, nothing about the compression, Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// A last block without content.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Bytes of the end: that block, checksum, length.
const END: usize = LAST_BLOCK.len() + 8;

/// How a file ends at present.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gzip {
    /// Nothing before the first record.
    end: Vec<u8>,
}

impl Gzip {
    /// Of a file that goes on.
    ///
    /// # Errors
    /// What the system says; a file that is none of this kind.
    pub(super) fn go_on(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        if bytes == 0 {
            return Ok(Self::default());
        }
        let mut end = vec![0; END];
        let at = bytes.checked_sub(END as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
        file.read_exact_at(&mut end, at)?;
        match end.starts_with(&LAST_BLOCK) {
            true => Ok(Self { end }),
            false => Err(io::Error::other("its end is not that of a compressed trajectory")),
        }
    }

    /// What the file ends with, and what is to stand in its place.
    pub(super) fn record(&mut self, text: &[u8]) -> io::Result<(Vec<u8>, Vec<u8>)> {
        let mut bytes = if self.end.is_empty() { HEAD.to_vec() } else { Vec::new() };
        // Most of a frame are digits of which nobody can foretell the next: higher levels take longer and find nothing.
        let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text)?;
        // Up to a whole byte, without the last block.
        encoder.flush()?;
        bytes.append(encoder.get_mut());
        let [checksum, length] = self.so_far();
        let mut hasher = crc32fast::Hasher::new_with_initial(checksum);
        hasher.update(text);
        let end = [
            &LAST_BLOCK[..],
            &hasher.finalize().to_le_bytes(),
            // Counted modulo 2^32.
            &length.wrapping_add(text.len() as u32).to_le_bytes(),
        ]
        .concat();
        bytes.extend_from_slice(&end);
        Ok((std::mem::replace(&mut self.end, end), bytes))
    }

    /// Checksum and length of the text so far.
    fn so_far(&self) -> [u32; 2] {
        let words = self.end.get(LAST_BLOCK.len()..).map(|words| words.as_chunks::<4>().0);
        match words {
            Some([checksum, length]) => [checksum, length].map(|word| u32::from_le_bytes(*word)),
            _ => [0; 2],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    /// What a reader of a single member finds.
    fn text(bytes: &[u8]) -> String {
        let (mut text, mut decoder) = (String::new(), GzDecoder::new(bytes));
        decoder.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_file_is_complete_after_every_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.gz");
        let (mut gzip, mut file, mut expected) = (Gzip::default(), Vec::new(), String::new());
        for record in ["first\n".repeat(1000), "second\n".to_owned(), String::new(), "last\n".repeat(50_000)]
        {
            let (end, bytes) = gzip.record(record.as_bytes()).unwrap();
            assert!(file.ends_with(&end));
            file.truncate(file.len() - end.len());
            file.extend(bytes);
            expected += &record;
            assert!(text(&file) == expected);
            std::fs::write(&path, &file).unwrap();
            assert_eq!(Gzip::go_on(&path).unwrap(), gzip, "everything is in its end");
        }
        assert!(file.len() < expected.len() / 10);
        std::fs::write(&path, "no such file").unwrap();
        assert!(Gzip::go_on(&path).is_err());
    }
}
