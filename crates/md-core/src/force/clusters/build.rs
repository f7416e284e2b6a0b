//! Construction of the lists. The particles of a cell share their candidates. Each i-cluster tests
//! all of them pair by pair, a vector at a time, several i-clusters side by side (`finder`). Each
//! thread makes the lists for the i-clusters of its home.

use super::candidates::Clusters;
use super::finder::Finder;
use super::lists::{Extent, Lists, View};
use super::near::Near;
use super::shape::{ClusterShape, ShapeKernel};
use crate::aligned::LINE;
use crate::force::Newton;
use crate::force::cell_spans::{CellItem, CellSpan};
use crate::force::shares::{ReactionBuffer, Work};
use crate::simd::ClusterForces;
use pulp::Simd;

/// Common input of all threads for their lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListInput<'a> {
    /// Positions of the particles, padded to whole clusters.
    pub position: [&'a [f32]; 3],
    pub list_radius: f64,
    /// Number of particles and ghosts.
    pub len: usize,
    /// Number of computed pairs after which a block ends.
    pub block_pairs: usize,
}

/// How forces on j-clusters are added up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accumulation {
    pub forces: ClusterForces,
    /// See [`most_ahead`]; 0 without accumulators.
    pub ahead: usize,
}

/// Construction of the lists of a thread's home.
pub(super) struct ListBuild<'a> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub input: ListInput<'a>,
    pub accumulation: Accumulation,
    pub work: &'a mut Work<Lists>,
    pub reactions: &'a mut ReactionBuffer,
}

impl ShapeKernel for ListBuild<'_> {
    #[inline(always)]
    fn run<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize>(self, simd: S) {
        let Self { items, spans, input, accumulation, work, reactions } = self;
        let ListInput { position, list_radius, len, block_pairs } = input;
        let home = work.home.start / WIDTH..work.home.end / WIDTH;
        let clusters = Clusters { width: WIDTH, i_particles: I, home: home.clone() };
        let finder = Finder::<S, I, WIDTH, LANES> {
            near: Near::new(simd, position, list_radius),
            lanes_after: clusters.lanes_after(),
            clusters,
        };
        let ahead = accumulation.ahead.div_ceil(WIDTH);
        // An i-cluster must not extend beyond the end of its home, where another thread's home
        // begins, or of the force arrays.
        let limit = work.home.end.min(len.next_multiple_of(LINE));
        let extent = Extent { base: home.start, len: limit.saturating_sub(work.home.start) };
        let block_entries = block_pairs / LANES;
        let shape = ClusterShape { i_particles: I, width: WIDTH };
        (work.local.shape, work.cross.shape) = (shape, shape);
        work.local.clear(extent, home.len(), ahead, block_entries);
        work.cross.clear(Extent { base: 0, len: limit }, position[0].len() / WIDTH, ahead, block_entries);
        for items in items.chunk_by(|a, b| a.newton == b.newton) {
            finder.append_section(items, spans, work, accumulation.forces);
        }
        let views = work.cross.views();
        for View { i_clusters, .. } in views.filter(|view| view.newton == Newton::On) {
            for cluster in i_clusters.flat_map(|i_cluster| i_cluster.entries).map(|entry| entry.cluster()) {
                reactions.touch(cluster * WIDTH..(cluster + 1) * WIDTH);
            }
        }
    }
}

impl<S: Simd, const I: usize, const WIDTH: usize, const LANES: usize> Finder<'_, S, I, WIDTH, LANES> {
    /// Appends a section of local pairs and one of cross-thread pairs for cells with the same use
    /// of Newton's third law.
    #[inline(always)]
    fn append_section(
        &self,
        items: &[CellItem],
        spans: &[CellSpan],
        work: &mut Work<Lists>,
        cluster_forces: ClusterForces,
    ) {
        let Work { home, local, cross } = work;
        local.begin_section(items[0].newton, cluster_forces);
        cross.begin_section(items[0].newton, cluster_forces);
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
        local.end_section(LANES * size_of::<f32>());
        cross.end_section(LANES * size_of::<f32>());
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
