//! The time of an exchange as seen by a rank that did not have to wait for others, from the times
//! of all ranks.

use crate::{CommError, Reduction, World};

/// Number of parts into which the ranks are divided, in the order of their times.
const QUARTERS: u64 = 4;
/// Bits of a time as a word that is larger for a longer time: seconds in single precision, which
/// has no sign here.
const TIME_BITS: u32 = 31;
/// A word longer than any time.
const NO_TIME: u64 = u64::MAX;

/// The role of a rank in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Waits for messages, and may send some.
    Receives,
    /// Never waits for a message.
    SendsOnly,
    /// Takes no part.
    Absent,
}

/// Returns one time per exchange from the times that every rank has spent in it; all ranks have the
/// same number of times. *Collective.*
///
/// A rank that comes late hardly waits itself, so its time is that of the transport. The time of a
/// rank that comes early includes the lateness of the others, which can be a hundred times as long.
/// The shortest times of ranks that receive therefore count, but not the very shortest: among many
/// ranks there are some whose partners are all close by. The lower quartile over the ranks is used,
/// which is the minimum for up to four ranks. Ranks that only send never wait for a message; the
/// cost of sending comes on top of that of receiving, as it does for a rank that does both.
///
/// The quartiles are found by bisection, bit by bit, from the number of ranks that have shorter
/// times, so that the amount of communication does not grow with the number of ranks.
pub(super) fn without_waiting(world: &dyn World, role: Role, mine_s: &[f64]) -> Result<Vec<f64>, CommError> {
    let roles = [Role::Receives, Role::SendsOnly];
    let mut ranks = roles.map(|of| u64::from(role == of));
    world.reduce(&mut ranks, Reduction::Sum)?;
    let time = |of: Role, &time_s: &f64| if role == of { word(time_s) } else { NO_TIME };
    let mine: Vec<u64> =
        roles.iter().flat_map(|&of| mine_s.iter().map(move |time_s| time(of, time_s))).collect();
    let places = ranks.map(|ranks| ranks.saturating_sub(1) / QUARTERS);
    let mut found = vec![0; mine.len()];
    for bit in (0..TIME_BITS).rev() {
        let mut shorter: Vec<u64> =
            mine.iter().zip(&found).map(|(&time, &found)| u64::from(time < found | 1 << bit)).collect();
        world.reduce(&mut shorter, Reduction::Sum)?;
        for (i, (found, shorter)) in found.iter_mut().zip(shorter).enumerate() {
            if shorter <= places[i / mine_s.len()] {
                *found |= 1 << bit;
            }
        }
    }
    let [receiving, sending] = [0, 1].map(|of| {
        let found = &found[of * mine_s.len()..][..mine_s.len()];
        found.iter().map(|&word| if ranks[of] > 0 { time_of(word) } else { 0.0 }).collect::<Vec<_>>()
    });
    Ok(receiving.into_iter().zip(sending).map(|(receiving, sending)| receiving + sending).collect())
}

fn word(time_s: f64) -> u64 {
    (time_s.max(0.0) as f32).to_bits().into()
}

fn time_of(word: u64) -> f64 {
    f32::from_bits(word as u32).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::local;

    /// Returns the common result for these roles and times.
    fn together(rows: &[(Role, &[f64])]) -> Vec<f64> {
        let found = local::run(rows.len(), Duration::from_secs(20), |world| {
            let (role, times) = rows[world.rank()];
            without_waiting(world, role, times).unwrap()
        });
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn of_few_ranks_the_one_that_waits_least_counts() {
        let rows: [(Role, &[f64]); 3] =
            [(Role::Receives, &[2.0, 90.0]), (Role::Receives, &[80.0, 3.0]), (Role::Receives, &[70.0, 60.0])];
        assert_eq!(together(&rows), [2.0, 3.0]);
        assert!(together(&[(Role::Receives, &[][..]); 2]).is_empty());
    }

    #[test]
    fn of_many_ranks_a_few_with_cheap_partners_do_not() {
        let times: Vec<[f64; 1]> = (0..9).map(|rank| [f64::from(rank)]).collect();
        let rows: Vec<(Role, &[f64])> =
            times.iter().map(|times| (Role::Receives, times.as_slice())).collect();
        assert_eq!(together(&rows), [2.0]);
    }

    #[test]
    fn sending_comes_on_top_of_receiving() {
        let rows: [(Role, &[f64]); 4] = [
            (Role::SendsOnly, &[1.0]),
            (Role::Receives, &[5.0]),
            (Role::Absent, &[0.0]),
            (Role::Receives, &[4.0]),
        ];
        assert_eq!(together(&rows), [5.0]);
    }

    #[test]
    fn without_messages_there_is_no_time() {
        assert_eq!(together(&[(Role::Absent, &[0.1]), (Role::Absent, &[0.2])]), [0.0]);
    }

    #[test]
    fn times_keep_six_digits() {
        let found = together(&[(Role::Receives, &[1.234_567_8e-6, 0.0, -1.0, 3e9])]);
        assert!((found[0] / 1.234_567_8e-6 - 1.0).abs() < 1e-7, "{found:?}");
        assert_eq!(found[1..], [0.0, 0.0, 3e9]);
    }
}
