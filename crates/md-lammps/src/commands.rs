//! Commands that have an equivalent. Each takes its words or returns why it cannot.

use std::ops::RangeInclusive;

use md_scenario::AtomStyle;

use super::dump::Dump;
use super::numbers::{count, number, whole, yes};
use super::outcome::{Outcome, Taken};
use super::{Script, kinds};

impl Script<'_> {
    /// Carries out a command. This function has those of the system; each group passes on the
    /// commands that it does not have.
    pub(super) fn carry_out(&mut self, command: &str, words: &[&str]) -> Taken {
        match (command, words) {
            ("units", ["lj"]) => Ok(Outcome::Same),
            ("units", _) => Err("only reduced units (lj) can be taken".to_owned()),
            ("atom_style", words) => self.atom_style(words),
            ("dimension", [dimension]) => self.dimension(dimension),
            ("boundary", &[x, y, z]) => self.boundary([x, y, z]),
            ("lattice", words) => self.lattice(words),
            ("region", [name, words @ ..]) => self.region(name, words),
            ("create_box", [types, name]) => self.create_box(types, name),
            ("create_atoms", [kind, words @ ..]) => self.create_atoms(kind, words),
            ("read_data", [path]) => self.read_data(path),
            ("read_data", [_, keyword, ..]) => {
                Err(format!("the keyword `{keyword}` of read_data has no equivalent here"))
            }
            ("replicate", [x, y, z]) => self.replicate([x, y, z]),
            ("mass", [kind, mass]) => self.mass(kind, mass),
            ("velocity", words) => self.velocity(words),
            _ => self.carry_out_motion(command, words),
        }
    }

    /// Carries out a command of pairs, neighbour lists and runs.
    fn carry_out_motion(&mut self, command: &str, words: &[&str]) -> Taken {
        match (command, words) {
            ("pair_style", [style, cutoff]) if is_lennard_jones(style) => {
                self.pairs.begin(style, number(cutoff)?);
                Ok(Outcome::Same)
            }
            ("pair_style", _) => Err("only lj/cut and its accelerated variants can be taken".to_owned()),
            ("pair_coeff", [first, second, numbers @ ..]) => self.pair(first, second, numbers),
            ("pair_modify", options) => self.pair_options(options),
            ("neighbor", [skin, "bin" | "nsq" | "multi"]) => {
                self.motion.skin = number(skin)?;
                Ok(Outcome::Same)
            }
            ("neigh_modify", options) => self.neighbors(options),
            ("run_style", ["verlet"]) => Ok(Outcome::Same),
            ("run_style", _) => Err("only verlet can be taken".to_owned()),
            ("timestep", [timestep]) => {
                self.motion.timestep = number(timestep)?;
                Ok(Outcome::Same)
            }
            ("reset_timestep", _) => Ok(Outcome::no_effect("steps are counted from the first run on")),
            ("minimize", [_, force_tolerance, steps, _]) => self.minimise(force_tolerance, steps),
            ("min_style" | "min_modify", _) => Ok(Outcome::differs("minimised by FIRE")),
            ("run", [steps, options @ ..])
                if options.chunks(2).all(|pair| matches!(pair, ["pre" | "post", "no" | "yes"])) =>
            {
                self.run(whole(steps)?)
            }
            ("run", [_, keyword, ..]) => {
                Err(format!("the keyword `{keyword}` of run has no equivalent here"))
            }
            ("balance", _) => Ok(Outcome::no_effect("`parallel.balance` does it where it pays")),
            _ => self.carry_out_fix_or_compute(command, words),
        }
    }

    fn carry_out_fix_or_compute(&mut self, command: &str, words: &[&str]) -> Taken {
        match (command, words) {
            ("fix", [id, "all", style @ ("ave/time" | "vector"), every, values @ ..])
                if self.analyses.is_of(values) =>
            {
                let now = self.motion.steps();
                self.analyses.look_every(whole(every)?.max(1), values, now);
                self.analyses.fixes.insert((*id).to_owned());
                let file = "analyses have files of their own, with the whole run's averages";
                Ok(Outcome::differing((*style == "ave/time").then(|| file.to_owned())))
            }
            ("fix", [_, _, style, ..]) if kinds::is_observing(command, words) => {
                Ok(Outcome::no_effect(format!("what the fix `{style}` computes is not written here")))
            }
            ("fix", [id, "all", style, rest @ ..]) => self.fix(id, style, rest),
            ("fix", [_, group, style, ..]) => Err(of_group(&format!("the fix `{style}`"), group)),
            ("fix_modify", [id, options @ ..]) => self.modify_fix(id, options),
            ("unfix", [id]) => self.unfix(id),
            ("compute", [id, "all", kind @ ("rdf" | "msd" | "vacf"), rest @ ..]) => {
                self.analyses.compute(id, kind, rest, self.motion.steps())
            }
            ("compute", [_, _, kind, ..]) => {
                Err(format!("what the compute `{kind}` computes is not written here"))
            }
            ("compute_modify", [id, ..]) if id.ends_with("_temp") => Err(
                "a temperature that is computed in another way: thermostats and output have the usual one"
                    .to_owned(),
            ),
            ("compute_modify", _) => Ok(Outcome::no_effect("what computes give is not written here")),
            _ => self.carry_out_output(command, words),
        }
    }

    fn carry_out_output(&mut self, command: &str, words: &[&str]) -> Taken {
        match (command, words) {
            ("thermo", [every]) => self.thermo(every),
            ("thermo_modify", ["norm", "yes"]) => Ok(Outcome::Same),
            ("thermo_modify", options) => self.thermo_options(options),
            ("thermo_style", columns) => {
                let of_script =
                    |column: &&str| ["c_", "f_", "v_"].iter().any(|kind| column.starts_with(kind));
                let note = "columns of computes, fixes and variables are left out";
                Ok(if columns.iter().any(of_script) { Outcome::no_effect(note) } else { Outcome::Same })
            }
            ("dump", [id, "all", style, every, file, columns @ ..]) => {
                let (dump, difference) = Dump::read(style, whole(every)?.max(1), file, columns)?;
                self.motion.frames.begin(id, dump, self.motion.has_run(), difference)
            }
            ("dump", [_, group, ..]) => Err(of_group("it", group)),
            ("dump_modify", [id, options @ ..]) => self.motion.frames.modify(id, options),
            ("undump", [id]) => self.motion.frames.end(id),
            ("restart", ["0"]) => {
                self.motion.restart = None;
                Ok(Outcome::Same)
            }
            ("restart", [every, ..]) => {
                self.motion.restart = Some(whole(every)?);
                Ok(Outcome::differs("checkpoints of md"))
            }
            _ => Err(kinds::unlike(command)),
        }
    }

    fn atom_style(&mut self, words: &[&str]) -> Taken {
        if let [style, ..] = words {
            self.system.atom_style = AtomStyle::named(style);
        }
        match words {
            ["atomic"] => Ok(Outcome::Same),
            ["charge"] => Ok(Outcome::no_effect("charges are left out: only pairs have forces")),
            ["bond" | "angle" | "molecular" | "full"] => Ok(Outcome::no_effect(
                "molecules and charges are left out; commands that make bonds are told by themselves",
            )),
            _ => Err("only atomic, charge, bond, angle, molecular and full can be taken".to_owned()),
        }
    }

    fn dimension(&mut self, dimension: &str) -> Taken {
        let dimensions = count(dimension)?;
        if !matches!(dimensions, 2 | 3) {
            return Err("2 or 3 was expected".to_owned());
        }
        self.system.dimensions = Some(dimensions);
        Ok(Outcome::Same)
    }

    fn replicate(&mut self, words: [&&str; 3]) -> Taken {
        if self.system.file.is_none() {
            return Err("only particles of a file can be copied".to_owned());
        }
        // A repeated `replicate` multiplies the numbers of copies.
        let mut copies = self.system.copies.unwrap_or([1; 3]);
        for (copies, word) in copies.iter_mut().zip(words) {
            let factor = u32::try_from(whole(word)?).ok();
            let product = factor.and_then(|factor| copies.checked_mul(factor));
            *copies = product.ok_or_else(|| "too many copies".to_owned())?;
        }
        self.system.copies = Some(copies);
        Ok(Outcome::Same)
    }

    fn mass(&mut self, kinds: &str, mass: &str) -> Taken {
        let mass = number(mass)?;
        for kind in self.types_of(kinds)? {
            let in_file = self.system.file_masses.get(kind - 1).copied().flatten();
            if let Some(in_file) = in_file.filter(|&in_file| in_file != mass) {
                return Err(format!(
                    "the data file has mass {in_file} of type {kind}, and it is that which counts here"
                ));
            }
            self.pairs.masses.insert(kind, mass);
        }
        Ok(Outcome::Same)
    }

    fn pair(&mut self, first: &str, second: &str, numbers: &[&str]) -> Taken {
        let types = [self.types_of(first)?, self.types_of(second)?];
        let numbers = numbers.iter().map(|word| number(word)).collect::<Result<Vec<_>, _>>()?;
        self.pairs.set(types, &numbers).map(|()| Outcome::Same)
    }

    fn pair_options(&mut self, options: &[&str]) -> Taken {
        self.pairs.check_style()?;
        for pair in options.chunks(2) {
            match pair {
                ["shift", shift] => self.pairs.is_shifted = yes(shift)?,
                ["tail", tail] => self.pairs.has_tail = yes(tail)?,
                ["mix", "geometric"] => self.pairs.mixes_arithmetically = false,
                ["mix", "arithmetic"] => self.pairs.mixes_arithmetically = true,
                _ => return Err(format!("its `{}`", pair.join(" "))),
            }
        }
        Ok(Outcome::Same)
    }

    fn neighbors(&mut self, options: &[&str]) -> Taken {
        if options.contains(&"exclude") {
            return Err("pairs that are excluded: all pairs within the cutoff interact here".to_owned());
        }
        for pair in options.chunks(2) {
            match pair {
                ["every", every] => self.motion.every = whole(every)?,
                ["check", check] => self.motion.checks = yes(check)?,
                ["delay" | "page" | "one" | "binsize" | "cluster", _] | ["once", "no"] => (),
                _ => return Err(format!("its `{}`", pair.join(" "))),
            }
        }
        Ok(Outcome::Same)
    }

    fn thermo(&mut self, every: &str) -> Taken {
        match whole(every)? {
            0 => Ok(Outcome::no_effect("the first and the last step are always written")),
            every => {
                self.motion.thermo = every;
                Ok(Outcome::Same)
            }
        }
    }

    /// Carries out `thermo_modify`.
    fn thermo_options(&self, options: &[&str]) -> Taken {
        let may_lose = options.windows(2).any(|pair| matches!(pair, ["lost", "ignore" | "warn"]));
        if may_lose && !self.system.is_periodic_in_all() {
            return Err(
                "particles that leave the box and are deleted (`lost`): here they are reflected".to_owned()
            );
        }
        Ok(Outcome::no_effect("`thermo.csv` has its own columns, with energies per atom"))
    }

    fn minimise(&mut self, force_tolerance: &str, steps: &str) -> Taken {
        /// Tolerance for scripts that stop by the change of the energy alone.
        const USUAL: f64 = 1e-6;
        let tolerance = Some(number(force_tolerance)?).filter(|tolerance| *tolerance > 0.0);
        self.motion.minimise(tolerance.unwrap_or(USUAL), whole(steps)?, self.system.moves());
        Ok(Outcome::differs(
            "FIRE; the force tolerance is of the largest force on a particle, not of all components, and the energy tolerance is \
             left out; particles are at rest behind it",
        ))
    }

    /// Parses a type, `*`, or a range `A*B` of types.
    fn types_of(&self, word: &str) -> Result<RangeInclusive<usize>, String> {
        let all = self.system.types.max(1);
        let Some((first, last)) = word.split_once('*') else {
            let kind = count(word)?;
            return Ok(kind..=kind);
        };
        let bound = |word: &str, otherwise: usize| if word.is_empty() { Ok(otherwise) } else { count(word) };
        Ok(bound(first, 1)?..=bound(last, all)?)
    }
}

/// Returns the reason for refusing a command that acts on a group of particles.
pub(super) fn of_group(what: &str, group: &str) -> String {
    format!("a group: {what} acts on `{group}`, and here all particles are treated alike")
}

fn is_lennard_jones(style: &str) -> bool {
    let suffix = style.strip_prefix("lj/cut");
    matches!(suffix, Some("" | "/opt" | "/omp" | "/intel" | "/gpu" | "/kk" | "/kk/host" | "/kk/device"))
}
