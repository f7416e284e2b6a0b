//! Construction of the lists. The particles of a cell share their candidates. Each i-cluster tests
//! all of them pair by pair, a vector at a time, several i-clusters side by side (`finder`). Each
//! thread makes the lists for the i-clusters of its home.

use super::candidates::Clusters;
use super::finder::Finder;
use super::kernel::vectors;
use super::lists::{EntryShape, Extent, Lists, View};
use crate::aligned::LINE;
use crate::force::Newton;
use crate::force::cell_spans::{CellItem, CellSpan};
use crate::force::shares::{ReactionBuffer, Work};
use crate::simd::{Arithmetic, LevelKernel, Registers};
use pulp::Simd;
use std::marker::PhantomData;

/// Common input of all threads for their lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListInput<'a, C> {
    /// Positions of the particles, padded to whole clusters.
    pub position: [&'a [C]; 3],
    /// Length of one unit of the coordinates.
    pub unit: f64,
    pub list_radius: f64,
    /// Number of particles and ghosts.
    pub len: usize,
    /// See [`most_ahead`].
    pub ahead: usize,
    /// Number of computed pairs after which a block ends.
    pub block_pairs: usize,
}

/// Construction of the lists of a thread's home. `P` determines the number of particles in a
/// cluster.
pub(super) struct ListBuild<'a, P: Arithmetic> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub input: ListInput<'a, P::Coordinate>,
    pub work: &'a mut Work<Lists>,
    pub reactions: &'a mut ReactionBuffer,
}

impl<P: Arithmetic> LevelKernel for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd, R: Registers>(self, simd: S) {
        if const { S::F32_LANES < P::FEWEST_LANES } {
            return;
        }
        let Self { items, spans, input, work, reactions } = self;
        let ListInput { position: [x, y, z], unit, list_radius, len, ahead, block_pairs } = input;
        let width = P::width::<S>();
        // Slices of equal, known length need one bounds check instead of three.
        let count = x.len() / width;
        let home = work.home.start / width..work.home.end / width;
        let clusters = Clusters { width, i_particles: P::i_particles::<S>(), home: home.clone() };
        let finder = Finder::<S, P, R> {
            simd,
            positions: [&vectors(x)[..count], &vectors(y)[..count], &vectors(z)[..count]],
            list_radius2: P::splat(simd, (list_radius / unit).powi(2)),
            lane_bits: P::lane_bits(simd),
            lanes_after: clusters.lanes_after(),
            clusters,
            registers: PhantomData,
        };
        let ahead = ahead.div_ceil(width);
        // An i-cluster must not extend beyond the end of its home, where another thread's home
        // begins, or of the force arrays.
        let limit = work.home.end.min(len.next_multiple_of(LINE));
        let extent = Extent { base: home.start, len: limit - work.home.start };
        let block_entries = block_pairs / P::lanes::<S>();
        let shape = EntryShape { width, pairs: P::lanes::<S>() };
        (work.local.shape, work.cross.shape) = (shape, shape);
        work.local.clear(extent, home.len(), ahead, block_entries);
        work.cross.clear(Extent { base: 0, len: limit }, count, ahead, block_entries);
        for items in items.chunk_by(|a, b| a.newton == b.newton) {
            finder.append_section(items, spans, work);
        }
        let views = work.cross.views();
        for View { i_clusters, .. } in views.filter(|view| view.block.newton == Newton::On) {
            for cluster in i_clusters.flat_map(|i_cluster| i_cluster.entries).map(|entry| entry.cluster()) {
                reactions.touch(cluster * width..(cluster + 1) * width);
            }
        }
    }
}

impl<S: Simd, P: Arithmetic, R: Registers> Finder<'_, S, P, R> {
    /// Appends a section of local pairs and one of cross-thread pairs for cells with the same use
    /// of Newton's third law.
    #[inline(always)]
    fn append_section(&self, items: &[CellItem], spans: &[CellSpan], work: &mut Work<Lists>) {
        let Work { home, local, cross } = work;
        local.begin_section(items[0].newton, P::CLUSTER_FORCES);
        cross.begin_section(items[0].newton, P::CLUSTER_FORCES);
        for CellItem { particles, spans: own_spans, .. } in items {
            let i_clusters =
                (particles.first as usize).max(home.start)..(particles.end as usize).min(home.end);
            if i_clusters.is_empty() {
                continue;
            }
            let spans = &spans[own_spans.clone()];
            self.clusters.write_down(&mut local.candidates, &mut cross.candidates, spans, particles.first);
            self.append_i_clusters(local, i_clusters.start - home.start..i_clusters.end - home.start);
            self.append_i_clusters(cross, i_clusters);
        }
        local.end_section(size_of::<P::Lanes<S>>());
        cross.end_section(size_of::<P::Lanes<S>>());
    }
}

/// Returns the largest number of particles from the first one of a cell to the last one with which
/// it is paired, among cells with i-clusters.
pub(super) fn most_ahead(items: &[CellItem], spans: &[CellSpan]) -> usize {
    let end = items.iter().map(|item| item.particles.end).max().unwrap_or(0);
    let ahead = |item: &CellItem| {
        let met = spans[item.spans.clone()].iter().filter(|span| span.first < end);
        met.map(|span| span.end.min(end).saturating_sub(item.particles.first)).max().unwrap_or(0)
    };
    items.iter().map(ahead).max().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_ahead_cells_meet_others() {
        let span = |first, end| CellSpan { first, end };
        let spans = [span(0, 10), span(25, 40), span(90, 95), span(10, 20), span(35, 60)];
        let item = |first, end, spans| CellItem {
            particles: span(first, end),
            spans,
            newton: Newton::On,
            candidates: 1.0,
        };
        assert_eq!(most_ahead(&[], &spans), 0);
        // The last cell with i-clusters ends at 50; the particles beyond are ghosts.
        let items = [item(0, 10, 0..3), item(10, 20, 3..5), item(45, 50, 0..0)];
        assert_eq!(most_ahead(&items, &spans), 40);
    }
}
