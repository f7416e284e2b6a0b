//! Packed coordinates of XTC: whole numbers in the format of `xdr3dfcoord` of the GROMACS library,
//! whose source is the specification.
//!
//! ```text
//! particle    x, y, z within the ranges of the frame, as one number with the least number of bits
//!             (three numbers, if it is too large)
//! 1 bit       whether the following five bits exist: three times the length of the run, plus the
//!             change of `size`: 0 (finer), 1 (none) or 2 (coarser)
//! run         particles near the one before, as one number of `size` bits each; in the order of
//!             the file, the first of them precedes the particle itself
//! ```

/// Number of values of a small difference along an axis, by the number of bits that the three
/// differences take together.
const SIZES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256, 322, 406,
    512, 645, 812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321, 13003, 16384, 20642,
    26007, 32768, 41285, 52015, 65536, 82570, 104031, 131072, 165140, 208063, 262144, 330280, 416127, 524287,
    660561, 832255, 1048576, 1321122, 1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042, 8388607,
    10568983, 13316085, 16777216,
];

/// Size of a range above which the three coordinates of a particle are packed separately.
const LARGE: u32 = 0xff_ffff;

/// Ranges of the coordinates of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranges {
    /// Number of integer steps per unit of length.
    precision: f64,
    least: [i32; 3],
    sizes: [u32; 3],
    /// Index of the first small difference in [`SIZES`].
    small: usize,
}

impl Ranges {
    /// Reads eight big-endian words.
    ///
    /// # Errors
    /// Returns a description of the impossible value.
    pub(super) fn from_bytes(bytes: &[u8; 32]) -> Result<Self, String> {
        let (words, _) = bytes.as_chunks::<4>();
        let word = |index: usize| words.get(index).map_or(0, |word| i32::from_be_bytes(*word));
        let precision = f64::from(f32::from_bits(word(0) as u32));
        if !(precision > 0.0 && precision.is_finite()) {
            return Err(format!("its precision is {precision:?}"));
        }
        let [least, most] = [1, 4].map(|first| [0, 1, 2].map(|dim| word(first + dim)));
        let mut sizes = [0; 3];
        for (dim, size) in sizes.iter_mut().enumerate() {
            let count = i64::from(most[dim]) - i64::from(least[dim]) + 1;
            let wrong = || format!("its coordinates are from {} to {}", least[dim], most[dim]);
            *size = u32::try_from(count).ok().filter(|&size| size > 0).ok_or_else(wrong)?;
        }
        let small = word(7) as u32 as usize;
        if SIZES.get(small).is_none_or(|&size| size == 0) {
            return Err(format!("its small differences are of kind {small}"));
        }
        Ok(Self { precision, least, sizes, small })
    }
}

/// Decoder of the particles of a frame.
pub(super) struct Coordinates<'b> {
    ranges: Ranges,
    bits: Bits<'b>,
    /// Particles that have been decoded, the next one last.
    ready: Vec<[i64; 3]>,
    /// Three times the number of particles in a run.
    run: u64,
}

impl<'b> Coordinates<'b> {
    pub(super) fn new(ranges: Ranges, bytes: &'b [u8]) -> Self {
        Self { ranges, bits: Bits { bytes, at: 0 }, ready: Vec::new(), run: 0 }
    }

    /// Returns the coordinates of the next particle.
    ///
    /// # Errors
    /// Returns a description of the impossible value.
    pub(super) fn next(&mut self) -> Result<[f64; 3], String> {
        if self.ready.is_empty() {
            self.unpack()?;
        }
        let place = self.ready.pop().unwrap_or_default();
        Ok(place.map(|number| number as f64 / self.ranges.precision))
    }

    /// Decodes a particle and the run that follows it.
    fn unpack(&mut self) -> Result<(), String> {
        let Ranges { least, sizes, small, .. } = self.ranges;
        let numbers = if sizes.iter().fold(0, |all, size| all | size) > LARGE {
            let mut numbers = [0; 3];
            for (number, size) in numbers.iter_mut().zip(sizes) {
                *number = self.bits.number(u32::BITS - size.leading_zeros())?;
            }
            numbers
        } else {
            let product: u128 = sizes.iter().map(|&size| u128::from(size)).product();
            self.bits.vector(u128::BITS - product.leading_zeros(), sizes)?
        };
        let first = [0, 1, 2].map(|dim| numbers[dim] as i64 + i64::from(least[dim]));
        let mut change = 1;
        if self.bits.number(1)? == 1 {
            let word = self.bits.number(5)?;
            (self.run, change) = (word - word % 3, word % 3);
        }
        let size = SIZES[small];
        let mut before = first;
        for count in 0..self.run / 3 {
            let steps = self.bits.vector(small as u32, [size; 3])?;
            let place = [0, 1, 2].map(|dim| before[dim] + steps[dim] as i64 - i64::from(size / 2));
            self.ready.push(place);
            if count == 0 {
                self.ready.push(first);
            }
            before = place;
        }
        if self.run == 0 {
            self.ready.push(first);
        }
        // Until here, they are in the order of the file.
        self.ready.reverse();
        self.ranges.small = (small + change as usize).wrapping_sub(1);
        match SIZES.get(self.ranges.small) {
            Some(&size) if size > 0 => Ok(()),
            _ => Err(format!("its small differences become those of kind {}", self.ranges.small)),
        }
    }
}

/// Reader of the bits of bytes, the highest first.
struct Bits<'b> {
    bytes: &'b [u8],
    /// Position in bits.
    at: usize,
}

impl Bits<'_> {
    /// Reads a number of up to 32 bits.
    fn number(&mut self, bits: u32) -> Result<u64, String> {
        let mut found = 0;
        let mut left = bits as usize;
        while left > 0 {
            let byte = self.bytes.get(self.at / 8).ok_or("its bytes end here")?;
            let there = 8 - self.at % 8;
            let taken = there.min(left);
            let part = u64::from(*byte) >> (there - taken) & ((1 << taken) - 1);
            found = found << taken | part;
            self.at += taken;
            left -= taken;
        }
        Ok(found)
    }

    /// Reads three numbers that are combined in one, whose lowest byte comes first.
    fn vector(&mut self, bits: u32, sizes: [u32; 3]) -> Result<[u64; 3], String> {
        let mut word = 0_u128;
        for place in (0..bits).step_by(8) {
            word |= u128::from(self.number(8.min(bits - place))?) << place;
        }
        let [_, y, z] = sizes.map(u128::from);
        Ok([word / (y * z), word / z % y, word % z].map(|number| number as u64))
    }
}
