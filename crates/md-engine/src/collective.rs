//! Data of all ranks, and room for data of particles.

use bytemuck::Pod;
use md_comm::World;

use crate::error::EngineError;

/// Returns the items of all ranks, in the order of the ranks. *Collective.*
pub(crate) fn gather_all<T: Pod>(mine: &[T], world: &dyn World) -> Result<Vec<T>, EngineError> {
    Ok(bytemuck::pod_collect_to_vec(&world.gather_all(bytemuck::cast_slice(mine))?))
}

/// Calls `visit` with the items of all ranks, one rank after the other, so that no rank stores all
/// of them at once. *Collective.*
///
/// # Errors
/// Communication; no memory for the items of a rank.
pub fn for_each_rank<T: Pod>(
    mine: &(impl ExactSizeIterator<Item = T> + Clone),
    world: &dyn World,
    mut visit: impl FnMut(T),
) -> Result<(), EngineError> {
    for rank in 0..world.ranks() {
        let mut bytes = Vec::new();
        if rank == world.rank() {
            expect_room(&mut bytes, mine.len() * size_of::<T>(), "what this rank shows to the others")?;
            mine.clone().for_each(|item| bytes.extend_from_slice(bytemuck::bytes_of(&item)));
        }
        world.broadcast(rank, &mut bytes)?;
        bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).for_each(&mut visit);
    }
    Ok(())
}

/// Reserves room for `more` elements in a block.
pub(crate) fn expect_room<T>(block: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), EngineError> {
    let bytes = (block.len() + more) * size_of::<T>();
    block.try_reserve(more).map_err(|_| EngineError::NoRoom { what, bytes })
}
