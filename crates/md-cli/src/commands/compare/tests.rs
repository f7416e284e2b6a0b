//! Comparisons over threads in which some transports are broken on purpose.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use clap::Parser;
use md_comm::{
    AlignedBuffer, Arrival, Backend, CommError, EdgeId, Exchange, ExchangeSpec, Growth, Rank, Traffic, World,
    local,
};
use tempfile::TempDir;

use super::*;
use crate::args::{Cli, Command, ScenarioArgs};
use crate::scenario;

/// Two ranks along x, forces at the start only after displacement.
const SCENARIO: &str = r#"[simulation]
steps = 20
seed = 7

[system]
lattice = { kind = "fcc", density = 0.8442, cells = [5, 4, 4] }
temperature = 1.44

[parallel]
backend = "local"
ranks = 2
"#;

const RANKS: usize = 2;

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
}

/// Which faults stand behind which backends; the others are right.
const FAULTS: [(Backend, Fault); 4] = [
    (Backend::RmaLock, Fault::BitFlipped),
    (Backend::RmaPscw, Fault::FailsOnRank1),
    (Backend::RmaFence, Fault::Silent),
    (Backend::Shm, Fault::Refuses),
];

struct Workshop<'w>(&'w dyn World);

impl Transports for Workshop<'_> {
    fn referee(&self) -> &dyn World {
        self.0
    }
    fn world(&self, backend: Backend) -> Result<Box<dyn World + '_>, CommError> {
        let inner = self.0.apart()?;
        let fault = FAULTS.iter().find(|(faulty, _)| *faulty == backend).map(|(_, fault)| *fault);
        Ok(match fault {
            Some(fault) => Box::new(FaultyWorld { inner, fault }),
            None => inner,
        })
    }
    fn backends(&self) -> Vec<scenario::Backend> {
        vec![scenario::Backend::P2p]
    }
    fn end_job(&self) -> fn(u8) {
        |exit_code| panic!("the job is ended with {exit_code}")
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

/// A comparison on two ranks; what rank 0 returned, and the files.
fn compare_broken(backends: &str, timeout_s: &str) -> (Result<(), RunError>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    std::fs::write(&path, SCENARIO).unwrap();
    let (path, out) = (path.display().to_string(), folder.path().join("out").display().to_string());
    let cli = Cli::parse_from(
        ["md-cli", "compare", &path, "--output", &out, "--quiet", "--repeat", "2", "--steps", "2"]
            .into_iter()
            .chain(["--backends", backends, "--timeout", timeout_s]),
    );
    let Command::Compare(args) = cli.command else { panic!("another command") };
    let choices = Choices::read(&args).unwrap();
    let inputs = Inputs::read(&ScenarioArgs { steps: None, ..args.scenario.clone() }).unwrap();
    let ended = local::run(RANKS, Duration::from_secs(60), |world| {
        compare(&Workshop(world), &inputs, &args, &choices)
    });
    let first = ended.into_iter().next().unwrap().unwrap();
    (first, folder)
}

/// `backend status note` of all rows.
#[cfg(feature = "mpi")]
fn rows(folder: &TempDir) -> Vec<String> {
    let text = std::fs::read_to_string(folder.path().join("out/compare.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|column| column == name).unwrap();
    let columns = ["backend", "correct", "status", "note"].map(column);
    let row = |record: csv::StringRecord| {
        columns.map(|column| record[column].to_owned()).join(" ").trim().to_owned()
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[cfg(feature = "mpi")]
fn ending(outcome: Result<(), RunError>) -> (u8, Scope) {
    let error = outcome.unwrap_err();
    (error.exit_code(), error.scope())
}

/// Without MPI its backends are refused before anything is opened.
#[cfg(feature = "mpi")]
#[test]
fn a_wrong_transport_is_caught_before_it_is_measured() {
    let (outcome, folder) = compare_broken("rma-lock,p2p", "20");
    assert_eq!(ending(outcome), (1, Scope::AllRanks));
    let rows = rows(&folder);
    assert!(rows[0].starts_with("rma-lock false wrong wrong forces: that on particle"), "{rows:?}");
    assert_eq!(rows[1], "p2p true ok");
}

/// Without MPI its backends are refused before anything is opened.
#[cfg(feature = "mpi")]
#[test]
fn a_strategy_that_fails_on_one_rank_does_not_spoil_the_others() {
    let (outcome, folder) = compare_broken("p2p,rma-pscw,p2p-persistent", "1");
    assert_eq!(ending(outcome), (3, Scope::AllRanksBroken));
    let failed = "rma-pscw true failed rank 1: MPI_Win_wait failed: deliberate";
    assert_eq!(rows(&folder), ["p2p true ok", failed, "p2p-persistent true ok"]);
}

/// Without MPI its backends are refused before anything is opened.
#[cfg(feature = "mpi")]
#[test]
fn a_strategy_that_hangs_times_out_and_the_others_go_on() {
    let (outcome, folder) = compare_broken("rma-fence,shm,p2p", "0.3");
    assert_eq!(ending(outcome), (3, Scope::AllRanksBroken));
    let rows = rows(&folder);
    assert!(rows[0].starts_with("rma-fence  timeout positions: rank 0 waited 0 s for rank 1"), "{rows:?}");
    assert_eq!(rows[1], "shm  unavailable these ranks share nothing");
    assert_eq!(rows[2], "p2p true ok");
}

#[test]
fn what_cannot_be_is_no_failure() {
    let (outcome, folder) = compare_broken("shm,p2p", "20");
    assert!(outcome.is_ok());
    for file in ["compare.csv", "compare.svg", "compare.png", "recommendation.txt", "scenario.toml"] {
        assert!(folder.path().join("out").join(file).exists(), "{file}");
    }
}
