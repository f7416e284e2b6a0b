//! `read_data`: contents of a data file except its particles.

use md_files::input::PairCoefficients;
use md_scenario::AtomStyle;

use super::Script;
use super::faces::Ends;
use super::outcome::{Outcome, Taken};

impl Script<'_> {
    pub(super) fn read_data(&mut self, path: &str) -> Taken {
        if self.system.follows_particles() {
            return Err("the box ends at the particles of the file (`s` and `m` in `boundary`), and here it is that of the file"
                .to_owned());
        }
        let data = (self.files.data)(path)?;
        let in_file = |kind: usize| data.masses.get(kind.saturating_sub(1)).copied().flatten().is_some();
        let style = AtomStyle::of_lines(data.heading, data.columns, self.system.atom_style)?;
        self.system.file_style = (data.heading.is_none() && style != AtomStyle::Atomic).then_some(style);
        // Masses of the file replace those set before it.
        self.pairs.masses.retain(|&kind, _| !in_file(kind));
        self.system.file = Some(path.to_owned());
        self.system.file_atoms = data.atoms;
        self.system.box_region = Some([0, 1, 2].map(|dim| {
            let low = data.origin[dim];
            Ends { low, high: low + data.lengths[dim] }
        }));
        self.system.types = data.types;
        self.system.file_masses = data.masses;
        self.system.file_is_at_rest = !data.has_velocities;
        for ([first, second], PairCoefficients { epsilon, sigma, cutoff }) in data.coefficients {
            let types = [first, second].map(|kind| kind as usize..=kind as usize);
            let numbers: Vec<f64> = [Some(epsilon), Some(sigma), cutoff].into_iter().flatten().collect();
            if let Err(reason) = self.pairs.set(types, &numbers) {
                let part = format!("its pair coefficients {first} {second} are not taken: {reason}");
                return Ok(Outcome::Partly(part));
            }
        }
        if data.bonds > 0 {
            return Ok(Outcome::Partly(format!("bonds: its {} bonds are left out", data.bonds)));
        }
        let of_others =
            |style: String| format!("its pair coefficients are those of `{style}`, not of lj/cut");
        Ok(Outcome::differing(data.other_pair_style.map(of_others)))
    }
}
