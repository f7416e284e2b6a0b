//! What a script says of the box and the particles in it.

use std::collections::BTreeMap;

use md_core::lattice::LatticeKind;
use md_lab::name_of;

use crate::scenario::AtomStyle;

/// A lattice of `lattice STYLE DENSITY`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScriptLattice {
    pub(super) kind: LatticeKind,
    pub(super) density: f64,
}

/// A block, in sigma.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    pub(super) low: [f64; 3],
    pub(super) high: [f64; 3],
}

/// Particles of `create_atoms`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Created {
    lattice: ScriptLattice,
    /// Number of the type, from 1.
    kind: usize,
    block: Block,
}

/// The box and its particles.
#[derive(Debug, Clone, Default)]
pub(super) struct System {
    pub(super) dimensions: Option<usize>,
    pub(super) lattice: Option<ScriptLattice>,
    pub(super) regions: BTreeMap<String, Block>,
    pub(super) box_block: Option<Block>,
    pub(super) types: usize,
    pub(super) created: Vec<Created>,
    pub(super) file: Option<String>,
    /// Style of the script, if it is one that is read.
    pub(super) atom_style: Option<AtomStyle>,
    /// Style of the file, where that does not name it.
    pub(super) file_style: Option<AtomStyle>,
    /// Masses of that file, by type number - 1.
    pub(super) file_masses: Vec<Option<f64>>,
    /// Whether it says nothing of how its particles move.
    pub(super) file_is_at_rest: bool,
    pub(super) copies: Option<[u32; 3]>,
    /// Whether each dimension is periodic.
    pub(super) is_periodic: [bool; 3],
    pub(super) temperature: Option<f64>,
    pub(super) drift: Option<[f64; 3]>,
    /// Across a dimension (0, 1, 2), at its upper face or not: reflecting, or solid with epsilon, sigma and cutoff.
    pub(super) walls: BTreeMap<(usize, bool), Option<[f64; 3]>>,
    /// Walls by the ids of their fixes.
    pub(super) wall_fixes: BTreeMap<String, Vec<(usize, bool)>>,
}

impl ScriptLattice {
    fn spacing(self) -> f64 {
        self.kind.spacing(self.density)
    }

    /// Side lengths of its unit cell, in which a script counts.
    pub(super) fn cell(self) -> [f64; 3] {
        md_core::lattice::Lattice::new(self.kind, self.spacing(), [1; 3]).lengths()
    }

    fn keys(self) -> String {
        format!("kind = \"{}\", density = {:?}", name_of(self.kind), self.density)
    }
}

impl System {
    fn dimensions(&self) -> usize {
        self.dimensions.unwrap_or(3)
    }

    /// Fills a region, or all of the box, with particles of a type.
    ///
    /// # Errors
    /// Why that cannot be done here.
    pub(super) fn create(&mut self, kind: usize, region: Option<&str>) -> Result<(), String> {
        let lattice = self.lattice.ok_or("there is no lattice")?;
        let box_block = self.box_block.ok_or("there is no box")?;
        let block = match region {
            None => box_block,
            Some(name) => *self.regions.get(name).ok_or_else(|| format!("there is no block `{name}`"))?,
        };
        let cell = lattice.cell();
        let mut inside = block;
        for (dim, side) in cell.into_iter().enumerate().take(self.dimensions()) {
            inside.low[dim] = block.low[dim].max(box_block.low[dim]);
            let cells = inside.low[dim] / side;
            if (cells - cells.round()).abs() > TOLERANCE {
                return Err("the region begins between the unit cells of the lattice".to_owned());
            }
            // Sites on the upper faces of a region count, except for the last images across a periodic box.
            let upper = block.high[dim] + FACE * side;
            inside.high[dim] = if upper < box_block.high[dim] { upper } else { box_block.high[dim] };
        }
        self.created.push(Created { lattice, kind, block: inside });
        Ok(())
    }

    /// Whether a coordinate is that of a face of the box.
    pub(super) fn is_face(&self, dim: usize, is_upper: bool, x: f64) -> bool {
        let Some(Block { low, high }) = self.box_block else { return false };
        let face = if is_upper { high[dim] } else { low[dim] };
        (x - face).abs() <= TOLERANCE * (high[dim] - low[dim])
    }

