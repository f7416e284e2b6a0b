//! Tables are valid CSV for any names of species, and `plot` can read them.

use std::collections::HashSet;

use crate::support::{MELT, Start, Workdir};

/// Returns the scenario with species of these names, and all tables that contain species names.
fn with(names: &[&str]) -> String {
    let share = 1.0 / names.len() as f64;
    let species: String = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let fraction = if index == 0 { String::new() } else { format!("fraction = {share}\n") };
            format!("[[species]]\nname = '{name}'\n{fraction}")
        })
        .collect();
    let keys = "rdf = { every = 10, bins = 4, max = 2.5 }\nmsd = { every = 2, origins = 2 }\n\
                vacf = { every = 2, length = 0.04, origins = 2 }\nprofile = [{ axis = \"z\", bins = 3, every = 10 }]\n\
                trajectory = { path = \"traj.extxyz\", every = 2 }\nthermo";
    MELT.replace("thermo", keys) + &species
}

#[test]
fn tables_have_every_column_once_and_every_row_whole() {
    let names = ["A", "B_1", "A,B", "\"", "x\"y,z", "msd", "<&>", "density"];
    let workdir = Workdir::new(&with(&names));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    workdir.succeed(Start::Plain, "analyse out/traj.extxyz --output found");
    let (count, pairs) = (names.len(), names.len() * (names.len() + 1) / 2);
    for folder in ["out", "found"] {
        for (file, columns) in [
            ("rdf.csv", 1 + 2 * pairs + count * count),
            ("msd.csv", 2 + 2 * count),
            ("vacf.csv", 1 + 4 * count),
            ("profile_z.csv", 1 + 2 * (8 + count)),
        ] {
            let text = workdir.read(&format!("{folder}/{file}"));
            // The reader refuses rows of other lengths.
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let header = reader.headers().unwrap().clone();
            assert_eq!(
                (header.len(), header.iter().collect::<HashSet<_>>().len()),
                (columns, columns),
                "{file}"
            );
            assert!(reader.records().all(|row| row.is_ok()), "{file}: {text}");
            let own = |name: &&str| header.iter().any(|column| column.ends_with(&format!("_{name}")));
            assert!(names.iter().all(own), "{file}: {header:?}");
        }
    }
    workdir.succeed(Start::Plain, "plot out");
    let page = workdir.read("out/plot.html");
    for name in ["msd_A,B", "msd_&lt;&amp;&gt;", "msd_B_1"] {
        assert!(page.contains(name), "{name}");
    }
}

#[test]
fn names_that_would_make_two_columns_one_are_refused() {
    for (names, key, column) in [
        (&["A", "A_A"][..], "rdf", "two columns of rdf.csv would both be `n_A_A_A`"),
        (&["X", "error_X"], "vacf", "two columns of vacf.csv would both be `diffusion_error_X`"),
        (&["X", "X_error"], "profile", "two columns of profile_z.csv would both be `density_X_error`"),
    ] {
        let workdir = Workdir::new(&with(names));
        let said = workdir.call(Start::Threads(1), "run melt.toml --quiet --output out");
        assert!(said.code == Some(2) && said.stderr.contains(column), "{said:?}");
        assert!(said.stderr.contains("give other names to those whose names are in it"), "{said:?}");
        let table = format!("{key} = ");
        let without: String =
            with(names).split_inclusive('\n').filter(|line| !line.starts_with(&table)).collect();
        workdir.write("melt.toml", &without);
        workdir.succeed(Start::Threads(1), "run melt.toml --quiet --output out");
    }
}
