//! How capacities change at a negotiation, the same for all transports.

use crate::Sizes;

/// Effect of a negotiation on the edges of this rank, in either direction.
///
/// ```
/// use md_comm::{Buffering, CommError, Edge, ExchangeSpec, Flow, Growth, Sizes, local};
/// use std::time::Duration;
///
/// let grown = local::run(2, Duration::from_secs(60), |world| {
///     let (peer, flow, send_capacity) = (1 - world.rank(), Flow::Both, 100);
///     let edge = Edge { peer, send_channel: 0, receive_channel: 0, flow, send_capacity };
///     let (edges, sizes, buffering) = (vec![edge], Sizes::Variable, Buffering::Double);
///     let mut context = world.open(ExchangeSpec { name: "migration", edges, sizes, buffering })?;
///     Ok::<_, CommError>([context.negotiate(&[80])?, context.negotiate(&[120])?])
/// });
/// assert_eq!(grown, [const { Ok(Ok([Growth::Unchanged, Growth::Grown])) }; 2]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// All capacities sufficed.
    Unchanged,
    /// At least one capacity has grown.
    Grown,
}

/// Returns the capacity after a negotiation. Variable lengths get head-room, max(1.3 need, 2 old),
/// so that a slowly growing message does not renegotiate every time; a fixed length is exactly what
/// is needed.
pub(crate) fn grown_capacity(sizes: Sizes, old: usize, need: usize) -> usize {
    match sizes {
        Sizes::Fixed => need,
        Sizes::Variable if need <= old => old,
        Sizes::Variable => with_head_room(need).max(old.saturating_mul(2)),
    }
}

/// Returns 1.3 times `need`, rounded up.
pub(crate) fn with_head_room(need: usize) -> usize {
    need.saturating_add(need.saturating_mul(3).div_ceil(10))
}

/// Bytes of a length in a message.
pub(crate) const LENGTH_BYTES: usize = size_of::<u64>();

/// Encodes a capacity or length as a message.
pub(crate) fn encode_length(length: usize) -> [u8; LENGTH_BYTES] {
    (length as u64).to_le_bytes()
}

/// Decodes the length in a message. Returns `None` if the message is not a length.
pub(crate) fn decode_length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_capacities_grow_with_head_room_and_never_shrink() {
        assert_eq!(grown_capacity(Sizes::Variable, 100, 50), 100);
        assert_eq!(grown_capacity(Sizes::Variable, 100, 101), 200);
        assert_eq!(grown_capacity(Sizes::Variable, 1, 1000), 1300);
    }

    #[test]
    fn fixed_lengths_follow_exactly() {
        assert_eq!(grown_capacity(Sizes::Fixed, 100, 50), 50);
        assert_eq!(grown_capacity(Sizes::Fixed, 100, 150), 150);
    }

    #[test]
    fn lengths_round_trip() {
        assert_eq!(decode_length(&encode_length(123_456)), Some(123_456));
        assert_eq!(decode_length(&[1, 2, 3]), None);
    }
}
