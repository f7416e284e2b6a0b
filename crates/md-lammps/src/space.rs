//! `boundary`, `lattice`, `region`, `create_box` and `create_atoms`, and their values in formulas.

use super::Script;
use super::faces::{self, Ends};
use super::lattice::ScriptLattice;
use super::numbers::{count, number, whole};
use super::outcome::{Outcome, Taken};
use super::system::Block;

impl Script<'_> {
    pub(super) fn boundary(&mut self, words: [&str; 3]) -> Taken {
        self.system.faces = faces::read(words)?;
        if self.system.is_periodic_in_all() {
            return Ok(Outcome::Same);
        }
        Ok(Outcome::differs("faces that are not periodic reflect here, and the box keeps its size"))
    }

    pub(super) fn lattice(&mut self, words: &[&str]) -> Taken {
        let [style, scale, keywords @ ..] = words else { return Err("no style and scale".to_owned()) };
        self.system.lattice = ScriptLattice::read(style, scale, keywords)?;
        Ok(Outcome::Same)
    }

    /// Carries out `region NAME STYLE ...`.
    pub(super) fn region(&mut self, name: &str, words: &[&str]) -> Taken {
        match self.read_block(words) {
            Ok(block) => {
                self.system.regions.insert(name.to_owned(), block);
                Ok(Outcome::Same)
            }
            Err(reason) => {
                self.system.regions.remove(name);
                Ok(Outcome::NoEffect(format!("{reason}: a line that needs it is told by itself")))
            }
        }
    }

    fn read_block(&self, words: &[&str]) -> Result<Block, String> {
        let ["block", words @ ..] = words else { return Err("a region that is no block".to_owned()) };
        let (ends, options) = words.split_at_checked(6).ok_or("six ends were expected")?;
        let cell = self.unit_of(options)?;
        let mut block = [Ends { low: 0.0, high: 0.0 }; 3];
        for (dim, ends) in ends.chunks(2).enumerate() {
            let [first, last] = ends else { continue };
            let low = end(first, f64::NEG_INFINITY)? * cell[dim];
            let high = end(last, f64::INFINITY)? * cell[dim];
            if low > high {
                return Err(format!("it ends at {last}, below its beginning at {first}"));
            }
            block[dim] = Ends { low, high };
        }
        Ok(block)
    }

    /// Returns the units of length along each dimension, according to the options of a command.
    fn unit_of(&self, options: &[&str]) -> Result<[f64; 3], String> {
        match options {
            ["units", "box"] => Ok([1.0; 3]),
            [] | ["units", "lattice"] => Ok(self.system.lattice.cell),
            _ => Err(format!("its `{}`", options.join(" "))),
        }
    }

    fn block(&self, name: &str) -> Result<Block, String> {
        self.system.regions.get(name).copied().ok_or_else(|| format!("there is no block `{name}`"))
    }

    pub(super) fn create_box(&mut self, types: &str, name: &str) -> Taken {
        let block = self.block(name)?;
        if self.system.file.is_some() {
            return Err("the file has a box already".to_owned());
        }
        if !block.iter().all(|ends| ends.length().is_finite() && ends.length() > 0.0) {
            return Err("the box has no ends, or no room between them".to_owned());
        }
        (self.system.box_region, self.system.types) = (Some(block), count(types)?);
        Ok(Outcome::Same)
    }

    /// Carries out `create_atoms TYPE STYLE ...`.
    pub(super) fn create_atoms(&mut self, kind: &str, words: &[&str]) -> Taken {
        let kind = count(kind)?;
        if self.system.file.is_some() {
            return Err("particles beside those of a file".to_owned());
        }
        match words {
            ["box"] => self.system.fill(kind, None)?,
            ["region", name] => self.system.fill(kind, Some(&self.block(name)?))?,
            ["single", x, y, z, options @ ..] => {
                let (cell, place) = (self.unit_of(options)?, [number(x)?, number(y)?, number(z)?]);
                self.system.put(kind, [0, 1, 2].map(|dim| place[dim] * cell[dim]))?;
            }
            ["random", count, seed, name] => {
                let region = if *name == "NULL" { None } else { Some(self.block(name)?) };
                let distance = self.system.scatter(whole(count)?, region.as_ref())?;
                self.motion.seed = whole(seed)?;
                return Ok(Outcome::differs(format!(
                    "the places are drawn in another way: no two particles are closer than {distance:.3}"
                )));
            }
            ["box", keyword, ..] | ["region" | "random", _, keyword, ..] => {
                return Err(format!("its keyword `{keyword}`"));
            }
            [style, ..] => return Err(format!("the style `{style}` cannot be taken")),
            [] => return Err("no style".to_owned()),
        }
        Ok(Outcome::Same)
    }

    /// Returns the value of a thermo keyword that the commands so far determine.
    ///
    /// # Errors
    /// Only a run determines its value.
    pub(super) fn constant(&self, name: &str) -> Result<f64, String> {
        let of_box = |value: fn(&Block) -> f64| {
            if self.motion.has_run() && self.changes_its_box() {
                return Err(format!("only the run before knows `{name}`"));
            }
            self.system.first_box().map(|block| value(&block))
        };
        match name {
            "dt" => Ok(self.motion.timestep),
            "atoms" => Ok(self.system.atoms() as f64),
            "vol" if self.system.dimensions() == 2 => of_box(|[x, y, _]| x.length() * y.length()),
            "vol" => of_box(|[x, y, z]| x.length() * y.length() * z.length()),
            "lx" => of_box(|[x, ..]| x.length()),
            "ly" => of_box(|[_, y, _]| y.length()),
            "lz" => of_box(|[.., z]| z.length()),
            "xlo" => of_box(|[x, ..]| x.low),
            "xhi" => of_box(|[x, ..]| x.high),
            "ylo" => of_box(|[_, y, _]| y.low),
            "yhi" => of_box(|[_, y, _]| y.high),
            "zlo" => of_box(|[.., z]| z.low),
            "zhi" => of_box(|[.., z]| z.high),
            "xlat" => Ok(self.system.lattice.cell[0]),
            "ylat" => Ok(self.system.lattice.cell[1]),
            "zlat" => Ok(self.system.lattice.cell[2]),
            _ => Err(format!("`{name}` in a formula, whose value only a run knows")),
        }
    }

    /// Returns whether the box changes during a run.
    fn changes_its_box(&self) -> bool {
        self.system.follows_particles() || self.motion.stretches_the_box()
    }
}

fn end(word: &str, infinite: f64) -> Result<f64, String> {
    if matches!(word, "INF" | "EDGE") { Ok(infinite) } else { number(word) }
}
