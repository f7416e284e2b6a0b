//! The work of a rank when this program runs under the launcher.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use md_comm::mpi::rsmpi::topology::Color;
use md_comm::mpi::rsmpi::traits::{Communicator, CommunicatorCollectives};
use md_comm::mpi::{Adversity, MpiWorld, rsmpi};
use md_comm::{
    Backend, Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, Subarray, Trials,
    UnpackedEdge, UnpackedSpec, World, launch, mpi,
};

use crate::{WATCHDOG, ahead, describe, options, run_suite};

/// Variable with a child's role.
pub(crate) const ROLE: &str = "MD_COMM_TEST_ROLE";
/// Variable with the number of ranks that a child must find.
pub(crate) const EXPECTED_RANKS: &str = "MD_COMM_TEST_RANKS";
/// Variable with a child's backend (default: `p2p`).
pub(crate) const BACKEND: &str = "MD_COMM_TEST_BACKEND";
/// Variable with options of the backend (default: none set); the suite is run on each of several
/// sets.
pub(crate) const OPTIONS: &str = "MD_COMM_TEST_OPTIONS";
/// Stands between two sets of options.
pub(crate) const OPTIONS_END: &str = ";";
/// Variable with the adversity: [`ROUGH`], [`FLAG_FIRST`] or [`NO_WINDOW`].
pub(crate) const ADVERSITY: &str = "MD_COMM_TEST_ADVERSITY";
pub(crate) const ROUGH: &str = "rough";
pub(crate) const FLAG_FIRST: &str = "flag-first";
pub(crate) const NO_WINDOW: &str = "no-window";
/// Variable with the backend between the nodes of `hybrid` (default: `p2p`).
pub(crate) const BETWEEN_NODES: &str = "MD_COMM_TEST_BETWEEN_NODES";
/// Variable that makes the messages of role `unpacked` long.
pub(crate) const LARGE: &str = "MD_COMM_TEST_LARGE";
/// Exit code a child aborts with on purpose.
pub(crate) const ABORT_CODE: i32 = 7;
/// The watchdog's limit in tests in which it must expire.
const SHORT_WATCHDOG: Duration = Duration::from_secs(1);
/// A rank that keeps silent does so for longer than any other rank waits.
const SILENCE: Duration = Duration::from_secs(60);
const SMALL_BYTES: usize = 100;
/// Too large for an MPI library to send before the receiver asks for it.
const LARGE_BYTES: usize = 1 << 22;

/// Runs the role, and returns `Some`, if this process is a rank.
pub(crate) fn run_if_child() -> Option<ExitCode> {
    let role = std::env::var(ROLE).ok();
    if role.is_none() && launch::started_by_launcher().is_none() {
        return None;
    }
    let outcome = match role.as_deref().unwrap_or("suite") {
        "suite" => suite(),
        "panic" => panic_on_one_rank(),
        "abort" => abort_on_one_rank(),
        "silent" => silent_peer(),
        "alone" => silent_peers(),
        "unpacked" => silent_unpacked(),
        "absent" => absent_peer(),
        "drop" => drop_in_flight(),
        "refused" => refused_window(),
        "embedded" => embedded(),
        "ahead" => start(WATCHDOG).and_then(|world| ahead::two_exchanges(&world)),
        other => Err(CommError::Setup(format!("unknown role {other}"))),
    };
    Some(match outcome {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    })
}

