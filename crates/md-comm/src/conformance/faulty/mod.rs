//! Transports that are wrong on purpose: the suite must catch every one of them.

mod wrapper;

use std::time::Duration;

use super::{Report, run};
use crate::local;
use wrapper::FaultyWorld;

/// How a transport is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Delivers the bytes of the exchange before.
    Stale,
    /// Delivers the first two edges' messages under each other's name.
    Swapped,
    /// Loses the last byte.
    Truncated,
    /// Flips one bit in the middle.
    BitFlipped,
    /// Cuts messages that have outgrown their edge's capacity.
    Clipped,
    /// Delivers bytes that are not aligned.
    Shifted,
    /// Swallows the growth report.
    GrowthUnreported,
    /// Lets misuse pass.
    Lenient,
    /// Miscounts what was sent.
    Miscounted,
    /// Returns from barriers at once.
    NoBarrier,
    /// Sums from the last rank to the first.
    SumReversed,
    /// Broadcasts rank 0's bytes whoever is root.
    WrongRoot,
}

/// What rank 0 reports about a faulty world of three ranks.
fn report_of(fault: Fault) -> Report {
    let reports = local::run(3, Duration::from_secs(20), |inner| {
        let report = run(&FaultyWorld { inner, fault });
        if report.broken.is_some() {
            inner.abort(1);
        }
        report
    });
    reports.into_iter().next().unwrap().unwrap()
}

fn caught(fault: Fault, by: &str) {
    let report = report_of(fault);
    let failed: Vec<_> = report.failed.iter().map(|failure| failure.check).collect();
    assert!(failed.contains(&by), "{fault:?} failed only {failed:?}");
}

#[test]
fn a_right_transport_passes_through_the_wrapper() {
    let report = report_of(Fault::None);
    assert_eq!((report.failed, report.broken), (Vec::new(), None));
}

#[test]
fn stale_bytes_are_caught() {
    caught(Fault::Stale, "ring both ways");
    assert!(report_of(Fault::Stale).failed[0].what.contains("sequence number"));
}

#[test]
fn swapped_edges_are_caught() {
    caught(Fault::Swapped, "ring both ways");
}

#[test]
fn truncation_is_caught() {
    caught(Fault::Truncated, "half shell");
}

#[test]
fn what_is_cut_at_the_capacity_is_caught() {
    caught(Fault::Clipped, "messages outgrow their capacity");
}

#[test]
fn a_flipped_bit_is_caught() {
    caught(Fault::BitFlipped, "one-way chain");
}

#[test]
fn lost_alignment_is_caught() {
    caught(Fault::Shifted, "ring both ways");
}

#[test]
fn unreported_growth_is_caught() {
    caught(Fault::GrowthUnreported, "a capacity of one byte grows");
}

#[test]
fn tolerated_misuse_is_caught() {
    caught(Fault::Lenient, "an edge started twice is refused");
}

#[test]
fn wrong_counters_are_caught() {
    caught(Fault::Miscounted, "ring both ways");
}

#[test]
fn wrong_collectives_are_caught() {
    caught(Fault::NoBarrier, "barrier holds everybody");
    caught(Fault::SumReversed, "sum is in rank order, bit by bit");
    caught(Fault::WrongRoot, "broadcast from every root");
}
