//! Fixes that move particles, as integrators.

use super::commands::{number, ramp, whole};

/// A temperature at the beginning and the end of a run.
pub(super) type Ramp = [f64; 2];

/// A fix on all particles.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fix {
    /// `nve`
    Plain,
    /// `nvt`: temperature, damping time, thermostats in the chain.
    NoseHoover(Ramp, f64, u64),
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
    /// `momentum`, `recenter`
    Momentum,
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

/// Keywords of LAMMPS's own equations of motion, with a word each.
const IGNORED: [&str; 6] = ["pchain", "mtk", "drag", "tloop", "ploop", "nreset"];

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
    /// `nvt` from its keywords, in any order; with it those that are left out here.
    ///
    /// # Errors
    /// Keywords without an equivalent.
    pub(super) fn canonical<'w>(words: &[&'w str]) -> Result<(Self, Vec<&'w str>), String> {
        /// Thermostats in LAMMPS's chain, where nothing is said.
        const USUAL: u64 = 3;
        let (mut bath, mut chain, mut ignored) = (None, USUAL, Vec::new());
        let mut rest = words;
        loop {
            rest = match *rest {
                [] => break,
                ["temp", from, to, damp, ref rest @ ..] => {
                    bath = Some((ramp(from, to)?, number(damp)?));
                    rest
                }
                ["tchain", length, ref rest @ ..] => {
                    chain = whole(length)?;
                    rest
                }
                [keyword, _, ref rest @ ..] if IGNORED.contains(&keyword) => {
                    ignored.push(keyword);
                    rest
                }
                _ => return Err("a fix `nvt` of this form has no equivalent here".to_owned()),
            };
        }
        let (ramp, damp) = bath.ok_or("it has no `temp`")?;
        Ok((Self::NoseHoover(ramp, damp, chain), ignored))
    }

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
                [keyword, _, ref rest @ ..] if keyword == "tchain" || IGNORED.contains(&keyword) => {
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
    pub(super) fn integrator(&self) -> String {
        let kind = |name: &str, ramp: Ramp, rest: String| {
            format!("{{ kind = \"{name}\", temperature = {}, {rest} }}", temperature(ramp))
        };
        match *self {
            Self::Plain | Self::Momentum | Self::Nothing => "{ kind = \"velocity-verlet\" }".to_owned(),
            Self::NoseHoover(ramp, damp, chain) => {
                kind("nose-hoover", ramp, format!("relaxation = {damp:?}, chain = {chain}"))
            }
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
