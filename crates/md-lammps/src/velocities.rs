//! `velocity`: initial velocities of the particles.

use super::commands::of_group;
use super::fixes::DRIFT_STAYS;
use super::integrators::Fix;
use super::numbers::{number, whole};
use super::outcome::{Outcome, Taken};
use super::{Script, System};

impl Script<'_> {
    /// Carries out `velocity GROUP FORM ...`.
    pub(super) fn velocity(&mut self, words: &[&str]) -> Taken {
        match words {
            ["all", "create", temperature, seed, options @ ..] => {
                self.draw_velocities(temperature, seed, options)
            }
            ["all", "set", x, y, z, options @ ..] => self.set_velocities([x, y, z], options),
            ["all", "scale", temperature] => self.system.scale_velocities(number(temperature)?),
            ["all", "zero", "linear"] => self.system.stop_drift(),
            ["all", form @ ("create" | "set" | "scale" | "zero"), ..] => {
                Err(format!("velocities by `{form}` in this form"))
            }
            ["all", form, ..] => Err(format!("velocities by `{form}`, which depend on the particle")),
            [group, ..] => Err(of_group("it", group)),
            [] => Err("a group and a form were expected".to_owned()),
        }
    }

    fn draw_velocities(&mut self, temperature: &str, seed: &str, options: &[&str]) -> Taken {
        let has = |option: [&str; 2]| options.chunks(2).any(|pair| pair == option);
        if has(["sum", "yes"]) || options.contains(&"temp") || options.contains(&"bias") {
            return Err("velocities that are added, or of another temperature, cannot be taken".to_owned());
        }
        (self.system.temperature, self.motion.seed) = (Some(number(temperature)?), whole(seed)?);
        // The drawn velocities replace all earlier settings.
        self.system.drift = None;
        let same = "the temperature is the same, the velocities are drawn in another way";
        let momentum = if has(["mom", "no"]) { ", with a total momentum of 0" } else { "" };
        let rotation = if has(["rot", "yes"]) { ", and may rotate" } else { "" };
        Ok(Outcome::differs(format!("{same}{momentum}{rotation}")))
    }

    /// Carries out `velocity all set`: `X Y Z [sum yes] [units box]`, by default in lattice units
    /// per time.
    fn set_velocities(&mut self, words: [&str; 3], options: &[&str]) -> Taken {
        let mut unit = self.system.lattice.cell;
        let mut is_added = false;
        for option in options.chunks(2) {
            match option {
                ["sum", "yes"] => is_added = true,
                ["units", "box"] => unit = [1.0; 3],
                ["sum", "no"] | ["units", "lattice"] => (),
                _ => return Err(format!("velocities by `set` with `{}`", option.join(" "))),
            }
        }
        let mut drift = [0.0; 3];
        for ((component, word), unit) in drift.iter_mut().zip(words).zip(unit) {
            match word {
                "NULL" if is_added => (),
                "NULL" => return Err("velocities by `set` that keep a component (NULL)".to_owned()),
                word => *component = number(word)? * unit,
            }
        }
        if is_added {
            let before = self.system.drift.unwrap_or_default();
            drift = [0, 1, 2].map(|dim| drift[dim] + before[dim]);
        } else {
            self.system.temperature = Some(0.0);
        }
        self.system.drift = Some(drift).filter(|drift| *drift != [0.0; 3]);
        let is_to_be_stopped = self.motion.fixes.values().any(|fix| matches!(fix, Fix::Momentum));
        Ok(match self.system.drift {
            Some(_) if is_to_be_stopped => Outcome::Partly(DRIFT_STAYS.to_owned()),
            Some(_) => Outcome::differs("temperature and pressure here are about the mean velocity"),
            None => Outcome::Same,
        })
    }
}

impl System {
    /// Carries out `velocity all scale T`.
    fn scale_velocities(&mut self, temperature: f64) -> Taken {
        if self.drift.is_some() || self.temperature.is_none_or(|before| before <= 0.0) {
            return Err("velocities by `scale` that are not drawn by `create` before it".to_owned());
        }
        self.temperature = Some(temperature);
        Ok(Outcome::Same)
    }

    /// Carries out `velocity all zero linear`.
    fn stop_drift(&mut self) -> Taken {
        if self.file.is_some() && !self.file_is_at_rest && self.temperature.is_none() {
            return Err(
                "velocities by `zero`: nothing takes away the total momentum that the file has".to_owned()
            );
        }
        self.drift = None;
        Ok(Outcome::Same)
    }
}
