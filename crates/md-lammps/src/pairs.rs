//! Species and pairs of a script.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::created::species_name;

/// Masses and Lennard-Jones parameters, with the cutoff.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    pub(super) masses: BTreeMap<usize, f64>,
    /// The current `pair_style`.
    style: Style,
    /// Cutoff of `pair_style`, for pairs without their own.
    cutoff: Option<f64>,
    /// Parameters by types, the lower type first.
    wells: BTreeMap<(usize, usize), Well>,
    pub(super) is_shifted: bool,
    pub(super) has_tail: bool,
    pub(super) mixes_arithmetically: bool,
}

/// Pair style to which the words of `pair_coeff` belong.
#[derive(Debug, Clone, Default, PartialEq)]
enum Style {
    #[default]
    Missing,
    /// `lj/cut`, under this name.
    Taken(String),
    /// Another style, or one that comes too late.
    NotTaken(String),
}

/// Parameters of a pair of types.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Well {
    epsilon: f64,
    sigma: f64,
    cutoff: f64,
}

impl Pairs {
    /// Carries out `pair_style NAME CUTOFF` for Lennard-Jones pairs.
    ///
    /// All pairs have this cutoff from now on. If the name differs from the previous one, the other
    /// pair settings are reset.
    pub(super) fn begin(&mut self, name: &str, cutoff: f64) {
        let style = Style::Taken(name.to_owned());
        if self.style != style {
            *self = Self { masses: std::mem::take(&mut self.masses), style, ..Self::default() };
        }
        self.cutoff = Some(cutoff);
        self.wells.values_mut().for_each(|well| well.cutoff = cutoff);
    }

    /// Records a `pair_style` that is not taken: the coefficients after it belong to it.
    ///
    /// The pairs of earlier runs stay; if there is no run yet, pairs are reset.
    pub(super) fn pass_over(&mut self, name: &str, has_run: bool) {
        if !has_run {
            *self = Self { masses: std::mem::take(&mut self.masses), ..Self::default() };
        }
        self.style = Style::NotTaken(name.to_owned());
    }

    /// Checks that a setting of pairs belongs to Lennard-Jones pairs, and returns their global
    /// cutoff.
    ///
    /// # Errors
    /// The style to which the setting belongs.
    pub(super) fn check_style(&self) -> Result<f64, String> {
        if let Style::NotTaken(name) = &self.style {
            return Err(format!("it belongs to the pair_style `{name}`, which is not taken"));
        }
        self.cutoff.ok_or_else(|| "there is no pair_style before it".to_owned())
    }

    /// Carries out `pair_coeff I J EPSILON SIGMA [CUTOFF]`.
    ///
    /// # Errors
    /// The reason why this is not possible here.
    pub(super) fn set(&mut self, types: [RangeInclusive<usize>; 2], numbers: &[f64]) -> Result<(), String> {
        let global = self.check_style()?;
        let (epsilon, sigma, cutoff) = match *numbers {
            [epsilon, sigma] => (epsilon, sigma, global),
            [epsilon, sigma, cutoff] => (epsilon, sigma, cutoff),
            _ => return Err("epsilon, sigma and perhaps a cutoff were expected".to_owned()),
        };
        let [first, second] = types;
        let is_replaced = |&(i, j): &(usize, usize)| first.contains(&i) && second.contains(&j);
        if let Some(other) = self.common_cutoff().filter(|&other| other != cutoff)
            && !self.wells.keys().all(is_replaced)
        {
            return Err(format!(
                "its cutoff is {cutoff}, that of other pairs {other}: here all have the same"
            ));
        }
        let pairs = |i: usize| second.clone().filter(move |&j| j >= i).map(move |j| (i, j));
        let well = Well { epsilon, sigma, cutoff };
        let mut new = first.flat_map(pairs).map(|pair| (pair, well)).peekable();
        if new.peek().is_none() {
            return Err("the lower type comes first".to_owned());
        }
        self.wells.extend(new);
        Ok(())
    }

    /// Returns the number of pairs and masses.
    pub(super) fn size(&self) -> usize {
        self.wells.len() + self.masses.len()
    }

    /// Returns the cutoff of any pair, as all pairs have the same one.
    fn common_cutoff(&self) -> Option<f64> {
        self.wells.values().next().map(|well| well.cutoff)
    }

    /// Returns the tables of species and interaction, for `types` types.
    ///
    /// # Errors
    /// The `pair_style` or `pair_coeff` that is missing.
    pub(super) fn tables(&self, types: usize) -> Result<String, String> {
        let global = self.cutoff.ok_or_else(|| match &self.style {
            Style::NotTaken(name) => format!("its pair_style `{name}` cannot be taken, only lj/cut"),
            _ => "the script has no pair_style lj/cut".to_owned(),
        })?;
        let cutoff = self.common_cutoff().unwrap_or(global);
        let mut text = String::new();
        for kind in 1..=types {
            let well = self.wells.get(&(kind, kind));
            let Well { epsilon, sigma, .. } =
                well.ok_or_else(|| format!("there is no pair_coeff {kind} {kind}"))?;
            text += &format!("\n[[species]]\nname = \"{}\"\n", species_name(kind));
            if let Some(mass) = self.masses.get(&kind) {
                text += &format!("mass = {mass:?}\n");
            }
            text += &format!("epsilon = {epsilon:?}\nsigma = {sigma:?}\n");
        }
        text += &format!(
            "\n[interaction]\nkind = \"lennard-jones\"\ncutoff = {cutoff:?}\nshift = \"{}\"\nmixing = \"{}\"\n",
            if self.is_shifted { "energy" } else { "none" },
            if self.mixes_arithmetically { "lorentz-berthelot" } else { "geometric" },
        );
        if self.has_tail {
            text += "tail_correction = true\n";
        }
        for (&(i, j), Well { epsilon, sigma, .. }) in
            self.wells.iter().filter(|((i, j), _)| i != j && *j <= types)
        {
            let names = [i, j].map(species_name);
            text += &format!(
                "\n[[interaction.pair]]\nspecies = {names:?}\nepsilon = {epsilon:?}\nsigma = {sigma:?}\n"
            );
        }
        Ok(text)
    }
}
