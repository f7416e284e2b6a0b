//! The world's collectives against values computed from rank and size.

use std::time::{Duration, Instant};

use super::random::Random;
use super::{Check, Flaws};
use crate::{CommError, Message, World, deliver, deliver_items};

/// How long rank 0 keeps the others at the barrier.
const BARRIER_DELAY: Duration = Duration::from_millis(20);

pub(super) const CHECKS: &[Check] = &[
    Check::new("gather_all", gather_all),
    Check::new("gather to every root", gather),
    Check::new("broadcast from every root", broadcast),
    Check::new("shift by any number of places", shift),
    Check::new("messages to any ranks", deliver_to_any),
    Check::new("sum is exact", sum),
    Check::new("sum of what is not finite, or zero", special_sum),
    Check::new("max", max),
    Check::new("max around other collectives", max_around),
    Check::new("barrier holds everybody", barrier),
];

fn bytes_of(rank: usize, length: usize) -> Vec<u8> {
    let mut random = Random::keyed(&[rank as u64, length as u64]);
    (0..length).map(|_| random.next() as u8).collect()
}

fn gather_all(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for length in [0, 1, 8, 1000] {
        let all = world.gather_all(&bytes_of(world.rank(), length))?;
        let expected: Vec<u8> = (0..world.ranks()).flat_map(|rank| bytes_of(rank, length)).collect();
        flaws.expect(all == expected, || format!("gather_all of {length} bytes"));
    }
    Ok(())
}

fn gather(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let length = |rank: usize, root: usize| (rank + root) % 3 * 100_000 + rank;
    for root in 0..world.ranks() {
        let all = world.gather(root, &bytes_of(world.rank(), length(world.rank(), root)))?;
        let expected: Vec<_> = (0..world.ranks()).map(|rank| bytes_of(rank, length(rank, root))).collect();
        let right = if world.rank() == root { all == expected } else { all.is_empty() };
        flaws.expect(right, || format!("gather to {root}"));
    }
    Ok(())
}

fn broadcast(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for root in 0..world.ranks() {
        for length in [0, 1, 10_000] {
            let mut bytes = if world.rank() == root { bytes_of(root, length) } else { vec![1; 5] };
            world.broadcast(root, &mut bytes)?;
            flaws.expect(bytes == bytes_of(root, length), || format!("broadcast of {length} from {root}"));
        }
    }
    Ok(())
}

fn shift(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let length = |rank: usize, by: usize| (rank + by) % 3 * 100_000;
    for by in 0..2 * world.ranks() {
        let come = world.shift(by, &bytes_of(world.rank(), length(world.rank(), by)))?;
        let from = (world.rank() + 2 * world.ranks() - by) % world.ranks();
        flaws.expect(come == bytes_of(from, length(from, by)), || format!("shift by {by}"));
    }
    Ok(())
}

/// Delivers none, one or several messages from every rank to every rank, some without bytes.
fn deliver_to_any(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let between = |from: usize, to: usize| {
        let mut random = Random::keyed(&[from as u64, to as u64]);
        (0..random.below(3)).map(|_| bytes_of(from, random.below(3) * 1000 + to)).collect::<Vec<_>>()
    };
    let (rank, ranks) = (world.rank(), 0..world.ranks());
    let to = |to: usize| between(rank, to).into_iter().map(move |bytes| Message { to, bytes });
    let mut come = deliver(world, ranks.clone().flat_map(to).collect())?;
    let mut expected: Vec<_> = ranks.clone().flat_map(|from| between(from, rank)).collect();
    come.sort();
    expected.sort();
    flaws.expect(come == expected, || format!("{} messages, not {}", come.len(), expected.len()));
    let items = ranks.flat_map(|to| (0..to).map(move |i| (to, [rank, to, i].map(|n| n as u64))));
    let come = deliver_items(world, items)?;
    let mut expected: Vec<_> =
        (0..world.ranks()).flat_map(|from| (0..rank).map(move |i| [from, rank, i])).collect();
    come.iter().for_each(|item| expected.retain(|other| *item != other.map(|n| n as u64)));
    flaws.expect(come.len() == rank * world.ranks() && expected.is_empty(), || {
        format!("{} items", come.len())
    });
    Ok(())
}

/// Returns values that floating-point additions would round: as integers, and as these times 2^-40.
fn value(rank: usize, i: usize) -> (i128, f64) {
    let mut random = Random::keyed(&[rank as u64, i as u64]);
    let size = (random.below(1 << 50) as i128) << random.below(60);
    let integer = if random.below(2) == 0 { size } else { -size };
    (integer, integer as f64 * 2f64.powi(-40))
}

fn sum(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for width in [0, 1, 20] {
        let mut values: Vec<f64> = (0..width).map(|i| value(world.rank(), i).1).collect();
        world.sum(&mut values)?;
        let sum = |i| (0..world.ranks()).map(|rank| value(rank, i).0).sum::<i128>() as f64 * 2f64.powi(-40);
        let right = (0..width).all(|i| values[i].to_bits() == f64::to_bits(sum(i)));
        flaws.expect(right, || format!("sum of {width} values"));
    }
    Ok(())
}

/// On one rank the values are their own sums.
fn special_sum(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let is_first = world.rank() == 0;
    let on_first = |value: f64, others: f64| if is_first { value } else { others };
    let mut values = [
        on_first(f64::NAN, 1.0),
        on_first(f64::INFINITY, -1e300),
        on_first(f64::INFINITY, f64::NEG_INFINITY),
        f64::MAX,
        -0.0,
        5e-324,
    ];
    world.sum(&mut values)?;
    let ranks = world.ranks() as f64;
    let expected = if world.ranks() == 1 {
        [f64::NAN, f64::INFINITY, f64::INFINITY, f64::MAX, -0.0, 5e-324]
    } else {
        [f64::NAN, f64::INFINITY, f64::NAN, f64::INFINITY, -0.0, ranks * 5e-324]
    };
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    flaws.expect(values.iter().zip(&expected).all(same), || format!("{values:?}, not {expected:?}"));
    Ok(())
}

fn max(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let last = (world.ranks() - 1) as f64;
    let rank = world.rank() as f64;
    let mut values = [rank, -rank, -5.0];
    world.max(&mut values)?;
    flaws.expect(values == [last, 0.0, -5.0], || format!("max gave {values:?}"));
    Ok(())
}

fn max_around(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for round in 0..3 {
        let mine = [world.rank() as f64 + f64::from(round), f64::NAN];
        let mut values = mine;
        world.start_max(&values)?;
        let mut others = [-(world.rank() as f64)];
        world.max(&mut others)?;
        world.barrier()?;
        world.finish_max(&mut values)?;
        let largest = (world.ranks() - 1) as f64 + f64::from(round);
        flaws.expect(values[0] == largest && others == [0.0], || format!("{mine:?} gave {values:?}"));
    }
    Ok(())
}

/// Rank 0 leaves the first barrier after all ranks have read the clock, so a real second barrier
/// takes every rank at least as long as rank 0 sleeps, however slowly threads are scheduled.
fn barrier(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    for _ in 0..3 {
        let begun = Instant::now();
        world.barrier()?;
        if world.rank() == 0 {
            std::thread::sleep(BARRIER_DELAY);
        }
        world.barrier()?;
        let waited = begun.elapsed();
        flaws.expect(waited >= BARRIER_DELAY, || format!("left the barrier after {waited:?}"));
    }
    Ok(())
}
