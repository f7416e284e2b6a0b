//! Headers of files that somebody gives us.

use std::io::Read;

use super::{ATTRIBUTES, Attribute, DIMENSIONS, Dimension, Header, Kind, VARIABLES, Variable};

/// No header of a trajectory is longer.
const MOST_BYTES: u64 = 1 << 20;

/// More of anything than a trajectory has.
const MOST_ELEMENTS: u64 = 1000;

/// The largest type tag of version 1 and 2, and bytes of the values of each.
const SIZES: [u64; 7] = [0, 1, 1, 2, 4, 4, 8];

impl Header {
    /// From the beginning of a file of so many bytes.
    ///
    /// # Errors
    /// What is wrong, in words that follow the name of the file.
    pub(crate) fn read(file: impl Read, size: u64) -> Result<Self, String> {
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let mut reader = Reader { bytes: &bytes, at: 0, wide: false };
        let header = reader.header(size)?;
        header.check(size).map(|()| header)
    }

    /// Whether the values that it speaks of fit into a file of so many bytes.
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
            let is_empty = self.has_records(variable) && self.records == 0;
            let last = self.records.saturating_sub(1);
            let end = self.place(variable, last, if is_empty { 0 } else { values }).ok_or_else(larger)?;
            if end > size && !is_empty {
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
    /// Whether places have eight bytes.
    wide: bool,
}

impl Reader<'_> {
    fn header(&mut self, size: u64) -> Result<Header, String> {
        match self.take(4)? {
            [b'C', b'D', b'F', 1] => (),
            [b'C', b'D', b'F', 2] => self.wide = true,
            [b'C', b'D', b'F', 5] => {
                return Err(
                    "it is NetCDF with 64-bit data, of which the classic format with 64-bit offsets is read"
                        .to_owned(),
                );
            }
            [0x89, b'H', b'D', b'F'] => {
                return Err("it is NetCDF-4 (HDF5), of which the classic format is read: convert it by `nccopy -k nc6`".to_owned());
            }
            _ => return Err("it is no NetCDF file: it does not begin with `CDF`".to_owned()),
        }
        let records = self.number()?;
        let dimensions = self.list(DIMENSIONS, "dimensions", |reader| {
            Ok(Dimension { name: reader.name()?, length: reader.number()? })
        })?;
        let attributes = self.attributes()?;
        let variables = self.list(VARIABLES, "variables", Self::variable)?;
        let mut header = Header { records, dimensions, attributes, variables };
        // A program that is still writing may not have said how many.
        if records == u64::from(u32::MAX) {
            let space = header.records_begin().map_or(0, |begin| size.saturating_sub(begin));
            header.records =
                header.record_bytes().filter(|&bytes| bytes > 0).map_or(0, |bytes| space / bytes);
        }
        Ok(header)
    }

    fn variable(&mut self) -> Result<Variable, String> {
        let name = self.name()?;
        let count = self.count("dimensions of a variable")?;
        let dimensions = (0..count).map(|_| Ok(self.number()? as usize)).collect::<Result<_, String>>()?;
        let attributes = self.attributes()?;
        let tag = self.number()?;
        let Some(kind) = Kind::ALL.into_iter().find(|kind| u64::from(kind.tag()) == tag) else {
            return Err(format!("variable `{name}` is of type {tag}, of which nothing is read here"));
        };
        // Its bytes follow from its dimensions.
        self.number()?;
        let begin = if self.wide { self.number()? << 32 | self.number()? } else { self.number()? };
        Ok(Variable { name, dimensions, attributes, kind, begin })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>, String> {
        let all = self.list(ATTRIBUTES, "attributes", |reader| {
            let name = reader.name()?;
            let (tag, values) = (reader.number()?, reader.number()?);
            let bytes = SIZES.get(tag as usize).and_then(|bytes| values.checked_mul(*bytes));
            let Some(bytes) = bytes.filter(|&bytes| bytes <= MOST_BYTES) else {
                return Err(format!(
                    "it is damaged: attribute `{name}` is of type {tag} and has {values} values"
                ));
            };
            let text = String::from_utf8_lossy(reader.padded(bytes)?).into_owned();
            Ok((tag == u64::from(Kind::Char.tag())).then_some(Attribute { name, text }))
        })?;
        Ok(all.into_iter().flatten().collect())
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
        match self.number()? {
            count if count <= MOST_ELEMENTS => Ok(count),
            count => Err(format!("it is damaged: it has {count} {what}")),
        }
    }

    fn name(&mut self) -> Result<String, String> {
        let bytes = self.number()?;
        Ok(String::from_utf8_lossy(self.padded(bytes)?).into_owned())
    }

    /// So many bytes, and behind them some up to a multiple of four.
    fn padded(&mut self, bytes: u64) -> Result<&[u8], String> {
        let (bytes, all) = (bytes as usize, (bytes as usize).saturating_add(3) / 4 * 4);
        self.take(all).map(|found| &found[..bytes])
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
