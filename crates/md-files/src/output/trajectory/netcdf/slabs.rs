//! The values that a rank writes: those of a range of ids, in the order of the ids, whichever ranks
//! have the particles.
//!
//! The range of each rank and the number of its particles are determined at the first frame. From
//! then on a frame takes one pass over the ids and one over each column. A value is copied directly
//! to its place in the bytes of its column, or into the message for the rank with its range.

use md_comm::{Message, Rank, Reduction, World, deliver, deliver_items};
use md_engine::ObserverError;

use super::super::frame::{FrameLayout, OwnParticles, make_room};
use super::schema::{Picked, values_of};
use crate::checkpoint::sum_before;
use crate::netcdf::Variable;

/// A column of a frame.
pub(super) struct Column<'v> {
    pub(super) variable: &'v Variable,
    /// Number of bytes per particle.
    pub(super) bytes: usize,
}

/// The part of every frame that this rank writes.
pub(super) struct Slabs {
    /// The lowest id of all; then the number of ids in the range of a rank.
    lowest: u64,
    width: u64,
    /// Places of the ids of this rank in its range, ascending. Empty if no id is missing, so that
    /// the place of an id is its row.
    sparse: Vec<u32>,
    /// Number of particles in the range of this rank.
    rows: usize,
    /// Number of particles in the ranges of lower ranks.
    pub(super) before: u64,
    /// Particles of this rank in its own range; then those in the ranges of the other ranks.
    kept: Vec<Picked>,
    sent: Vec<Vec<Picked>>,
    /// Bytes of each column.
    columns: Vec<Vec<u8>>,
}

impl Slabs {
    /// Determines the ranges for the present particles. *Collective.*
    pub(super) fn new(world: &dyn World, ids: &[u64]) -> Result<Self, ObserverError> {
        let mut words =
            [!ids.iter().min().copied().unwrap_or(u64::MAX), ids.iter().max().copied().unwrap_or(0)];
        world.reduce(&mut words, Reduction::Highest)?;
        let [lowest, highest] = [!words[0], words[1]];
        if highest > i32::MAX as u64 {
            return Err(format!("id {highest} is larger than `.nc` can hold: choose another format").into());
        }
        let width = (highest.saturating_sub(lowest) + 1).div_ceil(world.ranks() as u64);
        let mut slabs = Self {
            lowest,
            width,
            sparse: Vec::new(),
            rows: 0,
            before: 0,
            kept: Vec::new(),
            sent: vec![Vec::new(); world.ranks()],
            columns: Vec::new(),
        };
        let mut places = deliver_items(world, ids.iter().filter_map(|&id| slabs.place_of(id)))?;
        (slabs.rows, slabs.before) = (places.len(), sum_before(places.len() as u64, world)?);
        places.sort_unstable();
        if !places.iter().copied().eq(0..slabs.rows as u32) {
            slabs.sparse = places;
        }
        Ok(slabs)
    }

    /// Returns the rank with the range that contains an id, and the place of the id in it, or
    /// `None` if the id is outside of all ranges.
    fn place_of(&self, id: u64) -> Option<(Rank, u32)> {
        // Ids fit into 31 bits, and 32-bit divisions are cheaper.
        let place = id.checked_sub(self.lowest).and_then(|place| u32::try_from(place).ok())?;
        let width = self.width as u32;
        let owner = (place / width) as Rank;
        (owner < self.sent.len()).then_some((owner, place % width))
    }

    /// Collects the values of the particles of all ranks. *Collective.*
    pub(super) fn fill(
        &mut self,
        world: &dyn World,
        layout: &FrameLayout,
        own: &OwnParticles,
        columns: &[Column],
    ) -> Result<(), ObserverError> {
        self.pick(world.rank(), own.ids())?;
        let messages = self.messages(layout, own, columns)?;
        let come = if world.ranks() == 1 { Vec::new() } else { deliver(world, messages)? };
        let row_bytes = size_of::<u32>() + columns.iter().map(|column| column.bytes).sum::<usize>();
        let rows = self.kept.len() + come.iter().map(|message| message.len() / row_bytes).sum::<usize>();
        if rows != self.rows {
            return Err(
                format!("there are {rows} particles, where {} were in the first frame", self.rows).into()
            );
        }
        let mut kept = std::mem::take(&mut self.kept);
        for picked in &mut kept {
            picked.place = self.row_of(picked.place)?;
        }
        self.columns.resize_with(columns.len(), Vec::new);
        for (Column { variable, bytes }, slab) in columns.iter().zip(&mut self.columns) {
            make_room(slab, (rows * bytes).saturating_sub(slab.len()))?;
            slab.resize(rows * bytes, 0);
            values_of(variable, layout, own, &kept, |row, value| {
                slab[row as usize * value.len()..][..value.len()].copy_from_slice(value);
            });
        }
        self.kept = kept;
        come.iter().try_for_each(|message| self.take(message, message.len() / row_bytes, columns))
    }

