//! Numbers in commands.

/// Temperature at the beginning and at the end of a run.
pub(super) type Ramp = [f64; 2];

/// Parses a number.
pub(super) fn number(word: &str) -> Result<f64, String> {
    let value: Option<f64> = word.parse().ok();
    value.filter(|value| value.is_finite()).ok_or_else(|| format!("`{word}` is not a number"))
}

/// Parses a whole number, which a formula may have written as `20.0`.
pub(super) fn whole(word: &str) -> Result<u64, String> {
    /// Above this, not every whole number is representable as f64.
    const MOST: f64 = 9e15;
    let value = number(word)?;
    let is_whole = (0.0..MOST).contains(&value) && value.fract() == 0.0;
    if is_whole { Ok(value as u64) } else { Err(format!("`{word}` is not a whole number")) }
}

/// Parses a number of types or a type.
pub(super) fn count(word: &str) -> Result<usize, String> {
    match whole(word)? {
        count @ 1..=1000 => Ok(count as usize),
        _ => Err(format!("`{word}` is not from 1 to 1000")),
    }
}

/// Parses `yes` or `no`.
pub(super) fn yes(word: &str) -> Result<bool, String> {
    match word {
        "yes" | "on" => Ok(true),
        "no" | "off" => Ok(false),
        _ => Err(format!("`{word}` is neither yes nor no")),
    }
}

/// Parses the two temperatures of a ramp.
pub(super) fn ramp(from: &str, to: &str) -> Result<Ramp, String> {
    Ok([number(from)?, number(to)?])
}
