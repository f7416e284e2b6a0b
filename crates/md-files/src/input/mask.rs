//! Mask files, which contain the solid nodes of a lattice.
//!
//! There are two formats. A text has a line of three numbers of nodes (along x, y and z), then a 0
//! (fluid) or 1 (solid) for each node, x fastest, with or without white space between them. Of
//! VTK's XML image data (`.vti`), the array `solid` is read, or else the first one; a node is solid
//! if its value is not 0. An image is converted into the digits of a text, so that both are
//! processed in the same way.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::{InputError, Position, Problem};

/// Number of bytes that are read at a time.
const PIECE: u64 = 1 << 20;

const EARLY: &str = "its data end too early";

/// Largest number of bytes in the tags of an image.
const LONGEST_HEADER: usize = 1 << 20;

/// A mask file, on the rank that reads it.
pub struct MaskFile {
    file: BufReader<File>,
    content: Content,
}

/// Remaining content of a file.
enum Content {
    /// A text, which is passed on unchanged.
    Text,
    /// Values of an image. The numbers of nodes come first.
    Image { header: Option<String>, values: Values, left: u64 },
    /// Numbers and white space up to the next tag. `word` is the beginning of a number whose end
    /// has not been read.
    Ascii { header: Option<String>, word: String, left: u64 },
}

/// How the values of an image are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Values {
    bytes: usize,
    is_float: bool,
}

impl MaskFile {
    /// Opens a file. If its name ends in `.vti`, it is an image.
    pub fn open(path: &Path) -> Result<Self, String> {
        // This check comes first, because opening a pipe would wait for a writer.
        if !path.metadata().map_err(|error| error.to_string())?.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let mut file = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
        let is_image = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("vti"));
        let content = if is_image { image(&mut file)? } else { Content::Text };
        Ok(Self { file, content })
    }

    /// Returns the next piece as text, or `None` at the end.
    pub fn next_piece(&mut self) -> Result<Option<String>, String> {
        let Self { file, content } = self;
        match content {
            Content::Text => {
                let bytes = bytes(file, PIECE)?;
                let text = String::from_utf8(bytes).ok().filter(|text| text.is_ascii());
                let text = text.ok_or("it holds something else than digits and white space")?;
                Ok(Some(text).filter(|text| !text.is_empty()))
            }
            Content::Image { header, .. } | Content::Ascii { header, .. } if header.is_some() => {
                Ok(header.take())
            }
            Content::Image { left: 0, .. } | Content::Ascii { left: 0, .. } => Ok(None),
            Content::Image { values, left, .. } => {
                let wanted = (*left).min(PIECE) * values.bytes as u64;
                let bytes = bytes(file, wanted)?;
                if bytes.len() as u64 != wanted {
                    return Err(format!("its data end too early: {left} more values were promised"));
                }
                *left -= wanted / values.bytes as u64;
                Ok(Some(bytes.chunks_exact(values.bytes).map(|value| digit(value, *values)).collect()))
            }
            Content::Ascii { word, left, .. } => ascii_digits(file, word, left).map(Some),
        }
    }
}

/// Returns the digits of the next numbers of an array in text form. `left` is the number of values
/// still to come.
fn ascii_digits(file: &mut impl Read, word: &mut String, left: &mut u64) -> Result<String, String> {
    let piece = bytes(file, PIECE)?;
    let mut text = std::mem::take(word);
    text.push_str(std::str::from_utf8(&piece).map_err(|_| "its array is no text")?);
    let is_last = piece.is_empty() || text.contains('<');
    let end = match text.find('<') {
        Some(tag) => tag,
        None if is_last => text.len(),
        None => text.rfind(|letter: char| letter.is_ascii_whitespace()).map_or(0, |at| at + 1),
    };
    let (numbers, rest) = text.split_at(end);
    let mut digits = String::new();
    for number in numbers.split_ascii_whitespace().take(usize::try_from(*left).unwrap_or(usize::MAX)) {
        let number: f64 = number.parse().map_err(|error| format!("its array: {error}: `{number}`"))?;
        digits.push(if number == 0.0 { '0' } else { '1' });
    }
    *left = if is_last { 0 } else { *left - digits.len() as u64 };
    rest.clone_into(word);
    Ok(digits)
}

