//! Columns of tables with names that contain names of species.

use std::collections::HashSet;

use md_core::analysis::PairCounts;

use crate::known_file::KnownFile;

/// Columns of the table of a profile other than those of species.
const OF_SLABS: [&str; 8] = [
    "density",
    "temperature",
    "pressure_xx",
    "pressure_yy",
    "pressure_zz",
    "velocity_x",
    "velocity_y",
    "velocity_z",
];

/// Returns the columns of rdf.csv.
pub fn rdf(names: &[String]) -> Vec<String> {
    let pairs = || PairCounts::pairs(names.len());
    let column = |kind: &str, [a, b]: [usize; 2]| format!("{kind}_{}_{}", names[a], names[b]);
    let both_orders = pairs().flat_map(|[a, b]| [Some([a, b]), (a != b).then_some([b, a])]).flatten();
    let mut columns = vec!["r".to_owned()];
    columns.extend(pairs().map(|pair| column("g", pair)));
    columns.extend(both_orders.map(|pair| column("n", pair)));
    columns.extend(pairs().map(|pair| column("error", pair)));
    columns
}

/// Returns the columns of msd.csv.
pub fn msd(names: &[String]) -> Vec<String> {
    let columns = |kind: &'static str| names.iter().map(move |name| format!("{kind}_{name}"));
    let time = ["time".to_owned()].into_iter();
    time.chain(columns("msd")).chain(columns("error")).chain(["origins".to_owned()]).collect()
}

/// Returns the columns of vacf.csv.
pub fn vacf(names: &[String]) -> Vec<String> {
    const KINDS: [&str; 4] = ["vacf", "error", "diffusion", "diffusion_error"];
    let columns = names.iter().flat_map(|name| KINDS.map(|kind| format!("{kind}_{name}")));
    ["time".to_owned()].into_iter().chain(columns).collect()
}

/// Returns the column of the density of a species in the table of a profile.
pub fn density(name: &str) -> String {
    format!("density_{name}")
}

/// Returns the column of the error of another column in the table of a profile.
pub fn error_of(column: &str) -> String {
    format!("{column}_error")
}

/// Returns the first column name that would occur twice in a table with species of these names, or
/// `None`.
pub fn clash(file: KnownFile, names: &[String]) -> Option<String> {
    let columns = match file {
        KnownFile::RDF => rdf(names),
        KnownFile::MSD => msd(names),
        KnownFile::VACF => vacf(names),
        KnownFile::VISCOSITY => return None,
        // With one species, the total density is that of the species.
        _ => {
            let densities = names.iter().filter(|_| names.len() > 1).map(|name| density(name));
            let means: Vec<String> = OF_SLABS.map(str::to_owned).into_iter().chain(densities).collect();
            let errors = means.iter().map(|column| error_of(column)).collect::<Vec<_>>();
            [means, errors].concat()
        }
    };
    let mut seen = HashSet::new();
    columns.iter().find(|column| !seen.insert(column.as_str())).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_make_two_columns_equal_are_found() {
        let found = |file, names: &[&str]| {
            clash(file, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let profile = KnownFile::PROFILES[2];
        for file in [KnownFile::RDF, KnownFile::MSD, KnownFile::VACF, profile] {
            assert_eq!(found(file, &["A", "B_1", "A,B", "\"", "msd", "x"]), None);
        }
        // This is n of `A_A` around `A`, and n of `A` around `A_A`.
        assert_eq!(found(KnownFile::RDF, &["A", "A_A"]).as_deref(), Some("n_A_A_A"));
        assert_eq!(found(KnownFile::RDF, &["A", "A_A", "A_A_A"]).as_deref(), Some("g_A_A_A_A"));
        assert_eq!(found(KnownFile::VACF, &["X", "error_X"]).as_deref(), Some("diffusion_error_X"));
        assert_eq!(found(profile, &["X", "X_error"]).as_deref(), Some("density_X_error"));
        assert_eq!(found(profile, &["A", "error"]).as_deref(), Some("density_error"));
        assert_eq!(found(KnownFile::MSD, &["X", "error_X", "X_error"]), None);
    }
}
