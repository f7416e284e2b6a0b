//! Texts for every case that is distinguished.

use md_comm::{Backend, Blocking};
use md_core::Shell;
use md_engine::Phase;

use super::recommendation;
use crate::compare::comparison::{Comparison, Control, RankedBy};
use crate::compare::fixtures::{comparison, on_nodes, phases, strategy, unavailable};

/// Returns the sentences that recommend `shm`, without the lines for the scenario, which must
/// follow.
fn sentences(comparison: &Comparison, shell: &str) -> String {
    let settings = format!(
        "\n[parallel]\nbackend = \"shm\"\nshell = {shell:?}\nexchange = \"direct\"\npartition = \"rect\"\n"
    );
    let text = recommendation(comparison);
    text.strip_suffix(&settings).unwrap_or_else(|| panic!("no settings at the end of {text}")).to_owned()
}

#[test]
fn a_clear_winner() {
    let comparison =
        comparison(&[(Backend::P2p, 12.0, 1.3), (Backend::RmaLock, 6.0, 1.2), (Backend::Shm, 3.0, 1.0)]);
    insta::assert_snapshot!(recommendation(&comparison), @r#"
    Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is rma-lock half direct rect, 6 us [5.7, 6.3].
    Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.

    [parallel]
    backend = "shm"
    shell = "half"
    exchange = "direct"
    partition = "rect"
    "#);
}

/// The sentences and the lines for the scenario contain only the keys of a grid.
#[test]
fn a_clear_winner_on_a_grid() {
    let comparison = on_nodes(&[(Backend::P2p, 12.0, 1.3), (Backend::Shm, 3.0, 1.0)]);
    insta::assert_snapshot!(recommendation(&comparison), @r#"
    Use shm direct messages=per-field. It is surely the fastest: 3 us [2.85, 3.15]; next is p2p direct messages=aggregated, 12 us [11.4, 12.6].
    Against p2p (p2p direct messages=aggregated): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.

    [parallel]
    backend = "shm"
    exchange = "direct"
    messages = "per-field"
    "#);
}

#[test]
fn a_winner_that_the_next_one_may_beat() {
    let comparison =
        comparison(&[(Backend::P2p, 12.0, 1.3), (Backend::RmaLock, 3.1, 1.0), (Backend::Shm, 3.0, 1.0)]);
    insta::assert_snapshot!(sentences(&comparison, "half"), @r"
    Use shm half direct rect. It is surely faster than what is in use, but not surely than the next: 3 us [2.85, 3.15]; next is rma-lock half direct rect, 3.1 us [2.94, 3.26].
    Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.
    ");
}

#[test]
fn against_the_scenarios_own_setting_too() {
    let mut comparison =
        comparison(&[(Backend::RmaFence, 20.0, 1.5), (Backend::P2p, 12.0, 1.3), (Backend::Shm, 3.0, 1.0)]);
    let again = |exchange_us| strategy(Backend::P2p, exchange_us, 1.3).measured.unwrap();
    let control = |beside, exchange_us| Control { beside, row: 1, again: again(exchange_us) };
    comparison.controls = vec![control(Blocking::InFlush, 12.5), control(Blocking::InSynchronisation, 14.0)];
    insta::assert_snapshot!(sentences(&comparison, "half"), @r"
    Backends that flush inside the MPI library were measured after the others, beside p2p half direct rect once more: 12.5 us then, 12 us before (+4 %); they can be compared with the others.
    Backends that wait for other ranks inside the MPI library were measured last, beside p2p half direct rect once more: 14 us then, 12 us before (+17 %); the machine was not the same: differences of less than that are not called sure.
    Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is p2p half direct rect, 12 us [11.4, 12.6].
    Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.3 ms [1.23, 1.37]: 23.1 % less, surely.
    Against the scenario's setting (rma-fence half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 20 us [19, 21] (6.7 times faster); a step takes 1 ms [0.95, 1.05] instead of 1.5 ms [1.43, 1.57]: 33.3 % less, surely.
    ");
}

#[test]
fn a_difference_smaller_than_that_of_the_machine_is_not_sure() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 1.3), (Backend::RmaLock, 8.0, 1.0)]);
    let again = strategy(Backend::P2p, 6.0, 1.3).measured.unwrap();
    comparison.controls = vec![Control { beside: Blocking::InFlush, row: 0, again }];
    insta::assert_snapshot!(recommendation(&comparison), @r"
    Backends that flush inside the MPI library were measured after the others, beside p2p half direct rect once more: 6 us then, 12 us before (-50 %); the machine was not the same: differences of less than that are not called sure.
    Within the noise: rma-lock half direct rect, 8 us [7.6, 8.4], is not surely faster than p2p half direct rect, 12 us [11.4, 12.6]. Stay with p2p half direct rect; more repetitions (--repeat) or a quieter machine may tell them apart.
    ");
    comparison.rows[1] = strategy(Backend::RmaLock, 3.0, 1.0);
    assert!(recommendation(&comparison).contains("It is surely the fastest"));
}

#[test]
fn hybrid_belongs_to_the_group_of_its_backend_between_nodes() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 1.3), (Backend::Hybrid, 8.0, 1.0)]);
    let again = strategy(Backend::P2p, 6.0, 1.3).measured.unwrap();
    comparison.controls = vec![Control { beside: Blocking::InSynchronisation, row: 0, again }];
    let is_sure = |comparison: &Comparison| recommendation(comparison).contains("It is surely the fastest");
    assert!(is_sure(&comparison), "measured in turn");
    comparison.between_nodes = Backend::RmaPscw;
    assert!(!is_sure(&comparison), "measured beside another machine, as it were");
}

