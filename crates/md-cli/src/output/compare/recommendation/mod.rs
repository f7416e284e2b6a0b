//! Which strategy to use, in words that say how sure that is.
//!
//! A difference is called sure if the 95 % intervals of the medians do not touch; anything else is called noise, and
//! nobody is asked to change a setting for noise.
//!
//! | file | says |
//! | --- | --- |
//! | `confidence` | what makes all numbers worth less, and which differences are sure |
//! | `ranking` | which strategies are compared with which, and what follows |
//! | `words` | the sentences |

mod confidence;
mod ranking;
#[cfg(test)]
mod tests;
mod words;

use crate::comparison::{Comparison, Measured, StrategyReport};

/// Two-sided messages as everybody uses them.
const BASELINE: &str = "p2p";
const DIGITS: usize = 3;
const MICROSECONDS: f64 = 1e6;
const MILLISECONDS: f64 = 1e3;
const PERCENT: f64 = 100.0;

/// A strategy with valid numbers.
type Measurement<'r> = (&'r StrategyReport, &'r Measured);

/// The whole text.
pub fn recommendation(comparison: &Comparison) -> String {
    let mut paragraphs = confidence::warnings(comparison);
    paragraphs.extend(ranking::verdict(comparison));
    paragraphs.iter().map(|paragraph| format!("{paragraph}\n")).collect()
}
