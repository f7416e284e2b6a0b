//! How much of an exchange hides behind computation.

use std::hint::black_box;
use std::time::Instant;

use md_comm::{Buffering, CommError, Edge, Exchange, Flow, World};

use super::line::{Handling, Line, spec, verified};
use super::series::{Series, parts};
use super::{Benchmark, Case, Ground, Stage};
use crate::compare::Problem;
use crate::sampling::sample_in_turn;

/// 10^5 numbers, and 4 MB.
const SIZES: [usize; 2] = [800_000, 4_000_000];
/// Pieces of computation between calls that drive progress.
const BLOCKS: usize = 16;
/// Exchanges that tell how long the computation has to be.
const TRIAL: usize = 5;
/// Units that tell how long one takes.
const TRIAL_UNITS: usize = 200_000;
const PARTS: [&str; 4] = ["communication", "computation", "both", "progress"];

/// With both neighbours of a ring: the exchange alone, a computation of the same length alone, both, and both with calls that drive
/// progress.
pub(super) struct Overlap;

impl Benchmark for Overlap {
    fn name(&self) -> &'static str {
        "overlap"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ground.each(&SIZES, ground.distance(), 0)
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let Stage { world, effort, .. } = *stage;
        let line = Line::open(world, spec(ring(world, case.bytes), Buffering::Double))?;
        let samples_s = verified(world, [line], |[line]| {
            let units = units_as_long_as(line, world)?;
            sample_in_turn(world, PARTS.len(), effort, |kind, iterations| {
                (0..iterations).try_for_each(|_| iterate(line, PARTS[kind], units))?;
                Ok(())
            })
        })?;
        let mut series = parts(&PARTS, samples_s, 2.0 * case.bytes as f64);
        let medians: Vec<f64> =
            series.iter().filter_map(|part| Some(part.summary?.interval.median_s)).collect();
        if let [communication, computation, ..] = medians[..] {
            for (part, both) in series.iter_mut().zip(&medians).skip(2) {
                let hidden = (communication + computation - both) / communication.min(computation);
                part.note = format!("{:.0} % hidden", 100.0 * hidden);
            }
        }
        Ok(series)
    }
}

pub(super) fn ring(world: &dyn World, bytes: usize) -> Vec<Edge> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let edge = |peer, send_channel| Edge {
        peer,
        send_channel,
        receive_channel: 1 - send_channel,
        flow: Flow::Both,
        send_capacity: bytes,
    };
    vec![edge((rank + 1) % ranks, 0), edge((rank + ranks - 1) % ranks, 1)]
}

fn iterate(line: &mut Line, part: &str, units: usize) -> Result<(), CommError> {
    let blocks = |context: &mut Exchange| {
        (0..BLOCKS).try_for_each(|_| {
            compute(units / BLOCKS);
            context.progress()
        })
    };
    let whole = |_: &mut Exchange| {
        compute(units);
        Ok(())
    };
    match part {
        "communication" => line.exchange(Handling::InPlace, |_| Ok(())),
        "computation" => {
            compute(units);
            Ok(())
        }
        "both" => line.exchange(Handling::InPlace, whole),
        _ => line.exchange(Handling::InPlace, blocks),
    }
}

/// Units of computation that take as long as an exchange, the same on all ranks. *Collective.*
fn units_as_long_as(line: &mut Line, world: &dyn World) -> Result<usize, Problem> {
    let begun = Instant::now();
    compute(TRIAL_UNITS);
    let unit_s = begun.elapsed().as_secs_f64() / TRIAL_UNITS as f64;
    world.barrier()?;
    let begun = Instant::now();
    (0..TRIAL).try_for_each(|_| line.exchange(Handling::InPlace, |_| Ok(())))?;
    let mut units = [begun.elapsed().as_secs_f64() / TRIAL as f64 / unit_s];
    world.max(&mut units)?;
    Ok(units[0].ceil() as usize)
}

/// Arithmetic in registers, on numbers of which the compiler does not know that they stay what they are.
fn compute(units: usize) {
    let mut numbers = black_box([1.0_f64; 8]);
    for _ in 0..units {
        numbers.iter_mut().for_each(|number| *number = number.mul_add(0.999_999, 1e-6));
    }
    black_box(numbers);
}
