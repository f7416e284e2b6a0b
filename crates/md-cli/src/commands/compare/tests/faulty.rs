//! Transports that are broken on purpose.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use md_comm::{
    AlignedBuffer, Arrival, Backend, CommError, EdgeId, Exchange, ExchangeSpec, Growth, Rank, RmaOptions,
    Traffic, World,
};

use crate::commands::compare::Transports;

/// Set when the job is ended. Only one test may hang.
static ENDED: AtomicBool = AtomicBool::new(false);

/// What is wrong with a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Flips a bit in the middle of every message of positions.
    BitFlipped,
    /// The steady exchange of rank 1 fails in the end.
    FailsOnRank1,
    /// Rank 1 never sends.
    Silent,
    /// A context cannot be opened.
    Refuses,
    /// Rank 1 enters a call that does not return, until the job is ended.
    Hangs,
}

/// Which faults stand behind which backends; the others are right.
const FAULTS: [(Backend, Fault); 5] = [
    (Backend::RmaLock, Fault::BitFlipped),
    (Backend::RmaPscw, Fault::FailsOnRank1),
    (Backend::RmaFence, Fault::Silent),
    (Backend::Shm, Fault::Refuses),
    (Backend::RmaNotify, Fault::Hangs),
];

/// Worlds over threads, some of them faulty.
pub(super) struct Workshop<'w>(pub(super) &'w dyn World);

impl Transports for Workshop<'_> {
    fn agreement(&self) -> &dyn World {
        self.0
    }
    fn world(&self, backend: Backend, _: RmaOptions) -> Result<Box<dyn World + '_>, CommError> {
        let inner = self.0.apart()?;
        let fault = FAULTS.iter().find(|(faulty, _)| *faulty == backend).map(|(_, fault)| *fault);
        Ok(match fault {
            Some(fault) => Box::new(FaultyWorld { inner, fault }),
            None => inner,
        })
    }
    fn backends(&self) -> Vec<Backend> {
        vec![Backend::P2p]
    }
    fn end_job(&self) -> fn(u8) {
        |_| ENDED.store(true, Ordering::Relaxed)
    }
}

struct FaultyWorld<'w> {
    inner: Box<dyn World + 'w>,
    fault: Fault,
}

struct FaultyExchange {
    inner: Box<dyn Exchange>,
    fault: Fault,
    rank: Rank,
    exchanges: Rc<Cell<u32>>,
    falsified: AlignedBuffer,
}

impl FaultyExchange {
    fn boxed(inner: Box<dyn Exchange>, fault: Fault, rank: Rank) -> Box<dyn Exchange> {
        Box::new(Self { inner, fault, rank, exchanges: Rc::default(), falsified: AlignedBuffer::default() })
    }

    fn acts(&self, fault: Fault) -> bool {
        self.fault == fault && self.inner.spec().name == "positions"
    }

    fn hang(&self) {
        while !ENDED.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the job is ended");
    }
}

impl Exchange for FaultyExchange {
    fn spec(&self) -> &ExchangeSpec {
        self.inner.spec()
    }
    fn send_buffer(&mut self, edge: EdgeId, bytes: usize) -> Result<&mut [u8], CommError> {
        self.inner.send_buffer(edge, bytes)
    }
    fn start(&mut self, edge: EdgeId) -> Result<(), CommError> {
        if self.acts(Fault::Silent) && self.rank == 1 { Ok(()) } else { self.inner.start(edge) }
    }
    fn initiate(&mut self) -> Result<(), CommError> {
        if self.acts(Fault::Silent) && self.rank == 1 {
            let (context, rank, awaited) = ("positions", self.rank, "itself".to_owned());
            return Err(CommError::Timeout { context, rank, waited_s: 0.0, awaited });
        }
        if self.acts(Fault::Hangs) && self.rank == 1 {
            self.hang();
        }
        self.inner.initiate()
    }
    fn progress(&mut self) -> Result<(), CommError> {
        self.inner.progress()
    }
    fn has_arrival(&mut self) -> Result<bool, CommError> {
        self.inner.has_arrival()
    }
    fn next(&mut self) -> Result<Option<Arrival<'_>>, CommError> {
        let acts = self.acts(Fault::BitFlipped);
        let Some(Arrival { edge, bytes }) = self.inner.next()? else { return Ok(None) };
        self.falsified.set_length(bytes.len());
        self.falsified.bytes_mut().copy_from_slice(bytes);
        if acts && !bytes.is_empty() {
            // Bit 40 of a mantissa of 52: about the third digit.
            self.falsified.bytes_mut()[8 * (bytes.len() / 16) + 5] ^= 1;
        }
        Ok(Some(Arrival { edge, bytes: self.falsified.bytes() }))
    }
    fn complete(&mut self) -> Result<(), CommError> {
        self.exchanges.set(self.exchanges.get() + 1);
        if self.acts(Fault::FailsOnRank1) && self.rank == 1 && self.exchanges.get() > 70 {
            return Err(CommError::Mpi { call: "MPI_Win_wait", message: "deliberate".to_owned() });
        }
        self.inner.complete()
    }
    fn reverse(&self) -> Result<Box<dyn Exchange>, CommError> {
        Ok(Self::boxed(self.inner.reverse()?, self.fault, self.rank))
    }
    fn negotiate(&mut self, need: &[usize]) -> Result<Growth, CommError> {
        self.inner.negotiate(need)
    }
    fn traffic(&self) -> Traffic {
        self.inner.traffic()
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
    fn set_watchdog(&self, limit: Duration) {
        self.inner.set_watchdog(limit);
    }
    fn open(&self, spec: ExchangeSpec) -> Result<Box<dyn Exchange>, CommError> {
        if self.fault == Fault::Refuses {
            let reason = "these ranks share nothing".to_owned();
            return Err(CommError::Unavailable { backend: "shm", reason });
        }
        Ok(FaultyExchange::boxed(self.inner.open(spec)?, self.fault, self.rank()))
    }
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.inner.gather_all(mine)
    }
    fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.inner.broadcast(root, bytes)
    }
    fn gather(&self, root: Rank, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.inner.gather(root, mine)
    }
    fn barrier(&self) -> Result<(), CommError> {
        self.inner.barrier()
    }
    fn abort(&self, exit_code: i32) {
        self.inner.abort(exit_code);
    }
    fn library(&self) -> String {
        self.inner.library()
    }
}
