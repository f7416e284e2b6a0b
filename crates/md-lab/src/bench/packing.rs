//! Three arrays to each neighbour, sent one by one or packed into one message.

use std::cell::Cell;

use md_comm::mpi::{At, PlainSpec, PlainWindow};
use md_comm::{Asserts, Channel, Edge};

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
        let halo = Halo::new(case, stage);
        let name = case.mechanism.name();
        let asserts = if name == PROMISES { Asserts::On } else { Asserts::Off };
        let spec = PlainSpec { windows: halo.windows, asserts, ..allocated(halo.window_bytes()) };
        let pieces = [halo.array, halo.message];
        let ways = Ways {
            count: pieces.len(),
            epochs: Epochs::Fenced,
            prepare: &|window| halo.pack(window),
            once: &|window, way| halo.put(window, pieces[way]),
            right: &|own| halo.is_right(own),
        };
        let samples_s = ways.sample(stage, spec)?;
        Ok(parts(&["three", "packed"], samples_s, (NEIGHBOURS * halo.message) as f64))
    }
}

/// Messages of a rank to its neighbours, and their places in the windows.
struct Halo {
    edges: Vec<Edge>,
    /// Bytes of an array.
    array: usize,
    /// Bytes of a message.
    message: usize,
    /// Number of windows, each with an equal share of the messages.
    windows: usize,
    /// Slots per message, used in turn as in double buffering.
    slots: usize,
    /// Slot in use.
    turn: Cell<usize>,
    /// Content of a message before it is packed.
    private: Vec<u8>,
}

impl Halo {
    fn new(case: &Case, Stage { world, .. }: &Stage) -> Self {
        let (array, message) = (case.bytes, ARRAYS * case.bytes);
        let name = case.mechanism.name();
        let mut private = vec![0; message];
        content(world.rank()).fill(&mut private);
        Self {
            edges: Torus::Three.edges(world.rank(), world.ranks(), array),
            windows: if name == MANY_WINDOWS { NEIGHBOURS } else { 1 },
            slots: if name == TWO_SLOTS { 2 } else { 1 },
            turn: Cell::new(0),
            array,
            message,
            private,
        }
    }

    fn window_bytes(&self) -> usize {
        self.slots * self.message * NEIGHBOURS / self.windows
    }

    /// Copies the arrays of all messages into the memory that puts read from.
    fn pack(&self, window: &mut PlainWindow) -> Result<(), Problem> {
        let array = self.array.max(1);
        for slot in window.origin(NEIGHBOURS * self.message)?.chunks_exact_mut(self.message.max(1)) {
            for (to, from) in slot.chunks_exact_mut(array).zip(self.private.chunks_exact(array)) {
                to.copy_from_slice(from);
            }
        }
        Ok(())
    }

    /// Puts all messages, in pieces of this size, into their next slots, and ends with a fence.
    fn put(&self, window: &mut PlainWindow, piece: usize) -> Result<(), Problem> {
        self.turn.set((self.turn.get() + 1) % self.slots);
        if piece == self.message {
            self.pack(window)?;
        }
        for edge in &self.edges {
            let (number, start) = self.place(edge.send_channel);
            for array in (0..self.message).step_by(piece.max(1)) {
                let from = usize::from(edge.send_channel) * self.message + array;
                let to = At { rank: edge.peer, window: number, offset: start + array };
                window.put(from..from + piece, to)?;
            }
        }
        window.fence().map_err(Problem::from)
    }

    fn is_right(&self, own: &[Vec<u8>]) -> bool {
        self.edges.iter().all(|edge| {
            let (number, start) = self.place(edge.receive_channel);
            content(edge.peer).first_wrong(&own[number][start..start + self.message]).is_none()
        })
    }

    /// Returns the window and the offset at which a message is stored.
    fn place(&self, channel: Channel) -> (usize, usize) {
        let channel = usize::from(channel);
        if self.windows == 1 {
            (0, (self.turn.get() * NEIGHBOURS + channel) * self.message)
        } else {
            (channel, 0)
        }
    }
}
