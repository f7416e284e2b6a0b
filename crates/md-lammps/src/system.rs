//! The box of a script and the particles in it.

use std::collections::BTreeMap;

use md_lab::name_of;
use md_scenario::AtomStyle;

use super::created::{Created, Filled, Random, Single, joined};
use super::faces::{Ends, Face, Faces};
use super::lattice::{Interval, ScriptLattice};

/// A block, given by the two ends along each dimension, in sigma.
pub(super) type Block = [Ends; 3];

/// The box and its particles.
#[derive(Debug, Clone, Default)]
pub(super) struct System {
    pub(super) dimensions: Option<usize>,
    pub(super) lattice: ScriptLattice,
    pub(super) regions: BTreeMap<String, Block>,
    /// The region of `create_box`, or the box of the file.
    pub(super) box_region: Option<Block>,
    pub(super) types: usize,
    pub(super) created: Vec<Created>,
    pub(super) file: Option<String>,
    /// Atom style of the script, if it is a supported one.
    pub(super) atom_style: Option<AtomStyle>,
    /// Atom style of the file, where the file does not name it.
    pub(super) file_style: Option<AtomStyle>,
    pub(super) file_atoms: u64,
    /// Masses of that file, by type number - 1.
    pub(super) file_masses: Vec<Option<f64>>,
    /// Whether the file has no velocities.
    pub(super) file_is_at_rest: bool,
    pub(super) copies: Option<[u32; 3]>,
    pub(super) faces: Faces,
    pub(super) temperature: Option<f64>,
    pub(super) drift: Option<[f64; 3]>,
    /// Walls by dimension (0, 1, 2) and face (`true` for the upper one): reflecting, or solid with
    /// epsilon, sigma and cutoff.
    pub(super) walls: BTreeMap<(usize, bool), Option<[f64; 3]>>,
    /// Walls by the ids of their fixes.
    pub(super) wall_fixes: BTreeMap<String, Vec<(usize, bool)>>,
}

impl System {
    pub(super) fn dimensions(&self) -> usize {
        self.dimensions.unwrap_or(3)
    }

    pub(super) fn is_periodic(&self, dim: usize) -> bool {
        self.faces[dim] == [Face::Periodic; 2]
    }

    pub(super) fn is_periodic_in_all(&self) -> bool {
        (0..3).all(|dim| self.is_periodic(dim))
    }

    /// Returns the box after `create_box`.
    ///
    /// # Errors
    /// There is no box.
    pub(super) fn first_box(&self) -> Result<Block, String> {
        let region = self.box_region.ok_or("there is no box")?;
        let copies = self.copies.unwrap_or([1; 3]);
        Ok([0, 1, 2].map(|dim| {
            let Ends { low, high } = region[dim];
            let high = high + (f64::from(copies[dim]) - 1.0) * region[dim].length();
            Ends { low, high }.created(self.faces[dim])
        }))
    }

    /// Returns whether the positions of some faces depend on the particles.
    pub(super) fn follows_particles(&self) -> bool {
        self.faces.as_flattened().iter().any(|face| face.follows_particles())
    }

    /// Returns whether `velocity` has set velocities.
    pub(super) fn is_given_velocities(&self) -> bool {
        self.drift.is_some() || self.temperature.is_some_and(|temperature| temperature > 0.0)
    }

    /// Returns whether the particles have initial velocities.
    pub(super) fn moves(&self) -> bool {
        let from_file = self.file.is_some() && !self.file_is_at_rest && self.temperature.is_none();
        from_file || self.is_given_velocities()
    }

    /// Returns the number of items in it.
    pub(super) fn size(&self) -> usize {
        self.created.len() + self.regions.len() + self.walls.len() + self.wall_fixes.len()
    }

    /// Returns the number of particles.
    pub(super) fn atoms(&self) -> u64 {
        let copies = self.copies.unwrap_or([1; 3]).into_iter().map(u64::from);
        let in_file = copies.fold(self.file_atoms, u64::saturating_mul);
        self.created.iter().map(Created::count).fold(in_file, u64::saturating_add)
    }

    /// Returns the box of the first step, which follows the particles at some faces.
    fn last_box(&self) -> Result<Block, String> {
        let region = self.box_region.ok_or("the script makes no box (create_box, read_data)")?;
        if !self.follows_particles() {
            return Ok(region);
        }
        let extents: Option<Vec<_>> = self.created.iter().map(Created::extent).collect();
        let inner = extents.and_then(|extents| extents.into_iter().reduce(joined));
        let inner = inner.ok_or("the box ends at its particles (s, m), and their places are random")?;
        Ok([0, 1, 2].map(|dim| region[dim].around(inner[dim], self.faces[dim])))
    }

    fn check_type(&self, kind: usize) -> Result<(), String> {
        let is_there = kind <= self.types;
        is_there.then_some(()).ok_or_else(|| format!("there is no type {kind} in the box"))
    }

