//! Work that is repeated while allocations are counted.

use md_cli::inputs::Inputs;
use md_cli::setup;
use md_comm::{Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, World};
use md_core::Evaluation;
use md_engine::Simulation;

const EXCHANGES: usize = 1000;
const STEPS: usize = 30;
/// Steps after which counting begins. By then `auto`, which opens its candidates at the first
/// negotiation, has used each of them, and the check of the balance after step 100 is over.
const WARM_UP: usize = 101;
const BYTES: usize = 2000;

/// A system without a rebuild after the first.
const MELT: &str = r#"
[simulation]
steps = 100
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [6, 6, 6] }
temperature = 1.44
[neighbor]
rebuild = { every = 100000 }
[parallel]
shell = "half"
"#;

/// Counts of this rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Played {
    pub(crate) allocations: u64,
    /// Number of collectives; `None` without a counter.
    #[cfg_attr(not(feature = "mpi"), expect(dead_code, reason = "nobody counts"))]
    pub(crate) collectives: Option<u64>,
}

impl Played {
    pub(crate) fn expect_no_allocation(self) -> Result<(), String> {
        match self.allocations {
            0 => Ok(()),
            some => Err(format!("{some} allocations")),
        }
    }
}

type Play = fn(&dyn World) -> Result<Played, String>;

pub(crate) const ALL: [(&str, Play); 5] = [
    ("exchanges both ways, double buffering", |world| exchanges(world, Flow::Both, Buffering::Double)),
    ("exchanges both ways, single buffering", |world| exchanges(world, Flow::Both, Buffering::Single)),
    ("exchanges one way, double buffering", |world| exchanges(world, Flow::SendOnly, Buffering::Double)),
    ("time steps", |world| steps(world, &[])),
    ("time steps in mixed precision, eighth shell, staged", |world| steps(world, &MIXED)),
];

const MIXED: [&str; 3] =
    ["neighbor.precision=\"mixed\"", "parallel.shell=\"eighth\"", "parallel.exchange=\"staged\""];

/// Work that is counted on the calling thread of each rank. It needs no transport except `local`.
pub(crate) const THREADED: [(&str, Play); 2] = [
    ("time steps with two threads", |world| steps(world, &["parallel.threads=2"])),
    ("the same in mixed precision", |world| {
        steps(world, &["parallel.threads=2", "neighbor.precision=\"mixed\""])
    }),
];

pub(crate) fn sees_an_allocation() -> Result<(), String> {
    let played = counted(|| {
        std::hint::black_box(vec![0_u8; BYTES]);
        Ok(())
    })?;
    if played.allocations > 0 { Ok(()) } else { Err("it does not".to_owned()) }
}

/// Exchanges around a ring; for one-way flow, from each rank to the next.
fn exchanges(world: &dyn World, flow: Flow, buffering: Buffering) -> Result<Played, String> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let edge = |peer, send_channel, flow| Edge {
        peer,
        send_channel,
        receive_channel: 1 - send_channel,
        flow,
        send_capacity: if flow == Flow::ReceiveOnly { 0 } else { BYTES },
    };
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let edges = vec![edge(next, 0, flow), edge(previous, 1, flow.reversed())];
    let spec = ExchangeSpec { name: "steady", edges, sizes: Sizes::Fixed, buffering };
    let said = |error: CommError| error.to_string();
    let mut exchange = world.open(spec).map_err(said)?;
    let mut repeat = |times| (0..times).try_for_each(|_| once(&mut exchange)).map_err(said);
    repeat(1)?;
    let needs: Vec<usize> = exchange.spec().edges.iter().map(|edge| edge.send_capacity).collect();
    exchange.negotiate(&needs).map_err(said)?;
    let mut repeat = |times| (0..times).try_for_each(|_| once(&mut exchange)).map_err(said);
    repeat(WARM_UP)?;
    let played = counted(|| repeat(EXCHANGES))?;
    exchange.finalise().map_err(said)?;
    Ok(played)
}

fn once(exchange: &mut Exchange) -> Result<(), CommError> {
    for i in 0..exchange.spec().edges.len() {
        if exchange.spec().edges[i].flow.sends() {
            exchange.send_buffer(EdgeId(i), BYTES)?.fill(1);
            exchange.start(EdgeId(i))?;
        }
    }
    exchange.initiate()?;
    while exchange.next()?.is_some() {}
    exchange.complete()
}

fn steps(world: &dyn World, settings: &[&str]) -> Result<Played, String> {
    let overrides = settings.iter().map(|&setting| setting.to_owned()).collect();
    let inputs = Inputs::from_text("melt", MELT, overrides).map_err(|error| error.to_string())?;
    let setup = setup::of_inputs(&inputs, world.ranks()).map_err(|error| error.to_string())?;
    let mut simulation = Simulation::new(world, &setup).map_err(|error| error.to_string())?;
    let mut repeat = |times| {
        (0..times)
            .try_for_each(|_| simulation.step(Evaluation::ForcesOnly))
            .map_err(|error| error.to_string())
    };
    repeat(WARM_UP)?;
    let played = counted(|| repeat(STEPS))?;
    simulation.finalise().map_err(|error| error.to_string())?;
    Ok(played)
}

fn counted(mut work: impl FnMut() -> Result<(), String>) -> Result<Played, String> {
    let before = collectives();
    let mut outcome = Ok(());
    let allocations = allocation_counter::measure(|| outcome = work()).count_total;
    outcome?;
    let collectives = collectives().zip(before).map(|(after, before)| after - before);
    Ok(Played { allocations, collectives })
}

#[cfg(feature = "mpi")]
fn collectives() -> Option<u64> {
    Some(crate::counter::read()?.calls)
}

#[cfg(not(feature = "mpi"))]
fn collectives() -> Option<u64> {
    None
}
