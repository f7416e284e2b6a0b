//! The clusters that the particles of one cell may have partners in, written down once for all of them.

use super::lists::Entry;
use crate::force::cells::CellSpan;
use std::ops::Range;

/// Of one cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    entries: Vec<Entry>,
    /// The first so many lie in the span of the cell itself, where a particle meets those after itself.
    own: usize,
}

impl Candidates {
    fn clear(&mut self) {
        self.entries.clear();
        self.own = 0;
    }

    /// Spans that meet inside a cluster share an entry.
    fn push(&mut self, entry: Entry) {
        match self.entries[self.own..].last_mut() {
            Some(last) if last.cluster() == entry.cluster() => *last = last.with(entry.lanes()),
            _ => self.entries.push(entry),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Those in the cell's own span, and the others.
    pub(super) fn own_and_others(&self) -> (&[Entry], &[Entry]) {
        self.entries.split_at(self.own)
    }
}

/// Where clusters are.
#[derive(Debug, Clone)]
pub(super) struct Clusters {
    /// Particles in one.
    pub width: usize,
    /// Those of the home.
    pub home: Range<usize>,
}

impl Clusters {
    /// Writes down the clusters of the spans: those of the home in `near`, relative to its start, the others in `far`.
    /// The span with `own_particle` is the cell's own.
    pub(super) fn write_down(
        &self,
        near: &mut Candidates,
        far: &mut Candidates,
        (spans, own_particle): (&[CellSpan], u32),
    ) {
        let is_own = |span: &CellSpan| (span.first..span.end).contains(&own_particle);
        near.clear();
        far.clear();
        for &span in spans.iter().filter(|span| is_own(span)) {
            self.append(near, far, span);
        }
        (near.own, far.own) = (near.entries.len(), far.entries.len());
        for &span in spans.iter().filter(|span| !is_own(span)) {
            self.append(near, far, span);
        }
    }

    fn append(&self, near: &mut Candidates, far: &mut Candidates, span: CellSpan) {
        let (first, end) = (span.first as usize, span.end as usize);
        for cluster in first / self.width..end.div_ceil(self.width) {
            let lanes = self.lanes_from(first, cluster) & !self.lanes_from(end, cluster);
            if self.home.contains(&cluster) {
                near.push(Entry::new(cluster - self.home.start, lanes));
            } else {
                far.push(Entry::new(cluster, lanes));
            }
        }
    }

    /// The lanes of a cluster whose particles are `first` or later.
    #[inline(always)]
    pub(super) fn lanes_from(&self, first: usize, cluster: usize) -> u16 {
        let skipped = first.saturating_sub(cluster * self.width).min(self.width);
        let all = (1_u32 << self.width) - 1;
        (all << skipped & all) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cluster and lanes of every entry, and how many are the cell's own.
    fn written(candidates: &Candidates) -> (Vec<(usize, u16)>, usize) {
        let list = candidates.entries.iter().map(|entry| (entry.cluster(), entry.lanes())).collect();
        (list, candidates.own)
    }

    #[test]
    fn spans_become_clusters_with_the_lanes_that_count() {
        let clusters = Clusters { width: 4, home: 0..100 };
        let (mut near, mut far) = (Candidates::default(), Candidates::default());
        let spans =
            [CellSpan { first: 2, end: 9 }, CellSpan { first: 13, end: 15 }, CellSpan { first: 15, end: 16 }];
        clusters.write_down(&mut near, &mut far, (&spans, 13));
        let expected = vec![(3, 0b0110), (0, 0b1100), (1, 0b1111), (2, 0b0001), (3, 0b1000)];
        assert_eq!(written(&near), (expected, 1));
        assert_eq!(written(&far), (Vec::new(), 0));
    }

    #[test]
    fn spans_that_meet_in_a_cluster_share_it() {
        let clusters = Clusters { width: 8, home: 0..100 };
        let (mut near, mut far) = (Candidates::default(), Candidates::default());
        let spans = [CellSpan { first: 3, end: 5 }, CellSpan { first: 6, end: 8 }];
        clusters.write_down(&mut near, &mut far, (&spans, 50));
        assert_eq!(written(&near), (vec![(0, 0b1101_1000)], 0));
    }

    #[test]
    fn clusters_of_other_homes_are_far() {
        let clusters = Clusters { width: 16, home: 2..3 };
        let (mut near, mut far) = (Candidates::default(), Candidates::default());
        clusters.write_down(&mut near, &mut far, (&[CellSpan { first: 30, end: 50 }], 40));
        assert_eq!(written(&near), (vec![(0, 0xFFFF)], 1));
        assert_eq!(written(&far), (vec![(1, 0xC000), (3, 0b11)], 2));
    }

    #[test]
    fn lanes_after_a_particle() {
        let clusters = Clusters { width: 8, home: 0..1 };
        assert_eq!(
            [0, 3, 8, 11, 100].map(|first| clusters.lanes_from(first, 1)),
            [0xFF, 0xFF, 0xFF, 0xF8, 0]
        );
    }
}
