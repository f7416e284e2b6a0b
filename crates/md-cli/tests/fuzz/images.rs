//! Image counts and unwrapped positions: in all forms of a file, runs begin at the unwrapped
//! positions of the particles.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::case::{Case, Trial, check_failure, play};

/// Form of the positions in a file.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// With counts; positions wrapped, or displaced from the box by whole edges.
    Counted,
    Unwrapped,
    /// Unwrapped, with counts, which add nothing.
    Both,
}

/// A file of particles that have crossed faces.
#[derive(Debug, Clone)]
pub(crate) struct File {
    format: &'static str,
    form: Form,
    /// Whether the positions of dumps are in units of the box edges.
    is_scaled: bool,
    copies: [u32; 3],
    origin: [f64; 3],
    lengths: [f64; 3],
    /// Position inside the box in units of its edges, displacement by whole edges, and counts.
    particles: Vec<([f64; 3], [i32; 3], [i32; 3])>,
}

pub(crate) fn files() -> impl Strategy<Value = File> {
    let format = prop_oneof![Just("extxyz"), Just("lammps-data"), Just("lammpstrj")];
    let form = prop_oneof![Just(Form::Counted), Just(Form::Unwrapped), Just(Form::Both)];
    let counts = prop_oneof![4 => -3..4_i32, 1 => -900_000..900_000_i32];
    let particle =
        (prop::array::uniform3(0.01..0.99), prop::array::uniform3(-2..3_i32), prop::array::uniform3(counts));
    let shape =
        (prop::array::uniform3(1..4_u32), prop::array::uniform3(-5.0..5.0), prop::array::uniform3(4.0..9.0));
    (format, form, any::<bool>(), shape, vec(particle, 1..6)).prop_map(
        |(format, form, is_scaled, (copies, origin, lengths), particles)| File {
            format,
            form: if format == "lammps-data" { Form::Counted } else { form },
            is_scaled,
            copies,
            origin,
            lengths,
            particles,
        },
    )
}

impl File {
    /// Returns the unwrapped position of a particle.
    fn unwrapped(&self, (inside, beside, counts): &([f64; 3], [i32; 3], [i32; 3])) -> [f64; 3] {
        [0, 1, 2].map(|dim| {
            self.origin[dim] + (inside[dim] + f64::from(beside[dim] + counts[dim])) * self.lengths[dim]
        })
    }

    fn rows(&self) -> Vec<String> {
        let row = |particle: &([f64; 3], [i32; 3], [i32; 3])| {
            let (inside, beside, counts) = particle;
            let counted = [0, 1, 2]
                .map(|dim| self.origin[dim] + (inside[dim] + f64::from(beside[dim])) * self.lengths[dim]);
            let place = if matches!(self.form, Form::Counted) { counted } else { self.unwrapped(particle) };
            let edges = [0, 1, 2].map(|dim| (place[dim] - self.origin[dim]) / self.lengths[dim]);
            let is_scaled = self.is_scaled && self.format == "lammpstrj";
            let [x, y, z] = if is_scaled { edges } else { place };
            let [i, j, k] = *counts;
            match self.form {
                Form::Unwrapped => format!("{x} {y} {z}"),
                Form::Counted | Form::Both => format!("{x} {y} {z} {i} {j} {k}"),
            }
        };
        self.particles.iter().map(row).collect()
    }

