//! The classic `NetCDF` format, versions 1 and 2 (64-bit offsets): dimensions, variables, and where their values stand.
//!
//! ```text
//! CDF, version, number of records
//! dimensions, attributes of the file, variables: each with its attributes, type, bytes and place
//! values of the variables without records
//! records: values of each variable with records, one after the other
//! ```
//!
//! All numbers are big-endian, names and values are padded to multiples of four bytes. As the place of every value is known beforehand, ranks
//! read and write their own without the others. The format is specified in the `NetCDF` User's Guide, "File Format Specifications".

mod decode;
mod encode;

#[cfg(test)]
mod tests;

/// Tags of lists.
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

/// Where the number of records stands, in four bytes.
pub(crate) const RECORDS_AT: u64 = 4;

/// The most that fits there.
pub(crate) const MOST_RECORDS: u64 = u32::MAX as u64 - 1;

/// Version with offsets of eight bytes.
const VERSION: u8 = 2;

/// Type of a variable's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text.
    Char,
    /// i32.
    Int,
    /// f32.
    Float,
    /// f64.
    Double,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Char, Self::Int, Self::Float, Self::Double];

    fn tag(self) -> u32 {
        match self {
            Self::Char => 2,
            Self::Int => 4,
            Self::Float => 5,
            Self::Double => 6,
        }
    }

    /// Of a value.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Char => 1,
            Self::Int | Self::Float => 4,
            Self::Double => 8,
        }
    }
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) name: String,
    /// 0 for that of the records.
    pub(crate) length: u64,
}

/// A text that says something about a file or a variable. Attributes of other types are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Indices of its dimensions, the slowest first.
    pub(crate) dimensions: Vec<usize>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) kind: Kind,
    /// Where its first value stands.
    pub(crate) begin: u64,
}

/// What a file begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) records: u64,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
}

impl Header {
    /// The variable of this name.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// The length of the dimension of this name.
    pub(crate) fn length(&self, name: &str) -> Option<u64> {
        self.dimensions.iter().find(|dimension| dimension.name == name).map(|dimension| dimension.length)
    }

    /// Whether a variable has a value for every record.
    pub(crate) fn has_records(&self, variable: &Variable) -> bool {
        variable
            .dimensions
            .first()
            .and_then(|&index| self.dimensions.get(index))
            .is_some_and(|it| it.length == 0)
    }

    /// The names of a variable's dimensions.
    pub(crate) fn dimensions_of<'h>(&'h self, variable: &'h Variable) -> impl Iterator<Item = &'h str> {
        variable.dimensions.iter().filter_map(|&index| Some(self.dimensions.get(index)?.name.as_str()))
    }

    /// Values of a variable, of one record where it has some; `None` where they are too many to be counted.
    pub(crate) fn values(&self, variable: &Variable) -> Option<u64> {
        let skipped = usize::from(self.has_records(variable));
        let lengths = variable.dimensions.iter().skip(skipped);
        lengths
            .map(|&index| self.dimensions.get(index).map_or(0, |it| it.length))
            .try_fold(1_u64, u64::checked_mul)
    }

    /// The same in bytes, with their padding.
    pub(crate) fn bytes(&self, variable: &Variable) -> Option<u64> {
        self.values(variable)?.checked_mul(variable.kind.bytes())?.checked_next_multiple_of(4)
    }

    /// Bytes of a record. Of a single variable, records are not padded.
    pub(crate) fn record_bytes(&self) -> Option<u64> {
        let mut with_records = self.variables.iter().filter(|variable| self.has_records(variable));
        if let (Some(only), None) = (with_records.next(), with_records.next()) {
            return self.values(only)?.checked_mul(only.kind.bytes());
        }
        let with_records = self.variables.iter().filter(|variable| self.has_records(variable));
        with_records
            .map(|variable| self.bytes(variable))
            .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes?))
    }

    /// Where the records begin: behind everything else.
    pub(crate) fn records_begin(&self) -> Option<u64> {
        self.variables
            .iter()
            .filter(|variable| self.has_records(variable))
            .map(|variable| variable.begin)
            .min()
    }

    /// Where the value of a variable with this number stands, in a record.
    pub(crate) fn place(&self, variable: &Variable, record: u64, value: u64) -> Option<u64> {
        let record = if self.has_records(variable) { record.checked_mul(self.record_bytes()?)? } else { 0 };
        variable.begin.checked_add(record)?.checked_add(value.checked_mul(variable.kind.bytes())?)
    }
}
