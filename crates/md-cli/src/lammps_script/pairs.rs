//! What a script says of species and pairs.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::system::species_name;

/// Masses, wells and how they are cut off.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) masses: BTreeMap<usize, f64>,
    /// Of `pair_style`.
    pub(super) cutoff: Option<f64>,
    /// Epsilon and sigma by types, the lower one first.
    wells: BTreeMap<(usize, usize), [f64; 2]>,
    pub(super) is_shifted: bool,
    pub(super) has_tail: bool,
    pub(super) mixes_arithmetically: bool,
}

impl Pairs {
    /// `pair_coeff I J EPSILON SIGMA [CUTOFF]`
    ///
    /// # Errors
    /// Why that cannot be done here.
    pub(super) fn set(&mut self, types: [RangeInclusive<usize>; 2], numbers: &[f64]) -> Result<(), String> {
        let global = self.cutoff.ok_or("there is no pair_style before it")?;
        let (well, cutoff) = match *numbers {
            [epsilon, sigma] => ([epsilon, sigma], global),
            [epsilon, sigma, cutoff] => ([epsilon, sigma], cutoff),
            _ => return Err("epsilon, sigma and perhaps a cutoff were expected".to_owned()),
        };
        // The only pair there is may have the cutoff for all.
        if cutoff != global {
            return Err(format!(
                "its cutoff is {cutoff}, that of all pairs {global}: here all have the same"
            ));
        }
        let [first, second] = types;
        for i in first {
            for j in second.clone().filter(|&j| j >= i) {
                self.wells.insert((i, j), well);
            }
        }
        Ok(())
    }

    /// The tables of species and interaction, for so many types.
    ///
    /// # Errors
    /// What is missing.
    pub(super) fn tables(&self, types: usize) -> Result<String, String> {
        let cutoff = self.cutoff.ok_or("the script has no pair_style lj/cut")?;
        let mut text = String::new();
        for kind in 1..=types {
            let well = self.wells.get(&(kind, kind));
            let [epsilon, sigma] = well.ok_or_else(|| format!("there is no pair_coeff {kind} {kind}"))?;
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
        for (&(i, j), [epsilon, sigma]) in self.wells.iter().filter(|((i, j), _)| i != j && *j <= types) {
            let names = [i, j].map(species_name);
            text += &format!(
                "\n[[interaction.pair]]\nspecies = {names:?}\nepsilon = {epsilon:?}\nsigma = {sigma:?}\n"
            );
        }
        Ok(text)
    }
}