    fn text(&self) -> String {
        let (rows, atoms) = (self.rows(), self.particles.len());
        let numbered = |before: &str| -> String {
            rows.iter().zip(1..).map(|(row, id)| format!("{id} {before}{row}\n")).collect()
        };
        let [[x, y, z], [a, b, c]] = [self.origin, [0, 1, 2].map(|dim| self.origin[dim] + self.lengths[dim])];
        match self.format {
            "extxyz" => {
                let images = if matches!(self.form, Form::Unwrapped) { "" } else { ":images:I:3" };
                let unwrapped = if matches!(self.form, Form::Counted) { "" } else { "unwrapped=T " };
                let [lx, ly, lz] = self.lengths;
                let rows: String = rows.iter().map(|row| format!("A {row}\n")).collect();
                format!(
                    "{atoms}\nLattice=[[{lx}, 0, 0], [0, {ly}, 0], [0, 0, {lz}]] Origin=\"{x} {y} {z}\" {unwrapped}\
                     Properties=species:S:1:pos:R:3{images}\n{rows}"
                )
            }
            "lammpstrj" => {
                let scaled = if self.is_scaled { "s" } else { "" };
                let suffix = if matches!(self.form, Form::Counted) { "" } else { "u" };
                let images = if matches!(self.form, Form::Unwrapped) { "" } else { " ix iy iz" };
                let names: String = ["x", "y", "z"].map(|axis| format!(" {axis}{scaled}{suffix}")).concat();
                format!(
                    "ITEM: TIMESTEP\n7\nITEM: NUMBER OF ATOMS\n{atoms}\nITEM: BOX BOUNDS pp pp pp\n{x} {a}\n{y} {b}\n\
                     {z} {c}\nITEM: ATOMS id type{names}{images}\n{}",
                    numbered("1 ")
                )
            }
            _ => format!(
                "title\n\n{atoms} atoms\n1 atom types\n{x} {a} xlo xhi\n{y} {b} ylo yhi\n{z} {c} zlo zhi\n\nAtoms\n\n{}",
                numbered("1 ")
            ),
        }
    }

    fn case(&self) -> Case {
        let scenario = format!(
            "[simulation]\nsteps = 1\n[system]\nfile = {{ path = \"particles\", format = \"{}\", replicate = {:?} }}\n\
             temperature = 0.0\n[interaction]\ncutoff = 1.0\n[parallel]\nbackend = \"local\"\nranks = 2\n",
            self.format, self.copies
        );
        Case { particles: self.text().into_bytes(), ..Case::of_scenario(scenario.into_bytes()) }
    }

    /// Returns the unwrapped positions of all copies of a particle.
    fn copied(&self, particle: &([f64; 3], [i32; 3], [i32; 3])) -> Vec<[f64; 3]> {
        let [nx, ny, nz] = self.copies;
        let places = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
        let first = self.unwrapped(particle);
        places
            .map(|place| [0, 1, 2].map(|dim| first[dim] + f64::from(place[dim]) * self.lengths[dim]))
            .collect()
    }
}

impl Trial for File {
    fn check_here(&self) -> Result<(), String> {
        let setup = self.case().accepted()?;
        let rows = match play(&setup, 0)? {
            Ok(rows) => rows,
            // Particles on top of each other.
            Err(error) => return check_failure(&error).map(drop),
        };
        let (domain, copies) = (setup.domain, self.copies.iter().product::<u32>() as usize);
        let mut rest: Vec<(u64, [f64; 3])> =
            rows.iter().map(|row| (row.id, domain.unwrap_position(row.position, row.images))).collect();
        for (index, particle) in self.particles.iter().enumerate() {
            let mut own: Vec<[f64; 3]> =
                rest.drain(..copies.min(rest.len())).map(|(_, position)| position).collect();
            for expected in self.copied(particle) {
                let is_here = |found: &[f64; 3]| {
                    (0..3).all(|dim| {
                        (found[dim] - expected[dim]).abs() <= 1e-13 * expected[dim].abs().max(100.0)
                    })
                };
                let at = own.iter().position(is_here).ok_or_else(|| {
                    format!("particle {}: no copy is at {expected:?}: {own:?}\n{}", index + 1, self.text())
                })?;
                own.swap_remove(at);
            }
        }
        let is_inside =
            |dim: usize, x: f64| x >= domain.origin[dim] && x < domain.origin[dim] + domain.lengths[dim];
        match rows.iter().find(|row| !(0..3).all(|dim| is_inside(dim, row.position[dim]))) {
            Some(row) => Err(format!("outside of the box: {row:?}")),
            None => Ok(()),
        }
    }
}
