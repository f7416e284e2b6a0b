//! Three arrays to each neighbour, sent one by one or packed into one message.

use std::cell::Cell;

use md_comm::Asserts;
use md_comm::mpi::{At, PlainSpec, PlainWindow};

use super::plain::{Epochs, Ways, allocated, content};
use super::series::{Series, parts};
use super::torus::{NEIGHBOURS, Torus};
use super::{Benchmark, Case, Ground, Stage};
use crate::Problem;

/// Bytes of an array: 1, 100 and 10^4 numbers.
const SIZES: [usize; 3] = [8, 800, 80_000];
const ARRAYS: usize = 3;
const MANY_WINDOWS: &str = "fence-26-windows";
const PROMISES: &str = "fence-asserts";
const TWO_SLOTS: &str = "fence-2-slots";

/// Puts of every rank to its 26 neighbours on a torus, followed by a fence.
pub(super) struct Packing;

impl Benchmark for Packing {
    fn name(&self) -> &'static str {
        "packing"
    }

    fn cases(&self, ground: &Ground) -> Vec<Case> {
        ["fence", MANY_WINDOWS, PROMISES, TWO_SLOTS]
            .into_iter()
            .flat_map(|name| ground.once(name, &SIZES))
            .collect()
    }

    fn messages(&self, _: &Case) -> usize {
        ARRAYS * NEIGHBOURS
    }

    fn run(&self, case: &Case, stage: &Stage) -> Result<Vec<Series>, Problem> {
        let (world, bytes, message) = (stage.world, case.bytes, ARRAYS * case.bytes);
        let edges = Torus::Three.edges(world.rank(), world.ranks(), bytes);
        let name = case.mechanism.name();
        let windows = if name == MANY_WINDOWS { NEIGHBOURS } else { 1 };
        let asserts = if name == PROMISES { Asserts::On } else { Asserts::Off };
        // Two slots per message, used in turn as in double buffering.
        let slots = if name == TWO_SLOTS { 2 } else { 1 };
        let (halo, turn) = (message * NEIGHBOURS, Cell::new(0));
        let spec = PlainSpec { windows, asserts, ..allocated(slots * halo / windows) };
        let mut private = vec![0; message];
        content(world.rank()).fill(&mut private);
        let pack = |window: &mut PlainWindow| {
            for slot in window.origin(NEIGHBOURS * message)?.chunks_exact_mut(message.max(1)) {
                for (to, from) in slot.chunks_exact_mut(bytes.max(1)).zip(private.chunks_exact(bytes.max(1)))
                {
                    to.copy_from_slice(from);
                }
            }
            Ok::<_, Problem>(())
        };
        let pieces = [bytes, message];
        // Window and offset at which a message is stored.
        let place = |channel: u16| {
            let channel = usize::from(channel);
            if windows == 1 { (0, turn.get() * halo + channel * message) } else { (channel, 0) }
        };
        let once = |window: &mut PlainWindow, way: usize| {
            turn.set((turn.get() + 1) % slots);
            if pieces[way] == message {
                pack(window)?;
            }
            for edge in &edges {
                let (number, start) = place(edge.send_channel);
                for array in (0..message).step_by(pieces[way].max(1)) {
                    let from = usize::from(edge.send_channel) * message + array;
                    let to = At { rank: edge.peer, window: number, offset: start + array };
                    window.put(from..from + pieces[way], to)?;
                }
            }
            window.fence().map_err(Problem::from)
        };
        let right = |own: &[Vec<u8>]| {
            edges.iter().all(|edge| {
                let (number, start) = place(edge.receive_channel);
                content(edge.peer).first_wrong(&own[number][start..start + message]).is_none()
            })
        };
        let ways =
            Ways { count: pieces.len(), epochs: Epochs::Fenced, prepare: &pack, once: &once, right: &right };
        let samples_s = ways.sample(stage, spec)?;
        Ok(parts(&["three", "packed"], samples_s, (NEIGHBOURS * message) as f64))
    }
}
