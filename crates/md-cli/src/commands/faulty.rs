//! Transports that are broken on purpose.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use md_comm::conformance::{self, Call, Delivery, Then};
use md_comm::{Backend, CommError, Exchange, ExchangeSpec, Rank, RmaOptions, World};
use md_lab::Transports;

/// Set when the job is ended. Only one test may hang.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Fault of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Flips a bit in the middle of every message.
    BitFlipped,
    /// The steady exchange of rank 1 fails after 70 completions.
    FailsOnRank1,
    /// Rank 1 never sends.
    Silent,
    /// A context cannot be opened.
    Refuses,
    /// Rank 1 enters a call that does not return, until the job is ended.
    Hangs,
}

/// Faulty backends and their faults. All other backends work.
const FAULTS: [(Backend, Fault); 5] = [
    (Backend::RmaLock, Fault::BitFlipped),
    (Backend::RmaPscw, Fault::FailsOnRank1),
    (Backend::RmaFence, Fault::Silent),
    (Backend::Shm, Fault::Refuses),
    (Backend::RmaNotify, Fault::Hangs),
];

/// Worlds over threads, some of them faulty.
pub(super) struct FaultyTransports<'w>(pub(super) &'w dyn World);

impl Transports for FaultyTransports<'_> {
    fn agreement(&self) -> &dyn World {
        self.0
    }
    fn world(&self, backend: Backend, _: RmaOptions) -> Result<Box<dyn World + '_>, CommError> {
        let inner = self.0.duplicate()?;
        let fault = FAULTS.iter().find(|(faulty, _)| *faulty == backend).map(|(_, fault)| *fault);
        Ok(match fault {
            Some(fault) => Box::new(FaultyWorld { inner, fault }),
            None => inner,
        })
    }
    fn backends(&self) -> Vec<Backend> {
        vec![Backend::P2p]
    }
}

/// Replaces the function that ends the job.
pub(super) fn end(_: u8) {
    ENDED.store(true, Ordering::Relaxed);
}

struct FaultyWorld<'w> {
    inner: Box<dyn World + 'w>,
    fault: Fault,
}

/// The fault in one context.
struct Wrong {
    fault: Fault,
    rank: Rank,
    exchanges: u32,
}

impl Wrong {
    fn acts(&self, fault: Fault) -> bool {
        self.fault == fault && self.rank == 1
    }
}

impl conformance::Fault for Wrong {
    fn before(&mut self, call: Call) -> Result<Then, CommError> {
        match call {
            Call::Start if self.acts(Fault::Silent) => return Ok(Then::Skip),
            Call::Initiate if self.acts(Fault::Silent) => {
                let (context, rank, awaited) = ("positions", self.rank, "itself".to_owned());
                return Err(CommError::Timeout { context, rank, waited_s: 0.0, awaited });
            }
            Call::Initiate if self.acts(Fault::Hangs) => hang(),
            Call::Complete => {
                self.exchanges += 1;
                if self.acts(Fault::FailsOnRank1) && self.exchanges > 70 {
                    return Err(CommError::Mpi { call: "MPI_Win_wait", message: "deliberate".to_owned() });
                }
            }
            _ => (),
        }
        Ok(Then::Proceed)
    }

    fn falsify(&mut self, Delivery { bytes, .. }: &mut Delivery) {
        if self.fault == Fault::BitFlipped && !bytes.is_empty() {
            // Bit 40 of the 52 bits of a mantissa, about the third digit.
            let middle = 8 * (bytes.len() / 16) + 5;
            bytes[middle] ^= 1;
        }
    }
}

fn hang() {
    while !ENDED.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the job is ended");
}

impl World for FaultyWorld<'_> {
    md_comm::forward_to_inner!(rank ranks open_unexpected open_file set_watchdog gather_all broadcast gather shift barrier abort platform);

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        if self.fault == Fault::Refuses {
            let reason = "these ranks share nothing".to_owned();
            return Err(CommError::Unavailable { backend: "shm", reason });
        }
        let exchange = self.inner.open(spec)?;
        if !["positions", "fields", "bench"].contains(&exchange.spec().name) {
            return Ok(exchange);
        }
        let (fault, rank) = (self.fault, self.rank());
        Ok(exchange.with_fault(move |_| Box::new(Wrong { fault, rank, exchanges: 0 })))
    }
}
