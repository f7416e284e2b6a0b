//! `fix` and `unfix`: integrators, thermostats and walls.

use super::Script;
use super::faces::Face;
use super::integrators::Fix;
use super::kinds::unlike_fix;
use super::numbers::{number, ramp, whole};
use super::outcome::{Outcome, Taken};

/// Remark on commands that would end the drift.
pub(super) const DRIFT_STAYS: &str =
    "nothing takes momentum away here: the drift of `velocity all set` stays for the whole run";

impl Script<'_> {
    pub(super) fn fix(&mut self, id: &str, style: &str, words: &[&str]) -> Taken {
        let fix = match (style, words) {
            ("nve", []) => Fix::Plain,
            ("momentum" | "recenter", _) => return self.momentum(id, words),
            ("enforce2d", _) => Fix::Nothing,
            ("temp/berendsen", [from, to, damp]) => Fix::Berendsen(ramp(from, to)?, number(damp)?),
            ("temp/csvr", [from, to, damp, _]) => Fix::Csvr(ramp(from, to)?, number(damp)?),
            ("temp/rescale", [every, from, to, window, fraction]) => {
                Fix::rescaled(ramp(from, to)?, whole(every)?.max(1), number(window)?, number(fraction)?)?
            }
            ("langevin", _) => return self.langevin(id, words),
            ("nvt", _) => return self.canonical(id, words),
            ("npt", _) => return self.isobaric(id, words),
            ("wall/lj93" | "wall/reflect", _) => return self.walls(id, style == "wall/lj93", words),
            _ => return Err(unlike_fix(style)),
        };
        let difference = match fix {
            Fix::Rescale(..) => Some("the temperature is made exact, also within its window"),
            _ => None,
        };
        self.motion.fixes.insert(id.to_owned(), fix);
        Ok(Outcome::differing(difference.map(str::to_owned)))
    }

    /// Carries out `fix langevin`: `FROM TO DAMP SEED [KEYWORD VALUE ...]`.
    fn langevin(&mut self, id: &str, words: &[&str]) -> Taken {
        const LEFT_OUT: [&str; 5] = ["gjf", "tally", "zero", "angmom", "omega"];
        let Some(([from, to, damp, _], keywords)) = words.split_first_chunk() else {
            return Err(
                "a temperature at the start and the end, a damping time and a seed were expected".to_owned()
            );
        };
        let (mut scheme, mut ignored) = ("baoab", Vec::new());
        for pair in keywords.chunks(2) {
            match *pair {
                ["gjf", "vfull" | "vhalf" | "yes"] => scheme = "gjf",
                ["tally", "yes"] => ignored.push("tally"),
                [keyword, "no"] if LEFT_OUT.contains(&keyword) => (),
                [keyword, ..] => {
                    return Err(format!(
                        "the keyword `{keyword}` of langevin, or its value, has no equivalent here"
                    ));
                }
                [] => (),
            }
        }
        self.motion.fixes.insert(id.to_owned(), Fix::Langevin(ramp(from, to)?, number(damp)?, scheme));
        let scheme = scheme.to_uppercase();
        Ok(Outcome::differs(format!("{scheme}, with other random numbers{}", without(&ignored))))
    }

    fn isobaric(&mut self, id: &str, words: &[&str]) -> Taken {
        let (fix, ignored) = Fix::isobaric(words)?;
        self.motion.fixes.insert(id.to_owned(), fix);
        let same = "the same ensemble by Bussi's thermostat and stochastic cell rescaling";
        Ok(Outcome::differs(format!("{same}{}", without(&ignored))))
    }

    fn canonical(&mut self, id: &str, words: &[&str]) -> Taken {
        let (fix, ignored) = Fix::canonical(words)?;
        self.motion.fixes.insert(id.to_owned(), fix);
        let difference = (!ignored.is_empty()).then(|| format!("the same ensemble{}", without(&ignored)));
        Ok(Outcome::differing(difference))
    }

    /// Records a fix that removes the motion of the centre of mass, which has no equivalent here.
    fn momentum(&mut self, id: &str, words: &[&str]) -> Taken {
        if self.system.drift.is_some_and(|drift| drift != [0.0; 3]) {
            return Err(DRIFT_STAYS.to_owned());
        }
        if words.contains(&"angular") {
            return Err("nothing takes angular momentum away here".to_owned());
        }
        self.motion.fixes.insert(id.to_owned(), Fix::Momentum);
        Ok(Outcome::no_effect("drawn velocities have no total momentum, and pairs do not change it"))
    }

    /// Carries out `run N`.
    pub(super) fn run(&mut self, steps: u64) -> Taken {
        let shrinks = self.system.faces.as_flattened().contains(&Face::Shrinking);
        if steps > 0 && shrinks && self.system.moves() {
            return Err("the box follows particles that move (`s` in `boundary`), and here its faces stay where they are".to_owned());
        }
        self.motion.run(steps)?;
        let has = |kind: fn(&Fix) -> bool| self.motion.fixes.values().any(kind);
        let (system, is_random) = (&self.system, has(|fix| matches!(fix, Fix::Langevin(..))));
        let moves_itself = system.moves() && !system.is_given_velocities();
        let given_by = match (system.is_periodic_in_all(), moves_itself) {
            (true, false) if is_random => "langevin gives",
            (true, false) => return Ok(Outcome::Same),
            (true, true) => "the velocities of the file have",
            (false, _) => "walls give",
        };
        Ok(match has(|fix| matches!(fix, Fix::Momentum)) {
            true => Outcome::Partly(format!("nothing takes away the total momentum that {given_by}")),
            false => Outcome::Same,
        })
    }

    pub(super) fn unfix(&mut self, id: &str) -> Taken {
        if self.motion.fixes.remove(id).is_some() {
            return Ok(Outcome::Same);
        }
        if let Some(walls) = self.system.wall_fixes.remove(id) {
            self.system.walls.retain(|wall, _| !walls.contains(wall));
            return Ok(Outcome::Same);
        }
        if self.analyses.fixes.remove(id) {
            return Ok(Outcome::differs("the analysis goes on to the end of the last run"));
        }
        Ok(Outcome::no_effect("that fix was not taken either"))
    }

    /// Carries out `fix_modify ID KEYWORD VALUE ...`.
    pub(super) fn modify_fix(&self, id: &str, options: &[&str]) -> Taken {
        if !self.motion.fixes.contains_key(id) && !self.system.wall_fixes.contains_key(id) {
            return Ok(Outcome::no_effect("that fix was not taken either"));
        }
        let mut is_counted = true;
        for option in options.chunks(2) {
            match option {
                ["energy" | "virial", "yes"] => (),
                ["energy" | "virial", "no"] => is_counted = false,
                _ => return Err(format!("the fix with another `{}`", option.join(" "))),
            }
        }
        let counted = "the energy and virial of walls count all the same";
        Ok(Outcome::differing((!is_counted).then(|| counted.to_owned())))
    }

    /// Carries out a fix of walls: `FACE PLACE [EPSILON SIGMA CUTOFF]`, repeated.
    fn walls(&mut self, id: &str, is_solid: bool, words: &[&str]) -> Taken {
        for wall in words.chunks(if is_solid { 5 } else { 2 }) {
            let (face, place) = match wall {
                [face, place, ..] if wall.len() == if is_solid { 5 } else { 2 } => (*face, *place),
                _ => return Err("walls of this form cannot be taken".to_owned()),
            };
            let (dim, is_upper) = match face {
                "xlo" | "ylo" | "zlo" => (usize::from(face.as_bytes()[0] - b'x'), false),
                "xhi" | "yhi" | "zhi" => (usize::from(face.as_bytes()[0] - b'x'), true),
                _ => return Err(format!("a wall `{face}`")),
            };
            let cell = self.system.lattice.cell[dim];
            if place != "EDGE" && !self.system.is_face(dim, is_upper, number(place)? * cell) {
                return Err(format!("a wall at {place}, which is no face of the box (in lattice units)"));
            }
            if self.system.is_periodic(dim) {
                return Err("a wall across a periodic direction".to_owned());
            }
            let numbers = wall[2..].iter().map(|word| number(word)).collect::<Result<Vec<_>, _>>()?;
            let solid = match numbers[..] {
                [epsilon, sigma, cutoff] => Some([epsilon, sigma, cutoff]),
                _ => None,
            };
            self.system.walls.insert((dim, is_upper), solid);
            self.system.wall_fixes.entry(id.to_owned()).or_default().push((dim, is_upper));
        }
        let counted = "their energy and virial count, as after `fix_modify energy yes virial yes`";
        Ok(Outcome::differing(is_solid.then(|| counted.to_owned())))
    }
}

/// Returns a text about keywords that are left out.
fn without(keywords: &[&str]) -> String {
    keywords.iter().map(|keyword| format!(", without its `{keyword}`")).collect()
}
