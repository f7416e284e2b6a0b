//! The exchange of two ranks alone, through the contract: measures the speed of a transport and the
//! cost of the contract.
//!
//! `mpirun -n 2 exchange BACKEND SAMPLES BYTES:EXCHANGES...` prints
//! `backend,bytes,exchanges,exchange_s`, one row per sample; the slower rank's mean over the
//! exchanges. `benches/peers/exchange.sh` runs it beside the same in C.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use md_comm::{
    AlignedBuffer, Backend, Buffering, CommError, Edge, EdgeId, Exchange, ExchangeSpec, Flow, Sizes, World,
    mpi,
};

const WATCHDOG: Duration = Duration::from_secs(60);
/// One warm-up exchange per this number of exchanges.
const WARM_UP_SHARE: u32 = 10;
const BAD_INPUT: u8 = 2;

/// The measurement requested.
#[derive(Debug)]
struct Measurement {
    backend: Backend,
    samples: u32,
    /// Bytes per message, exchanges per sample.
    sizes: Vec<(usize, u32)>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(measurement) = parse(&arguments) else {
        eprintln!("usage: mpirun -n 2 exchange BACKEND SAMPLES BYTES:EXCHANGES...");
        return ExitCode::from(BAD_INPUT);
    };
    let world = match mpi::start(WATCHDOG).and_then(|world| world.with_backend(measurement.backend)) {
        Ok(world) => world,
        Err(error) => {
            eprintln!("exchange: {error}");
            return ExitCode::FAILURE;
        }
    };
    if world.ranks() != 2 {
        eprintln!("exchange: runs on 2 ranks, not on {}", world.ranks());
        return ExitCode::from(BAD_INPUT);
    }
    for &(bytes, exchanges) in &measurement.sizes {
        if let Err(error) = measure(&world, &measurement, bytes, exchanges) {
            eprintln!("exchange: rank {}: {error}", world.rank());
            world.abort(1);
        }
    }
    ExitCode::SUCCESS
}

fn parse(arguments: &[String]) -> Option<Measurement> {
    let [backend, samples, sizes @ ..] = arguments else { return None };
    let size = |text: &String| {
        let (bytes, exchanges) = text.split_once(':')?;
        Some((bytes.parse().ok()?, exchanges.parse().ok().filter(|&exchanges| exchanges > 0)?))
    };
    let sizes: Vec<_> = sizes.iter().map(size).collect::<Option<_>>()?;
    let backend = Backend::from_name(backend)?;
    Some(Measurement { backend, samples: samples.parse().ok()?, sizes })
        .filter(|measurement| !measurement.sizes.is_empty())
}

fn measure(
    world: &dyn World,
    measurement: &Measurement,
    bytes: usize,
    exchanges: u32,
) -> Result<(), CommError> {
    let peer = 1 - world.rank();
    let edge = Edge { peer, send_channel: 0, receive_channel: 0, flow: Flow::Both, send_capacity: bytes };
    let spec = ExchangeSpec {
        name: "exchange",
        edges: vec![edge],
        sizes: Sizes::Fixed,
        buffering: Buffering::Double,
    };
    let mut context = world.open(spec)?;
    let mut memory = Private { out: AlignedBuffer::new(bytes)?, into: AlignedBuffer::new(bytes)? };
    memory.out.bytes_mut().fill(mark(world.rank()));
    for _ in 0..measurement.samples {
        let seconds = sample(world, &mut context, &mut memory, exchanges)?;
        if world.rank() == 0 {
            println!("{},{bytes},{exchanges},{seconds:.9e}", measurement.backend.name());
        }
    }
    if memory.into.bytes().iter().any(|&byte| byte != mark(peer)) {
        return Err(CommError::Setup(format!("a message of {bytes} bytes arrived wrong")));
    }
    context.finalise()
}

/// Returns the byte with which a rank fills its messages.
fn mark(rank: usize) -> u8 {
    rank as u8 + 1
}

/// Memory from which messages are packed and into which they are unpacked, outside the transport.
struct Private {
    out: AlignedBuffer,
    into: AlignedBuffer,
}

/// Returns the seconds per exchange, of the slower rank.
fn sample(
    world: &dyn World,
    context: &mut Exchange,
    memory: &mut Private,
    exchanges: u32,
) -> Result<f64, CommError> {
    for _ in 0..exchanges / WARM_UP_SHARE {
        exchange(context, memory)?;
    }
    world.barrier()?;
    let begun = Instant::now();
    for _ in 0..exchanges {
        exchange(context, memory)?;
    }
    let mut slowest = [begun.elapsed().as_secs_f64() / f64::from(exchanges)];
    world.max(&mut slowest)?;
    Ok(slowest[0])
}

fn exchange(context: &mut Exchange, memory: &mut Private) -> Result<(), CommError> {
    let bytes = memory.out.bytes();
    context.send_buffer(EdgeId(0), bytes.len())?.copy_from_slice(bytes);
    context.start(EdgeId(0))?;
    context.initiate()?;
    while let Some(arrival) = context.next()? {
        memory.into.bytes_mut().copy_from_slice(arrival.bytes);
    }
    context.complete()
}