    /// The table `[system]`.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn table(&self) -> Result<String, String> {
        let mut text = format!("[system]\n{}\n", self.source()?);
        let at_rest = self.file_is_at_rest.then_some(0.0);
        if let Some(temperature) = self.temperature.or(at_rest) {
            text += &format!("temperature = {temperature:?}\n");
        }
        if let Some(drift) = self.drift {
            text += &format!("drift = {drift:?}\n");
        }
        let boundary =
            self.is_periodic.map(|is_periodic| if is_periodic { "periodic" } else { "reflecting" });
        text += &format!("boundary = {boundary:?}\n");
        let solid = |(&(dim, is_upper), wall): (&(usize, bool), &Option<[f64; 3]>)| {
            wall.map(|[epsilon, sigma, cutoff]| {
                let (axis, side) = (["x", "y", "z"][dim.min(2)], if is_upper { "high" } else { "low" });
                format!(
                    "{{ axis = \"{axis}\", side = \"{side}\", epsilon = {epsilon:?}, sigma = {sigma:?}, cutoff = {cutoff:?} }}"
                )
            })
        };
        let walls: Vec<String> = self.walls.iter().filter_map(solid).collect();
        if !walls.is_empty() {
            text += &format!("walls = [{}]\n", walls.join(", "));
        }
        Ok(text)
    }

    fn source(&self) -> Result<String, String> {
        if let Some(path) = &self.file {
            let copies = self.copies.map_or_else(String::new, |copies| format!(", replicate = {copies:?}"));
            let path = toml::Value::from(path.as_str());
            let style =
                self.file_style.map_or_else(String::new, |it| format!(", style = \"{}\"", name_of(it)));
            return Ok(format!("file = {{ path = {path}, format = \"lammps-data\"{style}{copies} }}"));
        }
        let box_block = self.box_block.ok_or("the script makes no box (create_box, read_data)")?;
        match &self.created[..] {
            [] => Err("the script makes no particles (create_atoms, read_data)".to_owned()),
            [created] if self.types == 1 && self.whole_cells(created, box_block).is_some() => {
                let cells = self.whole_cells(created, box_block).unwrap_or_default();
                Ok(format!("lattice = {{ {}, cells = {cells:?} }}", created.lattice.keys()))
            }
            all => {
                let lattices: Vec<String> =
                    all.iter().map(|created| self.region(created, box_block)).collect();
                let lengths = [0, 1, 2].map(|dim| box_block.high[dim] - box_block.low[dim]);
                Ok(format!("regions = {{ box = {lengths:?}, lattices = [\n{}] }}", lattices.concat()))
            }
        }
    }

    /// Unit cells along each dimension, if they fill the box.
    fn whole_cells(&self, created: &Created, box_block: Block) -> Option<[u32; 3]> {
        let cell = created.lattice.cell();
        let mut cells = [1; 3];
        for (dim, count) in cells.iter_mut().enumerate().take(self.dimensions()) {
            let all = (box_block.high[dim] - box_block.low[dim]) / cell[dim];
            let is_whole = (all - all.round()).abs() < TOLERANCE && all.round() >= 1.0;
            let is_filled = self.is_face(dim, false, created.block.low[dim])
                && self.is_face(dim, true, created.block.high[dim]);
            if !is_whole || !is_filled || all > f64::from(u32::MAX) {
                return None;
            }
            *count = all.round() as u32;
        }
        Some(cells)
    }

    fn region(&self, created: &Created, box_block: Block) -> String {
        let flat = self.dimensions() == 2;
        let from_box = |corner: [f64; 3]| {
            [0, 1, 2].map(|dim| if dim == 2 && flat { 0.0 } else { corner[dim] - box_block.low[dim] })
        };
        let (low, high) = (from_box(created.block.low), from_box(created.block.high));
        format!(
            "    {{ {}, low = {low:?}, high = {high:?}, species = \"{}\" }},\n",
            created.lattice.keys(),
            species_name(created.kind)
        )
    }
}

/// Of a unit cell: less than from one plane of sites to the next, and more than what a region leaves out at its upper face.
const FACE: f64 = 1e-3;

/// Of a length or a number of unit cells, which the rounding of a script's numbers makes uneven.
const TOLERANCE: f64 = 1e-6;

/// A, B, C ... for types 1, 2, 3 ...
pub(super) fn species_name(kind: usize) -> String {
    match u8::try_from(kind) {
        Ok(kind @ 1..=26) => char::from(b'A' + kind - 1).to_string(),
        _ => format!("T{kind}"),
    }
}
