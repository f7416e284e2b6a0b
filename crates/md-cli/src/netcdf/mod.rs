//! The classic `NetCDF` format: dimensions, variables, and the offsets of their values. Versions 1,
//! 2 (64-bit offsets) and 5 (64-bit data) are read, version 2 is written.
//!
//! ```text
//! CDF, version, number of records
//! dimensions, attributes of the file, variables: each with its attributes, type, size and offset
//! values of the variables without records
//! records: values of each variable with records, one after the other
//! ```
//!
//! All numbers are big-endian, and names and values are padded to multiples of four bytes. As the
//! offset of every value is known beforehand, ranks read and write their values independently. The
//! format is specified in the `NetCDF` User's Guide, "File Format Specifications".

mod decode;
mod encode;

#[cfg(test)]
mod tests;

/// Tags of lists.
const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;

/// Offset of the number of records, a field of four bytes.
pub(crate) const RECORDS_AT: u64 = 4;

/// Largest number of records that fits into the field.
pub(crate) const MOST_RECORDS: u64 = u32::MAX as u64 - 1;

/// Value of the attribute `program` in files written by this program.
pub(crate) const PROGRAM: &str = "md";

/// Version with offsets of eight bytes.
const VERSION: u8 = 2;

/// Type of a variable's values. Version 5 adds the unsigned types and those of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// i8.
    Byte = 1,
    /// Text.
    Char,
    /// i16.
    Short,
    /// i32.
    Int,
    /// f32.
    Float,
    /// f64.
    Double,
    /// u8.
    UnsignedByte,
    /// u16.
    UnsignedShort,
    /// u32.
    UnsignedInt,
    /// i64.
    Int64,
    /// u64.
    UnsignedInt64,
}

impl Kind {
    /// All types in the order of their tags, from 1.
    const ALL: [Self; 11] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::UnsignedByte,
        Self::UnsignedShort,
        Self::UnsignedInt,
        Self::Int64,
        Self::UnsignedInt64,
    ];

    /// Returns the type with a tag, if there is one.
    fn of_tag(tag: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| u64::from(kind.tag()) == tag)
    }

    fn tag(self) -> u32 {
        self as u32
    }

    /// Size of a value in bytes.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Byte | Self::Char | Self::UnsignedByte => 1,
            Self::Short | Self::UnsignedShort => 2,
            Self::Int | Self::Float | Self::UnsignedInt => 4,
            Self::Double | Self::Int64 | Self::UnsignedInt64 => 8,
        }
    }

    /// Converts big-endian bytes to a number; NaN for text and for a wrong length.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match (self, bytes) {
            (Self::Byte, &[byte]) => byte.cast_signed().into(),
            (Self::UnsignedByte, &[byte]) => byte.into(),
            (Self::Short, &[a, b]) => i16::from_be_bytes([a, b]).into(),
            (Self::UnsignedShort, &[a, b]) => u16::from_be_bytes([a, b]).into(),
            (Self::Int, &[a, b, c, d]) => i32::from_be_bytes([a, b, c, d]).into(),
            (Self::UnsignedInt, &[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]).into(),
            (Self::Float, &[a, b, c, d]) => f32::from_be_bytes([a, b, c, d]).into(),
            (Self::Double, bytes) => bytes.try_into().map_or(f64::NAN, f64::from_be_bytes),
            (Self::Int64, bytes) => bytes.try_into().map_or(f64::NAN, |it| i64::from_be_bytes(it) as f64),
            (Self::UnsignedInt64, bytes) => {
                bytes.try_into().map_or(f64::NAN, |it| u64::from_be_bytes(it) as f64)
            }
            _ => f64::NAN,
        }
    }

    /// Returns the fill value of the library, which stands for values that were not written, if it
    /// has one for the type.
    pub(crate) fn fill(self) -> Option<f64> {
        match self {
            Self::Float | Self::Double => Some(9.969_209_968_386_869e36),
            _ => None,
        }
    }
}

/// A dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dimension {
    pub(crate) name: String,
    /// 0 for the record dimension.
    pub(crate) length: u64,
}

