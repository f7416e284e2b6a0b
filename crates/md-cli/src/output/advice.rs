//! One line of advice after a run in which ranks waited much for each other, or had very different shares of the particles.

use md_engine::{Phase, RankTiming};

use super::statistics::{Spread, percent, spread};

/// Waiting below this share of the run is not worth a word.
const WORTH_MENTIONING_PERCENT: f64 = 10.0;

/// The phases in which a rank works by itself, so that their sum shows how the work is divided.
const WORK: [Phase; 3] = [Phase::Integrate, Phase::Neighbor, Phase::Force];

/// So many particles more than the average make a rank slower.
const MANY_MORE_PERCENT: f64 = 5.0;

/// So many particles more than the average are no accident of a small system, whatever the times say.
const FAR_MORE_PERCENT: f64 = 50.0;

/// What to try, if the ranks waited for each other or were unevenly loaded by more than a tenth, or if one of them has far more
/// particles than the average.
pub fn advice(ranks: &[RankTiming]) -> Option<String> {
    let total_s = spread(ranks.iter().map(|rank| seconds(rank, Phase::Total))).avg;
    let wait_s = spread(ranks.iter().map(|rank| seconds(rank, Phase::HaloWait))).avg;
    let waiting = percent(wait_s, total_s);
    let Spread { avg, max, .. } = spread(ranks.iter().map(work_s));
    let lost_to_imbalance = percent(max - avg, total_s);
    if lost_to_imbalance >= WORTH_MENTIONING_PERCENT {
        return Some(format!(
            "the slowest rank computes for {:.0} % longer than the average, which costs {lost_to_imbalance:.0} % of \
             the run{}",
            percent(max - avg, avg),
            cause(ranks)
        ));
    }
    let Spread { min: fewest, avg: average, max: most } = spread(ranks.iter().map(|rank| rank.owned as f64));
    if percent(most - average, average) >= FAR_MORE_PERCENT {
        return Some(format!(
            "one rank has {most:.0} particles, another {fewest:.0}, the average is {average:.0}; divide the work differently \
             with parallel.partition or parallel.grid"
        ));
    }
    (waiting >= WORTH_MENTIONING_PERCENT).then(|| {
        format!(
            "{waiting:.0} % of the run is spent waiting for other ranks, {lost_to_imbalance:.0} % because some compute \
             for longer; try another parallel.backend or parallel.shell, fewer ranks, or not more ranks than cores"
        )
    })
}

/// Why the slowest rank is slow: its share of the particles, or something else.
fn cause(ranks: &[RankTiming]) -> &'static str {
    let owned = |rank: &RankTiming| rank.owned as f64;
    let average = spread(ranks.iter().map(owned)).avg;
    let slowest = ranks.iter().max_by(|a, b| work_s(a).total_cmp(&work_s(b))).map_or(0.0, owned);
    if percent(slowest - average, average) >= MANY_MORE_PERCENT {
        "; divide the work differently with parallel.partition or parallel.grid"
    } else {
        " although it has hardly more particles; look for other programs on its core, and where its particles are \
         denser, divide the work differently with parallel.partition or parallel.grid"
    }
}

fn seconds(rank: &RankTiming, phase: Phase) -> f64 {
    rank.phases[phase as usize].seconds
}

fn work_s(rank: &RankTiming) -> f64 {
    WORK.iter().map(|&phase| seconds(rank, phase)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::fixtures::two_ranks;

    #[test]
    fn imbalance_is_named_before_the_waiting_it_causes() {
        let mut ranks = two_ranks();
        let slow = ranks.iter_mut().max_by(|a, b| work_s(a).total_cmp(&work_s(b))).unwrap();
        slow.owned *= 2;
        insta::assert_snapshot!(advice(&ranks).unwrap(), @"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run; divide the work differently with parallel.partition or parallel.grid");
    }

    #[test]
    fn a_slow_rank_with_as_many_particles_may_have_a_slow_core() {
        insta::assert_snapshot!(advice(&two_ranks()).unwrap(), @"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run although it has hardly more particles; look for other programs on its core, and where its particles are denser, divide the work differently with parallel.partition or parallel.grid");
    }

    #[test]
    fn waiting_without_imbalance_points_at_the_exchange() {
        let [rank, _] = two_ranks();
        insta::assert_snapshot!(advice(&[rank, rank]).unwrap(), @"31 % of the run is spent waiting for other ranks, 0 % because some compute for longer; try another parallel.backend or parallel.shell, fewer ranks, or not more ranks than cores");
    }

    #[test]
    fn a_very_uneven_division_is_told_even_if_it_costs_little() {
        let mut ranks = [two_ranks()[0]; 2];
        (ranks[0].owned, ranks[1].owned) = (849, 15);
        insta::assert_snapshot!(advice(&ranks).unwrap(), @"one rank has 849 particles, another 15, the average is 432; divide the work differently with parallel.partition or parallel.grid");
    }

    #[test]
    fn a_good_run_gets_no_advice() {
        let [_, rank] = two_ranks();
        assert_eq!(advice(&[rank, rank]), None);
        assert_eq!(advice(&[]), None);
    }
}
