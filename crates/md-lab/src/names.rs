//! Names and numbers as text for the user.

use std::fmt;

use serde::Serialize;

/// Returns the name of an enum value in a scenario, e.g. `direct-sum`.
pub fn name_of<T: Serialize>(value: T) -> String {
    struct Named<T>(T);
    impl<T: Serialize> fmt::Display for Named<T> {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(formatter)
        }
    }
    Named(value).to_string()
}

/// Formats a number with `digits` significant digits, like C's `%g`: without trailing zeros, and
/// with an exponent if the number is very small or very large.
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match usize::try_from(digits as i32 - 1 - exponent) {
        Ok(decimals) if exponent >= -4 => without_trailing_zeros(&format!("{value:.decimals$}")).to_owned(),
        _ => format!("{}e{exponent:+03}", without_trailing_zeros(mantissa)),
    }
}

fn without_trailing_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Formats a number of bytes with a unit, from kB to EB.
pub fn in_words(bytes: f64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let power = ((bytes.max(1.0).log10() / 3.0) as usize).clamp(1, UNITS.len());
    let number = bytes / 1000f64.powi(power as i32);
    if number < 10.0 {
        format!("{number:.1} {}", UNITS[power - 1])
    } else {
        format!("{number:.0} {}", UNITS[power - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_sensible_units() {
        let words = [0.0, 2.1e7, 1.46e9, 23e9, 4.2e18, 1e22].map(in_words);
        assert_eq!(words, ["0.0 kB", "21 MB", "1.5 GB", "23 GB", "4.2 EB", "10000 EB"]);
    }

    #[test]
    fn like_percent_g_of_c() {
        for (value, text) in [
            (0.0, "0"),
            (1.44, "1.44"),
            (-6.773368053, "-6.7734"),
            (0.18211, "0.18211"),
            (3.5578e-5, "3.5578e-05"),
            (0.00012345, "0.00012345"),
            (99999.6, "1e+05"),
            (12345.6, "12346"),
            (2000.0, "2000"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(significant(value, 5), text);
        }
    }
}
