//! Checks of pairs of species that several kinds share.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Checked, Finding};
use crate::species::Species;
use crate::wording::{listed, nearest};

/// Returns the indices of two species, whose names have been checked.
pub(super) fn indices(names: &[String; 2], species: &[Species]) -> [usize; 2] {
    let index = |name: &String| species.iter().position(|own| own.name == *name).unwrap_or(usize::MAX);
    [index(&names[0]), index(&names[1])]
}

/// Refuses `epsilon` and `sigma` of species, which potentials other than Lennard-Jones would
/// ignore.
pub(super) fn expect_no_wells(species: &[Species], kind: &str, parameters: &str) -> Checked {
    for (index, own) in species.iter().enumerate() {
        for (key, value) in [("epsilon", own.epsilon), ("sigma", own.sigma)] {
            if value != 1.0 {
                let path = format!("species[{index}].{key}");
                let message =
                    format!("`{path}` belongs to kind `lennard-jones`, but the interaction is `{kind}`");
                let help = format!("leave it out; {parameters} of [interaction] are for all species");
                return Err(Finding::new(path, message, help).at_key().or_at("interaction.kind"));
            }
        }
    }
    Ok(())
}

/// Checks that pairs consist of existing species and that no pair is given twice.
pub(super) fn check_names<'p>(pairs: impl Iterator<Item = &'p [String; 2]>, species: &[Species]) -> Checked {
    let names = || species.iter().map(|own| own.name.as_str());
    let known: BTreeSet<&str> = names().collect();
    let mut before = BTreeMap::new();
    for (index, pair @ [left, right]) in pairs.enumerate() {
        let unknown = pair.iter().enumerate().find(|(_, name)| !known.contains(name.as_str()));
        if let Some((side, name)) = unknown {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`? The species are {}", listed(names())),
                None => format!("the species are {}", listed(names())),
            };
            let path = format!("interaction.pair[{index}].species[{side}]");
            return Err(Finding::new(path, format!("there is no species `{name}`"), help));
        }
        if let Some(first) = before.insert([left.min(right), left.max(right)], index) {
            let message = format!(
                "the pair `{left}`, `{right}` is given twice: interaction.pair[{first}] and [{index}]"
            );
            let help = "keep one; the order of the two names does not matter";
            return Err(Finding::new(format!("interaction.pair[{index}].species"), message, help));
        }
    }
    Ok(())
}
