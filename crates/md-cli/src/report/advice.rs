//! One line of advice after a run in which ranks shared cores, waited for each other for long, or
//! had very different shares of the particles.

use md_engine::balance::DEFAULT_THRESHOLD;
use md_engine::{BalanceReport, Phase, Spread, Timings};

use super::statistics::percent;
use crate::host_load::HostUse;

/// Share of the run below which waiting is not reported.
const WORTH_MENTIONING_PERCENT: f64 = 10.0;

/// Excess of particles over the average, in percent, that makes a rank slower.
const MANY_MORE_PERCENT: f64 = 5.0;

/// Excess of particles over the average, in percent, that is reported whatever the times are,
/// because it is not a fluctuation of a small system.
const FAR_MORE_PERCENT: f64 = 50.0;

/// Influence of the host on the times of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Host<'a> {
    /// Reason why ranks took turns on their cores, in the words of the warning.
    pub crowding: Option<&'a str>,
    /// Use of the cores of the host.
    pub used: Option<HostUse>,
}

/// Returns a suggestion, if ranks shared cores, waited for each other or were unevenly loaded by
/// more than a tenth, or if a rank has far more particles than the average. It does not suggest
/// what `balance` has already done, and does not blame the exchange for what other programs on the
/// host may have caused.
pub fn advice(timings: &Timings, host: Host, balance: &BalanceReport) -> Option<String> {
    if host.crowding.is_some() {
        return host.crowding.map(str::to_owned);
    }
    let [total_s, wait_s] = [Phase::Total, Phase::HaloWait].map(|phase| timings.phase(phase).seconds.avg);
    let waiting = percent(wait_s, total_s);
    let Spread { avg, max, .. } = timings.work_s;
    let lost_to_imbalance = percent(max - avg, total_s);
    let is_slow = lost_to_imbalance.max(waiting) >= WORTH_MENTIONING_PERCENT;
    let used = host.used.filter(|_| is_slow);
    if let Some(advice) = used.and_then(|used| of_shared_cores(used, waiting)) {
        return Some(advice);
    }
    if lost_to_imbalance >= WORTH_MENTIONING_PERCENT {
        return Some(format!(
            "the slowest rank computes for {:.0} % longer than the average, which costs {lost_to_imbalance:.0} % of \
             the run{}",
            percent(max - avg, avg),
            cause(timings, balance)
        ));
    }
    let Spread { min: fewest, avg: average, max: most } = timings.owned;
    if percent(most - average, average) >= FAR_MORE_PERCENT {
        return Some(format!(
            "one rank has {most:.0} particles, another {fewest:.0}, the average is {average:.0}; {}",
            remedy(balance)
        ));
    }
    (waiting >= WORTH_MENTIONING_PERCENT).then(|| {
        format!(
            "{waiting:.0} % of the run is spent waiting for other ranks, {lost_to_imbalance:.0} % because some compute \
             for longer; try another parallel.backend or parallel.shell (`md-cli compare`), or fewer ranks"
        )
    })
}

/// Returns the advice for ranks that spend `waiting` percent of the run waiting while they or other
/// programs take turns on the cores.
fn of_shared_cores(used: HostUse, waiting: f64) -> Option<String> {
    let HostUse { by_others, cores, threads } = used;
    if used.is_oversubscribed() {
        return Some(format!(
            "{waiting:.0} % of the run is spent waiting for other ranks, of which {threads} threads take turns on {cores} cores; use \
             at most as many ranks times threads as there are cores"
        ));
    }
    used.has_others().then(|| {
        format!(
            "{waiting:.0} % of the run is spent waiting for other ranks, and other programs used {by_others:.1} of the {cores} cores \
             meanwhile: run again on an idle machine, or with fewer ranks, before you change anything else"
        )
    })
}

/// Returns why the slowest rank is slow: its share of the particles, or something else.
fn cause(timings: &Timings, balance: &BalanceReport) -> String {
    let average = timings.owned.avg;
    let is_even = balance.imbalance_last.is_some_and(|last| last <= DEFAULT_THRESHOLD);
    if is_even {
        let what = " although parallel.balance gives it no more pairs to compute than others; look for other programs on its core, or \
                    let parallel.balance weigh by time";
        return what.to_owned();
    }
    if percent(timings.owned_by_slowest - average, average) >= MANY_MORE_PERCENT {
        return format!("; {}", remedy(balance));
    }
    format!(
        " although it has hardly more particles; look for other programs on its core, and where its particles are \
         denser, {}",
        remedy(balance)
    )
}

