//! What the ranks' times say together: an exchange as seen by a rank that did not have to wait for others.

use crate::{CommError, World};

/// Computes for all.
const ROOT: usize = 0;
/// Divides the ranks, in the order of their times.
const QUARTERS: usize = 4;

/// What a rank does in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Waits for messages, and may send some.
    Receives,
    /// Never waits for a message.
    SendsOnly,
    /// Has no part in it.
    Absent,
}

impl Role {
    /// As the first of a rank's numbers.
    fn code(self) -> f64 {
        f64::from(self as u8)
    }
}

/// One time per exchange from the times that every rank has spent in it, the same number on all. *Collective.*
///
/// A rank that comes late is waited for and hardly waits itself, so its time is that of the transport; a rank that comes
/// early has the others' lateness in its own, which can be a hundred times as long. So the least times of ranks that
/// receive count. Not the very least: among many ranks there are some whose partners are all close by. The lower quartile
/// over the ranks, then; up to four ranks it is the minimum. Ranks that only send never wait for a message; what sending
/// costs comes on top of what receiving costs, as it does for a rank that has both to do.
pub(super) fn without_waiting(world: &dyn World, role: Role, mine_s: &[f64]) -> Result<Vec<f64>, CommError> {
    let mine: Vec<f64> = [role.code()].into_iter().chain(mine_s.iter().copied()).collect();
    let all: Vec<Vec<f64>> = world
        .gather(ROOT, bytemuck::cast_slice(&mine))?
        .iter()
        .map(|numbers| bytemuck::pod_collect_to_vec(numbers))
        .collect();
    let mut agreed = bytemuck::cast_slice(&together(&all)).to_vec();
    world.broadcast(ROOT, &mut agreed)?;
    Ok(bytemuck::pod_collect_to_vec(&agreed))
}

/// Of a row per rank: its role, then its times. Nothing of no rows.
fn together(rows: &[Vec<f64>]) -> Vec<f64> {
    let [receiving, sending] = [Role::Receives, Role::SendsOnly].map(|role| {
        rows.iter().filter(|row| row.first() == Some(&role.code())).map(|row| &row[1..]).collect::<Vec<_>>()
    });
    let count = rows.first().map_or(0, |row| row.len().saturating_sub(1));
    (0..count).map(|place| lower_quartile(&receiving, place) + lower_quartile(&sending, place)).collect()
}

/// Of the rows at a place; 0 of no rows.
fn lower_quartile(rows: &[&[f64]], place: usize) -> f64 {
    let mut values: Vec<f64> = rows.iter().map(|row| row[place]).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / QUARTERS).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(role: Role, times: &[f64]) -> Vec<f64> {
        [&[role.code()], times].concat()
    }

    #[test]
    fn of_few_ranks_the_one_that_waits_least_counts() {
        let rows = [[2.0, 90.0], [80.0, 3.0], [70.0, 60.0]].map(|times| row(Role::Receives, &times));
        assert_eq!(together(&rows), [2.0, 3.0]);
        assert!(together(&[]).is_empty());
    }

    #[test]
    fn of_many_ranks_a_few_with_cheap_partners_do_not() {
        let rows: Vec<_> = (0..9).map(|rank| row(Role::Receives, &[f64::from(rank)])).collect();
        assert_eq!(together(&rows), [2.0]);
    }

    #[test]
    fn sending_comes_on_top_of_receiving() {
        let rows = [
            row(Role::SendsOnly, &[1.0]),
            row(Role::Receives, &[5.0]),
            row(Role::Absent, &[0.0]),
            row(Role::Receives, &[4.0]),
        ];
        assert_eq!(together(&rows), [5.0]);
    }

    #[test]
    fn without_messages_there_is_no_time() {
        assert_eq!(together(&[row(Role::Absent, &[0.1]), row(Role::Absent, &[0.2])]), [0.0]);
    }
}
