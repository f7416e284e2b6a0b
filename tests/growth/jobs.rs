//! The jobs, and what their counts have to be.

use std::process::ExitCode;

use crate::child::{NEGOTIATIONS, RUNS};
use crate::counter;
use crate::tally::Tally;

const RANKS: [usize; 4] = [2, 4, 8, 16];
/// Particles and rebuilds are not the same everywhere. What grows in proportion to the ranks grows by 4 from 4 ranks to 16.
const TOLERANCE: f64 = 1.5;
/// The first of what is counted.
const COLLECTIVES: usize = 2;
const COUNTED: [&str; 4] = ["collectives", "bytes of collectives", "messages", "bytes of messages"];

/// Per step, the most of a rank.
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

/// Two ranks have one neighbour, all others two: they are compared with four ranks. Negotiations need no collective at all.
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

/// The most of a rank, from the lines of all.
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