fn bytes(file: &mut impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn digit(value: &[u8], values: Values) -> char {
    // The sign of a float is the highest bit of its last byte; -0 is 0.
    let magnitude = |last: u8| if values.is_float { last & 0x7f } else { last };
    let is_zero = value
        .split_last()
        .is_none_or(|(&last, others)| magnitude(last) == 0 && others.iter().all(|&b| b == 0));
    if is_zero { '0' } else { '1' }
}

/// The tags of an image, without the text between them.
struct Tags {
    text: String,
    /// Position in the file after each `<DataArray` tag.
    arrays: Vec<u64>,
}

impl Tags {
    /// Reads the tags up to appended data, or all of them. It reads byte by byte, because appended
    /// data are binary.
    fn read(file: &mut impl Read) -> Result<Self, String> {
        const DATA: &str = "<AppendedData";
        let mut tags = Self { text: String::new(), arrays: Vec::new() };
        let (mut byte, mut start, mut has_data) = ([0], None, false);
        for place in 1.. {
            match file.read(&mut byte).map_err(|error| error.to_string())? {
                0 => break,
                _ if byte[0].is_ascii() && tags.text.len() < LONGEST_HEADER => (),
                _ => return Err("it is no image of VTK: no XML".to_owned()),
            }
            match byte[0] {
                b'_' if has_data && start.is_none() => break,
                b'<' => start = Some(tags.text.len()),
                _ => (),
            }
            let Some(begun) = start else { continue };
            tags.text.push(char::from(byte[0]));
            if byte[0] == b'>' {
                let tag = &tags.text[begun..];
                has_data |= tag.starts_with(DATA);
                if tag.starts_with("<DataArray") {
                    tags.arrays.push(place);
                }
                start = None;
            }
        }
        Ok(tags)
    }
}

/// Reads the XML of an image up to its data.
fn image(file: &mut BufReader<File>) -> Result<Content, String> {
    let tags = Tags::read(file)?;
    described(&tags, file)
}

/// Returns the content that a header describes, and moves to the data of its array.
fn described(tags: &Tags, file: &mut (impl Read + Seek)) -> Result<Content, String> {
    let header = tags.text.as_str();
    if attribute_of("VTKFile", "compressor", header).is_some() {
        return Err("its data are compressed: write it without compression".to_owned());
    }
    let array = array(header)?;
    let (nodes, left) = nodes(header, array)?;
    let first = Some(nodes);
    let encoding = attribute_of("AppendedData", "encoding", header);
    match attribute_of("DataArray", "format", array).as_deref() {
        Some("ascii") => {
            let before = header[..header.len() - array.len()].matches("<DataArray").count();
            let start = SeekFrom::Start(tags.arrays.get(before).copied().unwrap_or_default());
            file.seek(start).map_err(|error| error.to_string())?;
            Ok(Content::Ascii { header: first, word: String::new(), left })
        }
        Some("appended") if encoding.as_deref() == Some("raw") => {
            let values = appended(header, array, left, file)?;
            Ok(Content::Image { header: first, values, left })
        }
        _ => Err("its data are base64: write it as raw appended data or as ASCII".to_owned()),
    }
}

/// Returns the header from the array of the solid nodes on.
fn array(header: &str) -> Result<&str, String> {
    // Arrays in field data, such as the time of the image, do not belong to nodes.
    let is_of_nodes = |&at: &usize| header[..at].rfind("<FieldData") <= header[..at].rfind("</FieldData");
    let places = || header.match_indices("<DataArray").map(|(at, _)| at).filter(is_of_nodes);
    let arrays = || places().map(|at| &header[at..]);
    let name = |array: &str| attribute_of("DataArray", "Name", array);
    let named = arrays().find(|array| name(array).as_deref() == Some("solid"));
    let array = named.or(arrays().next()).ok_or_else(|| missing("an array"))?;
    let components = attribute_of("DataArray", "NumberOfComponents", array);
    match components.as_deref() {
        None | Some("0" | "1") => Ok(array),
        Some(components) => Err(format!(
            "its array `{}` has {components} numbers for each node, not 1: call that of the solid nodes `solid`",
            name(array).unwrap_or_default()
        )),
    }
}

/// Returns the numbers of nodes of an array as the first line of a text, and the total number.
fn nodes(header: &str, array: &str) -> Result<(String, u64), String> {
    let extent = attribute_of("ImageData", "WholeExtent", header).ok_or_else(|| missing("WholeExtent"))?;
    let extent: Vec<i64> = extent.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[x0, x1, y0, y1, z0, z1] = extent.as_slice() else {
        return Err(missing("an extent of six numbers"));
    };
    // Points are at the ends of an extent, cells between them.
    let before = &header[..header.len() - array.len()];
    let is_of_points = before.rfind("<PointData") > before.rfind("<CellData");
    let along = |(low, high): (i64, i64)| {
        let count = high.checked_sub(low)?.checked_add(i64::from(is_of_points))?;
        u64::try_from(count).ok()
    };
    let all = along((x0, x1)).zip(along((y0, y1))).zip(along((z0, z1)));
    all.and_then(|((nx, ny), nz)| Some((format!("{nx} {ny} {nz}\n"), nx.checked_mul(ny)?.checked_mul(nz)?)))
        .ok_or_else(|| missing("a valid extent"))
}

/// Moves to the values of an appended array. The length of the array must be that of `count`
/// values.
fn appended(header: &str, array: &str, count: u64, file: &mut impl Read) -> Result<Values, String> {
    let of_file = |name: &str| attribute_of("VTKFile", name, header);
    let of_array = |name: &str| attribute_of("DataArray", name, array);
    let length_bytes = if of_file("header_type").as_deref() == Some("UInt64") { 8 } else { 4 };
    let offset = of_array("offset").and_then(|text| text.parse::<u64>().ok());
    let offset = offset.ok_or_else(|| missing("a valid offset of its array"))?;
    let values = values(&of_array("type").unwrap_or_default())?;
    if bytes_skipped(file, offset)? != offset {
        return Err(EARLY.to_owned());
    }
    let wanted = count.saturating_mul(values.bytes as u64);
    expect_length(file, [length_bytes, wanted], of_file("byte_order").as_deref())?;
    Ok(values)
}

fn missing(what: &str) -> String {
    format!("it is no image of VTK: {what} is missing")
}

/// Reads the length of an array, which has `length_bytes` bytes, and compares it with that of its
/// extent.
fn expect_length(
    file: &mut impl Read,
    [length_bytes, wanted]: [u64; 2],
    byte_order: Option<&str>,
) -> Result<(), String> {
    let mut length = bytes(file, length_bytes)?;
    if length.len() as u64 != length_bytes {
        return Err(EARLY.to_owned());
    }
    if byte_order != Some("BigEndian") {
        length.reverse();
    }
    let found = length.iter().fold(0, |sum: u64, &byte| (sum << 8) | u64::from(byte));
    if found == wanted {
        return Ok(());
    }
    Err(format!("its array has {found} bytes, and its extent asks for {wanted}"))
}

fn bytes_skipped(file: &mut impl Read, count: u64) -> Result<u64, String> {
    std::io::copy(&mut file.take(count), &mut std::io::sink()).map_err(|error| error.to_string())
}

fn values(kind: &str) -> Result<Values, String> {
    let bits = kind.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let bytes = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return Err(format!("its array is of type `{kind}`, not of numbers")),
    };
    Ok(Values { bytes, is_float: kind.starts_with("Float") })
}

