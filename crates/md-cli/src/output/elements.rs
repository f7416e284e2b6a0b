//! Chemical symbols, for readers of trajectories that want atomic numbers.

/// In the order of the atomic numbers, from 1.
const SYMBOLS: [&str; 118] = [
    "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K",
    "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu",
    "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra",
    "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db",
    "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
];

/// ASE's number for a particle that is no chemical element.
pub(super) const NO_ELEMENT: usize = 0;

/// Atomic numbers of species, if every name is a chemical symbol. Names such as "A", "B" are labels, and it would be
/// odd to call the second of them boron.
pub(super) fn atomic_numbers<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let known: Option<Vec<usize>> = names.clone().map(atomic_number).collect();
    known.unwrap_or_else(|| names.map(|_| NO_ELEMENT).collect())
}

fn atomic_number(name: &str) -> Option<usize> {
    SYMBOLS.iter().position(|symbol| *symbol == name).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_elements_only_together() {
        assert_eq!(atomic_numbers(["Ar", "Kr"].into_iter()), [18, 36]);
        assert_eq!(atomic_numbers(["Og"].into_iter()), [118]);
        assert_eq!(atomic_numbers(["A", "B"].into_iter()), [NO_ELEMENT; 2]);
    }
}
