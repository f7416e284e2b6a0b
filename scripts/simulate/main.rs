//! The halo exchange of a torus of ranks with md-comm's transports, in the simulated time of
//! SimGrid. Built and run by `simulate.sh`.
//!
//! The environment variable `MD_SIMULATED` contains `BACKENDS SHAPE CHANNELS BYTES...`: backend
//! names separated by commas (`barrier` is the barrier of the world), the ranks along x, y and z as
//! in `4x4x2`, the number of messages to each neighbour, and their bytes across a face, an edge and
//! a corner, as in `3072,768,192`. Rank 0 prints `backend,ranks,messages,bytes,exchange_s`: the
//! messages and bytes that a rank sends, and the slowest rank's time per exchange.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::{c_char, c_int};
use std::time::Duration;

use md_comm::mpi::{self, MpiWorld, rsmpi};
use md_comm::{
    Backend, Buffering, Channel, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Rank, Sizes, World,
};

/// Limit in real time; hundreds of ranks may share a core.
const WATCHDOG: Duration = Duration::from_secs(3600);
const WARM_UP: u32 = 2;
const EXCHANGES: u32 = 4;

/// SimGrid opens the program once per rank as a library and calls its `main`.
// SAFETY: no other item of the program has this name, and SimGrid calls it as a C function.
#[unsafe(no_mangle)]
pub extern "C" fn main(_: c_int, _: *const *const c_char) -> c_int {
    match simulate() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("simulated: {error}");
            mpi::abort(1);
            1
        }
    }
}

fn simulate() -> Result<(), Box<dyn Error>> {
    let wish = std::env::var("MD_SIMULATED")?;
    let mut words = wish.split(' ');
    let [backends, shape, channels] = [(); 3].map(|()| words.next().unwrap_or_default());
    let (shape, channels) = (numbers(shape, 'x')?, channels.parse()?);
    let world = mpi::start(WATCHDOG)?;
    if world.ranks() != shape.iter().product::<usize>() {
        return Err(format!("{shape:?} are not {} ranks", world.ranks()).into());
    }
    for sizes in words {
        let edges = edges(world.rank(), shape, channels, numbers(sizes, ',')?);
        for backend in backends.split(',') {
            let seconds = if backend == "barrier" {
                timed(&world, || world.barrier())?
            } else {
                let known = Backend::from_name(backend).ok_or_else(|| format!("no backend {backend}"))?;
                exchange(&world.duplicate()?.with_backend(known)?, edges.clone())?
            };
            if world.rank() == 0 {
                let bytes: usize = edges.iter().map(|edge| edge.send_capacity).sum();
                println!("{backend},{},{},{bytes},{seconds:e}", world.ranks(), edges.len());
            }
        }
    }
    Ok(())
}

/// Parses three numbers.
fn numbers(text: &str, separator: char) -> Result<[usize; 3], Box<dyn Error>> {
    let numbers = text.split(separator).map(str::parse).collect::<Result<Vec<_>, _>>()?;
    numbers.try_into().map_err(|_| format!("`{text}` are not three numbers").into())
}

/// Returns the edges to all neighbours. The messages to a neighbour contain the data for all
/// directions that lead to it; `sizes` is indexed by the number of dimensions that are crossed.
fn edges(rank: Rank, [nx, ny, nz]: [usize; 3], channels: Channel, sizes: [usize; 3]) -> Vec<Edge> {
    let place = [rank % nx, rank / nx % ny, rank / (nx * ny)];
    let mut bytes = BTreeMap::new();
    for code in (0..27).filter(|code| *code != 13) {
        let direction = [code % 3, code / 3 % 3, code / 9];
        let along = |dim: usize, ranks: usize| (place[dim] + direction[dim] + ranks - 1) % ranks;
        let peer = along(0, nx) + nx * (along(1, ny) + ny * along(2, nz));
        let across = direction.iter().filter(|step| **step != 1).count();
        *bytes.entry(peer).or_default() += sizes[across - 1];
    }
    let edge = |peer, channel, send_capacity| Edge {
        peer,
        send_channel: channel,
        receive_channel: channel,
        flow: Flow::Both,
        send_capacity,
    };
    let others = bytes.into_iter().filter(|(peer, bytes)| *peer != rank && *bytes > 0);
    others.flat_map(|(peer, bytes)| (0..channels).map(move |channel| edge(peer, channel, bytes))).collect()
}

/// Returns the time per exchange in seconds.
fn exchange(world: &MpiWorld, edges: Vec<Edge>) -> Result<f64, Box<dyn Error>> {
    let sent: Vec<usize> = edges.iter().map(|edge| edge.send_capacity).collect();
    let peers: Vec<Rank> = edges.iter().map(|edge| edge.peer).collect();
    let spec = ExchangeSpec { name: "simulated", edges, sizes: Sizes::Fixed, buffering: Buffering::Double };
    let mut context = world.open(spec)?;
    let mut right = 0;
    let seconds = timed(world, || {
        right += once(&mut context, world.rank(), &sent, &peers)?;
        Ok(())
    })?;
    context.finalise()?;
    if right != sent.len() as u32 * (WARM_UP + EXCHANGES) {
        return Err("messages arrived wrong".into());
    }
    Ok(seconds)
}

/// Makes one exchange and returns the number of messages that have arrived correctly.
fn once(context: &mut Exchange, own: Rank, sent: &[usize], peers: &[Rank]) -> Result<u32, CommError> {
    for (i, &bytes) in sent.iter().enumerate() {
        context.send_buffer(EdgeId(i), bytes)?.fill(own as u8);
        context.start(EdgeId(i))?;
    }
    context.initiate()?;
    let mut right = 0;
    while let Some(arrival) = context.next()? {
        right += u32::from(arrival.bytes.iter().all(|&byte| byte == peers[arrival.edge.0] as u8));
    }
    context.complete()?;
    Ok(right)
}

/// Returns the simulated time per call in seconds, on the slowest rank.
fn timed(world: &MpiWorld, mut work: impl FnMut() -> Result<(), CommError>) -> Result<f64, CommError> {
    (0..WARM_UP).try_for_each(|_| work())?;
    world.barrier()?;
    let begun = rsmpi::time();
    (0..EXCHANGES).try_for_each(|_| work())?;
    let mut slowest = [(rsmpi::time() - begun) / f64::from(EXCHANGES)];
    world.max(&mut slowest)?;
    Ok(slowest[0])
}