#[test]
fn two_sided_wins() {
    let comparison = comparison(&[(Backend::P2p, 3.0, 1.0), (Backend::Shm, 12.0, 1.3)]);
    insta::assert_snapshot!(recommendation(&comparison), @"Two-sided messages win: stay with p2p half direct rect, 3 us [2.85, 3.15]; next is shm half direct rect, 12 us [11.4, 12.6]; that is sure.");
}

#[test]
fn two_sided_wins_within_the_noise() {
    let comparison = comparison(&[(Backend::P2p, 3.0, 1.0), (Backend::Shm, 3.1, 1.0)]);
    insta::assert_snapshot!(recommendation(&comparison), @"Two-sided messages win: stay with p2p half direct rect, 3 us [2.85, 3.15]; next is shm half direct rect, 3.1 us [2.94, 3.26]; but the next is as good within the noise.");
}

#[test]
fn all_within_the_noise() {
    let comparison = comparison(&[(Backend::P2p, 3.1, 1.0), (Backend::Shm, 3.0, 1.0)]);
    insta::assert_snapshot!(recommendation(&comparison), @"Within the noise: shm half direct rect, 3 us [2.85, 3.15], is not surely faster than p2p half direct rect, 3.1 us [2.94, 3.26]. Stay with p2p half direct rect; more repetitions (--repeat) or a quieter machine may tell them apart.");
}

/// If neither two-sided messages nor the scenario's own backend are compared, the row marked as
/// baseline stays in use.
#[test]
fn without_what_is_in_use_the_baseline_stays() {
    let mut comparison = comparison(&[(Backend::RmaFence, 3.1, 1.0), (Backend::Shm, 3.0, 1.0)]);
    comparison.own = None;
    insta::assert_snapshot!(recommendation(&comparison), @"Within the noise: shm half direct rect, 3 us [2.85, 3.15], is not surely faster than rma-fence half direct rect, 3.1 us [2.94, 3.26]. Stay with rma-fence half direct rect; more repetitions (--repeat) or a quieter machine may tell them apart.");
    comparison.repeat = 3;
    assert!(
        recommendation(&comparison).contains("3 us [2.85, 3.15]; the baseline: rma-fence half direct rect")
    );
}

#[test]
fn a_halo_that_does_not_matter() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 100.0), (Backend::Shm, 3.0, 99.0)]);
    for row in &mut comparison.rows {
        let measured = row.measured.as_mut().unwrap();
        measured.phases = phases(&[(Phase::HaloWait, 1e-3), (Phase::Total, 0.1)]);
    }
    insta::assert_snapshot!(recommendation(&comparison), @"The halo is 1.0 % of a step with p2p half direct rect: no strategy can gain more than that, so there is no reason to change anything. (The fastest exchange alone: shm half direct rect, 3 us [2.85, 3.15].)");
}

#[test]
fn an_exchange_that_is_faster_and_a_step_that_is_not() {
    let comparison = comparison(&[(Backend::P2p, 12.0, 1.0), (Backend::Shm, 3.0, 0.99)]);
    insta::assert_snapshot!(sentences(&comparison, "half"), @r"
    Use shm half direct rect. It is surely the fastest: 3 us [2.85, 3.15]; next is p2p half direct rect, 12 us [11.4, 12.6].
    Against p2p (p2p half direct rect): the exchange alone takes 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6] (4 times faster); but the step is not measurably faster (0.99 ms [0.94, 1.04] and 1 ms [0.95, 1.05]): the gain is hidden by the computation or lost in the noise.
    ");
}

#[test]
fn an_exchange_that_is_faster_and_a_step_that_is_slower() {
    let comparison = comparison(&[(Backend::P2p, 12.0, 1.0), (Backend::Shm, 3.0, 1.2)]);
    insta::assert_snapshot!(recommendation(&comparison), @"Stay with p2p half direct rect. The exchange alone is faster over shm half direct rect, 3 us [2.85, 3.15] instead of 12 us [11.4, 12.6], but a step takes longer with it, 1.2 ms [1.14, 1.26] instead of 1 ms [0.95, 1.05].");
}

#[test]
fn different_shells_are_ranked_by_the_step() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 1.0), (Backend::Shm, 3.0, 1.2)]);
    let mut full = strategy(Backend::Shm, 9.0, 0.8);
    full.variant.strategy.shell = Shell::Full;
    comparison.rows.push(full);
    insta::assert_snapshot!(sentences(&comparison, "full"), @r"
    Use shm full direct rect. It is surely the fastest: 0.8 ms [0.76, 0.84] per step; next is p2p half direct rect, 1 ms [0.95, 1.05] per step.
    Against p2p (p2p half direct rect): the exchange alone takes 9 us [8.55, 9.45] instead of 12 us [11.4, 12.6] (1.3 times faster); a step takes 0.8 ms [0.76, 0.84] instead of 1 ms [0.95, 1.05]: 20.0 % less, surely.
    ");
}

