//! Initial positions: lattices that fill the box.

use crate::domain::Dimension;
use std::ops::Range;

/// A unit cell: side lengths in units of the lattice constant and sites in units of the sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum LatticeKind {
    /// Face-centred cubic, 4 sites per cell.
    Fcc,
    /// Body-centred cubic, 2 sites per cell.
    Bcc,
    /// Simple cubic, 1 site per cell.
    Sc,
    /// Hexagonal (2D), 2 sites per cell of a x sqrt(3) a.
    Hex,
    /// Square (2D), 1 site per cell.
    Sq,
    /// Centred square (2D), 2 sites per cell.
    Sq2,
}

/// Consecutive unit cells along x, ordered as their sites are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    z: u64,
    y: u64,
    start: u64,
    end: u64,
}

/// A lattice that fills a box of whole unit cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lattice {
    kind: LatticeKind,
    cell_lengths: [f64; 3],
    cells: [u64; 3],
}

impl LatticeKind {
    fn sites(self) -> &'static [[f64; 3]] {
        match self {
            Self::Fcc => &[[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]],
            Self::Bcc => &[[0.0, 0.0, 0.0], [0.5, 0.5, 0.5]],
            Self::Hex | Self::Sq2 => &[[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
            Self::Sc | Self::Sq => &[[0.0, 0.0, 0.0]],
        }
    }

    fn aspect(self) -> [f64; 3] {
        if self == Self::Hex { [1.0, 3f64.sqrt(), 1.0] } else { [1.0; 3] }
    }

    /// Returns the dimension for which the lattice is made.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Hex | Self::Sq | Self::Sq2 => Dimension::Two,
            Self::Fcc | Self::Bcc | Self::Sc => Dimension::Three,
        }
    }

    /// Returns the lattice constant for a number density (per area in 2D).
    pub fn spacing(self, density: f64) -> f64 {
        let sites = self.sites().len() as f64;
        let aspect: f64 = self.aspect().iter().product();
        match self.dimension() {
            Dimension::Two => (sites / (density * aspect)).sqrt(),
            Dimension::Three => (sites / density).cbrt(),
        }
    }
}

impl Lattice {
    /// Creates a lattice of `cells` unit cells per dimension with lattice constant `spacing`. In 2D
    /// the layer is one lattice constant thick.
    pub fn new(kind: LatticeKind, spacing: f64, cells: [u32; 3]) -> Self {
        let cells = if kind.dimension() == Dimension::Two { [cells[0], cells[1], 1] } else { cells };
        Self { kind, cell_lengths: kind.aspect().map(|length| length * spacing), cells: cells.map(u64::from) }
    }

    /// Creates a lattice of `cells` unit cells per dimension with this number density.
    pub fn with_density(kind: LatticeKind, density: f64, cells: [u32; 3]) -> Self {
        Self::new(kind, kind.spacing(density), cells)
    }

    /// Returns the number of unit cells per dimension.
    pub fn cells(&self) -> [u64; 3] {
        self.cells
    }

    /// Returns the lattice with another number of unit cells per dimension.
    #[must_use]
    pub fn with_cells(self, cells: [u64; 3]) -> Self {
        Self { cells, ..self }
    }

    /// Returns the side lengths of the box.
    pub fn lengths(&self) -> [f64; 3] {
        [0, 1, 2].map(|dim| self.cells[dim] as f64 * self.cell_lengths[dim])
    }

    /// Returns the number of sites; [`u64::MAX`] stands for any larger number.
    pub fn len(&self) -> u64 {
        self.cells.into_iter().fold(self.kind.sites().len() as u64, u64::saturating_mul)
    }

