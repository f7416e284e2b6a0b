//! Making the lists. The particles of a cell share their candidates; each i-cluster tests all of them pair by pair, a vector at
//! a time, several i-clusters side by side (`finder`). Each thread makes the lists for the i-clusters of its home.

use super::candidates::Clusters;
use super::finder::Finder;
use super::kernel::vectors;
use super::lists::Lists;
use crate::aligned::LINE;
use crate::force::Newton;
use crate::force::cells::{CellItem, CellSpan};
use crate::force::shares::{ReactionBuffer, Work};
use crate::simd::Arithmetic;
use pulp::{Simd, WithSimd};

/// Where the particles are, padded to whole clusters.
#[derive(Debug)]
pub(super) struct Sites<'a, P: Arithmetic> {
    pub position: [&'a [P::Coordinate]; 3],
    /// Length of one unit of the coordinates.
    pub unit: f64,
}

impl<P: Arithmetic> Clone for Sites<'_, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Arithmetic> Copy for Sites<'_, P> {}

/// Makes the lists of a thread's home; `P` decides how many particles a cluster has.
pub(super) struct ListBuild<'a, P: Arithmetic> {
    pub items: &'a [CellItem],
    pub spans: &'a [CellSpan],
    pub sites: Sites<'a, P>,
    pub list_radius: f64,
    pub work: &'a mut Work<Lists>,
    pub reactions: &'a mut ReactionBuffer,
    /// Of particles and ghosts.
    pub len: usize,
    /// See [`most_ahead`].
    pub ahead: usize,
}

impl<P: Arithmetic> WithSimd for ListBuild<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { items, spans, sites: Sites { position: [x, y, z], unit }, list_radius, .. } = self;
        let Self { work, reactions, len, ahead, .. } = self;
        let Work { home, local, cross } = work;
        let width = P::width::<S>();
        // Slices of equal, known length: one bounds check instead of three.
        let count = x.len() / width;
        let clusters = Clusters {
            width,
            i_particles: P::i_particles::<S>(),
            home: home.start / width..home.end / width,
        };
        let finder = Finder::<S, P> {
            simd,
            positions: [&vectors(x)[..count], &vectors(y)[..count], &vectors(z)[..count]],
            list_radius2: P::splat(simd, (list_radius / unit).powi(2)),
            lane_bits: P::lane_bits(simd),
            lanes_after: clusters.lanes_after(),
            clusters,
        };
        let ahead = ahead.div_ceil(width);
        local.clear(home.len() / width, ahead);
        cross.clear(count, ahead);
        // An i-cluster ends before the end of its home, where another thread's begins, and of the force arrays.
        let limit = home.end.min(len.next_multiple_of(LINE));
        for items in items.chunk_by(|a, b| a.newton == b.newton) {
            let first_cross_section = cross.sections.len();
            let newton = items[0].newton;
            local.begin_section(newton, P::CLUSTER_FORCES);
            cross.begin_section(newton, P::CLUSTER_FORCES);
            for item in items {
                let (start, end) = (item.particles.first as usize, item.particles.end as usize);
                let i_clusters = start.max(home.start)..end.min(home.end);
                if i_clusters.is_empty() {
                    continue;
                }
                let own_particle = item.particles.first;
                let (spans, clusters) = (&spans[item.spans.clone()], &finder.clusters);
                clusters.write_down(&mut local.candidates, &mut cross.candidates, (spans, own_particle));
                let in_home = i_clusters.start - home.start..i_clusters.end - home.start;
                finder.append_i_clusters(local, in_home, (clusters.home.start, limit - home.start));
                finder.append_i_clusters(cross, i_clusters, (0, limit));
            }
            local.end_section(size_of::<P::Lanes<S>>());
            cross.end_section(size_of::<P::Lanes<S>>());
            if newton == Newton::On {
                let i_clusters = cross.sections[first_cross_section..]
                    .iter()
                    .flat_map(|section| cross.i_clusters(section));
                for cluster in i_clusters.flat_map(|i_cluster| i_cluster.entries).map(|entry| entry.cluster())
                {
                    reactions.touch(cluster * width..(cluster + 1) * width);
                }
            }
        }
    }
}

/// The most particles from the first of a cell to the last that it meets, among cells with i-clusters of their own.
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
        // The last cell with i-clusters ends at 50: what lies beyond are ghosts.
        let items = [item(0, 10, 0..3), item(10, 20, 3..5), item(45, 50, 0..0)];
        assert_eq!(most_ahead(&items, &spans), 40);
    }
}
