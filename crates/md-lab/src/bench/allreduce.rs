//! Reductions over all ranks.

use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;
use crate::sampling::sample_in_turn;

/// 1 to 4096 numbers.
const SIZES: [usize; 5] = [8, 64, 512, 4096, 32_768];

/// Maximum and rounding-free sum over the ranks.
pub(super) struct Allreduce;

impl Benchmark for Allreduce {
    fn name(&self) -> &'static str {
        "allreduce"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.once(super::ground::COLLECTIVE, &SIZES)
    }

    fn least_bytes(&self) -> Option<usize> {
        Some(0)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let count = case.bytes / size_of::<f64>();
        let numbers = |rank: usize| (0..count).map(move |i| (i * (rank + 1)) as f64);
        let mut wanted: Vec<f64> = vec![0.0; count];
        for rank in 0..world.ranks() {
            wanted.iter_mut().zip(numbers(rank)).for_each(|(sum, number)| *sum += number);
        }
        let mut sums: Vec<f64> = numbers(world.rank()).collect();
        world.sum(&mut sums)?;
        if sums != wanted {
            return Err(Problem::wrong("a sum over the ranks is wrong"));
        }
        let mut values = vec![1.0; count];
        let samples_s = sample_in_turn(world, 2, effort, |kind, iterations| {
            for _ in 0..iterations {
                values.fill(1.0);
                if kind == 0 { world.max(&mut values)? } else { world.sum(&mut values)? }
            }
            Ok::<_, Problem>(())
        })?;
        Ok(parts(&["max", "sum"], samples_s, case.bytes as f64))
    }
}
