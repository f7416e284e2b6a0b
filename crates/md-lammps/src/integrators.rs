//! Translation of fixes that move particles to integrators.

use super::numbers::{Ramp, number, ramp, whole};

/// A fix on all particles.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fix {
    /// `nve`
    Plain,
    /// `nvt`: temperature, damping time, thermostats in the chain.
    NoseHoover(Ramp, f64, u64),
    /// `npt`: temperature, its damping time, pressure, its damping time, lengths of the box.
    Isobaric(Ramp, f64, f64, f64, Axes),
    /// `langevin`: temperature, damping time, name of the scheme.
    Langevin(Ramp, f64, &'static str),
    /// `temp/berendsen`
    Berendsen(Ramp, f64),
    /// `temp/csvr`
    Csvr(Ramp, f64),
    /// `temp/rescale`: temperature, steps between two rescalings.
    Rescale(Ramp, u64),
    /// `momentum`, `recenter`
    Momentum,
    /// A fix that is not needed here.
    Nothing,
}

/// Lengths of the box that follow the pressure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axes {
    /// All lengths, by one factor.
    Together,
    /// Each of these lengths, by its own factor.
    Apart([bool; 3]),
}

/// Keywords of LAMMPS's own equations of motion, each followed by one word.
const IGNORED: [&str; 5] = ["pchain", "mtk", "tloop", "ploop", "nreset"];

impl Axes {
    /// Returns the key, to be appended to others.
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

/// Keywords of `nvt` and `npt`, in any order.
struct Keywords<'w> {
    /// Temperature and its damping time.
    bath: Option<(Ramp, f64)>,
    /// Thermostats in the chain.
    chain: u64,
    /// For each axis that was named: pressure at the beginning and at the end, and its damping
    /// time.
    pressures: Vec<[f64; 3]>,
    axes: [bool; 3],
    couple: &'w str,
    /// Keywords that are left out here.
    ignored: Vec<&'w str>,
}

impl<'w> Keywords<'w> {
    /// Reads the keywords of a fix.
    ///
    /// # Errors
    /// The first keyword without an equivalent.
    fn read(style: &str, mut words: &[&'w str]) -> Result<Self, String> {
        /// Default number of thermostats in LAMMPS's chain.
        const USUAL: u64 = 3;
        let mut all = Self {
            bath: None,
            chain: USUAL,
            pressures: Vec::new(),
            axes: [false; 3],
            couple: "none",
            ignored: Vec::new(),
        };
        while let [keyword, values @ ..] = words {
            words = all.take(keyword, values)?.ok_or_else(|| {
                format!("the keyword `{keyword}` of {style}, or its value, has no equivalent here")
            })?;
        }
        Ok(all)
    }

    /// Takes the values of a keyword and returns the words behind them, or `None` if the keyword
    /// or its value has no equivalent.
    fn take<'v>(&mut self, keyword: &'w str, values: &'v [&'w str]) -> Result<Option<&'v [&'w str]>, String> {
        Ok(Some(match (keyword, values) {
            ("temp", [from, to, damp, rest @ ..]) => {
                self.bath = Some((ramp(from, to)?, number(damp)?));
                rest
            }
            ("iso" | "aniso" | "x" | "y" | "z", [first, last, time, rest @ ..]) => {
                self.press(keyword);
                self.pressures.push([number(first)?, number(last)?, number(time)?]);
                rest
            }
            ("couple", [own, rest @ ..]) => {
                self.couple = own;
                rest
            }
            ("tchain", [length, rest @ ..]) => {
                self.chain = whole(length)?;
                rest
            }
            ("drag", [drag, rest @ ..]) if number(drag) == Ok(0.0) => rest,
            (_, [_, rest @ ..]) if IGNORED.contains(&keyword) => {
                self.ignored.push(keyword);
                rest
            }
            _ => return Ok(None),
        }))
    }

    fn press(&mut self, keyword: &str) {
        match keyword {
            "iso" => (self.axes, self.couple) = ([true; 3], "xyz"),
            "aniso" => (self.axes, self.couple) = ([true; 3], "none"),
            axis => self.axes[usize::from(axis.as_bytes()[0] - b'x')] = true,
        }
    }

    /// Returns the lengths that change, their pressure and its damping time, if all of them have
    /// one constant pressure.
    fn pressure(&self) -> Option<(Axes, f64, f64)> {
        let axes = match (self.couple, self.axes) {
            ("xyz", [true, true, true]) => Axes::Together,
            ("none", axes) => Axes::Apart(axes),
            _ => return None,
        };
        let [all @ [first, last, time], others @ ..] = &self.pressures[..] else { return None };
        (first == last && others.iter().all(|own| own == all)).then_some((axes, *first, *time))
    }
}

