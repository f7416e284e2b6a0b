//! Text files given by the user: their kind is checked before they are read.

use std::fs::{self, File, FileType};
use std::io::{self, Cursor, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use md_comm::World;
use md_scenario::failure::RunError;

use crate::memory;

/// Length limit of a scenario, which people write by hand, in bytes.
pub const LONGEST_SCENARIO: u64 = 16 << 20;

/// First bytes of files compressed by gzip.
const GZIP: &[u8] = b"\x1f\x8b";

/// First bytes of files that are not text, and the message about each.
const FOREIGN: [(&[u8], &str); 7] = [
    (GZIP, "it is compressed by gzip: decompress it first"),
    (b"BZh", "it is compressed by bzip2: decompress it first"),
    (b"\xfd7zXZ\0", "it is compressed by xz: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "it is compressed by zstd: decompress it first"),
    (b"PK\x03\x04", "it is a zip archive: unpack it first"),
    (b"\xff\xfe", "it is UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16: save it as UTF-8"),
];

/// Upper bound of the lengths in [`FOREIGN`].
const FOREIGN_BYTES: u64 = 8;

/// Returns whether `path` is the standard input or another file that is already open (`/dev/fd/63`
/// of a shell's `<(...)`), to which another process writes.
///
/// ```
/// use md_files::text_file::is_open_already;
/// use std::path::Path;
///
/// // The file of a shell's `<(...)`.
/// assert!(is_open_already(Path::new("/dev/fd/63")));
/// assert!(!is_open_already(Path::new("melt.toml")));
/// ```
pub fn is_open_already(path: &Path) -> bool {
    path == Path::new("/dev/stdin") || path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd")
}

/// Returns the text of a scenario or of another file written by hand, without its byte order mark,
/// or the reason why it cannot be read. The file may be one that [`is_open_already`].
///
/// ```
/// use md_files::text_file::read_text;
///
/// let path = std::env::temp_dir().join(format!("read-text-{}.toml", std::process::id()));
/// std::fs::write(&path, "\u{feff}[simulation]\n")?;
/// assert_eq!(read_text(&path, "scenario").as_deref(), Ok("[simulation]\n"));
/// // The first two bytes of a file that gzip has compressed.
/// std::fs::write(&path, b"\x1f\x8b")?;
/// let refused = read_text(&path, "scenario");
/// assert_eq!(refused, Err("it is compressed by gzip: decompress it first".to_owned()));
/// std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: &Path, kind: &str) -> Result<String, String> {
    let (file, _) = open_any(path)?;
    let mut bytes = Vec::new();
    file.take(LONGEST_SCENARIO).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 == LONGEST_SCENARIO {
        return Err(format!("it is longer than {} MB, which no {kind} is", LONGEST_SCENARIO >> 20));
    }
    decoded(bytes, 0)
}

/// Opens a long text for another reader; returns it without its byte order mark, and its length in
/// bytes.
pub fn open_text(path: &Path) -> Result<(impl Read, u64), String> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let (file, bytes) = open_any(path)?;
    let mut start = Vec::new();
    (&file).take(FOREIGN_BYTES).read_to_end(&mut start).map_err(|error| error.to_string())?;
    expect_no_foreign(&start)?;
    if start.starts_with(MARK) {
        start.drain(..MARK.len());
    }
    Ok((Cursor::new(start).chain(file), bytes))
}

fn open_any(path: &Path) -> Result<(File, u64), String> {
    open(path, if is_open_already(path) { Kinds::Any } else { Kinds::Regular })
}

