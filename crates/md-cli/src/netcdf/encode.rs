//! Encoding of headers.

use super::{ATTRIBUTES, Attribute, DIMENSIONS, Header, Kind, VARIABLES, VERSION, Value};

impl Header {
    /// Assigns the offsets of the variables, those without records first, in order, and returns the
    /// encoded header. `None` where a variable is too large for the format (4 GiB).
    pub(crate) fn laid_out(&mut self) -> Option<Vec<u8>> {
        let mut place = self.encoded()?.len() as u64;
        for with_records in [false, true] {
            for index in 0..self.variables.len() {
                if self.has_records(&self.variables[index]) == with_records {
                    self.variables[index].begin = place;
                    place = place.checked_add(self.bytes(&self.variables[index])?)?;
                }
            }
        }
        self.encoded()
    }

    fn encoded(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![b'C', b'D', b'F', VERSION];
        push(&mut bytes, self.records)?;
        list(&mut bytes, DIMENSIONS, self.dimensions.len())?;
        for dimension in &self.dimensions {
            name(&mut bytes, &dimension.name)?;
            push(&mut bytes, dimension.length)?;
        }
        attributes(&mut bytes, &self.attributes)?;
        list(&mut bytes, VARIABLES, self.variables.len())?;
        for variable in &self.variables {
            name(&mut bytes, &variable.name)?;
            push(&mut bytes, variable.dimensions.len() as u64)?;
            variable.dimensions.iter().try_for_each(|&index| push(&mut bytes, index as u64))?;
            attributes(&mut bytes, &variable.attributes)?;
            push(&mut bytes, variable.kind.tag().into())?;
            push(&mut bytes, self.bytes(variable)?)?;
            bytes.extend(variable.begin.to_be_bytes());
        }
        Some(bytes)
    }
}

fn push(bytes: &mut Vec<u8>, number: u64) -> Option<()> {
    bytes.extend(u32::try_from(number).ok()?.to_be_bytes());
    Some(())
}

/// Writes the start of a list. A list without elements has tag 0.
fn list(bytes: &mut Vec<u8>, tag: u32, elements: usize) -> Option<()> {
    push(bytes, if elements == 0 { 0 } else { tag.into() })?;
    push(bytes, elements as u64)
}

fn name(bytes: &mut Vec<u8>, name: &str) -> Option<()> {
    push(bytes, name.len() as u64)?;
    bytes.extend(name.as_bytes());
    pad(bytes);
    Some(())
}

fn attributes(bytes: &mut Vec<u8>, attributes: &[Attribute]) -> Option<()> {
    list(bytes, ATTRIBUTES, attributes.len())?;
    attributes.iter().try_for_each(|attribute| {
        name(bytes, &attribute.name)?;
        match &attribute.value {
            Value::Text(text) => {
                push(bytes, Kind::Char.tag().into())?;
                name(bytes, text)
            }
            Value::Numbers(numbers) => {
                push(bytes, Kind::Double.tag().into())?;
                push(bytes, numbers.len() as u64)?;
                bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
                Some(())
            }
        }
    })
}

/// Pads to a multiple of four bytes: the preamble and everything after it has such a length.
fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