    /// Returns whether there is no site.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sites with their ids, from 1, in the numbering of LAMMPS (unit cells x first).
    /// The box starts at the origin.
    pub fn sites(&self) -> impl Iterator<Item = (u64, [f64; 3])> + '_ {
        let [nx, ny, nz] = self.cells;
        let rows = (0..nz).flat_map(move |z| (0..ny).map(move |y| Row { z, y, start: 0, end: nx }));
        rows.flat_map(|row| self.sites_in(row))
    }

    /// Returns the position of the site with the id `id`.
    pub fn site(&self, id: u64) -> [f64; 3] {
        let (sites, [nx, ny, _]) = (self.kind.sites(), self.cells);
        let number = id.saturating_sub(1);
        let (cell, basis) = (number / sites.len() as u64, (number % sites.len() as u64) as usize);
        self.place([cell % nx, cell / nx % ny, cell / nx / ny], &sites[basis])
    }

    /// Returns the number of sites with all coordinates below `limits`, without checking each site.
    pub fn sites_below(&self, limits: [f64; 3]) -> u64 {
        let below = |site: &[f64; 3], dim: usize| {
            // Coordinates increase with the number of the cell.
            let (mut known, mut end) = (0, self.cells[dim]);
            while known < end {
                let middle = known + (end - known) / 2;
                match (middle as f64 + site[dim]) * self.cell_lengths[dim] < limits[dim] {
                    true => known = middle + 1,
                    false => end = middle,
                }
            }
            known
        };
        let of_site =
            |site| [0, 1, 2].into_iter().fold(1, |all: u64, dim| all.saturating_mul(below(site, dim)));
        self.kind.sites().iter().map(of_site).fold(0, u64::saturating_add)
    }

    /// Returns those of [`Self::sites`] that lie in unit cells overlapping one of `regions`, in the
    /// same order. A region may extend over a face of the box. The cost depends only on the number
    /// of these unit cells.
    pub fn sites_near(
        &self,
        regions: impl IntoIterator<Item = [Range<f64>; 3]>,
    ) -> impl Iterator<Item = (u64, [f64; 3])> + '_ {
        let mut rows = Vec::new();
        for region in regions {
            let [x, y, z] = [0, 1, 2].map(|dim| self.cells_over(dim, &region[dim]));
            for z in z.into_iter().flatten() {
                for y in y.clone().into_iter().flatten() {
                    rows.extend(x.iter().map(|x| Row { z, y, start: x.start, end: x.end }));
                }
            }
        }
        rows.sort_unstable();
        rows.dedup_by(|next, row| {
            let is_joined = (next.z, next.y) == (row.z, row.y) && next.start <= row.end;
            if is_joined {
                row.end = row.end.max(next.end);
            }
            is_joined
        });
        rows.into_iter().flat_map(|row| self.sites_in(row))
    }

    /// Returns the unit cells that overlap a range of a coordinate, in two pieces if it extends
    /// over a face.
    fn cells_over(&self, dim: usize, range: &Range<f64>) -> [Range<u64>; 2] {
        /// Rounding error of a site in unit cells, as long as their number fits in 32 bits.
        const ROUNDING: f64 = 1e-3;
        let (count, length) = (self.cells[dim], self.cell_lengths[dim]);
        let first = (range.start / length - ROUNDING).floor() as i64;
        let last = (range.end / length + ROUNDING).floor() as i64;
        let covered = last.saturating_sub(first).saturating_add(1).unsigned_abs();
        if covered >= count {
            return [0..count, 0..0];
        }
        let start = first.rem_euclid(count as i64) as u64;
        [start..count.min(start + covered), 0..(start + covered).saturating_sub(count)]
    }

    /// Returns the distance between a site and its nearest neighbour, which may be a periodic
    /// image.
    pub fn nearest_distance(&self) -> f64 {
        let lengths = self.lengths();
        let image = |dim: usize, distance: f64| distance.min(lengths[dim] - distance);
        let from_origin = |[x, y, z]: [f64; 3]| image(0, x).hypot(image(1, y)).hypot(image(2, z));
        let around_origin = self.cell_lengths.map(|length| -0.5 * length..1.5 * length);
        let others = self
            .sites_near([around_origin])
            .filter(|(id, _)| *id > 1)
            .map(|(_, position)| from_origin(position));
        others.chain(lengths).fold(f64::INFINITY, f64::min)
    }

    fn sites_in(&self, Row { z, y, start, end }: Row) -> impl Iterator<Item = (u64, [f64; 3])> + '_ {
        let sites = self.kind.sites();
        let [nx, ny, _] = self.cells;
        let first = (z * ny + y) * nx;
        let numbered =
            move |x: u64| (((first + x) * sites.len() as u64 + 1)..).zip(sites).map(move |it| (x, it));
        (start..end).flat_map(numbered).map(move |(x, (id, site))| (id, self.place([x, y, z], site)))
    }

    fn place(&self, cell: [u64; 3], site: &[f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|dim| (cell[dim] as f64 + site[dim]) * self.cell_lengths[dim])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_come_out() {
        let solids = [LatticeKind::Fcc, LatticeKind::Bcc, LatticeKind::Sc];
        for kind in solids.into_iter().chain([LatticeKind::Hex, LatticeKind::Sq, LatticeKind::Sq2]) {
            let lattice = Lattice::new(kind, kind.spacing(0.8442), [3, 4, 5]);
            let size: f64 = lattice.lengths()[..kind.dimension().count()].iter().product();
            assert!((lattice.len() as f64 / size - 0.8442).abs() < 1e-12, "{kind:?}");
            assert_eq!(lattice.sites().count() as u64, lattice.len());
        }
    }

    #[test]
    fn sites_are_found_by_their_ids_and_counted_below_limits() {
        for kind in [LatticeKind::Fcc, LatticeKind::Bcc, LatticeKind::Hex] {
            let lattice = Lattice::new(kind, 1.3, [5, 4, 6]);
            assert!(lattice.sites().all(|(id, position)| lattice.site(id) == position));
            for limits in [[3.0, 2.5, 4.1], [0.0, 1.0, 1.0], [1.3, 1.3, 1.3], [9.0, 9.0, f64::INFINITY]] {
                let is_below =
                    |(_, position): &(u64, [f64; 3])| (0..3).all(|dim| position[dim] < limits[dim]);
                let expected = lattice.sites().filter(is_below).count() as u64;
                assert_eq!(lattice.sites_below(limits), expected, "{kind:?}, {limits:?}");
            }
        }
        let huge = Lattice::new(LatticeKind::Fcc, 1.0, [u32::MAX; 3]);
        assert_eq!(huge.sites_below([f64::INFINITY; 3]), u64::MAX);
    }

    #[test]
    fn too_many_sites_to_count_are_the_largest_number() {
        for cells in [[1 << 31, 1 << 31, 1], [u32::MAX; 3]] {
            assert_eq!(Lattice::new(LatticeKind::Fcc, 1.0, cells).len(), u64::MAX);
        }
        assert_eq!(
            Lattice::new(LatticeKind::Sc, 1.0, [u32::MAX, u32::MAX, 1]).len(),
            u64::from(u32::MAX).pow(2)
        );
    }

    #[test]
    fn sites_near_a_region_are_those_of_its_unit_cells_and_over_faces() {
        let lattice = Lattice::new(LatticeKind::Fcc, 1.5, [7, 5, 6]);
        let lengths = lattice.lengths();
        let regions = [
            [1.0..2.0, 3.0..4.0, 5.0..8.9],
            [-2.0..1.2, 6.9..8.0, -0.5..0.5],
            [1.8..2.2, 3.3..3.6, -1e300..1e300],
        ];
        let is_inside = |position: [f64; 3]| {
            regions.iter().any(|region| {
                (0..3).all(|dim| {
                    let images = (-1..=1).map(|k| position[dim] + f64::from(k) * lengths[dim]);
                    images.into_iter().any(|x| region[dim].contains(&x))
                })
            })
        };
        let near: Vec<_> = lattice.sites_near(regions.clone()).collect();
        let inside = |sites: &[(u64, [f64; 3])]| {
            sites.iter().copied().filter(|(_, position)| is_inside(*position)).collect::<Vec<_>>()
        };
        assert_eq!(inside(&near), inside(&lattice.sites().collect::<Vec<_>>()));
        // 2x2x4, 4x2x2 (one of which beyond the face in y and z) and 1x1x6 unit cells with four
        // sites each, less the shared ones.
        assert!((100..200).contains(&near.len()), "{}", near.len());
        assert!(near.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn a_region_of_a_huge_lattice_takes_no_time_for_the_rest() {
        let lattice = Lattice::new(LatticeKind::Sc, 1.0, [u32::MAX, u32::MAX, 1]);
        let far = f64::from(u32::MAX) - 0.5;
        let near: Vec<u64> = lattice.sites_near([[far..far, far..far, 0.0..0.5]]).map(|(id, _)| id).collect();
        assert_eq!(near, [lattice.len()]);
        assert_eq!(lattice.nearest_distance(), 1.0);
    }

    #[test]
    fn nearest_neighbours() {
        let shortest = |kind| {
            let lattice = Lattice::new(kind, 1.0, [3, 3, 3]);
            let sites: Vec<_> = lattice.sites().map(|(_, site)| site).collect();
            let d2 = |b: &[f64; 3]| (0..3).map(|d| (sites[0][d] - b[d]).powi(2)).sum::<f64>();
            sites[1..].iter().map(d2).fold(f64::INFINITY, f64::min).sqrt()
        };
        assert!((shortest(LatticeKind::Fcc) - 0.5f64.sqrt()).abs() < 1e-15);
        assert!((shortest(LatticeKind::Bcc) - 0.75f64.sqrt()).abs() < 1e-15);
        assert!((shortest(LatticeKind::Hex) - 1.0).abs() < 1e-15);
        assert!((shortest(LatticeKind::Sq2) - 0.5f64.sqrt()).abs() < 1e-15);
    }
}
