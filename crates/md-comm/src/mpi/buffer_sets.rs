//! Sets of send buffers, used in turn.

/// Returns the set of buffers after this one. Avoids a division, which would take measurable time
/// beside a small message.
pub(super) fn next_in_turn(current: usize, sets: usize) -> usize {
    if current + 1 < sets { current + 1 } else { 0 }
}
