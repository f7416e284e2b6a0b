//! Selection of the particles to send, made once per rebuild: exported cells are converted to
//! particle indices.
//!
//! Cells that are consecutive in memory and have the same periodic shift are joined to *runs*,
//! which are copied as blocks. A melt has a few long runs per face. In a gas most runs would hold
//! one particle or none, and the loop around the copy would cost more than the copy itself. In that
//! case the selection stores one particle index and the number of its shift per particle instead.

use super::{Export, Stage};
use crate::cells::LocalCells;
use crate::domain::Domain;
use std::ops::Range;

/// Runs that are shorter than this on average are replaced by single particles.
const SHORT_RUN: usize = 8;

/// Particles of consecutive cells that are sent with the same shift.
#[derive(Debug, Clone)]
struct Run {
    particles: Range<usize>,
    shift: usize,
}

/// A displacement by a number of box lengths.
#[derive(Debug, Clone, Copy)]
struct Shift {
    boxes: [i8; 3],
    /// Displacement, \[length\].
    displacement: [f64; 3],
}

impl Shift {
    fn new(boxes: [i8; 3], domain: &Domain) -> Self {
        Self { boxes, displacement: [0, 1, 2].map(|dim| f64::from(boxes[dim]) * domain.lengths[dim]) }
    }
}

/// The particles of exported cells, in the order of the cells.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    runs: Vec<Run>,
    /// Particle index and number of its shift; used instead of `runs` if those are short.
    single: Vec<(u32, u32)>,
    /// Distinct shifts.
    shifts: Vec<Shift>,
    len: usize,
}

impl Selection {
    /// Finds the particles of the exported cells.
    pub fn rebuild(&mut self, exports: &[Export], cells: &LocalCells, domain: &Domain) {
        self.runs.clear();
        self.single.clear();
        self.shifts.clear();
        self.len = 0;
        for export in exports {
            let particles = cells.range(export.cell as usize);
            if !particles.is_empty() {
                self.len += particles.len();
                self.append(particles, Shift::new(export.shift, domain));
            }
        }
        if self.len < SHORT_RUN * self.runs.len() {
            let Self { runs, single, .. } = self;
            let apart = |run: Run| run.particles.map(move |particle| (particle as u32, run.shift as u32));
            single.extend(runs.drain(..).flat_map(apart));
        }
    }

    fn append(&mut self, particles: Range<usize>, shift: Shift) {
        let known = self.shifts.iter().position(|known| known.boxes == shift.boxes);
        let shift = known.unwrap_or_else(|| {
            self.shifts.push(shift);
            self.shifts.len() - 1
        });
        match self.runs.last_mut() {
            Some(last) if last.particles.end == particles.start && last.shift == shift => {
                last.particles.end = particles.end;
            }
            _ => self.runs.push(Run { particles, shift }),
        }
    }

    /// Adapts the shifts to a box that has been stretched to `domain`.
    pub fn stretch(&mut self, domain: &Domain) {
        self.shifts.iter_mut().for_each(|shift| *shift = Shift::new(shift.boxes, domain));
    }

    /// Returns the number of particles.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the selection is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies the selected particles' coordinates along `dim` from `column`, with their shifts.
    pub(super) fn copy_shifted(&self, dim: usize, column: &[f64], to: &mut [f64]) {
        for (to, &(particle, shift)) in to.iter_mut().zip(&self.single) {
            *to = column[particle as usize] + self.shifts[shift as usize].displacement[dim];
        }
        let mut rest = to;
        for run in &self.runs {
            let (here, after) = rest.split_at_mut(run.particles.len());
            let shift = self.shifts[run.shift].displacement[dim];
            for (to, from) in here.iter_mut().zip(&column[run.particles.clone()]) {
                *to = from + shift;
            }
            rest = after;
        }
    }

    /// Copies the selected particles' entries of `column`.
    pub(super) fn copy<T: Copy>(&self, column: &[T], to: &mut [T]) {
        for (to, &(particle, _)) in to.iter_mut().zip(&self.single) {
            *to = column[particle as usize];
        }
        let mut rest = to;
        for run in &self.runs {
            let (here, after) = rest.split_at_mut(run.particles.len());
            here.copy_from_slice(&column[run.particles.clone()]);
            rest = after;
        }
    }