fn suite() -> Result<ExitCode, CommError> {
    let world = start(WATCHDOG)?;
    let expected =
        std::env::var(EXPECTED_RANKS).ok().or(launch::started_by_launcher().map(|n| n.to_string()));
    if expected.is_some_and(|expected| expected != world.ranks().to_string()) {
        println!("rank {} sees {} ranks", world.rank(), world.ranks());
        world.abort(1);
    }
    let mut failed = false;
    for options in std::env::var(OPTIONS).unwrap_or_default().split(OPTIONS_END) {
        let world = options::apply(world.clone(), options)?;
        let begun = Instant::now();
        let outcome = describe(&run_suite(&world));
        failed |= outcome.is_err();
        if world.rank() == 0 {
            // Some libraries print their whole configuration after the first line.
            let library = world.platform().library();
            let library = library.lines().next().unwrap_or_default();
            println!("{outcome:?} after {:.1} s, {library}", begun.elapsed().as_secs_f64());
        }
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// A program that has initialised MPI itself lends every second rank to a world each, and goes on
/// afterwards.
fn embedded() -> Result<ExitCode, CommError> {
    let setup = || CommError::Setup("MPI cannot be initialised".to_owned());
    let (universe, _) = rsmpi::initialize_with_threading(rsmpi::Threading::Funneled).ok_or_else(setup)?;
    let whole = universe.world();
    let half = whole.split_by_color(Color::with_value(whole.rank() % 2)).ok_or_else(setup)?;
    let outcome = {
        let world = mpi::start_with(&half, WATCHDOG)?.with_backend(backend_of(BACKEND)?)?;
        // There is no panic hook: a caught panic ends no rank.
        let caught = std::panic::catch_unwind(|| panic!("deliberate panic")).is_err();
        let right_ranks = world.rank() == half.rank() as usize && world.ranks() == half.size() as usize;
        describe(&run_suite(&world)).is_ok() && caught && right_ranks
    };
    whole.barrier();
    println!("rank {}: embedded {}", whole.rank(), if outcome { "passed" } else { "failed" });
    Ok(ExitCode::from(u8::from(!outcome)))
}

/// The world with the backend under test. Trials are so short that `auto` chooses several times in
/// the suite.
fn start(watchdog: Duration) -> Result<MpiWorld, CommError> {
    let trials = Trials { exchanges_per_block: 1, blocks: 1, watched_blocks: 1 };
    let world = mpi::start(watchdog)?.with_trials(trials);
    let world = world.with_between_nodes(backend_of(BETWEEN_NODES)?)?.with_backend(backend_of(BACKEND)?)?;
    Ok(match std::env::var(ADVERSITY).as_deref() {
        Ok(ROUGH) => world.under(Adversity::Rough),
        Ok(FLAG_FIRST) => {
            // Ranks that have read the wrong message may also wait for ever.
            world.set_watchdog(SHORT_WATCHDOG);
            world.under(Adversity::FlagFirst)
        }
        Ok(NO_WINDOW) => world.under(Adversity::NoWindow),
        _ => world,
    })
}

/// The last rank gets no window: all refuse the context, with its words, and are still in step.
fn refused_window() -> Result<ExitCode, CommError> {
    let world = start(WATCHDOG)?;
    let outcome = open_ring(&world, SMALL_BYTES);
    let words = match outcome {
        Err(CommError::Unavailable { reason, .. }) => reason,
        other => format!("not refused: {:?}", other.map(|_| ())),
    };
    let world = world.with_backend(Backend::P2p)?;
    let mut ring = open_ring(&world, SMALL_BYTES)?;
    send(&mut ring)?;
    while ring.next()?.is_some() {}
    ring.complete()?;
    ring.finalise()?;
    println!("rank {}: {words}", world.rank());
    Ok(ExitCode::SUCCESS)
}

fn backend_of(variable: &str) -> Result<Backend, CommError> {
    let name = std::env::var(variable).unwrap_or_else(|_| Backend::P2p.name().to_owned());
    Backend::from_name(&name).ok_or_else(|| CommError::Setup(format!("there is no backend {name}")))
}

fn panic_on_one_rank() -> Result<ExitCode, CommError> {
    let world = start(WATCHDOG)?;
    world.barrier()?;
    assert!(world.rank() != 1, "deliberate panic");
    world.barrier()?;
    Ok(ExitCode::SUCCESS)
}

fn abort_on_one_rank() -> Result<ExitCode, CommError> {
    let world = start(WATCHDOG)?;
    let mut ring = open_ring(&world, SMALL_BYTES)?;
    if world.rank() == 1 {
        world.abort(ABORT_CODE);
    }
    send(&mut ring)?;
    while ring.next()?.is_some() {}
    world.barrier()?;
    Ok(ExitCode::SUCCESS)
}

/// Rank 1 opens the context and never sends.
fn silent_peer() -> Result<ExitCode, CommError> {
    let world = start(SHORT_WATCHDOG)?;
    let mut ring = open_ring(&world, SMALL_BYTES)?;
    keep_silent_on_rank_1(&world);
    send(&mut ring)?;
    let error = loop {
        match ring.next() {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    report_and_abort(&world, error)
}

/// Only rank 0 sends and waits, for all others.
fn silent_peers() -> Result<ExitCode, CommError> {
    let world = start(SHORT_WATCHDOG)?;
    let edge = |peer| Edge {
        peer,
        send_channel: 0,
        receive_channel: 0,
        flow: Flow::Both,
        send_capacity: SMALL_BYTES,
    };
    let edges: Vec<Edge> = (0..world.ranks()).filter(|&peer| peer != world.rank()).map(edge).collect();
    let peers = edges.len();
    let mut all = world.open(ExchangeSpec {
        name: "all",
        edges,
        sizes: Sizes::Variable,
        buffering: Buffering::Single,
    })?;
    if world.rank() > 0 {
        std::thread::sleep(SILENCE);
    }
    for i in 0..peers {
        all.send_buffer(EdgeId(i), SMALL_BYTES)?.fill(1);
        all.start(EdgeId(i))?;
    }
    all.initiate()?;
    report_and_abort(&world, all.next().err())
}

/// Rank 1 opens a context of unpacked messages and never sends.
fn silent_unpacked() -> Result<ExitCode, CommError> {
    let world = start(SHORT_WATCHDOG)?;
    let subarray = |offset, row_bytes| Subarray { part: 0, offset, row_bytes, rows: [1, 1], strides: [0, 0] };
    let large = std::env::var(LARGE).is_ok();
    let bytes = if large { LARGE_BYTES } else { SMALL_BYTES };
    let edges = vec![UnpackedEdge {
        peer: 1 - world.rank(),
        send_channel: 0,
        receive_channel: 0,
        sends: vec![subarray(0, bytes)],
        receives: vec![subarray(bytes, bytes)],
    }];
    let mut context = world.open_unpacked(UnpackedSpec { name: "unpacked", edges })?;
    keep_silent_on_rank_1(&world);
    let error = context.exchange(&mut vec![0; 2 * bytes], &[0]).err();
    report_and_abort(&world, error)
}

/// Rank 1 does not even open it.
fn absent_peer() -> Result<ExitCode, CommError> {
    let world = start(SHORT_WATCHDOG)?;
    keep_silent_on_rank_1(&world);
    let error = open_ring(&world, SMALL_BYTES).err();
    report_and_abort(&world, error)
}

fn keep_silent_on_rank_1(world: &dyn World) {
    if world.rank() == 1 {
        std::thread::sleep(SILENCE);
    }
}

fn report_and_abort(world: &dyn World, error: Option<CommError>) -> Result<ExitCode, CommError> {
    let error = error.map_or_else(|| "no error".to_owned(), |error| error.to_string());
    println!("rank {} saw: {error}", world.rank());
    world.abort(ABORT_CODE);
    Ok(ExitCode::SUCCESS)
}

/// Contexts dropped in the middle of an exchange leave nothing behind that could write to freed
/// memory or keep the job from ending.
fn drop_in_flight() -> Result<ExitCode, CommError> {
    let world = start(WATCHDOG)?;
    for bytes in [SMALL_BYTES, LARGE_BYTES] {
        let mut ring = open_ring(&world, bytes)?;
        send(&mut ring)?;
        drop(ring);
        world.barrier()?;
    }
    let mut ring = open_ring(&world, SMALL_BYTES)?;
    send(&mut ring)?;
    while ring.next()?.is_some() {}
    ring.complete()?;
    ring.finalise()?;
    Ok(ExitCode::SUCCESS)
}

/// Every rank sends to the next one.
fn open_ring(world: &dyn World, bytes: usize) -> Result<Exchange, CommError> {
    let next = (world.rank() + 1) % world.ranks();
    let previous = (world.rank() + world.ranks() - 1) % world.ranks();
    let edge = |peer, flow| Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: bytes };
    let edges = vec![edge(next, Flow::SendOnly), edge(previous, Flow::ReceiveOnly)];
    world.open(ExchangeSpec { name: "ring", edges, sizes: Sizes::Variable, buffering: Buffering::Single })
}

fn send(ring: &mut Exchange) -> Result<(), CommError> {
    let bytes = ring.spec().edges[0].send_capacity;
    ring.send_buffer(EdgeId(0), bytes)?.fill(1);
    ring.start(EdgeId(0))?;
    ring.initiate()
}