    /// Assigns the particles of this rank to the ranges of the ranks.
    fn pick(&mut self, rank: Rank, ids: &[u64]) -> Result<(), String> {
        self.kept.clear();
        self.sent.iter_mut().for_each(Vec::clear);
        make_room(&mut self.kept, ids.len())?;
        for (index, &id) in (0..).zip(ids) {
            let (owner, place) = self.place_of(id).ok_or_else(not_there)?;
            let list = if owner == rank { &mut self.kept } else { &mut self.sent[owner] };
            list.push(Picked { index, place });
        }
        Ok(())
    }

    /// Returns the messages to the other ranks: places, then values column by column.
    fn messages(
        &self,
        layout: &FrameLayout,
        own: &OwnParticles,
        columns: &[Column],
    ) -> Result<Vec<Message>, String> {
        let mut messages = Vec::new();
        for (to, picked) in self.sent.iter().enumerate().filter(|(_, picked)| !picked.is_empty()) {
            let row_bytes = size_of::<u32>() + columns.iter().map(|column| column.bytes).sum::<usize>();
            let mut bytes = Vec::new();
            make_room(&mut bytes, picked.len() * row_bytes)?;
            picked.iter().for_each(|picked| bytes.extend_from_slice(&picked.place.to_ne_bytes()));
            for Column { variable, .. } in columns {
                values_of(variable, layout, own, picked, |_, value| bytes.extend_from_slice(value));
            }
            messages.push(Message { to, bytes });
        }
        Ok(messages)
    }

    /// Returns the row of a place in the range of this rank.
    fn row_of(&self, place: u32) -> Result<u32, String> {
        let row = match &self.sparse[..] {
            [] => Some(place).filter(|&place| (place as usize) < self.rows),
            sparse => sparse.binary_search(&place).ok().map(|row| row as u32),
        };
        row.ok_or_else(not_there)
    }

    /// Copies a message of `count` particles to its rows.
    fn take(&mut self, message: &[u8], count: usize, columns: &[Column]) -> Result<(), ObserverError> {
        let (places, mut rest) = message.split_at(count * size_of::<u32>());
        let mut rows = Vec::new();
        make_room(&mut rows, count)?;
        for place in places.as_chunks().0 {
            rows.push(self.row_of(u32::from_ne_bytes(*place))?);
        }
        for (Column { bytes, .. }, slab) in columns.iter().zip(&mut self.columns) {
            let (values, behind) = rest.split_at(count * bytes);
            match bytes {
                4 => scatter::<4>(&rows, values, slab),
                8 => scatter::<8>(&rows, values, slab),
                12 => scatter::<12>(&rows, values, slab),
                _ => scatter::<24>(&rows, values, slab),
            }
            rest = behind;
        }
        Ok(())
    }

    /// Returns the bytes of each column as they are written.
    pub(super) fn columns(&self) -> &[Vec<u8>] {
        &self.columns
    }
}

fn not_there() -> String {
    "there are particles that were not in the first frame".to_owned()
}

/// Copies values of `BYTES` bytes to their rows.
fn scatter<const BYTES: usize>(rows: &[u32], values: &[u8], slab: &mut [u8]) {
    let (slab, _) = slab.as_chunks_mut::<BYTES>();
    for (&row, value) in rows.iter().zip(values.as_chunks::<BYTES>().0) {
        slab[row as usize] = *value;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    #[test]
    fn an_id_outside_of_all_ranges_is_an_error() {
        let found = local::run(2, Duration::from_secs(60), |world| {
            let own = [[5, 6], [9, 8]][world.rank()];
            let mut slabs = Slabs::new(world, &own).unwrap();
            // Ids from 5 to 9 are divided into ranges of three: 5, 6, 7 and 8, 9, 10.
            assert_eq!([5, 7, 8].map(|id| slabs.place_of(id)), [Some((0, 0)), Some((0, 2)), Some((1, 0))]);
            [4, 11, u64::MAX].map(|id| slabs.pick(world.rank(), &[id]))
        });
        for said in found {
            assert_eq!(said.unwrap(), [4, 11, 0].map(|_| Err(not_there())));
        }
    }
}