/// Returns an attribute of the first tag with this name.
fn attribute_of(tag: &str, name: &str, text: &str) -> Option<String> {
    let tag = text[text.find(&format!("<{tag}"))?..].split('>').next()?;
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split('"').next()?.to_owned())
}

/// Reader of the pieces of a mask file, on every rank.
pub struct MaskReader<F> {
    file: String,
    grid: [usize; 3],
    solid: F,
    /// The first line, until it is complete.
    header: Option<String>,
    line: usize,
    next: u64,
    /// Checksum of the solid nodes so far.
    checksum: crc32fast::Hasher,
}

impl<F: FnMut([usize; 3])> MaskReader<F> {
    /// Creates a reader for a lattice of `grid` nodes, which calls `solid` for every solid node.
    pub fn new(file: String, grid: [usize; 3], solid: F) -> Self {
        Self {
            file,
            grid,
            solid,
            header: Some(String::new()),
            line: 1,
            next: 0,
            checksum: crc32fast::Hasher::new(),
        }
    }

    /// Reads the next piece.
    pub fn read(&mut self, piece: &str) -> Result<(), InputError> {
        let mut digits = piece;
        if let Some(header) = &mut self.header {
            let Some((rest, after)) = piece.split_once('\n') else {
                header.push_str(piece);
                return Ok(());
            };
            header.push_str(rest);
            let header = std::mem::take(header);
            self.header = None;
            self.expect_grid(&header)?;
            self.line = 2;
            digits = after;
        }
        digits.bytes().try_for_each(|byte| self.byte(byte))
    }