/// Returns on all ranks what rank 0 reads, or why it cannot; `None` is the end. *Collective.*
///
/// # Errors
/// [`md_scenario::failure::Unreadable`], the same on all ranks; communication.
pub fn broadcast_read(
    world: Option<&dyn World>,
    path: &Path,
    read: impl FnOnce() -> Result<Option<String>, String>,
) -> Result<Option<String>, RunError> {
    let read = match world {
        None => read(),
        Some(world) => {
            let mut message = Vec::new();
            if world.rank() == 0 {
                let (text, mark) = match read() {
                    Ok(Some(text)) => (text, b'+'),
                    Ok(None) => (String::new(), b'.'),
                    Err(reason) => (reason, b'-'),
                };
                message = text.into_bytes();
                message.push(mark);
            }
            world.broadcast(0, &mut message)?;
            let mark = message.pop();
            let text = String::from_utf8(message).unwrap_or_default();
            match mark {
                Some(b'+') => Ok(Some(text)),
                Some(b'-') => Err(text),
                _ => Ok(None),
            }
        }
    };
    read.map_err(|reason| RunError::unreadable(path.display().to_string(), reason))
}

/// The text of a particle file in pieces of whole lines.
pub(crate) struct Blocks {
    text: Box<dyn Read>,
    /// Beginning of a line whose end has not been read yet.
    rest: Vec<u8>,
    is_cut: bool,
}

impl Blocks {
    pub(crate) const BYTES: u64 = 1 << 20;
    const LONGEST_LINE: usize = 64 << 20;

    /// Opens a file of particles for `ranks` ranks; it may be compressed by gzip.
    pub(crate) fn open(path: &Path, ranks: usize) -> Result<Self, String> {
        let (mut file, size) = open(path, Kinds::Regular)?;
        memory::expect_file(size, ranks)?;
        let mut start = Vec::new();
        (&file).take(GZIP.len() as u64).read_to_end(&mut start).map_err(|error| error.to_string())?;
        file.rewind().map_err(|error| error.to_string())?;
        let text: Box<dyn Read> =
            if start == GZIP { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { text, rest: Vec::new(), is_cut: false })
    }

    /// Returns whether the text has ended because its compressed file is cut. A caller that needs
    /// the whole text must check this.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Reads up to [`Self::BYTES`] more. The text before a cut is returned, as for an uncompressed
    /// file that is cut.
    fn read(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        if self.is_cut {
            return Ok(());
        }
        let read = (&mut self.text).take(Self::BYTES).read_to_end(bytes);
        match read {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                Ok(())
            }
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Returns the next piece, which follows `lines` lines, or why it cannot be read; without a
    /// byte order mark.
    pub(crate) fn next(&mut self, lines: usize) -> Result<Option<String>, String> {
        let mut bytes = std::mem::take(&mut self.rest);
        loop {
            let known = bytes.len();
            self.read(&mut bytes)?;
            if bytes.len() == known {
                // In a text that is known to be cut, a line without an end does not count.
                bytes.truncate(if self.is_cut { 0 } else { known });
                break;
            }
            if let Some(end) = bytes[known..].iter().rposition(|&byte| byte == b'\n') {
                self.rest = bytes.split_off(known + end + 1);
                break;
            }
            if bytes.len() > Self::LONGEST_LINE {
                decoded(bytes, lines)?;
                let (line, most) = (lines + 1, Self::LONGEST_LINE >> 20);
                return Err(format!("line {line} is longer than {most} MB, which no line of particles is"));
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        decoded(bytes, lines).map(Some)
    }
}

/// Returns why a text cannot be read; the file may be compressed and damaged.
fn unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("it is compressed by gzip, and damaged: {error}")
        }
        _ => error.to_string(),
    }
}

/// Message about a compressed file whose end is missing.
pub(crate) const CUT: &str = "it is compressed by gzip, and cut";

/// Kinds of files that may be opened.
enum Kinds {
    Regular,
    Any,
}

/// Checks that `path` is a regular file.
pub(crate) fn expect_regular(path: &Path) -> Result<(), String> {
    let kind = fs::metadata(path).map_err(|error| error.to_string())?.file_type();
    irregular(kind).map_or(Ok(()), |other| Err(not_regular(other)))
}

fn not_regular(other: &str) -> String {
    format!("it is {other}, not a regular file")
}

