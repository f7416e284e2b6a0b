//! `[interaction]`

use super::checks::{not_negative, positive};
use crate::scenario::finding::{Checked, Finding};
use crate::scenario::model::{Interaction, PairOverride, Shift, Species};
use crate::scenario::suggest::{listed, nearest};

pub(super) fn check(interaction: &Interaction, species: &[Species]) -> Checked {
    positive("interaction.cutoff", interaction.cutoff, "2.5 is usual, in units of sigma")?;
    if interaction.tail_correction && interaction.shift != Shift::None {
        let message = "`tail_correction` adds what a plain cutoff leaves out, but the potential is shifted";
        let help = "use `shift = \"none\"`, or leave `tail_correction` out";
        let finding = Finding::new("interaction.tail_correction", message, help);
        return Err(finding.or_at("interaction.shift"));
    }
    for (index, pair) in interaction.pair.iter().enumerate() {
        check_pair(index, pair, species)?;
        check_unique(index, &interaction.pair)?;
    }
    Ok(())
}

fn check_pair(index: usize, pair: &PairOverride, species: &[Species]) -> Checked {
    let names = || species.iter().map(|own| own.name.as_str());
    for (side, name) in pair.species.iter().enumerate() {
        if names().any(|known| known == name) {
            continue;
        }
        let help = match nearest(name, names()) {
            Some(near) => format!("did you mean `{near}`? The species are {}", listed(names())),
            None => format!("the species are {}", listed(names())),
        };
        let path = format!("interaction.pair[{index}].species[{side}]");
        return Err(Finding::new(path, format!("there is no species `{name}`"), help));
    }
    let help = "parameters of this pair, in place of the mixed ones";
    not_negative(&format!("interaction.pair[{index}].epsilon"), pair.epsilon, help)?;
    positive(&format!("interaction.pair[{index}].sigma"), pair.sigma, help)
}

fn check_unique(index: usize, pairs: &[PairOverride]) -> Checked {
    let [left, right] = &pairs[index].species;
    let same = |[first, second]: &[String; 2]| {
        (first == left && second == right) || (first == right && second == left)
    };
    let Some(first) = pairs[..index].iter().position(|other| same(&other.species)) else {
        return Ok(());
    };
    let message =
        format!("the pair `{left}`, `{right}` is given twice: interaction.pair[{first}] and [{index}]");
    let help = "keep one; the order of the two names does not matter";
    Err(Finding::new(format!("interaction.pair[{index}].species"), message, help))
}
