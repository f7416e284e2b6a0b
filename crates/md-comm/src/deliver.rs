//! Messages to any ranks, when only the senders know the receivers.
//!
//! Structure: in round k every rank sends one message to the rank 2^k places after it. The message
//! has everything that still has to travel an odd multiple of 2^k places. After log2 P rounds
//! everything has arrived.
//! Cost: two messages per round, a length and the bytes. On average a byte is sent log2 P / 2
//! times.
//! Advantage: no table over all ranks, no rank for which the others wait, no search for the senders
//! to each rank.
//! Disadvantage: the detours. Meant for rare operations; in a time step the ranks have lists of
//! their neighbours.

use std::collections::BTreeMap;

use bytemuck::Pod;

use crate::negotiation::{LENGTH_BYTES, decode_length, encode_length};
use crate::{CommError, Rank, World};

/// Bytes for one rank.
///
/// ```
/// use md_comm::{Message, deliver, local};
/// use std::time::Duration;
///
/// // Every rank writes to the first one, which does not know in advance who writes.
/// let arrived = local::run(3, Duration::from_secs(60), |world| {
///     let message = Message { to: 0, bytes: vec![world.rank() as u8; 2] };
///     let mut arrived = deliver(world, vec![message])?;
///     arrived.sort();
///     Ok::<_, md_comm::CommError>(arrived)
/// });
/// assert_eq!(arrived[0], Ok(Ok(vec![vec![0, 0], vec![1, 1], vec![2, 2]])));
/// assert_eq!(arrived[1], Ok(Ok(vec![])));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The receiving rank.
    pub to: Rank,
    /// Any number of bytes.
    pub bytes: Vec<u8>,
}

/// Delivers messages to their ranks. Returns the messages to this rank, in an order that depends
/// only on the messages. *Collective.*
///
/// # Errors
/// [`CommError::Misuse`] if there is no such rank; [`CommError::OutOfMemory`]; communication.
pub fn deliver(world: &dyn World, messages: Vec<Message>) -> Result<Vec<Vec<u8>>, CommError> {
    let (rank, ranks) = (world.rank(), world.ranks());
    if let Some(Message { to, .. }) = messages.iter().find(|message| message.to >= ranks) {
        return Err(misuse(format!("a message to rank {to} of {ranks}")));
    }
    let places = |to: Rank| (to + ranks - rank) % ranks;
    let mut held: Vec<_> = messages.into_iter().map(|Message { to, bytes }| (places(to), bytes)).collect();
    let mut by = 1;
    while by < ranks {
        let (mut going, mut staying) = (Vec::new(), Vec::new());
        for (places, bytes) in held {
            if places & by == 0 {
                staying.push((places, bytes));
            } else {
                append(&mut going, &encode_length(places - by))?;
                append(&mut going, &encode_length(bytes.len()))?;
                append(&mut going, &bytes)?;
            }
        }
        let come = world.shift(by, &going)?;
        drop(going);
        let mut rest = come.as_slice();
        while !rest.is_empty() {
            let cut = || misuse("a message is cut".to_owned());
            let (places, after) = rest.split_at_checked(LENGTH_BYTES).ok_or_else(cut)?;
            let (length, after) = after.split_at_checked(LENGTH_BYTES).ok_or_else(cut)?;
            let (places, length) = decode_length(places).zip(decode_length(length)).ok_or_else(cut)?;
            let (bytes, after) = after.split_at_checked(length).ok_or_else(cut)?;
            staying.push((places, copied(bytes)?));
            rest = after;
        }
        (held, by) = (staying, 2 * by);
    }
    Ok(held.into_iter().map(|(_, bytes)| bytes).collect())
}

/// Delivers single items to ranks, as [`deliver`] does for messages. *Collective.*
///
/// # Errors
/// Fails as [`deliver`] does.
pub fn deliver_items<T: Pod>(
    world: &dyn World,
    items: impl Iterator<Item = (Rank, T)>,
) -> Result<Vec<T>, CommError> {
    let mut packed = BTreeMap::<Rank, Vec<u8>>::new();
    for (to, item) in items {
        append(packed.entry(to).or_default(), bytemuck::bytes_of(&item))?;
    }
    let messages = packed.into_iter().map(|(to, bytes)| Message { to, bytes });
    let arrived = deliver(world, messages.collect())?;
    let (mut all, bytes) = (Vec::new(), arrived.iter().map(Vec::len).sum());
    all.try_reserve_exact(bytes / size_of::<T>()).map_err(|_| CommError::OutOfMemory { bytes })?;
    for bytes in arrived {
        all.extend(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>));
    }
    Ok(all)
}

/// Copies bytes, and fails if there is no memory.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>, CommError> {
    let mut copy = Vec::new();
    append(&mut copy, bytes)?;
    Ok(copy)
}

fn append(block: &mut Vec<u8>, bytes: &[u8]) -> Result<(), CommError> {
    let whole = block.len() + bytes.len();
    block.try_reserve(bytes.len()).map_err(|_| CommError::OutOfMemory { bytes: whole })?;
    block.extend_from_slice(bytes);
    Ok(())
}

fn misuse(what: String) -> CommError {
    CommError::Misuse { context: "deliver", what }
}