    /// Fills a region, or the whole box, with particles of a type on the sites of the lattice.
    ///
    /// # Errors
    /// The reason why this is not possible here.
    pub(super) fn fill(&mut self, kind: usize, region: Option<&Block>) -> Result<(), String> {
        /// LAMMPS leaves out sites this close to the upper face of a periodic box, in units of its
        /// length.
        const MARGIN: f64 = 2.0 * 1e-6;
        self.check_type(kind)?;
        let (lattice, dimensions) = (self.lattice, self.dimensions());
        lattice.sites()?;
        if lattice.dimensions() != Some(dimensions) {
            return Err(format!("its lattice is not one of {dimensions} dimensions"));
        }
        let bounds = self.first_box()?;
        let mut planes = [[0; 2]; 3];
        for (dim, planes) in planes.iter_mut().enumerate() {
            let Ends { low, high } = bounds[dim];
            let end = if self.is_periodic(dim) { high - MARGIN * (high - low) } else { high };
            let inner = region.map_or(bounds[dim], |region| region[dim]);
            *planes = lattice.planes_in(dim, Interval { low: low.max(inner.low), high: inner.high, end })?;
        }
        if dimensions == 2 && planes[2][1] > planes[2][0] {
            return Err("it makes more than one layer in two dimensions".to_owned());
        }
        let filled = Created::Lattice(Filled { lattice, kind, planes });
        self.created.extend(Some(filled).filter(|filled| filled.count() > 0));
        Ok(())
    }

    /// Adds one particle; like LAMMPS, does nothing if its position is outside of the box.
    ///
    /// # Errors
    /// There is no such type, or no box.
    pub(super) fn put(&mut self, kind: usize, place: [f64; 3]) -> Result<(), String> {
        self.check_type(kind)?;
        let (bounds, dimensions) = (self.first_box()?, self.dimensions());
        if (0..3).all(|dim| bounds[dim].low <= place[dim] && place[dim] < bounds[dim].high) {
            self.created.push(Created::Single(Single { kind, place, dimensions }));
        }
        Ok(())
    }

    /// Adds particles at random positions in the box; returns the minimum distance between two of
    /// them.
    ///
    /// # Errors
    /// There are other types, or there is no box.
    pub(super) fn scatter(&mut self, count: u64, region: Option<&Block>) -> Result<f64, String> {
        /// Minimum distance where there is enough room, in sigma.
        const USUAL_DISTANCE: f64 = 0.9;
        /// Fraction of the volume up to which positions are easily found.
        const FILLED: f64 = 0.3;
        let bounds = self.first_box()?;
        if self.types != 1 {
            return Err("particles at random are taken where there is one type".to_owned());
        }
        let has_all = |region: &Block| {
            (0..3).all(|dim| region[dim].low <= bounds[dim].low && bounds[dim].high <= region[dim].high)
        };
        if !region.is_none_or(has_all) || !self.created.is_empty() {
            return Err("particles at random are taken where they are alone and in the whole box".to_owned());
        }
        let room = FILLED * self.volume()? / count.max(1) as f64;
        let least_distance = room.powf(1.0 / self.dimensions() as f64).min(USUAL_DISTANCE);
        self.created.push(Created::Random(Random { count, least_distance }));
        Ok(least_distance)
    }

    /// Returns the volume of the box, or its area in two dimensions.
    ///
    /// # Errors
    /// There is no box.
    pub(super) fn volume(&self) -> Result<f64, String> {
        let bounds = self.first_box()?;
        Ok(bounds[..self.dimensions()].iter().map(|ends| ends.length()).product())
    }

    /// Returns whether a coordinate is that of a face of the box.
    pub(super) fn is_face(&self, dim: usize, is_upper: bool, x: f64) -> bool {
        /// In units of the box length: the numbers of a script are rounded.
        const TOLERANCE: f64 = 1e-6;
        let Ok(bounds) = self.first_box() else { return false };
        let Ends { low, high } = bounds[dim];
        let face = if is_upper { high } else { low };
        (x - face).abs() <= TOLERANCE * (high - low)
    }

    /// Returns the table `[system]`.
    ///
    /// # Errors
    /// The box or the particles are missing, or a scenario cannot contain them.
    pub(super) fn table(&self) -> Result<String, String> {
        let mut text = format!("[system]\n{}\n", self.source()?);
        let at_rest = self.file_is_at_rest.then_some(0.0);
        if let Some(temperature) = self.temperature.or(at_rest) {
            text += &format!("temperature = {temperature:?}\n");
        }
        if let Some(drift) = self.drift {
            text += &format!("drift = {drift:?}\n");
        }
        let boundary = [0, 1, 2].map(|dim| if self.is_periodic(dim) { "periodic" } else { "reflecting" });
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
        if self.box_region.is_some() && self.created.is_empty() {
            return Err("the script makes no particles (create_atoms, read_data)".to_owned());
        }
        let ends = self.last_box()?;
        let lengths = ends.map(Ends::length);
        match &self.created[..] {
            [Created::Random(Random { count, least_distance })] => Ok(format!(
                "gas = {{ atoms = {count}, box = {lengths:?}, minimal_distance = {least_distance:?} }}"
            )),
            [Created::Lattice(filled)]
                if self.types == 1
                    && let Some(cells) = filled.whole_cells(&ends) =>
            {
                Ok(format!("lattice = {{ {}, cells = {cells:?} }}", filled.lattice.keys()))
            }
            all => {
                let lattices =
                    all.iter().map(|created| created.regions(&ends)).collect::<Result<String, _>>()?;
                Ok(format!("regions = {{ box = {lengths:?}, lattices = [\n{lattices}] }}"))
            }
        }
    }
}
