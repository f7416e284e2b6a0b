//! A gzip file that grows by whole records and is complete after each record.
//!
//! It has one member, because OVITO reads only the first one: deflate blocks, in which records do
//! not refer to earlier ones, then an empty last block, the checksum of all text and its length.
//! The next record replaces this end, which checkpoints store. The checksum is continued from the
//! end, so a resumed run needs no other data. (RFC 1951, RFC 1952.)

use std::io;

use flate2::{Compress, Compression, FlushCompress};

/// Magic number, method deflate, no flags, no time, no compression level, Unix.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

/// An empty last block.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Length of the end in bytes: the last block, checksum, length.
pub(super) const END: usize = LAST_BLOCK.len() + 8;

/// Returns a text in the form in which it replaces the end of a file, followed by a new end. `end`
/// is empty for the first text.
pub(super) fn record(end: &[u8], text: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = if end.is_empty() { HEAD.to_vec() } else { Vec::new() };
    append_blocks(text, &mut bytes)?;
    let [checksum, length] = so_far(end);
    let mut hasher = crc32fast::Hasher::new_with_initial(checksum);
    hasher.update(text);
    bytes.extend(LAST_BLOCK);
    bytes.extend(hasher.finalize().to_le_bytes());
    // The length is counted modulo 2^32.
    bytes.extend(length.wrapping_add(text.len() as u32).to_le_bytes());
    Ok(bytes)
}

/// Returns the checksum and the length of the text before `end`.
fn so_far(end: &[u8]) -> [u32; 2] {
    let words = end.get(LAST_BLOCK.len()..).map(|words| words.as_chunks::<4>().0);
    match words {
        Some([checksum, length]) => [checksum, length].map(|word| u32::from_le_bytes(*word)),
        _ => [0; 2],
    }
}

/// Appends a text as deflate blocks up to a byte boundary, without the last block.
///
/// [`flate2::write::DeflateEncoder`] is not used, because its `flush` does not always wait for all
/// blocks.
fn append_blocks(text: &[u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    // Most of a frame consists of unpredictable digits, so higher levels take longer without a
    // gain.
    let mut compress = Compress::new(Compression::fast(), false);
    bytes.reserve(text.len() / 2 + 64);
    loop {
        let rest = &text[compress.total_in() as usize..];
        compress.compress_vec(rest, bytes, FlushCompress::Sync).map_err(io::Error::other)?;
        // The output is complete only if there is room left in `bytes`.
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

    /// Returns the text that a reader of a single member finds.
    fn text(bytes: &[u8]) -> String {
        let (mut text, mut decoder) = (String::new(), GzDecoder::new(bytes));
        decoder.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_file_is_complete_after_every_record() {
        let (mut end, mut file, mut expected) = (Vec::new(), Vec::new(), String::new());
        // These digits are as hard to compress as those of a frame.
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
