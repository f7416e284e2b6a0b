//! What a script says of how particles move: fixes and runs.

use std::collections::BTreeMap;

use super::dump::Dump;

/// A temperature at the beginning and the end of a run.
pub(super) type Ramp = [f64; 2];

/// A fix on all particles.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fix {
    /// `nve`
    Plain,
    /// `nvt`: temperature and damping time.
    NoseHoover(Ramp, f64),
    /// `npt iso`: temperature, its damping time, pressure, its damping time.
    Isobaric(Ramp, f64, f64, f64),
    /// `langevin`
    Langevin(Ramp, f64),
    /// `temp/berendsen`
    Berendsen(Ramp, f64),
    /// `temp/csvr`
    Csvr(Ramp, f64),
    /// `temp/rescale` every so many steps.
    Rescale(Ramp, u64),
    /// What is not needed here.
    Nothing,
}

/// A part of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    steps: u64,
    integrator: String,
    thermo: u64,
}

/// Fixes as they are, and the runs so far.
#[derive(Debug)]
pub(super) struct Motion {
    pub(super) fixes: BTreeMap<String, Fix>,
    pub(super) timestep: f64,
    pub(super) thermo: u64,
    pub(super) skin: f64,
    /// Steps between two rebuilds, where they are not decided by displacements.
    pub(super) every: u64,
    pub(super) checks: bool,
    pub(super) dump: Option<Dump>,
    pub(super) restart: Option<u64>,
    pub(super) seed: u64,
    parts: Vec<Part>,
}

impl Default for Motion {
    /// LAMMPS's defaults of `units lj`. Thermo output at the ends of a run alone is one row in the longest run that is usual.
    fn default() -> Self {
        Self {
            fixes: BTreeMap::new(),
            timestep: 0.005,
            thermo: 1000,
            skin: 0.3,
            every: 1,
            checks: true,
            dump: None,
            restart: None,
            seed: 0,
            parts: Vec::new(),
        }
    }
}

impl Motion {
    /// `run N`
    ///
    /// # Errors
    /// Why that cannot be done here.
    pub(super) fn run(&mut self, steps: u64) -> Result<(), String> {
        if steps == 0 {
            // It shows the state.
            return Ok(());
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

    /// `minimize ETOL FTOL STEPS EVALUATIONS`
    pub(super) fn minimise(&mut self, force_tolerance: f64, steps: u64) {
        self.add(steps, format!("{{ kind = \"fire\", force_tolerance = {force_tolerance:?} }}"));
    }

    fn add(&mut self, steps: u64, integrator: String) {
        self.parts.push(Part { steps, integrator, thermo: self.thermo });
    }

    /// The table `[simulation]`.
    pub(super) fn simulation(&self, title: &str, dimensions: usize) -> String {
        let total: u64 = self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.steps));
        // A script that runs nothing is a scenario of one step.
        let steps = if self.parts.len() > 1 { String::new() } else { format!("steps = {}\n", total.max(1)) };
        let title = toml::Value::from(title);
        format!(
            "[simulation]\ntitle = {title}\ndimension = {dimensions}\ntimestep = {:?}\n{steps}seed = {}\n",
            self.timestep, self.seed
        )
    }

    /// The tables of neighbours, integrators and outputs.
    pub(super) fn tables(&self) -> String {
        let rebuild = match self.checks {
            true => "displacement = true".to_owned(),
            false => format!("every = {}", self.every.max(1)),
        };
        let mut text = format!("\n[neighbor]\nskin = {:?}\nrebuild = {{ {rebuild} }}\n", self.skin);
        match &self.parts[..] {
            [] => (),
            [part] => text += &format!("\n[integrator]\n{}", keys(&part.integrator)),
            parts => {
                for Part { steps, integrator, thermo } in parts {
                    text += &format!(
                        "\n[[stage]]\nsteps = {steps}\nthermo = {{ every = {thermo} }}\nintegrator = {integrator}\n"
                    );
                }
            }
        }
        let thermo = self.parts.first().map_or(self.thermo, |part| part.thermo);
        text += &format!("\n[output]\nthermo = {{ every = {thermo} }}\n");
        text += &self.dump.as_ref().map_or_else(String::new, Dump::key);
        if let Some(every) = self.restart {
            text += &format!("checkpoint = {{ every = {every} }}\n");
        }
        text
    }
}

/// The keys of an inline table, one a line, as they are parted by `, ` outside of brackets.
fn keys(table: &str) -> String {
    let inner = table.trim_start_matches("{ ").trim_end_matches(" }");
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

impl Fix {
    /// As an inline table.
    fn integrator(&self) -> String {
        let kind = |name: &str, ramp: Ramp, rest: String| {
            format!("{{ kind = \"{name}\", temperature = {}, {rest} }}", temperature(ramp))
        };
        match *self {
            Self::Plain | Self::Nothing => "{ kind = \"velocity-verlet\" }".to_owned(),
            Self::NoseHoover(ramp, damp) => kind("nose-hoover", ramp, format!("relaxation = {damp:?}")),
            Self::Isobaric(ramp, damp, pressure, time) => kind(
                "csvr",
                ramp,
                format!(
                    "relaxation = {damp:?}, barostat = {{ kind = \"stochastic-cell-rescaling\", pressure = {pressure:?}, \
                     relaxation = {time:?} }}"
                ),
            ),
            Self::Langevin(ramp, damp) => kind("langevin", ramp, format!("friction = {:?}", 1.0 / damp)),
            Self::Berendsen(ramp, damp) => kind("berendsen", ramp, format!("relaxation = {damp:?}")),
            Self::Csvr(ramp, damp) => kind("csvr", ramp, format!("relaxation = {damp:?}")),
            Self::Rescale(ramp, every) => kind("rescale", ramp, format!("every = {every}")),
        }
    }
}

fn temperature([from, to]: Ramp) -> String {
    if from == to { format!("{from:?}") } else { format!("{{ from = {from:?}, to = {to:?} }}") }
}
