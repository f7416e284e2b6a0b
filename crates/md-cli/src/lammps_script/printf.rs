//! Formatting of numbers as by C's `printf` with `%e`, `%f` and `%g`.

/// A conversion such as `%08.3f`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Conversion {
    has_sign_blank: bool,
    fills_with_zeros: bool,
    /// Minimum number of characters.
    width: usize,
    precision: usize,
    kind: Kind,
    is_upper_case: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Exponent,
    Fixed,
    Shorter,
}

impl Conversion {
    /// Returns the conversion `%.Ng`.
    pub(super) fn general(precision: usize) -> Self {
        Self {
            has_sign_blank: false,
            fills_with_zeros: false,
            width: 0,
            precision,
            kind: Kind::Shorter,
            is_upper_case: false,
        }
    }

    /// Parses `%`, a blank or digits, `.`, digits, and one of `efgEFG`, which is what LAMMPS
    /// accepts.
    ///
    /// # Errors
    /// Any other conversion.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        /// More characters do not fit into LAMMPS's own buffer.
        const MOST: usize = 200;
        let read = || {
            let (field, rest) = text.strip_prefix('%')?.split_once('.')?;
            let (digits, letter) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
            let kind = match letter {
                "e" | "E" => Kind::Exponent,
                "f" | "F" => Kind::Fixed,
                "g" | "G" => Kind::Shorter,
                _ => return None,
            };
            let width = field.trim_start_matches([' ', '0']);
            let flags = &field[..field.len() - width.len()];
            let precision = digits.parse().ok().filter(|&precision| precision <= MOST)?;
            let width = if width.is_empty() { Some(0) } else { width.parse().ok() };
            Some(Self {
                has_sign_blank: flags.contains(' '),
                fills_with_zeros: flags.contains('0'),
                width: width.filter(|&width| width <= MOST)?,
                precision,
                kind,
                is_upper_case: letter.starts_with(|letter: char| letter.is_ascii_uppercase()),
            })
        };
        read().ok_or_else(|| format!("`{text}` is no format of a number, such as `%.3f`"))
    }

    /// Formats a number.
    pub(super) fn write(&self, value: f64) -> String {
        let magnitude = value.abs();
        let mut text = match self.kind {
            Kind::Exponent => exponent(magnitude, self.precision),
            Kind::Fixed => format!("{magnitude:.*}", self.precision),
            Kind::Shorter => shorter(magnitude, self.precision.max(1)),
        };
        if self.is_upper_case {
            text = text.to_uppercase();
        }
        let sign = match (value.is_sign_negative(), self.has_sign_blank) {
            (true, _) => "-",
            (false, true) => " ",
            (false, false) => "",
        };
        let missing = self.width.saturating_sub(sign.len() + text.len());
        match self.fills_with_zeros {
            true => format!("{sign}{}{text}", "0".repeat(missing)),
            false => format!("{}{sign}{text}", " ".repeat(missing)),
        }
    }
}

/// Formats a number by `%.Ne`.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}

/// Formats a number by `%.Ng`.
fn shorter(value: f64, digits: usize) -> String {
    let text = exponent(value, digits - 1);
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i64 = power.parse().unwrap_or_default();
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..digits as i64).contains(&power) {
        let decimals = usize::try_from(digits as i64 - 1 - power).unwrap_or_default();
        return without_zeros(&format!("{value:.decimals$}"));
    }
    format!("{}{}", without_zeros(mantissa), &text[mantissa.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the output of `lmp`.
    #[test]
    fn numbers_are_written_as_in_c() {
        for (conversion, value, expected) in [
            ("%.20g", 1.0 / 3.0, "0.33333333333333331483"),
            ("%.20g", 1e30, "1.0000000000000000199e+30"),
            ("%.20g", 123_456_789_012_345_680.0, "123456789012345680"),
            ("%.20g", 1e-5, "1.0000000000000000818e-05"),
            ("%.20g", 12_345_678.9, "12345678.900000000373"),
            ("%.20g", -0.0, "-0"),
            ("%.15g", 1.0 / 3.0, "0.333333333333333"),
            ("%.15g", 1_234_567_890_123_456_789.0, "1.23456789012346e+18"),
            ("%.15g", 1e-5, "1e-05"),
            ("%.15g", 100_000.0, "100000"),
            ("%.3f", 60.0, "60.000"),
            ("%08.3f", 2.0, "0002.000"),
            ("%08.3f", -2.0, "-002.000"),
            ("%5.1f", 2.0, "  2.0"),
            ("% .1E", 12345.0, " 1.2E+04"),
            ("%10.3e", 3.0, " 3.000e+00"),
            ("%.0g", 25.0, "2e+01"),
        ] {
            assert_eq!(Conversion::read(conversion).unwrap().write(value), expected, "{conversion}");
        }
        assert_eq!(Conversion::general(15), Conversion::read("%.15g").unwrap());
        for text in ["", "%d", "%g", "3.f", "%.f", "%-5.1f", "%.3f ", "%.999f", "%5 .1f", "%.3é"] {
            assert!(Conversion::read(text).is_err(), "{text}");
        }
    }
}
