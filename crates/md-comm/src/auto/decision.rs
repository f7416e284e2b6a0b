//! The choice of the best candidate, from block times that are the same on all ranks.

use crate::Backend;

/// Microseconds per second.
const US_PER_S: f64 = 1e6;

/// Number of rounds per round that the best candidate may have lost. By chance alone an equal one
/// wins seven or more of eight in 4 % of all trials.
const ROUNDS_PER_LOSS: usize = 8;

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Decision {
    /// Index of the chosen candidate.
    pub(super) chosen: usize,
    /// Median seconds per exchange of each candidate.
    pub(super) medians_s: Vec<f64>,
    /// The reason in words.
    pub(super) reason: String,
}

/// Returns the median, or 0 for an empty slice.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => sorted[half],
        _ => 0.5 * (sorted[half - 1] + sorted[half]),
    }
}

/// Compares the candidates, in the order of preference, with the best so far, which is the first
/// one to begin with. A candidate is better if it was faster in the same round, in all rounds but
/// at most one in [`ROUNDS_PER_LOSS`]. Rounds are compared one by one and by their order alone,
/// because the load of the machine is in all times of a round, and can be many times as long as an
/// exchange.
///
/// `blocks_s` has the same number of block times, in seconds per exchange, for every candidate.
pub(super) fn decide(candidates: &[Backend], blocks_s: &[f64]) -> Decision {
    let rounds = (blocks_s.len() / candidates.len().max(1)).max(1);
    let times: Vec<&[f64]> = blocks_s.chunks(rounds).collect();
    let medians_s: Vec<f64> = times.iter().map(|times| median(times)).collect();
    let mut by_time: Vec<usize> = (0..times.len()).collect();
    by_time.sort_by(|&a, &b| medians_s[a].total_cmp(&medians_s[b]));
    let wins = |a: usize, b: usize| times[a].iter().zip(times[b]).filter(|(a, b)| a < b).count();
    let beats = |a: usize, b: usize| rounds - wins(a, b) <= rounds / ROUNDS_PER_LOSS;
    // Twice, because a best candidate that was replaced later may have prevented the choice of an
    // earlier one.
    let all_twice = (1..times.len()).chain(1..times.len());
    let chosen = all_twice.fold(0, |best, one| if beats(one, best) { one } else { best });
    let in_words = |i: usize| (candidates[i].name(), medians_s[i] * US_PER_S);
    let reason = match by_time[..] {
        [] | [_] => "no other candidate could be opened".to_owned(),
        [fastest, second, ..] if fastest == chosen => {
            let [(fastest, fastest_us), (second, second_us)] = [fastest, second].map(in_words);
            format!(
                "`{fastest}` was the fastest: {fastest_us:.2} us per exchange, then `{second}` with {second_us:.2} us"
            )
        }
        [fastest, ..] => {
            let wins = wins(fastest, chosen);
            let [(chosen, chosen_us), (fastest, fastest_us)] = [chosen, fastest].map(in_words);
            format!(
                "`{chosen}` is preferred: {chosen_us:.2} us per exchange; `{fastest}` with {fastest_us:.2} us was faster \
                 in only {wins} of {rounds} rounds"
            )
        }
    };
    Decision { chosen, medians_s, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: [Backend; 3] = [Backend::P2p, Backend::Shm, Backend::RmaRing];

    fn us<const N: usize>(times: [f64; N]) -> [f64; N] {
        times.map(|time| time / US_PER_S)
    }

    #[test]
    fn a_clear_winner_is_chosen() {
        let decision = decide(&THREE, &us([9.0, 10.0, 11.0, 2.0, 2.0, 2.1, 4.0, 4.0, 5.0]));
        assert_eq!(decision.chosen, 1);
        assert_eq!(
            decision.reason,
            "`shm` was the fastest: 2.00 us per exchange, then `rma-ring` with 4.00 us"
        );
    }

    #[test]
    fn whoever_does_not_win_round_by_round_is_not_preferred() {
        let decision = decide(&THREE, &us([9.0, 10.0, 6.0, 9.5, 9.0, 10.0, 8.0, 8.0, 7.0]));
        assert_eq!(decision.chosen, 0);
        assert_eq!(
            decision.reason,
            "`p2p` is preferred: 9.00 us per exchange; `rma-ring` with 8.00 us was faster in only 2 of 3 rounds"
        );
    }

    /// The ring has the smallest median, but not always; `shm` beats `p2p` in every round.
    #[test]
    fn a_candidate_that_is_not_better_changes_nothing() {
        let ring = [2.0, 2.0, 70.0, 2.0, 70.0, 2.0, 2.0, 2.0];
        let decision = decide(&THREE, &[us([9.0; 8]), us([2.05; 8]), us(ring)].concat());
        assert_eq!(decision.chosen, 1);
        assert_eq!(
            decision.reason,
            "`shm` is preferred: 2.05 us per exchange; `rma-ring` with 2.00 us was faster in only 6 of 8 rounds"
        );
    }

    /// The third does not beat `shm`, but `shm` does not beat `p2p`.
    #[test]
    fn a_middling_one_does_not_protect_the_slow_one() {
        let [late, early] =
            [[9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 2.0, 2.0], [2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0]];
        let decision = decide(&THREE, &[us([8.0; 8]), us(late), us(early)].concat());
        assert_eq!(decision.chosen, 2);
    }

    #[test]
    fn one_round_of_eight_may_be_lost() {
        let p2p = [9.0, 10.0, 60.0, 9.0, 9.0, 9.0, 9.0, 1.0];
        let with_losses = |losses: usize| {
            let shm = (0..8).map(|round| if round < losses { 70.0 } else { 0.5 });
            decide(&THREE[..2], &p2p.into_iter().chain(shm).collect::<Vec<_>>()).chosen
        };
        assert_eq!([0, 1, 2].map(with_losses), [1, 1, 0]);
    }

    #[test]
    fn what_all_times_of_a_round_have_in_common_does_not_count() {
        let late = [0.0, 50.0, 100.0, 70.0];
        let [p2p, shm] = [9.0, 3.0].map(|own| late.map(|late| late + own));
        let decision = decide(&THREE[..2], &us([p2p, shm].concat().try_into().unwrap_or([0.0; 8])));
        assert_eq!(decision.chosen, 1, "{decision:?}");
    }

    #[test]
    fn one_outlier_of_each_among_eight_blocks_changes_nothing() {
        let p2p = [5.0, 5.0, 5.1, 5.0, 900.0, 5.0, 5.0, 5.0];
        let shm = [2.0, 2.0, 2.0, 800.0, 2.1, 2.0, 2.0, 2.0];
        let decision = decide(&THREE[..2], &[us(p2p), us(shm)].concat());
        assert_eq!((decision.chosen, decision.medians_s), (1, us([5.0, 2.0]).to_vec()));
    }

    #[test]
    fn a_single_candidate_wins() {
        assert_eq!(decide(&THREE[..1], &[1.0]).reason, "no other candidate could be opened");
    }

    #[test]
    fn medians_of_even_and_no_values() {
        assert_eq!([median(&[3.0, 1.0, 2.0, 10.0]), median(&[])], [2.5, 0.0]);
    }
}
