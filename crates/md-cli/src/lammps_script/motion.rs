//! Fixes and runs of a script.

use std::collections::BTreeMap;
use std::ops::Range;

use super::frames::Frames;
use super::integrators::Fix;

/// A run or a minimisation of the script.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    steps: u64,
    integrator: String,
    thermo: u64,
    /// Steps between two frames of the trajectory, if it has frames.
    frames: Option<u64>,
}

/// Current fixes and settings, and the runs so far.
#[derive(Debug, Clone)]
pub(super) struct Motion {
    pub(super) fixes: BTreeMap<String, Fix>,
    pub(super) timestep: f64,
    pub(super) thermo: u64,
    pub(super) skin: f64,
    /// Steps between two rebuilds, where displacements do not trigger them.
    pub(super) every: u64,
    pub(super) checks: bool,
    pub(super) frames: Frames,
    pub(super) restart: Option<u64>,
    pub(super) seed: u64,
    /// Whether a minimisation has ended velocities that LAMMPS keeps.
    stopped: bool,
    parts: Vec<Part>,
}

impl Default for Motion {
    /// LAMMPS's defaults of `units lj`. Thermo output, which LAMMPS writes only at both ends of a
    /// run by default, is written every 1000 steps here.
    fn default() -> Self {
        Self {
            fixes: BTreeMap::new(),
            timestep: 0.005,
            thermo: 1000,
            skin: 0.3,
            every: 1,
            checks: true,
            frames: Frames::default(),
            restart: None,
            seed: 0,
            stopped: false,
            parts: Vec::new(),
        }
    }
}

impl Motion {
    /// Carries out `run N`.
    ///
    /// # Errors
    /// The reason why this is not possible here.
    pub(super) fn run(&mut self, steps: u64) -> Result<(), String> {
        if steps == 0 {
            // The run only prints the state.
            return Ok(());
        }
        if self.stopped {
            return Err("particles have the velocities from before `minimize` in LAMMPS, and here a minimisation leaves them at rest"
                .to_owned());
        }
        let mut moving = self
            .fixes
            .values()
            .filter(|fix| matches!(fix, Fix::Plain | Fix::NoseHoover(..) | Fix::Isobaric(..)));
        let mut bath = self.fixes.values().filter(|fix| {
            matches!(fix, Fix::Langevin(..) | Fix::Berendsen(..) | Fix::Csvr(..) | Fix::Rescale(..))
        });
        let integrator = match (moving.next(), moving.next(), bath.next(), bath.next()) {
            (None, ..) => return Err("no fix moves the particles (nve, nvt, npt)".to_owned()),
            (Some(fix), None, None, _) | (Some(Fix::Plain), None, Some(fix), None) => fix.integrator(),
            _ => return Err("several fixes move the particles or keep their temperature".to_owned()),
        };
        self.add(steps, integrator);
        Ok(())
    }

    /// Carries out `minimize ETOL FTOL STEPS EVALUATIONS`.
    pub(super) fn minimise(&mut self, force_tolerance: f64, steps: u64, are_given_velocities: bool) {
        self.stopped |=
            are_given_velocities || self.parts.iter().any(|part| !part.integrator.contains("\"fire\""));
        self.add(steps, format!("{{ kind = \"fire\", force_tolerance = {force_tolerance:?} }}"));
    }

    fn add(&mut self, steps: u64, integrator: String) {
        self.parts.push(Part { steps, integrator, thermo: self.thermo, frames: self.frames.every() });
    }

