//! Division of the inner pairs between the time when positions are in flight and the time when
//! forces are sent to their owners.
//!
//! The division determines the order of the sums of forces, so a fixed share gives the same bits in
//! every run. An automatic share depends on measured times: at rebuilds, each rank divides the
//! inner work in the ratio of the times that its messages take in the two directions.

use std::time::Duration;

/// Part of the inner pairs that is computed while forces are sent to their owners, from 0 to 1, or
/// "auto": every rank chooses among eighths, at rebuilds, by the time that its messages take. The
/// order of the sums and therefore the last bits of the results depend on it: with "auto" they
/// differ from run to run.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(from = "written::Written", into = "written::Written"))]
pub enum SecondShare {
    /// Given part.
    Fixed(f64),
    /// Part chosen by each rank from its measurements.
    Auto,
}

impl Default for SecondShare {
    fn default() -> Self {
        Self::Fixed(0.5)
    }
}

impl SecondShare {
    /// Returns the share before anything has been measured.
    pub fn at_first(self) -> f64 {
        match self {
            Self::Fixed(share) => share,
            Self::Auto => 0.5,
        }
    }

    /// Returns a new share for messages that have taken these times, or `None` if it should not
    /// change.
    pub(crate) fn choose(self, now: f64, [out, home]: [Duration; 2]) -> Option<f64> {
        /// Smaller changes are not worth a new division.
        const LEAST_CHANGE: f64 = 0.1;
        let both = out + home;
        if self != Self::Auto || both.is_zero() {
            return None;
        }
        let wanted = home.as_secs_f64() / both.as_secs_f64();
        let chosen = (wanted * 8.0).round().clamp(1.0, 7.0) / 8.0;
        ((wanted - now).abs() > LEAST_CHANGE && chosen != now).then_some(chosen)
    }
}

/// Representation in a scenario.
#[cfg(feature = "serde")]
mod written {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::SecondShare;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    pub(super) enum Written {
        Share(#[schemars(range(min = 0, max = 1))] f64),
        Name(Name),
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub(super) enum Name {
        Auto,
    }

    impl From<Written> for SecondShare {
        fn from(written: Written) -> Self {
            match written {
                Written::Share(share) => Self::Fixed(share),
                Written::Name(Name::Auto) => Self::Auto,
            }
        }
    }

    impl From<SecondShare> for Written {
        fn from(share: SecondShare) -> Self {
            match share {
                SecondShare::Fixed(share) => Self::Share(share),
                SecondShare::Auto => Self::Name(Name::Auto),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(now: f64, out_us: u64, home_us: u64) -> Option<f64> {
        SecondShare::Auto.choose(now, [out_us, home_us].map(Duration::from_micros))
    }

    #[test]
    fn the_way_that_takes_longer_gets_more_of_the_work() {
        assert_eq!(chosen(0.5, 300, 100), Some(0.25));
        assert_eq!(chosen(0.5, 100, 300), Some(0.75));
        assert_eq!(chosen(0.5, 1, 100_000), Some(0.875), "some is left for the other way");
    }

    #[test]
    fn small_differences_and_no_messages_change_nothing() {
        assert_eq!(chosen(0.5, 100, 120), None);
        assert_eq!(chosen(0.375, 180, 120), None);
        assert_eq!(chosen(0.5, 0, 0), None);
    }

    #[test]
    fn a_fixed_share_stays() {
        let times = [Duration::from_micros(1), Duration::from_secs(1)];
        assert_eq!(SecondShare::Fixed(0.5).choose(0.5, times), None);
    }
}