/// An attribute of a file or a variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: Value,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Numbers(Vec<f64>),
}

/// Returns the value of the attribute of this name.
fn value<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|attribute| attribute.name == name).map(|attribute| &attribute.value)
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// Indices of its dimensions, the slowest first.
    pub(crate) dimensions: Vec<usize>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) kind: Kind,
    /// Offset of its first value in bytes.
    pub(crate) begin: u64,
}

impl Variable {
    /// Returns the text of the attribute of this name, without surrounding white space and zeros;
    /// empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        match value(&self.attributes, name) {
            Some(Value::Text(text)) => {
                text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')
            }
            _ => "",
        }
    }

    /// Returns the number of the attribute of this name, if there is one.
    ///
    /// # Errors
    /// The attribute is not a finite number; in words that follow the name of the file.
    pub(crate) fn number(&self, name: &str) -> Result<Option<f64>, String> {
        match value(&self.attributes, name) {
            None => Ok(None),
            Some(Value::Numbers(numbers)) if matches!(numbers[..], [number] if number.is_finite()) => {
                Ok(numbers.first().copied())
            }
            Some(other) => {
                let found = match other {
                    Value::Text(text) => format!("{text:?}"),
                    Value::Numbers(numbers) => format!("{numbers:?}"),
                };
                Err(format!("`{name}` of variable `{}` must be a finite number, found {found}", self.name))
            }
        }
    }
}

/// Header of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Header {
    pub(crate) records: u64,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) variables: Vec<Variable>,
}

impl Header {
    /// Returns the variable of this name.
    pub(crate) fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns whether the file names this program as its writer.
    pub(crate) fn is_own(&self) -> bool {
        matches!(value(&self.attributes, "program"), Some(Value::Text(program)) if program == PROGRAM)
    }

    /// Returns the length of the dimension of this name.
    pub(crate) fn length(&self, name: &str) -> Option<u64> {
        self.dimensions.iter().find(|dimension| dimension.name == name).map(|dimension| dimension.length)
    }

    /// Returns whether a variable has a value for every record.
    pub(crate) fn has_records(&self, variable: &Variable) -> bool {
        variable
            .dimensions
            .first()
            .and_then(|&index| self.dimensions.get(index))
            .is_some_and(|it| it.length == 0)
    }

    /// Returns the names of a variable's dimensions.
    pub(crate) fn dimensions_of<'h>(&'h self, variable: &'h Variable) -> impl Iterator<Item = &'h str> {
        variable.dimensions.iter().filter_map(|&index| Some(self.dimensions.get(index)?.name.as_str()))
    }

    /// Returns the number of values of a variable, per record where it has records; `None` on
    /// overflow.
    pub(crate) fn values(&self, variable: &Variable) -> Option<u64> {
        let skipped = usize::from(self.has_records(variable));
        let lengths = variable.dimensions.iter().skip(skipped);
        lengths
            .map(|&index| self.dimensions.get(index).map_or(0, |it| it.length))
            .try_fold(1_u64, u64::checked_mul)
    }

    /// Returns the size of these values in bytes, with their padding; `None` on overflow.
    pub(crate) fn bytes(&self, variable: &Variable) -> Option<u64> {
        self.values(variable)?.checked_mul(variable.kind.bytes())?.checked_next_multiple_of(4)
    }

    /// Returns the size of a record in bytes. Records of a single variable are not padded.
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

    /// Returns the offset of the records, which are at the end of the file.
    pub(crate) fn records_begin(&self) -> Option<u64> {
        self.variables
            .iter()
            .filter(|variable| self.has_records(variable))
            .map(|variable| variable.begin)
            .min()
    }

    /// Returns the offset of value number `value` of a variable, in record number `record` if it
    /// has records.
    pub(crate) fn place(&self, variable: &Variable, record: u64, value: u64) -> Option<u64> {
        let record = if self.has_records(variable) { record.checked_mul(self.record_bytes()?)? } else { 0 };
        variable.begin.checked_add(record)?.checked_add(value.checked_mul(variable.kind.bytes())?)
    }
}
