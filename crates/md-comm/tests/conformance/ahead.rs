//! A sender two exchanges ahead: with two buffers it may have ended both before the receiver has
//! looked at the first.

use std::process::ExitCode;

use md_comm::{Buffering, CommError, Edge, EdgeId, ExchangeSpec, Flow, Sizes, World};

const BYTES: usize = 1000;
const EXCHANGES: u8 = 2;

/// Rank 0 sends to rank 1 and waits for nothing; the barrier proves that it has finished.
pub(crate) fn two_exchanges(world: &dyn World) -> Result<ExitCode, CommError> {
    let sends = world.rank() == 0;
    let flow = if sends { Flow::SendOnly } else { Flow::ReceiveOnly };
    let peer = 1 - world.rank();
    let edge = Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity: BYTES };
    let (edges, buffering) = (vec![edge], Buffering::Double);
    let mut exchange = world.open(ExchangeSpec { name: "ahead", edges, sizes: Sizes::Fixed, buffering })?;
    if !sends {
        world.barrier()?;
    }
    let mut right = true;
    for number in 1..=EXCHANGES {
        if sends {
            exchange.send_buffer(EdgeId(0), BYTES)?.fill(number);
            exchange.start(EdgeId(0))?;
        }
        exchange.initiate()?;
        while let Some(arrival) = exchange.next()? {
            right &= arrival.bytes == [number; BYTES];
        }
        exchange.complete()?;
    }
    if sends {
        world.barrier()?;
    }
    exchange.finalise()?;
    println!("rank {}: right = {right}", world.rank());
    Ok(ExitCode::from(u8::from(!right)))
}
