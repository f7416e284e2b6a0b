//! Files of text that somebody gives us: what they are is made sure of before they are read.

use std::fs::{self, File, FileType};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::memory;

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFile {
    /// A scenario. It may also come from the standard input, or from another file that is open already
    /// (`/dev/stdin`, `/dev/fd/63` of a shell's `<(...)`).
    Scenario,
    /// Particles. They must be in a file.
    Particles,
}

/// Why a file has not been read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// For this reason.
    Because(String),
    /// There was no room for so many bytes.
    NoRoom(u64),
}

impl From<String> for Unread {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

/// A scenario is written by people.
pub(crate) const LONGEST_SCENARIO: u64 = 16 << 20;

/// How files begin that are no text: by these bytes.
const FOREIGN: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "it is compressed by gzip: decompress it first"),
    (b"BZh", "it is compressed by bzip2: decompress it first"),
    (b"\xfd7zXZ\0", "it is compressed by xz: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "it is compressed by zstd: decompress it first"),
    (b"PK\x03\x04", "it is a zip archive: unpack it first"),
    (b"\xff\xfe", "it is UTF-16: save it as UTF-8"),
    (b"\xfe\xff", "it is UTF-16: save it as UTF-8"),
];

impl TextFile {
    /// The text of a file, or why there is none. A byte order mark is left out.
    pub(crate) fn read(self, path: &Path) -> Result<String, Unread> {
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        if let Some(other) = irregular(metadata.file_type()).filter(|_| !self.takes(path)) {
            return Err(format!("it is {other}, not a regular file").into());
        }
        let most = match self {
            Self::Scenario => LONGEST_SCENARIO,
            Self::Particles => u64::MAX,
        };
        let mut bytes = Vec::new();
        if self == Self::Particles && metadata.is_file() {
            let size = metadata.len();
            memory::expect_file(size)?;
            let room = usize::try_from(size).is_ok_and(|size| bytes.try_reserve_exact(size + 1).is_ok());
            if !room {
                return Err(Unread::NoRoom(size));
            }
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 == most {
            return Err(format!("it is longer than {} MB, which no scenario is", most >> 20).into());
        }
        Ok(decoded(bytes)?)
    }

    /// Files that are open already have somebody who writes to them.
    fn takes(self, path: &Path) -> bool {
        let is_open = path == Path::new("/dev/stdin")
            || path.starts_with("/dev/fd")
            || path.starts_with("/proc/self/fd");
        self == Self::Scenario && is_open
    }
}

/// What it is, if it is neither a file nor a folder (of which the system says so when it is read).
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

fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    if let Some((_, what)) = FOREIGN.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Err((*what).to_owned());
    }
    let line = |index: usize, bytes: &[u8]| 1 + bytes[..index].iter().filter(|&&byte| byte == b'\n').count();
    match String::from_utf8(bytes) {
        Ok(text) => match text.find('\0') {
            Some(index) => {
                Err(format!("line {} holds a NUL byte: it is no text", line(index, text.as_bytes())))
            }
            None => Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)),
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
        let fault = |bytes: &[u8]| decoded(bytes.to_vec()).unwrap_err();
        assert_eq!(fault(b"\x1f\x8b\x08\0"), "it is compressed by gzip: decompress it first");
        assert_eq!(fault(b"\xff\xfea\0"), "it is UTF-16: save it as UTF-8");
        assert_eq!(fault(b"a\0b\0"), "line 1 holds a NUL byte: it is no text");
        let latin = fault(b"title = 'a'\n# \xe4\n");
        assert_eq!(latin, "line 2 is not UTF-8 (byte 0xe4): save it as UTF-8, it may be Latin-1");
        assert_eq!(decoded(b"\xef\xbb\xbfa = 1".to_vec()).as_deref(), Ok("a = 1"));
    }
}
