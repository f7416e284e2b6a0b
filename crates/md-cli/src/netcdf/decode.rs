//! Decoding the headers of files given by the user.

use std::io::Read;

use super::{ATTRIBUTES, Attribute, DIMENSIONS, Dimension, Header, Kind, VARIABLES, Value, Variable};

/// Upper bound of the length of a trajectory's header.
const MOST_BYTES: u64 = 1 << 20;

/// Upper bound of the lengths of a trajectory header's lists.
const MOST_ELEMENTS: u64 = 1000;

impl Header {
    /// Reads the header at the beginning of a file of `size` bytes.
    ///
    /// # Errors
    /// The fault, in words that follow the name of the file.
    pub(crate) fn read(file: impl Read, size: u64) -> Result<Self, String> {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let mut reader = Reader { bytes: &bytes, at: 0, version: Version::Classic };
        let header = reader.header(size)?;
        header.check(size).map(|()| header)
    }

    /// Returns the number of complete records in a file of `size` bytes, and the first variable
    /// that is missing in the next record, with the byte at which it would end.
    pub(crate) fn whole_records(&self, size: u64) -> (u64, Option<(&str, u64)>) {
        let end = |variable: &Variable, record| self.place(variable, record, self.values(variable)?);
        let whole_of = |variable: &Variable| {
            let Some(behind) = size.checked_sub(end(variable, 0)?) else { return Some(0) };
            Some(behind.checked_div(self.record_bytes()?)?.saturating_add(1))
        };
        let with_records = || self.variables.iter().filter(|variable| self.has_records(variable));
        let whole = with_records().filter_map(whole_of).fold(self.records, u64::min);
        let missing = with_records().find_map(|variable| {
            let end = end(variable, whole).filter(|&end| end > size && whole < self.records)?;
            Some((variable.name.as_str(), end))
        });
        (whole, missing)
    }

    /// Checks that the values described by the header fit into a file of `size` bytes; those of
    /// records are checked elsewhere.
    fn check(&self, size: u64) -> Result<(), String> {
        for variable in &self.variables {
            let name = &variable.name;
            if variable.dimensions.iter().any(|&index| index >= self.dimensions.len()) {
                return Err(format!("it is damaged: variable `{name}` has a dimension that there is not"));
            }
            let is_late = variable.dimensions.iter().skip(1).any(|&index| self.dimensions[index].length == 0);
            if is_late {
                return Err(format!(
                    "it is damaged: the records of variable `{name}` are not its first dimension"
                ));
            }
            let larger = || format!("it is damaged: variable `{name}` is larger than any file");
            let values = self.values(variable).ok_or_else(larger)?;
            let last = self.records.saturating_sub(1);
            let end = self.place(variable, last, values).ok_or_else(larger)?;
            if end > size && !self.has_records(variable) {
                return Err(format!(
                    "it is cut: it has {size} bytes, but variable `{name}` ends at byte {end}"
                ));
            }
        }
        Ok(())
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    version: Version,
}

/// Fields that have eight bytes instead of four.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    /// None.
    Classic,
    /// Offsets.
    Offsets,
    /// Offsets, lengths and counts.
    Data,
}