/// Returns what would make the work more even. If the work has been balanced already, more
/// balancing would not help.
fn remedy(balance: &BalanceReport) -> String {
    match balance.imbalance_last {
        None => "divide the work by what it costs, with parallel.balance or parallel.partition".to_owned(),
        Some(last) => format!(
            "parallel.balance is on and leaves {last:.2} times the mean work on the busiest rank, because it moves whole cells or \
             layers of them; try parallel.partition = \"rcb\" if it is another, or a number of ranks by which the cells can be divided"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures::{reduced, two_ranks};
    use md_engine::RankTiming;

    fn told(ranks: &[RankTiming]) -> String {
        advice(&reduced(ranks), Host::default(), &BalanceReport::default()).unwrap()
    }

    /// Five layers of cells on three ranks are divided into two, two and one; no choice of planes
    /// can improve that.
    #[test]
    fn a_balance_that_is_on_is_not_advised() {
        let mut ranks = two_ranks();
        let slow = ranks.iter_mut().max_by(|a, b| a.work_s().total_cmp(&b.work_s())).unwrap();
        slow.owned *= 2;
        let balanced =
            |last| BalanceReport { checks: 3, imbalance_last: Some(last), ..BalanceReport::default() };
        let told = |last| advice(&reduced(&ranks), Host::default(), &balanced(last)).unwrap();
        insta::assert_snapshot!(told(1.2), @r#"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run; parallel.balance is on and leaves 1.20 times the mean work on the busiest rank, because it moves whole cells or layers of them; try parallel.partition = "rcb" if it is another, or a number of ranks by which the cells can be divided"#);
        insta::assert_snapshot!(told(1.01), @"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run although parallel.balance gives it no more pairs to compute than others; look for other programs on its core, or let parallel.balance weigh by time");
    }

    #[test]
    fn imbalance_is_named_before_the_waiting_it_causes() {
        let mut ranks = two_ranks();
        let slow = ranks.iter_mut().max_by(|a, b| a.work_s().total_cmp(&b.work_s())).unwrap();
        slow.owned *= 2;
        insta::assert_snapshot!(told(&ranks), @"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run; divide the work by what it costs, with parallel.balance or parallel.partition");
    }

    #[test]
    fn a_slow_rank_with_as_many_particles_may_have_a_slow_core() {
        insta::assert_snapshot!(told(&two_ranks()), @"the slowest rank computes for 19 % longer than the average, which costs 15 % of the run although it has hardly more particles; look for other programs on its core, and where its particles are denser, divide the work by what it costs, with parallel.balance or parallel.partition");
    }

    #[test]
    fn waiting_without_imbalance_points_at_the_exchange() {
        let [rank, _] = two_ranks();
        insta::assert_snapshot!(told(&[rank, rank]), @"31 % of the run is spent waiting for other ranks, 0 % because some compute for longer; try another parallel.backend or parallel.shell (`md-cli compare`), or fewer ranks");
    }

    #[test]
    fn a_very_uneven_division_is_told_even_if_it_costs_little() {
        let mut ranks = [two_ranks()[0]; 2];
        (ranks[0].owned, ranks[1].owned) = (849, 15);
        insta::assert_snapshot!(told(&ranks), @"one rank has 849 particles, another 15, the average is 432; divide the work by what it costs, with parallel.balance or parallel.partition");
    }

    #[test]
    fn shared_cores_explain_everything_else() {
        let used = Some(HostUse { by_others: 1.0, cores: 2, threads: 3 });
        let host = Host { crowding: Some("one core"), used };
        assert_eq!(advice(&reduced(&two_ranks()), host, &BalanceReport::default()).unwrap(), "one core");
    }

    #[test]
    fn other_programs_are_named_before_the_exchange_is_blamed() {
        let [waits, works] = two_ranks();
        let told_on = |ranks: [RankTiming; 2], by_others, threads| {
            let used = Some(HostUse { by_others, cores: 2, threads });
            advice(&reduced(&ranks), Host { used, ..Host::default() }, &BalanceReport::default())
        };
        let told = |ranks, by_others| told_on(ranks, by_others, 2);
        insta::assert_snapshot!(told([waits, waits], 0.75).unwrap(), @"31 % of the run is spent waiting for other ranks, and other programs used 0.8 of the 2 cores meanwhile: run again on an idle machine, or with fewer ranks, before you change anything else");
        assert!(told([waits, waits], 0.05).unwrap().contains("try another parallel.backend"));
        assert_eq!(told([works, works], 0.75), None, "nothing is lost");
        insta::assert_snapshot!(told_on([waits, waits], 0.75, 3).unwrap(), @"31 % of the run is spent waiting for other ranks, of which 3 threads take turns on 2 cores; use at most as many ranks times threads as there are cores");
    }

    #[test]
    fn a_good_run_gets_no_advice() {
        let [_, rank] = two_ranks();
        let off = BalanceReport::default();
        assert_eq!(advice(&reduced(&[rank, rank]), Host::default(), &off), None);
        assert_eq!(advice(&Timings::default(), Host::default(), &off), None);
    }
}
