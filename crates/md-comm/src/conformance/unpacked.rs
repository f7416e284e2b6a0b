//! Messages without packing: every byte that was sent arrives at its place, and no other byte
//! changes.

use super::{Check, Flaws};
use crate::{CommError, Subarray, Unpacked, UnpackedEdge, UnpackedSpec, World};

pub(super) const CHECKS: &[Check] = &[
    Check::new("unpacked messages from and to boxes in memory", boxes),
    Check::new("unpacked messages of other lengths than expected are refused", other_lengths),
    Check::new("unpacked messages from outside of the memory are refused", outside),
];

/// Nodes of a part along the two faster axes; along the slowest there is a layer of own nodes, and
/// one per rank for what it sends.
const NODES: [usize; 2] = [5, 9];
/// Bytes of a node.
const NODE: usize = 8;
const PARTS: usize = 2;
/// Offsets at which parts start: memory is described anew if they start elsewhere.
const LEADS: [usize; 2] = [0, 24];
const ROUNDS: u64 = 3;

fn layer() -> usize {
    NODES[0] * NODES[1] * NODE
}

fn part_bytes(ranks: usize) -> usize {
    (1 + ranks) * layer()
}

fn starts(ranks: usize, lead: usize) -> Vec<usize> {
    (0..PARTS).map(|part| lead + part * (part_bytes(ranks) + lead)).collect()
}

/// Returns the size of the box that goes from one rank to another, in nodes along the fast axes:
/// from one node to all of them.
fn sent(from: usize, to: usize) -> [usize; 2] {
    [1 + (from + to) % NODES[0], 1 + (from + 2 * to) % NODES[1]]
}

/// Returns a box of a layer that begins at its first node, or ends with its last.
fn subarray(part: usize, layer_number: usize, [y, z]: [usize; 2], at_end: bool) -> Subarray {
    let first = if at_end { (NODES[0] - y) * NODES[1] + NODES[1] - z } else { 0 };
    Subarray {
        part,
        offset: layer_number * layer() + first * NODE,
        row_bytes: z * NODE,
        rows: [1, y],
        strides: [layer(), NODES[1] * NODE],
    }
}

fn edges(world: &dyn World, longer: usize) -> Vec<UnpackedEdge> {
    let (rank, ranks) = (world.rank(), world.ranks());
    let edge = |peer: usize| {
        let [mine, theirs] = [sent(rank, peer), sent(peer, rank)];
        let longer = |[y, z]: [usize; 2]| [y, z + longer];
        UnpackedEdge {
            peer,
            send_channel: 1,
            receive_channel: 1,
            sends: (0..PARTS).map(|part| subarray(part, 0, mine, true)).collect(),
            receives: (0..PARTS).map(|part| subarray(part, 1 + peer, longer(theirs), false)).collect(),
        }
    };
    (0..ranks).filter(|&peer| peer != rank).map(edge).collect()
}

/// Opens a context, if the transport has such messages.
fn open(world: &dyn World, longer: usize) -> Result<Option<Box<dyn Unpacked>>, CommError> {
    match world.open_unpacked(UnpackedSpec { name: "boxes", edges: edges(world, longer) }) {
        Ok(context) => Ok(Some(context)),
        Err(CommError::Unavailable { backend, .. }) if !["p2p", "auto"].contains(&backend) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns byte number `at` of a rank's memory before a round.
fn byte(rank: usize, round: u64, at: usize) -> u8 {
    (at as u64).wrapping_mul(0x9e37_79b9).wrapping_add(31 * rank as u64 + 7 * round).to_le_bytes()[1]
}

/// Returns the places in memory of a subarray's bytes.
fn places(subarray: &Subarray, starts: &[usize]) -> impl Iterator<Item = usize> + use<> {
    let (first, Subarray { rows, strides, row_bytes, .. }) =
        (starts[subarray.part] + subarray.offset, *subarray);
    let rows = (0..rows[0]).flat_map(move |x| (0..rows[1]).map(move |y| x * strides[0] + y * strides[1]));
    rows.flat_map(move |row| (0..row_bytes).map(move |place| first + row + place))
}

fn boxes(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let Some(mut context) = open(world, 0)? else { return Ok(()) };
    let (rank, ranks) = (world.rank(), world.ranks());
    for round in 0..ROUNDS {
        for lead in LEADS {
            let starts = starts(ranks, lead);
            let length = PARTS * (part_bytes(ranks) + lead);
            let before: Vec<u8> = (0..length).map(|at| byte(rank, round, at)).collect();
            let mut expected = before.clone();
            for peer in (0..ranks).filter(|&peer| peer != rank) {
                for part in 0..PARTS {
                    let from = subarray(part, 0, sent(peer, rank), true);
                    let to = subarray(part, 1 + peer, sent(peer, rank), false);
                    let pairs = places(&from, &starts).zip(places(&to, &starts));
                    pairs.for_each(|(from, to)| expected[to] = byte(peer, round, from));
                }
            }
            let mut memory = before;
            context.exchange(&mut memory, &starts)?;
            let wrong = memory.iter().zip(&expected).position(|(is, should)| is != should);
            flaws.expect(wrong.is_none(), || format!("round {round}, lead {lead}: byte {wrong:?} is wrong"));
        }
    }
    let exchanges = ROUNDS * LEADS.len() as u64;
    let traffic = context.traffic();
    let own: usize = edges(world, 0).iter().flat_map(|edge| &edge.sends).map(Subarray::bytes).sum();
    let right = traffic.messages == exchanges * (ranks as u64 - 1) && traffic.bytes == exchanges * own as u64;
    flaws.expect(right, || format!("{traffic:?} was counted"));
    context.finalise()
}

fn other_lengths(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let said = match open(world, 1) {
        Ok(None) => return Ok(()),
        Ok(Some(_)) if world.ranks() == 1 => return Ok(()),
        other => other.map(|_| ()).map_err(|error| error.to_string()),
    };
    let right = matches!(&said, Err(text) if text.contains("there is room for"));
    flaws.expect(right, || format!("{said:?}"));
    Ok(())
}

fn outside(world: &dyn World, flaws: &Flaws) -> Result<(), CommError> {
    let Some(mut context) = open(world, 0)? else { return Ok(()) };
    let ranks = world.ranks();
    let mut memory = vec![0; PARTS * part_bytes(ranks)];
    for (lead, missing, parts) in [(0, 2 * layer(), PARTS), (0, 0, PARTS - 1), (layer(), 0, PARTS)] {
        let starts = &starts(ranks, lead)[..parts];
        let shorter = memory.len() - missing;
        let outcome = context.exchange(&mut memory[..shorter], starts);
        let refused = ranks == 1 || matches!(outcome, Err(CommError::Misuse { .. }));
        flaws.expect(refused, || format!("{outcome:?} instead of Misuse"));
    }
    context.exchange(&mut memory, &starts(ranks, 0))?;
    context.finalise()
}