fn open(path: &Path, kinds: Kinds) -> Result<(File, u64), String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    match (kinds, irregular(metadata.file_type())) {
        (Kinds::Regular, Some(other)) => Err(not_regular(other)),
        _ => Ok((File::open(path).map_err(|error| error.to_string())?, metadata.len())),
    }
}

/// Returns what a file is if it is neither a regular file nor a folder (reading a folder is an
/// error of the system).
fn irregular(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else {
        None
    }
}

fn expect_no_foreign(bytes: &[u8]) -> Result<(), String> {
    let foreign = FOREIGN.iter().find(|(start, _)| bytes.starts_with(start));
    foreign.map_or(Ok(()), |(_, what)| Err((*what).to_owned()))
}

/// Decodes bytes that follow `lines` lines.
fn decoded(bytes: Vec<u8>, lines: usize) -> Result<String, String> {
    if lines == 0 {
        expect_no_foreign(&bytes)?;
    }
    let line =
        |index: usize, bytes: &[u8]| lines + 1 + bytes[..index].iter().filter(|&&byte| byte == b'\n').count();
    match String::from_utf8(bytes) {
        Ok(text) => match text.find('\0') {
            Some(index) => {
                Err(format!("line {} holds a NUL byte: it is no text", line(index, text.as_bytes())))
            }
            None => Ok(match text.strip_prefix('\u{feff}') {
                Some(rest) if lines == 0 => rest.to_owned(),
                _ => text,
            }),
        },
        Err(error) => {
            let (index, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
            let (line, byte) = (line(index, bytes), bytes.get(index).copied().unwrap_or_default());
            Err(format!("line {line} is not UTF-8 (byte {byte:#04x}): save it as UTF-8, it may be Latin-1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        let fault = |bytes: &[u8]| decoded(bytes.to_vec(), 0).unwrap_err();
        assert_eq!(fault(b"\x1f\x8b\x08\0"), "it is compressed by gzip: decompress it first");
        assert_eq!(fault(b"\xff\xfea\0"), "it is UTF-16: save it as UTF-8");
        assert_eq!(fault(b"a\0b\0"), "line 1 holds a NUL byte: it is no text");
        let latin = fault(b"title = 'a'\n# \xe4\n");
        assert_eq!(latin, "line 2 is not UTF-8 (byte 0xe4): save it as UTF-8, it may be Latin-1");
        assert_eq!(decoded(b"\xef\xbb\xbfa = 1".to_vec(), 0).as_deref(), Ok("a = 1"));
    }

    #[test]
    fn blocks_are_whole_lines_and_count_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let lines: Vec<String> = (0..300_000).map(|line| format!("{line} and more\n")).collect();
        let text = format!("\u{feff}{}the end", lines.concat());
        fs::write(&path, &text).unwrap();
        let read = |path: &Path| {
            let (mut blocks, mut lines) = (Blocks::open(path, 1).unwrap(), 0);
            std::iter::from_fn(move || {
                let block = blocks.next(lines).transpose()?;
                lines += block.as_ref().map_or(0, |block| block.lines().count());
                Some(block)
            })
        };
        let whole: Vec<String> = read(&path).map(Result::unwrap).collect();
        assert!(whole.len() > 4 && whole[..whole.len() - 1].iter().all(|block| block.ends_with('\n')));
        assert_eq!(whole.concat(), text[3..]);
        fs::write(&path, format!("{}\0", lines.concat())).unwrap();
        let fault = read(&path).find_map(Result::err).unwrap();
        assert_eq!(fault, "line 300001 holds a NUL byte: it is no text");
        fs::write(&path, " ".repeat(Blocks::LONGEST_LINE + 1)).unwrap();
        let fault = Blocks::open(&path, 1).unwrap().next(0).unwrap_err();
        assert_eq!(fault, "line 1 is longer than 64 MB, which no line of particles is");
    }
}
