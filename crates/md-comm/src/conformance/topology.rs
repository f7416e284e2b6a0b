//! Edge lists of different neighbourhoods. Capacities are filled in by the player.

use std::ops::RangeInclusive;

use crate::{Channel, Edge, Flow, Rank, World};

/// All 26 directions to the neighbours in three dimensions; a direction's opposite is at the
/// mirrored index.
fn directions() -> Vec<[isize; 3]> {
    let all = (0..27).map(|i| [i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1]);
    all.filter(|direction| direction != &[0; 3]).collect()
}

fn edge(peer: Rank, send_channel: Channel, receive_channel: Channel, flow: Flow) -> Edge {
    Edge { peer, send_channel, receive_channel, flow, send_capacity: 0 }
}

/// Ring among the first `members` ranks, both ways; no edges on the others.
pub(super) fn ring(world: &dyn World, members: usize) -> Vec<Edge> {
    let rank = world.rank();
    if rank >= members {
        return Vec::new();
    }
    let (right, left) = ((rank + 1) % members, (rank + members - 1) % members);
    vec![edge(right, 0, 1, Flow::Both), edge(left, 1, 0, Flow::Both)]
}

/// Messages only from each rank to the next one; the first rank receives nothing, the last sends
/// nothing.
pub(super) fn chain(world: &dyn World) -> Vec<Edge> {
    let rank = world.rank();
    let from = (rank > 0).then(|| edge(rank - 1, 0, 0, Flow::ReceiveOnly));
    let to = (rank + 1 < world.ranks()).then(|| edge(rank + 1, 0, 0, Flow::SendOnly));
    from.into_iter().chain(to).collect()
}

/// An edge per channel between neighbouring pairs of ranks, channels crossed; an odd last rank is
/// its own partner.
pub(super) fn pairs(world: &dyn World, channels: RangeInclusive<Channel>) -> Vec<Edge> {
    let rank = world.rank();
    let partner = if (rank ^ 1) < world.ranks() { rank ^ 1 } else { rank };
    let crossed = |channel: Channel| channels.start() + channels.end() - channel;
    channels.clone().map(|channel| edge(partner, channel, crossed(channel), Flow::Both)).collect()
}

/// Ranks per dimension, as equal as possible.
pub(super) fn balanced(ranks: usize) -> [usize; 3] {
    let divisor =
        |n: usize, root: u32| (1..=n).rev().find(|d| n.is_multiple_of(*d) && d.pow(root) <= n).unwrap_or(1);
    let z = divisor(ranks, 3);
    let y = divisor(ranks / z, 2);
    [ranks / z / y, y, z]
}

/// Neighbour of this rank on a periodic grid.
fn neighbour(world: &dyn World, grid: [usize; 3], direction: [isize; 3]) -> Rank {
    let rank = world.rank();
    let here = [rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]];
    let there = |d: usize| (here[d] as isize + direction[d]).rem_euclid(grid[d] as isize) as usize;
    (there(0) * grid[1] + there(1)) * grid[2] + there(2)
}

/// Periodic grid with 26 neighbours, one edge per direction: with few ranks many edges share a
/// peer, or lead back.
pub(super) fn torus_by_direction(world: &dyn World, grid: [usize; 3]) -> Vec<Edge> {
    let directions = directions();
    let opposite = |i: usize| directions.len() - 1 - i;
    let towards =
        |i| edge(neighbour(world, grid, directions[i]), i as Channel, opposite(i) as Channel, Flow::Both);
    (0..directions.len()).map(towards).collect()
}

/// Periodic grid with the same neighbours, one edge per peer.
pub(super) fn torus_by_rank(world: &dyn World, grid: [usize; 3]) -> Vec<Edge> {
    let mut peers: Vec<Rank> =
        directions().into_iter().map(|direction| neighbour(world, grid, direction)).collect();
    peers.sort_unstable();
    peers.dedup();
    peers.into_iter().map(|peer| edge(peer, 0, 0, Flow::Both)).collect()
}

/// Half shell: sends towards 13 directions, receives from the opposite ones.
pub(super) fn half_shell(world: &dyn World, grid: [usize; 3]) -> Vec<Edge> {
    let directions = directions();
    let half = directions.len() / 2;
    let to = |i| edge(neighbour(world, grid, directions[i]), i as Channel, 0, Flow::SendOnly);
    let from = |i| {
        let opposite = directions[directions.len() - 1 - i];
        edge(neighbour(world, grid, opposite), 0, i as Channel, Flow::ReceiveOnly)
    };
    (0..half).map(to).chain((0..half).map(from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_have_all_ranks() {
        for ranks in 1..=64 {
            assert_eq!(balanced(ranks).iter().product::<usize>(), ranks);
        }
        assert_eq!(balanced(8), [2, 2, 2]);
        assert_eq!(balanced(4), [2, 2, 1]);
        assert_eq!(balanced(3), [3, 1, 1]);
    }

    #[test]
    fn directions_mirror() {
        let directions = directions();
        assert_eq!(directions.len(), 26);
        for (there, back) in directions.iter().zip(directions.iter().rev()) {
            assert_eq!(there.map(|d| -d), *back);
        }
    }
}
