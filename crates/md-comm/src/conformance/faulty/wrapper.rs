//! A decorator that passes everything on, with one fault in it.

use super::Fault;
use crate::{
    AlignedBuffer, Arrival, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Growth, Rank, Traffic,
    World,
};

pub(super) struct FaultyWorld<'w> {
    pub(super) inner: &'w dyn World,
    pub(super) fault: Fault,
}

struct FaultyExchange {
    inner: Box<dyn Exchange>,
    fault: Fault,
    /// Per edge: what arrived last, to be delivered late.
    last: Vec<Vec<u8>>,
    /// What is delivered instead of the truth.
    falsified: AlignedBuffer,
}

impl FaultyExchange {
    fn boxed(inner: Box<dyn Exchange>, fault: Fault) -> Box<dyn Exchange> {
        let last = vec![Vec::new(); inner.spec().edges.len()];
        Box::new(Self { inner, fault, last, falsified: AlignedBuffer::default() })
    }

    /// What a transport that cannot receive more would cut at.
    fn capacities(&self) -> Vec<usize> {
        let both_ways = |edge: &Edge| if edge.flow == Flow::Both { edge.send_capacity } else { usize::MAX };
        self.inner.spec().edges.iter().map(both_ways).collect()
    }
}

/// Copies an arrival into `falsified` with the fault in it.
fn falsify<'a>(
    fault: Fault,
    arrival: &Arrival<'_>,
    last: &mut [Vec<u8>],
    falsified: &'a mut AlignedBuffer,
    capacity: usize,
) -> Arrival<'a> {
    let Arrival { edge: EdgeId(edge), bytes } = *arrival;
    let late = std::mem::replace(&mut last[edge], bytes.to_vec());
    let bytes = if fault == Fault::Stale && !late.is_empty() { &late[..] } else { bytes };
    let end = bytes.len();
    falsified.set_length(end + 1);
    let start = usize::from(fault == Fault::Shifted);
    let copy = &mut falsified.bytes_mut()[start..start + end];
    copy.copy_from_slice(bytes);
    if fault == Fault::BitFlipped && end > 0 {
        copy[end / 2] ^= 0x10;
    }
    let kept = match fault {
        Fault::Truncated => end.saturating_sub(1),
        Fault::Clipped => end.min(capacity),
        _ => end,
    };
    let edge = match (fault, edge) {
        (Fault::Swapped, 0) if last.len() > 1 => 1,
        (Fault::Swapped, 1) => 0,
        _ => edge,
    };
    Arrival { edge: EdgeId(edge), bytes: &falsified.bytes()[start..start + kept] }
}

impl Exchange for FaultyExchange {
    fn spec(&self) -> &ExchangeSpec {
        self.inner.spec()
    }
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.inner.send_buffer(edge, bytes)
    }
    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        match self.inner.start(edge) {
            Err(CommError::Misuse { .. }) if self.fault == Fault::Lenient => Ok(()),
            outcome => outcome,
        }
    }
    fn initiate(&mut self) -> Result<(), CommError> {
        self.inner.initiate()
    }
    fn progress(&mut self) -> Result<(), CommError> {
        self.inner.progress()
    }
    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.inner.has_arrival()
    }
    fn try_next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let capacities = self.capacities();
        let arrival = self.inner.try_next()?;
        let Self { fault, last, falsified, .. } = self;
        Ok(arrival.map(|arrival| {
            let capacity = capacities[arrival.edge.0];
            falsify(*fault, &arrival, last, falsified, capacity)
        }))
    }
    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let capacities = self.capacities();
        let arrival = self.inner.next()?;
        let Self { fault, last, falsified, .. } = self;
        Ok(arrival.map(|arrival| {
            let capacity = capacities[arrival.edge.0];
            falsify(*fault, &arrival, last, falsified, capacity)
        }))
    }
    fn complete(&mut self) -> Result<(), CommError> {
        self.inner.complete()
    }
    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        Ok(Self::boxed(self.inner.reverse()?, self.fault))
    }
    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        let growth = self.inner.negotiate(need)?;
        Ok(if self.fault == Fault::GrowthUnreported { Growth::Unchanged } else { growth })
    }
    fn traffic(&self) -> Traffic {
        let traffic = self.inner.traffic();
        let more = u64::from(self.fault == Fault::Miscounted);
        Traffic { bytes: traffic.bytes + more, ..traffic }
    }
    fn finalise(self: Box<Self>) -> Result<(), CommError> {
        self.inner.finalise()
    }
}

impl World for FaultyWorld<'_> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn ranks(&self) -> usize {
        self.inner.ranks()
    }
    fn open(&self, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        Ok(FaultyExchange::boxed(self.inner.open(spec)?, self.fault))
    }
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.inner.gather_all(mine)
    }
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let root = if self.fault == Fault::WrongRoot { 0 } else { root };
        self.inner.broadcast(root, bytes)
    }
    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.inner.gather(root, mine)
    }
    fn barrier(&self) -> Result<(), CommError> {
        if self.fault == Fault::NoBarrier { Ok(()) } else { self.inner.barrier() }
    }
    fn abort(&self, exit_code: i32) {
        self.inner.abort(exit_code);
    }
    fn library(&self) -> String {
        self.inner.library()
    }
    fn sum(&self, values: &mut [f64]) -> Result<(), CommError> {
        if self.fault != Fault::SumReversed {
            return self.inner.sum(values);
        }
        let mine = values.to_vec();
        let all = self.inner.gather_all(bytemuck::cast_slice(&mine))?;
        let all: Vec<f64> = bytemuck::pod_collect_to_vec(&all);
        let sum = |i: usize| all.iter().skip(i).step_by(mine.len()).rev().copied().reduce(|sum, x| sum + x);
        values.iter_mut().enumerate().for_each(|(i, value)| *value = sum(i).unwrap_or(*value));
        Ok(())
    }
}