#[test]
fn one_rank_has_no_choice() {
    let mut comparison = comparison(&[(Backend::P2p, 0.1, 1.0), (Backend::Shm, 0.1, 1.0)]);
    for row in &mut comparison.rows {
        row.context.ranks = 1;
    }
    insta::assert_snapshot!(recommendation(&comparison), @"One rank sends no messages: its exchange is empty, whatever the strategy, and there is nothing to choose. Compare with the number of ranks that the scenario will run on.");
}

#[test]
fn more_ranks_than_cores() {
    let mut comparison = comparison(&[(Backend::P2p, 3.1, 1.0), (Backend::Shm, 3.0, 1.0)]);
    (comparison.ranks_per_core, comparison.repeat) = (2.0, 3);
    insta::assert_snapshot!(recommendation(&comparison), @r"
    WARNING: OVERSUBSCRIBED. There are 2 ranks per core: ranks take turns, and these numbers measure the operating system's scheduler, not the transports. Do not act on them; run at most one rank per core.
    With fewer than 6 repetitions there is no 95 % interval: the bounds are the smallest and the largest of 3 samples, and nothing is sure. Use --repeat 10 or more.
    So nothing is recommended. Smallest median: shm half direct rect, 3 us [2.85, 3.15]; in use: p2p half direct rect, 3.1 us [2.94, 3.26].
    ");
}

#[test]
fn the_exchange_alone_is_no_part_of_a_step_that_rebuilds() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 1.0), (Backend::Shm, 3.0, 1.3)]);
    let rebuilt = |row: usize, share: f64, comparison: &mut Comparison| {
        comparison.rows[row].measured.as_mut().unwrap().rebuilt_share = share;
    };
    rebuilt(0, 1.0, &mut comparison);
    assert!(!recommendation(&comparison).contains("Every step"));
    rebuilt(1, 1.0, &mut comparison);
    comparison.rows.push(unavailable(Backend::Hybrid));
    insta::assert_snapshot!(recommendation(&comparison), @r"
    Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the exchange alone is no part of such a step. So strategies are ranked by the step.
    Two-sided messages win: stay with p2p half direct rect, 1 ms [0.95, 1.05] per step; next is shm half direct rect, 1.3 ms [1.23, 1.37] per step; that is sure.
    ");
    comparison.rows[1] = strategy(Backend::Shm, 3.0, 0.8);
    rebuilt(1, 1.0, &mut comparison);
    insta::assert_snapshot!(sentences(&comparison, "half"), @r"
    Every step rebuilds its neighbourhood: positions travel with the border (border_s in compare.csv), and the exchange alone is no part of such a step. So strategies are ranked by the step.
    Use shm half direct rect. It is surely the fastest: 0.8 ms [0.76, 0.84] per step; next is p2p half direct rect, 1 ms [0.95, 1.05] per step.
    Against p2p (p2p half direct rect): a step takes 0.8 ms [0.76, 0.84] instead of 1 ms [0.95, 1.05]: 20.0 % less, surely.
    ");
}

#[test]
fn nothing_or_one_measured() {
    let mut nothing = comparison(&[]);
    nothing.rows.push(unavailable(Backend::Shm));
    insta::assert_snapshot!(recommendation(&nothing), @"Nothing could be measured, so nothing is recommended.");
    let mut one = comparison(&[(Backend::P2p, 3.0, 1.0)]);
    one.rows.push(unavailable(Backend::Shm));
    insta::assert_snapshot!(recommendation(&one), @"Only p2p half direct rect could be measured: there is nothing to compare it with.");
}

#[test]
fn a_halo_that_hides_is_judged_by_the_step() {
    let mut comparison = comparison(&[(Backend::P2p, 12.0, 1.0), (Backend::Shm, 3.0, 1.3)]);
    for row in &mut comparison.rows {
        let times = [(Phase::HaloHidden, 5e-4), (Phase::HaloWait, 1e-4), (Phase::Total, 1e-3)];
        row.measured.as_mut().unwrap().phases = phases(&times);
    }
    let mut without_overlap = comparison.clone();
    for row in &mut without_overlap.rows {
        row.measured.as_mut().unwrap().phases[Phase::HaloHidden as usize] = 1e-7;
    }
    assert_eq!(without_overlap.ranked_by(), RankedBy::Exchange);
    insta::assert_snapshot!(recommendation(&comparison), @r"
    Messages travel while ranks compute (halo_hidden_s in compare.csv), and the exchange alone is not what a step pays for them. So strategies are ranked by the step; with `overlap = false` they are ranked by the exchange.
    Two-sided messages win: stay with p2p half direct rect, 1 ms [0.95, 1.05] per step; next is shm half direct rect, 1.3 ms [1.23, 1.37] per step; that is sure.
    ");
}
