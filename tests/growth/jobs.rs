//! The jobs, and the conditions on their counts.

use std::process::ExitCode;

use crate::child::{NEGOTIATIONS, RUNS};
use crate::counter;
use crate::tally::Tally;

const RANKS: [usize; 4] = [2, 4, 8, 16];
/// Largest ratio of the costs. Particles and rebuilds differ between ranks. A cost in proportion to
/// the number of ranks would grow by 4 from 4 to 16 ranks.
const TOLERANCE: f64 = 1.5;
/// Index of the number of collectives in the counts.
const COLLECTIVES: usize = 2;
const COUNTED: [&str; 4] = ["collectives", "bytes of collectives", "messages", "bytes of messages"];

/// Cost per step: the maximum over the ranks.
type Cost = [f64; COUNTED.len()];

pub(crate) fn run_all() -> ExitCode {
    let mut tally = Tally::default();
    match RANKS.map(counter::run_job).into_iter().collect::<Result<Vec<String>, String>>() {
        Err(what) => tally.count("the jobs", Err(what)),
        Ok(printed) if printed.iter().all(String::is_empty) => (),
        Ok(printed) => {
            for run in RUNS.into_iter().map(|(setting, _)| setting).chain([NEGOTIATIONS]) {
                let costs: Vec<Cost> = printed.iter().map(|text| cost(text, run)).collect();
                for (ranks, cost) in RANKS.iter().zip(&costs) {
                    println!("{run} {ranks} ranks: {cost:.1?} of {COUNTED:?} per step");
                }
                (0..COUNTED.len()).for_each(|index| tally.count(run, expect_no_growth(run, index, &costs)));
            }
        }
    }
    tally.end()
}

/// Checks that costs do not grow. On two ranks each has one neighbour, in all other jobs two, so
/// these are compared with four ranks. Negotiations must not use any collective.
fn expect_no_growth(run: &str, index: usize, costs: &[Cost]) -> Result<(), String> {
    let [two, four, .., most] = costs else { return Err("too few jobs".to_owned()) };
    let [two, four, most] = [two, four, most].map(|cost| cost[index]);
    let is_none = [two, four, most] == [0.0; 3];
    let may_be_none = run == NEGOTIATIONS && index < COLLECTIVES;
    if is_none == may_be_none && two <= four * TOLERANCE && most <= four * TOLERANCE {
        return Ok(());
    }
    Err(format!("{two:.1} {} per step on 2 ranks, {four:.1} on 4, {most:.1} on 16", COUNTED[index]))
}

/// Returns the maximum over the ranks, from the lines of all ranks.
fn cost(printed: &str, run: &str) -> Cost {
    let mut most = Cost::default();
    for line in printed.lines().filter_map(|line| line.strip_prefix(run)) {
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let Some((steps, counts)) = numbers.split_first() else { continue };
        for (most, count) in most.iter_mut().zip(counts) {
            *most = most.max(count / steps);
        }
    }
    most
}
