//! Initial positions: lattices that fill the box.

use crate::domain::Dimension;

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
            Self::Hex => &[[0.0, 0.0, 0.0], [0.5, 0.5, 0.0]],
            Self::Sc | Self::Sq => &[[0.0, 0.0, 0.0]],
        }
    }

    fn aspect(self) -> [f64; 3] {
        if self == Self::Hex { [1.0, 3f64.sqrt(), 1.0] } else { [1.0; 3] }
    }

    /// The dimension the lattice is made for.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Hex | Self::Sq => Dimension::Two,
            Self::Fcc | Self::Bcc | Self::Sc => Dimension::Three,
        }
    }

    /// Lattice constant for a number density (per area in 2D).
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
    /// `cells` unit cells per dimension with lattice constant `spacing`. In 2D the layer is one lattice constant thick.
    pub fn new(kind: LatticeKind, spacing: f64, cells: [u32; 3]) -> Self {
        let cells = if kind.dimension() == Dimension::Two { [cells[0], cells[1], 1] } else { cells };
        Self { kind, cell_lengths: kind.aspect().map(|length| length * spacing), cells: cells.map(u64::from) }
    }

    /// `cells` unit cells per dimension at this number density.
    pub fn with_density(kind: LatticeKind, density: f64, cells: [u32; 3]) -> Self {
        Self::new(kind, kind.spacing(density), cells)
    }

    /// Side lengths of the box.
    pub fn lengths(&self) -> [f64; 3] {
        [0, 1, 2].map(|dim| self.cells[dim] as f64 * self.cell_lengths[dim])
    }

    /// Number of sites; [`u64::MAX`] stands for more than that.
    pub fn len(&self) -> u64 {
        self.cells.into_iter().fold(self.kind.sites().len() as u64, u64::saturating_mul)
    }

    /// Whether there is no site.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sites with their ids, from 1; unit cells x first, as LAMMPS numbers them. The box starts at the origin.
    pub fn sites(&self) -> impl Iterator<Item = (u64, [f64; 3])> + '_ {
        let sites = self.kind.sites();
        let [nx, ny, nz] = self.cells;
        let rows = (0..nz).flat_map(move |z| (0..ny).map(move |y| (y, z)));
        let cells = rows.flat_map(move |(y, z)| (0..nx).map(move |x| [x, y, z]));
        let placed = cells.flat_map(move |cell| sites.iter().map(move |site| self.place(cell, site)));
        placed.zip(1..).map(|(position, id)| (id, position))
    }

    /// Between a site and its nearest neighbour, which may be a periodic image.
    pub fn nearest_distance(&self) -> f64 {
        let lengths = self.lengths();
        let image = |dim: usize, distance: f64| distance.min(lengths[dim] - distance);
        let from_origin = |[x, y, z]: [f64; 3]| image(0, x).hypot(image(1, y)).hypot(image(2, z));
        let others = self.sites().skip(1).map(|(_, position)| from_origin(position));
        others.chain(lengths).fold(f64::INFINITY, f64::min)
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
        for kind in [LatticeKind::Fcc, LatticeKind::Bcc, LatticeKind::Sc, LatticeKind::Hex, LatticeKind::Sq] {
            let lattice = Lattice::new(kind, kind.spacing(0.8442), [3, 4, 5]);
            let size: f64 = lattice.lengths()[..kind.dimension().count()].iter().product();
            assert!((lattice.len() as f64 / size - 0.8442).abs() < 1e-12, "{kind:?}");
            assert_eq!(lattice.sites().count() as u64, lattice.len());
        }
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
    }
}
