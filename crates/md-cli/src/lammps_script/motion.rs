//! What a script says of how particles move: fixes and runs.

use std::collections::BTreeMap;

use super::commands::{number, ramp};
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
    /// `npt`: temperature, its damping time, pressure, its damping time, lengths of the box.
    Isobaric(Ramp, f64, f64, f64, Axes),
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

/// Lengths of the box that follow the pressure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axes {
    /// All by one factor.
    Together,
    /// Each of these by its own.
    Apart([bool; 3]),
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

impl Axes {
    /// As a key behind others.
    fn key(self) -> String {
        match self {
            Self::Together => String::new(),
            Self::Apart([true, true, true]) => ", axes = \"xyz\"".to_owned(),
            Self::Apart(some) => {
                let names = ["x", "y", "z"].into_iter().zip(some);
                let names: Vec<_> = names.filter_map(|(name, own)| own.then_some(name)).collect();
                format!(", axes = {names:?}")
            }
        }
    }
}

impl Fix {
    /// `npt` from its keywords, in any order; with it those that are left out here.
    ///
    /// # Errors
    /// Keywords or pressures without an equivalent.
    pub(super) fn isobaric<'w>(words: &[&'w str]) -> Result<(Self, Vec<&'w str>), String> {
        let other = || Err("a fix `npt` of this form has no equivalent here".to_owned());
        let (mut bath, mut pressures, mut ignored) = (None, Vec::new(), Vec::new());
        let (mut axes, mut couple) = ([false; 3], "none");
        let mut rest = words;
        loop {
            rest = match *rest {
                [] => break,
                ["temp", from, to, damp, ref rest @ ..] => {
                    bath = Some((ramp(from, to)?, number(damp)?));
                    rest
                }
                [keyword @ ("iso" | "aniso" | "x" | "y" | "z"), first, last, time, ref rest @ ..] => {
                    match keyword {
                        "iso" => (axes, couple) = ([true; 3], "xyz"),
                        "aniso" => (axes, couple) = ([true; 3], "none"),
                        axis => axes[usize::from(axis.as_bytes()[0] - b'x')] = true,
                    }
                    pressures.push([first, last, time].map(number));
                    rest
                }
                ["couple", own, ref rest @ ..] => {
                    couple = own;
                    rest
                }
                [keyword @ ("tchain" | "pchain" | "mtk" | "drag"), _, ref rest @ ..] => {
                    ignored.push(keyword);
                    rest
                }
                _ => return other(),
            };
        }
        let axes = match (couple, axes) {
            ("xyz", [true, true, true]) => Axes::Together,
            ("none", axes) => Axes::Apart(axes),
            _ => return other(),
        };
        let pressures = pressures
            .into_iter()
            .map(|[first, last, time]| Ok([first?, last?, time?]))
            .collect::<Result<Vec<_>, String>>()?;
        match (bath, &pressures[..]) {
            (Some((ramp, damp)), [all @ [first, last, time], others @ ..])
                if first == last && others.iter().all(|own| own == all) =>
            {
                Ok((Self::Isobaric(ramp, damp, *first, *time, axes), ignored))
            }
            _ => other(),
        }
    }

    /// As an inline table.
    fn integrator(&self) -> String {
        let kind = |name: &str, ramp: Ramp, rest: String| {
            format!("{{ kind = \"{name}\", temperature = {}, {rest} }}", temperature(ramp))
        };
        match *self {
            Self::Plain | Self::Nothing => "{ kind = \"velocity-verlet\" }".to_owned(),
            Self::NoseHoover(ramp, damp) => kind("nose-hoover", ramp, format!("relaxation = {damp:?}")),
            Self::Isobaric(ramp, damp, pressure, time, axes) => kind(
                "csvr",
                ramp,
                format!(
                    "relaxation = {damp:?}, barostat = {{ kind = \"stochastic-cell-rescaling\", pressure = {pressure:?}, \
                     relaxation = {time:?}{} }}",
                    axes.key()
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
