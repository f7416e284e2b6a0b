//! A gzip file that grows by whole records and is complete after each.
//!
//! It is one member, because OVITO reads no more than the first: blocks of deflate, each record's without reference to earlier ones, then an empty
//! last block, the checksum of all text and its length. The next record takes the place of that end, which checkpoints keep. The checksum is continued
//! from there, so a run that goes on needs no other memory. (RFC 1951, RFC 1952.)

use std::io;

use flate2::{Compress, Compression, FlushCompress};

/// Magic number, method deflate, no flags, no time, nothing about the compression, Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// A last block without content.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Bytes of the end: that block, checksum, length.
pub(super) const END: usize = LAST_BLOCK.len() + 8;

/// A text as what is to stand in the place of a file's end, which is nothing before the first, with a new end.
pub(super) fn record(end: &[u8], text: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = if end.is_empty() { HEAD.to_vec() } else { Vec::new() };
    append_blocks(text, &mut bytes)?;
    let [checksum, length] = so_far(end);
    let mut hasher = crc32fast::Hasher::new_with_initial(checksum);
    hasher.update(text);
    bytes.extend(LAST_BLOCK);
    bytes.extend(hasher.finalize().to_le_bytes());
    // Counted modulo 2^32.
    bytes.extend(length.wrapping_add(text.len() as u32).to_le_bytes());
    Ok(bytes)
}

/// Checksum and length of the text before such an end.
fn so_far(end: &[u8]) -> [u32; 2] {
    let words = end.get(LAST_BLOCK.len()..).map(|words| words.as_chunks::<4>().0);
    match words {
        Some([checksum, length]) => [checksum, length].map(|word| u32::from_le_bytes(*word)),
        _ => [0; 2],
    }
}

/// Appends a text as blocks of deflate up to a whole byte, without the last one.
///
/// Not by [`flate2::write::DeflateEncoder`]: its `flush` does not always wait for all of them.
fn append_blocks(text: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    // Most of a frame are digits of which nobody can foretell the next: higher levels take longer and find nothing.
    let mut compress = Compress::new(Compression::fast(), false);
    bytes.reserve(text.len() / 2 + 64);
    loop {
        let rest = &text[compress.total_in() as usize..];
        compress.compress_vec(rest, bytes, FlushCompress::Sync).map_err(io::Error::other)?;
        // Only where there is room left has everything come out.
        if bytes.len() < bytes.capacity() {
            return Ok(());
        }
        bytes.reserve(bytes.len() / 2);
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
        let (mut end, mut file, mut expected) = (Vec::new(), Vec::new(), String::new());
        // As hard to compress as the digits of a frame.
        let digits = |n: u64| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).to_string();
        let digits: String = (1..60_000).map(digits).collect();
        for text_of_record in ["first\n", &digits, "second\n", "", &digits[7..], &digits[..40_000], "last\n"]
        {
            let bytes = record(&end, text_of_record.as_bytes()).unwrap();
            file.truncate(file.len() - end.len());
            file.extend(&bytes);
            expected += text_of_record;
            assert!(text(&file) == expected);
            end = bytes[bytes.len() - END..].to_vec();
        }
    }
}