impl Reader<'_> {
    fn header(&mut self, size: u64) -> Result<Header, String> {
        match self.take(4)? {
            [b'C', b'D', b'F', 1] => (),
            [b'C', b'D', b'F', 2] => self.version = Version::Offsets,
            [b'C', b'D', b'F', 5] => self.version = Version::Data,
            [b'C', b'D', b'F', other] => {
                return Err(format!("it is NetCDF of version {other}, of which 1, 2 and 5 are read"));
            }
            [0x89, b'H', b'D', b'F'] => {
                return Err("it is NetCDF-4 (HDF5), of which the classic format is read: convert it by `nccopy -k nc6`".to_owned());
            }
            _ => return Err("it is no NetCDF file: it does not begin with `CDF`".to_owned()),
        }
        let records = self.length()?;
        let unknown = if self.version == Version::Data { u64::MAX } else { u32::MAX.into() };
        let dimensions = self.list(DIMENSIONS, "dimensions", |reader| {
            Ok(Dimension { name: reader.name()?, length: reader.length()? })
        })?;
        let attributes = self.attributes()?;
        let variables = self.list(VARIABLES, "variables", Self::variable)?;
        let mut header = Header { records, dimensions, attributes, variables };
        // A program that is still writing may not have set the number of records.
        if records == unknown {
            let space = header.records_begin().map_or(0, |begin| size.saturating_sub(begin));
            header.records =
                header.record_bytes().filter(|&bytes| bytes > 0).map_or(0, |bytes| space / bytes);
        }
        Ok(header)
    }

    fn variable(&mut self) -> Result<Variable, String> {
        let name = self.name()?;
        let count = self.count("dimensions of a variable")?;
        let dimensions = (0..count).map(|_| Ok(self.length()? as usize)).collect::<Result<_, String>>()?;
        let attributes = self.attributes()?;
        let tag = self.number()?;
        let Some(kind) = Kind::of_tag(tag) else {
            return Err(format!(
                "it is damaged: variable `{name}` is of type {tag}, but the types are 1 to 11"
            ));
        };
        // The size in bytes follows from the dimensions.
        self.length()?;
        let begin = if self.version == Version::Classic { self.number()? } else { self.wide_number()? };
        Ok(Variable { name, dimensions, attributes, kind, begin })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>, String> {
        self.list(ATTRIBUTES, "attributes", |reader| {
            let name = reader.name()?;
            let (tag, values) = (reader.number()?, reader.length()?);
            let kind = Kind::of_tag(tag);
            let bytes = kind.and_then(|kind| values.checked_mul(kind.bytes()));
            let (Some(kind), Some(bytes)) = (kind, bytes.filter(|&bytes| bytes <= MOST_BYTES)) else {
                return Err(format!(
                    "it is damaged: attribute `{name}` is of type {tag} and has {values} values"
                ));
            };
            let bytes = reader.padded(bytes)?;
            let value = match kind {
                Kind::Char => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                _ => {
                    let numbers = bytes.chunks_exact(kind.bytes() as usize);
                    Value::Numbers(numbers.map(|number| kind.number(number)).collect())
                }
            };
            Ok(Attribute { name, value })
        })
    }

    fn list<T>(
        &mut self,
        tag: u32,
        what: &str,
        mut element: impl FnMut(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let found = self.number()?;
        let count = self.count(what)?;
        if found != u64::from(tag) && (found, count) != (0, 0) {
            return Err(format!("it is damaged: its list of {what} begins with {found}, not {tag}"));
        }
        (0..count).map(|_| element(self)).collect()
    }

    fn count(&mut self, what: &str) -> Result<u64, String> {
        match self.length()? {
            count if count <= MOST_ELEMENTS => Ok(count),
            count => Err(format!("it is damaged: it has {count} {what}")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let bytes = self.length()?;
        Ok(String::from_utf8_lossy(self.padded(bytes)?).into_owned())
    }

    /// Takes `bytes` bytes and the padding after them up to a multiple of four.
    fn padded(&mut self, bytes: u64) -> Result<&[u8], String> {
        let (bytes, all) = (bytes as usize, (bytes as usize).saturating_add(3) / 4 * 4);
        self.take(all).map(|found| &found[..bytes])
    }

    /// Reads a count or a length, which has eight bytes in version 5.
    fn length(&mut self) -> Result<u64, String> {
        if self.version == Version::Data { self.wide_number() } else { self.number() }
    }

    fn wide_number(&mut self) -> Result<u64, String> {
        Ok(self.number()? << 32 | self.number()?)
    }

    fn number(&mut self) -> Result<u64, String> {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        Ok(u32::from_be_bytes(bytes).into())
    }

    fn take(&mut self, bytes: usize) -> Result<&[u8], String> {
        let found = self.at.checked_add(bytes).and_then(|end| self.bytes.get(self.at..end));
        let cut = || format!("it is cut: its header ends at byte {}", self.bytes.len());
        let found = found.ok_or_else(cut)?;
        self.at += bytes;
        Ok(found)
    }
}