    /// Returns whether there is a run or a minimisation already.
    pub(super) fn has_run(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns the number of steps of all runs so far.
    pub(super) fn steps(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.steps))
    }

    /// Returns the range of steps of the last run.
    pub(super) fn last_run(&self) -> Range<u64> {
        let end = self.steps();
        end - self.parts.last().map_or(0, |part| part.steps).min(end)..end
    }

    /// Returns whether a barostat acts in one of the runs so far.
    pub(super) fn stretches_the_box(&self) -> bool {
        self.parts.iter().any(|part| part.integrator.contains("barostat"))
    }

    /// Returns a copy of the settings, without the runs.
    pub(super) fn settings(&mut self) -> Self {
        let parts = std::mem::take(&mut self.parts);
        let settings = self.clone();
        self.parts = parts;
        settings
    }

    /// Restores earlier settings and keeps the first `runs` runs.
    pub(super) fn return_to(&mut self, settings: Self, runs: usize) {
        let parts = std::mem::take(&mut self.parts);
        *self = Self { parts, ..settings };
        self.parts.truncate(runs);
    }

    /// Returns the number of runs so far.
    pub(super) fn runs(&self) -> usize {
        self.parts.len()
    }

    /// Returns the settings that a scenario has once for all of its stages.
    pub(super) fn common(&self) -> String {
        let Self { timestep, skin, every, checks, restart, seed, .. } = self;
        format!("{timestep} {skin} {every} {checks} {restart:?} {seed}")
    }

    /// Returns the table `[simulation]`.
    pub(super) fn simulation(&self, title: &str, dimensions: usize) -> String {
        let total = self.steps();
        // A script without a run becomes a scenario of one step.
        let steps = if self.parts.len() > 1 { String::new() } else { format!("steps = {}\n", total.max(1)) };
        let title = toml::Value::from(title);
        format!(
            "[simulation]\ntitle = {title}\ndimension = {dimensions}\ntimestep = {:?}\n{steps}seed = {}\n",
            self.timestep, self.seed
        )
    }

    /// Returns the tables of neighbours, integrators and outputs.
    pub(super) fn tables(&self) -> String {
        let rebuild = match self.checks {
            true => "displacement = true".to_owned(),
            false => format!("every = {}", self.every.max(1)),
        };
        let frames = match self.has_run() {
            true => self.parts.iter().find_map(|part| part.frames),
            false => self.frames.every(),
        };
        let thermo = self.parts.first().map_or(self.thermo, |part| part.thermo);
        let mut text = format!("\n[neighbor]\nskin = {:?}\nrebuild = {{ {rebuild} }}\n", self.skin);
        match &self.parts[..] {
            [] => (),
            [part] => text += &format!("\n[integrator]\n{}", keys(&part.integrator)),
            parts => {
                let usual = Usual { thermo, frames, never: self.steps().saturating_add(1) };
                parts.iter().for_each(|part| text += &stage(part, &usual));
            }
        }
        text += &format!("\n[output]\nthermo = {{ every = {thermo} }}\n");
        text += &frames.map_or_else(String::new, |every| self.frames.key(every));
        if let Some(every) = self.restart {
            text += &format!("checkpoint = {{ every = {every} }}\n");
        }
        text
    }
}

/// Outputs of stages without their own settings.
struct Usual {
    thermo: u64,
    frames: Option<u64>,
    /// A step that is never reached.
    never: u64,
}

/// Returns a table `[[stage]]`.
fn stage(part: &Part, usual: &Usual) -> String {
    let Part { steps, integrator, thermo, frames } = part;
    let mut text = format!("\n[[stage]]\nsteps = {steps}\n");
    if *thermo != usual.thermo {
        text += &format!("thermo = {{ every = {thermo} }}\n");
    }
    text += &format!("integrator = {integrator}\n");
    match (usual.frames, frames) {
        (None, _) => (),
        (Some(usual), Some(own)) if *own == usual => (),
        (Some(_), Some(own)) => text += &format!("trajectory = {{ every = {own} }}\n"),
        (Some(_), None) => {
            let never = usual.never;
            text += &format!("trajectory = {{ every = {never} }} # longer than all stages: no frames\n");
        }
    }
    text
}

/// Returns the keys of an inline table, one per line, split at each `, ` outside of brackets.
fn keys(table: &str) -> String {
    let inner = table.strip_prefix("{ ").and_then(|rest| rest.strip_suffix(" }")).unwrap_or(table);
    let (mut depth, mut text) = (0_i32, String::new());
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
        text.push(if letter == ',' && depth == 0 { '\n' } else { letter });
    }
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}
