//! What a script says of species and pairs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::system::species_name;

/// Masses, wells and how they are cut off.
#[derive(Debug, Clone, Default)]
pub(super) struct Pairs {
    pub(super) masses: BTreeMap<usize, f64>,
    /// Of `pair_style`, for pairs that have none of their own.
    cutoff: Option<f64>,
    /// By types, the lower one first.
    wells: BTreeMap<(usize, usize), Well>,
    pub(super) is_shifted: bool,
    pub(super) has_tail: bool,
    pub(super) mixes_arithmetically: bool,
}

/// Parameters of a pair of types.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Well {
    epsilon: f64,
    sigma: f64,
    cutoff: f64,
}

impl Pairs {
    /// `pair_style lj/cut CUTOFF`, which all pairs have from now on, whatever they had before.
    pub(super) fn cut_off_at(&mut self, cutoff: f64) {
        self.cutoff = Some(cutoff);
        self.wells.values_mut().for_each(|well| well.cutoff = cutoff);
    }

    /// `pair_coeff I J EPSILON SIGMA [CUTOFF]`
    ///
    /// # Errors
    /// Why that cannot be done here.
    pub(super) fn set(&mut self, types: [RangeInclusive<usize>; 2], numbers: &[f64]) -> Result<(), String> {
        let global = self.cutoff.ok_or("there is no pair_style before it")?;
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

    /// That of any pair, since all have the same.
    fn common_cutoff(&self) -> Option<f64> {
        self.wells.values().next().map(|well| well.cutoff)
    }

    /// The tables of species and interaction, for so many types.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn tables(&self, types: usize) -> Result<String, String> {
        let global = self.cutoff.ok_or("the script has no pair_style lj/cut")?;
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
