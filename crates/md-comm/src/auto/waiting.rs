//! What the ranks' times say together: an exchange as seen by a rank that did not have to wait for others.

use crate::{CommError, World};

/// Speaks for all.
const ROOT: usize = 0;
/// Divides the ranks, in the order of their times.
const QUARTERS: usize = 4;

/// One time per exchange from the times that every rank has spent in it. *Collective.*
///
/// A rank that comes late is waited for and hardly waits itself, so its time is that of the transport; a rank that comes
/// early has the others' lateness in its own, which can be a hundred times as long. So the least times count. Not the
/// very least: among many ranks there are some whose partners are all close by. The lower quartile over the ranks, then;
/// up to four ranks it is the minimum.
pub(super) fn without_waiting(world: &dyn World, mine_s: &[f64]) -> Result<Vec<f64>, CommError> {
    let all: Vec<Vec<f64>> = world
        .gather(ROOT, bytemuck::cast_slice(mine_s))?
        .iter()
        .map(|times| bytemuck::pod_collect_to_vec(times))
        .collect();
    let mut agreed = bytemuck::cast_slice(&lower_quartiles(&all)).to_vec();
    world.broadcast(ROOT, &mut agreed)?;
    Ok(bytemuck::pod_collect_to_vec(&agreed))
}

/// Over the rows, for each column; nothing of no rows.
fn lower_quartiles(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.iter().map(Vec::len).min().unwrap_or(0);
    let mut sorted = Vec::with_capacity(rows.len());
    (0..columns)
        .map(|column| {
            sorted.clear();
            sorted.extend(rows.iter().map(|row| row[column]));
            sorted.sort_by(f64::total_cmp);
            sorted[(rows.len() - 1) / QUARTERS]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few_ranks_the_one_that_waits_least_counts() {
        let rows = [vec![2.0, 90.0], vec![80.0, 3.0], vec![70.0, 60.0]];
        assert_eq!(lower_quartiles(&rows), [2.0, 3.0]);
        assert!(lower_quartiles(&[]).is_empty());
    }

    #[test]
    fn of_many_ranks_a_few_with_cheap_partners_do_not() {
        let rows: Vec<_> = (0..9).map(|rank| vec![f64::from(rank)]).collect();
        assert_eq!(lower_quartiles(&rows), [2.0]);
    }
}