impl Fix {
    /// Returns `temp/rescale`, which is taken if it sets the temperature fully (fraction 1) and its
    /// window is narrow.
    ///
    /// # Errors
    /// A fraction or a window with which LAMMPS does not set the temperature exactly.
    pub(super) fn rescaled(ramp: Ramp, every: u64, window: f64, fraction: f64) -> Result<Self, String> {
        /// Largest window, in units of the temperature, for which the difference is negligible.
        const NARROW: f64 = 0.05;
        if fraction != 1.0 {
            return Err(format!(
                "the temperature goes only a part of the way ({fraction}), and here all of it"
            ));
        }
        let [from, to] = ramp;
        if window > NARROW * from.min(to) {
            return Err(format!(
                "temperatures that are off by up to {window} are left as they are, and here every one is made exact"
            ));
        }
        Ok(Self::Rescale(ramp, every))
    }

    /// Returns `nvt`, and the keywords that are left out here.
    ///
    /// # Errors
    /// Keywords without an equivalent.
    pub(super) fn canonical<'w>(words: &[&'w str]) -> Result<(Self, Vec<&'w str>), String> {
        match Keywords::read("nvt", words)? {
            Keywords { bath: Some((ramp, damp)), chain, pressures, couple: "none", ignored, .. }
                if pressures.is_empty() =>
            {
                Ok((Self::NoseHoover(ramp, damp, chain), ignored))
            }
            Keywords { bath: None, .. } => Err("nvt without `temp`".to_owned()),
            _ => Err("nvt with a pressure".to_owned()),
        }
    }

    /// Returns `npt`, and the keywords that are left out here.
    ///
    /// # Errors
    /// Keywords or pressures without an equivalent.
    pub(super) fn isobaric<'w>(words: &[&'w str]) -> Result<(Self, Vec<&'w str>), String> {
        let all = Keywords::read("npt", words)?;
        let (ramp, damp) = all.bath.ok_or("npt without `temp`")?;
        let (axes, pressure, time) = all.pressure().ok_or(
            "npt with pressures that change or that differ between axes, with two axes coupled, or without a pressure",
        )?;
        let mut ignored = all.ignored;
        // Bussi's thermostat has no chain.
        ignored.extend(words.iter().filter(|&&word| word == "tchain"));
        Ok((Self::Isobaric(ramp, damp, pressure, time, axes), ignored))
    }

    /// Returns the integrator as an inline table.
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
            Self::Langevin(ramp, damp, scheme) => {
                let friction = 1.0 / damp;
                kind("langevin", ramp, format!("friction = {friction:?}, scheme = \"{scheme}\""))
            }
            Self::Berendsen(ramp, damp) => kind("berendsen", ramp, format!("relaxation = {damp:?}")),
            Self::Csvr(ramp, damp) => kind("csvr", ramp, format!("relaxation = {damp:?}")),
            Self::Rescale(ramp, every) => kind("rescale", ramp, format!("every = {every}")),
        }
    }
}

fn temperature([from, to]: Ramp) -> String {
    if from == to { format!("{from:?}") } else { format!("{{ from = {from:?}, to = {to:?} }}") }
}