    /// Adds the numbers in `from` to the selected particles' entries of `column`, as far as these
    /// lie in `onto`, in order.
    pub(super) fn add(&self, from: &[f64], column: &mut [f64], onto: &Range<usize>) {
        for (from, &(particle, _)) in from.iter().zip(&self.single) {
            if onto.contains(&(particle as usize)) {
                column[particle as usize] += from;
            }
        }
        let mut rest = from;
        for Run { particles, .. } in &self.runs {
            let (here, after) = rest.split_at(particles.len());
            let (start, end) = (particles.start.max(onto.start), particles.end.min(onto.end));
            if start < end {
                for (to, from) in column[start..end].iter_mut().zip(&here[start - particles.start..]) {
                    *to += from;
                }
            }
            rest = after;
        }
    }
}

/// The selections of one stage.
#[derive(Debug, Clone, Default)]
pub struct StageSelections {
    /// Particles that are copied to this rank's own ghosts.
    pub images: Selection,
    /// Particles that are sent, per edge.
    pub edges: Vec<Selection>,
}

impl StageSelections {
    /// Rebuilds the selections. Must be called when owned cells and the ghosts of all earlier
    /// stages have been laid out, but before those of this stage.
    pub fn rebuild(&mut self, stage: &Stage, cells: &LocalCells, domain: &Domain) {
        self.images.rebuild(&stage.images, cells, domain);
        self.edges.resize(stage.edges.len(), Selection::default());
        for (selection, edge) in self.edges.iter_mut().zip(&stage.edges) {
            selection.rebuild(&edge.exports, cells, domain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Boundary, Dimension};

    const DOMAIN: Domain = Domain {
        dimension: Dimension::Three,
        origin: [0.0; 3],
        lengths: [10.0, 20.0, 30.0],
        boundary: [Boundary::Periodic; 3],
    };

    fn cells(counts: &[usize]) -> LocalCells {
        let mut cells = LocalCells::default();
        let mut next = 0;
        for &count in counts {
            cells.push_ghost_cell(next, count);
            next += count;
        }
        cells
    }

    fn selection(exports: &[(u32, i8)], counts: &[usize]) -> Selection {
        let exports: Vec<_> =
            exports.iter().map(|&(cell, shift)| Export { cell, shift: [shift, 0, 0] }).collect();
        let mut selection = Selection::default();
        selection.rebuild(&exports, &cells(counts), &DOMAIN);
        selection
    }

    /// Checks that copying and adding give the results of a plain loop over the cells.
    fn check(exports: &[(u32, i8)], counts: &[usize]) {
        let total = counts.iter().sum::<usize>();
        let column: Vec<f64> = (0..total).map(|i| i as f64).collect();
        let (selection, cells) = (selection(exports, counts), cells(counts));
        let particles: Vec<(usize, f64)> = exports
            .iter()
            .flat_map(|&(cell, shift)| cells.range(cell as usize).map(move |i| (i, 10.0 * f64::from(shift))))
            .collect();
        let mut copied = vec![0.0; selection.len()];
        selection.copy_shifted(0, &column, &mut copied);
        assert_eq!(copied, particles.iter().map(|&(i, shift)| i as f64 + shift).collect::<Vec<_>>());
        let mut sums = vec![0.0; total];
        // In two parts, for owned particles and for ghosts.
        selection.add(&copied, &mut sums, &(0..total / 3));
        selection.add(&copied, &mut sums, &(total / 3..total));
        let mut expected = vec![0.0; total];
        for (&(i, _), value) in particles.iter().zip(&copied) {
            expected[i] += value;
        }
        assert_eq!(sums, expected);
    }

    #[test]
    fn long_runs_are_joined() {
        let exports = [(0, 0), (1, 0), (2, 0), (3, 1), (5, 1)];
        let counts = [20, 0, 30, 40, 7, 50];
        assert_eq!(selection(&exports, &counts).runs.len(), 3);
        check(&exports, &counts);
    }

    #[test]
    fn short_runs_are_taken_apart() {
        let exports = [(0, -1), (2, 0), (4, 1), (4, -1), (1, 0)];
        let counts = [1, 0, 2, 9, 1];
        let selection = selection(&exports, &counts);
        assert_eq!((selection.runs.len(), selection.single.len()), (0, 5));
        check(&exports, &counts);
    }
}
