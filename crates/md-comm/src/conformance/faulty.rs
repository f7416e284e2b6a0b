//! Transports that are wrong on purpose: the suite must catch every one of them.

use std::collections::HashMap;
use std::time::Duration;

use super::{Delivery, Fault, Report, run};
use crate::{CommError, EdgeId, Exchange, ExchangeSpec, Growth, Rank, Sizes, World, local};

/// How a transport is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Delivers the bytes of the previous exchange.
    Stale,
    /// Delivers the messages of the first two edges under each other's number.
    Swapped,
    /// Loses the last byte.
    Truncated,
    /// Flips one bit in the middle.
    BitFlipped,
    /// Cuts messages that have outgrown their edge's capacity.
    Clipped,
    /// Delivers bytes that are not aligned.
    Shifted,
    /// Drops the growth report.
    GrowthUnreported,
    /// Returns from barriers at once.
    NoBarrier,
    /// Rounds after every addition.
    SumRounded,
    /// Broadcasts rank 0's bytes whatever the root.
    WrongRoot,
}

struct FaultyWorld<'w> {
    inner: &'w dyn World,
    flaw: Flaw,
}

struct Wrong {
    flaw: Flaw,
    /// Last arrival along each edge.
    last: HashMap<usize, Vec<u8>>,
}

impl Fault for Wrong {
    fn falsify(&mut self, Delivery { edge, bytes, capacity, misalignment }: &mut Delivery) {
        let late = self.last.insert(edge.0, bytes.clone());
        let middle = bytes.len() / 2;
        match self.flaw {
            Flaw::Stale => *bytes = late.unwrap_or_else(|| bytes.clone()),
            Flaw::Swapped => *edge = EdgeId(edge.0 ^ 1),
            Flaw::Truncated => drop(bytes.pop()),
            Flaw::BitFlipped => bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 0x10),
            Flaw::Clipped => bytes.truncate(*capacity),
            Flaw::Shifted => *misalignment = 1,
            Flaw::None | Flaw::GrowthUnreported | Flaw::NoBarrier | Flaw::SumRounded | Flaw::WrongRoot => (),
        }
    }

    fn report(&mut self, growth: Growth) -> Result<Growth, CommError> {
        Ok(if self.flaw == Flaw::GrowthUnreported { Growth::Unchanged } else { growth })
    }
}

impl World for FaultyWorld<'_> {
    crate::forward_to_inner!(rank ranks open_unpacked open_unexpected open_file gather_all gather shift abort platform);

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        // Fixed lengths are checked before the caller gets a message.
        let is_checked = self.flaw == Flaw::Truncated && spec.sizes == Sizes::Fixed;
        let flaw = if is_checked { Flaw::None } else { self.flaw };
        Ok(self.inner.open(spec)?.with_fault(move |_| Box::new(Wrong { flaw, last: HashMap::new() })))
    }
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let root = if self.flaw == Flaw::WrongRoot { 0 } else { root };
        self.inner.broadcast(root, bytes)
    }
    fn barrier(&self) -> Result<(), CommError> {
        if self.flaw == Flaw::NoBarrier { Ok(()) } else { self.inner.barrier() }
    }
    fn sum(&self, values: &mut [f64]) -> Result<(), CommError> {
        if self.flaw != Flaw::SumRounded {
            return self.inner.sum(values);
        }
        let all = self.inner.gather_all(bytemuck::cast_slice(values))?;
        let (all, width): (Vec<f64>, _) = (bytemuck::pod_collect_to_vec(&all), values.len());
        let sum = |i: usize| all.iter().skip(i).step_by(width).sum();
        values.iter_mut().enumerate().for_each(|(i, value)| *value = sum(i));
        Ok(())
    }
}

/// Returns the report of rank 0 on a faulty world of three ranks.
fn report_of(flaw: Flaw) -> Report {
    let reports = local::run(3, Duration::from_secs(20), |inner| {
        let report = run(&FaultyWorld { inner, flaw });
        if report.broken.is_some() {
            inner.abort(1);
        }
        report
    });
    reports.into_iter().next().unwrap().unwrap()
}

fn caught(flaw: Flaw, by: &str) {
    let report = report_of(flaw);
    let failed: Vec<_> = report.failed.iter().map(|failure| failure.check).collect();
    assert!(failed.contains(&by), "{flaw:?} failed only {failed:?}");
}

#[test]
fn a_right_transport_passes_through_the_wrapper() {
    let report = report_of(Flaw::None);
    assert_eq!((report.failed, report.broken), (Vec::new(), None));
}

#[test]
fn stale_bytes_are_caught() {
    caught(Flaw::Stale, "ring both ways");
    assert!(report_of(Flaw::Stale).failed[0].what.contains("sequence number"));
}

#[test]
fn swapped_edges_are_caught() {
    caught(Flaw::Swapped, "ring both ways");
}

#[test]
fn truncation_is_caught() {
    caught(Flaw::Truncated, "half shell");
}

#[test]
fn what_is_cut_at_the_capacity_is_caught() {
    caught(Flaw::Clipped, "messages outgrow their capacity");
}

#[test]
fn a_flipped_bit_is_caught() {
    caught(Flaw::BitFlipped, "one-way chain");
}

#[test]
fn lost_alignment_is_caught() {
    caught(Flaw::Shifted, "ring both ways");
}

#[test]
fn unreported_growth_is_caught() {
    caught(Flaw::GrowthUnreported, "a capacity of one byte grows");
}

#[test]
fn wrong_collectives_are_caught() {
    caught(Flaw::NoBarrier, "barrier holds everybody");
    caught(Flaw::SumRounded, "sum is exact");
    caught(Flaw::WrongRoot, "broadcast from every root");
}