    fn byte(&mut self, byte: u8) -> Result<(), InputError> {
        match byte {
            b'\n' => self.line += 1,
            b'0' | b'1' => {
                let [nx, ny, _] = self.grid.map(|nodes| nodes as u64);
                if self.next >= self.count() {
                    let text = char::from(byte).to_string();
                    return Err(self.error(Problem::TooMany { what: "nodes", promised: self.count(), text }));
                }
                let node = [self.next % nx, self.next / nx % ny, self.next / nx / ny];
                if byte == b'1' {
                    self.checksum.update(&self.next.to_le_bytes());
                    (self.solid)(node.map(|index| index as usize));
                }
                self.next += 1;
            }
            other if other.is_ascii_whitespace() => (),
            other => {
                let text = char::from(other).to_string();
                let expected = "0 (fluid) or 1 (solid)";
                return Err(self.error(Problem::Malformed { text, expected, place: "a node" }));
            }
        }
        Ok(())
    }

    /// Returns a CRC-32 of the solid nodes at the end of the file. It does not depend on the format
    /// of the file.
    pub fn finish(self) -> Result<u32, InputError> {
        if self.header.as_ref().is_some_and(|header| header.trim().is_empty()) {
            return Err(self.error(Problem::Empty));
        }
        if self.next == self.count() {
            return Ok(self.checksum.finalize());
        }
        let (promised, found) = (self.count(), self.next);
        Err(Position { file: &self.file, line: None }.error(Problem::Truncated {
            what: "nodes",
            promised,
            found,
        }))
    }

    fn count(&self) -> u64 {
        self.grid.iter().map(|&nodes| nodes as u64).product()
    }

    fn expect_grid(&self, header: &str) -> Result<(), InputError> {
        let nodes: Vec<usize> =
            header.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        let text = header.trim().chars().take(60).collect::<String>();
        if nodes.len() != 3 || header.split_ascii_whitespace().count() != 3 {
            let expected = "three numbers of nodes, along x, y and z".to_owned();
            return Err(self.error(Problem::Unexpected { text, expected }));
        }
        if nodes != self.grid {
            let words = |nodes: &[usize]| nodes.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
            let expected =
                format!("the mask has {} nodes, and `lbm.grid` has {}", words(&nodes), words(&self.grid));
            return Err(self.error(Problem::Unexpected { text, expected }));
        }
        Ok(())
    }

    fn error(&self, problem: Problem) -> InputError {
        Position { file: &self.file, line: Some(self.line) }.error(problem)
    }
}
