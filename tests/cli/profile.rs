//! `output.profile`: comparison with LAMMPS, sums that equal those of the whole system, and invalid
//! settings.

use serde_json::Value;

use crate::analysis::{Columns, assert_near, mixture, ranks};
use crate::support::{MELT, Start, Workdir, error, numbers, p2p_available, table};

#[test]
fn slabs_are_those_of_lammps() {
    let names = ["share", "atoms", "density", "temperature", "velocity_x", "velocity_y", "velocity_z"];
    let names: [&str; 11] =
        [&names[..], &["stress_xx", "stress_yy", "stress_zz", "density_A"]].concat().try_into().unwrap();
    let rows: Vec<[f64; 11]> = table("analysis864/profile.csv", names).iter().map(numbers).collect();
    let column = |at: usize| -> Vec<f64> { rows.iter().map(|row| row[at]).collect() };
    let workdir = mixture();
    for start in ranks() {
        let keys = "--set output.profile=[{axis=\"z\",bins=8,every=20,start=20}]";
        workdir.succeed(start, &format!("run melt.toml --quiet --output out {keys}"));
        let found = Columns::read(&workdir, "out/profile_z.csv");
        let length = 6.0 * (4.0_f64 / 0.8).cbrt();
        assert_near(
            &found.of("z"),
            &column(0).iter().map(|share| share * length).collect::<Vec<_>>(),
            1e-10,
            "z",
        );
        let of_slabs = ["density", "temperature", "velocity_x", "velocity_y", "velocity_z"];
        for (at, name) in of_slabs.iter().enumerate() {
            assert_near(&found.of(name), &column(2 + at), 1e-10, name);
        }
        assert_near(&found.of("density_A"), &column(10), 1e-10, "density_A");
        let both = found.of("density_A").into_iter().zip(found.of("density_B")).map(|(a, b)| a + b);
        assert_near(&both.collect::<Vec<_>>(), &column(2), 1e-10, "density_B");
        for (at, name) in ["pressure_xx", "pressure_yy", "pressure_zz"].iter().enumerate() {
            // LAMMPS gives the mean over atoms of the negative stress times volume.
            let pressure: Vec<f64> = rows.iter().map(|row| -row[7 + at] * row[2]).collect();
            assert_near(&found.of(name), &pressure, 1e-9, name);
        }
    }
}

/// The mean over slabs of densities and pressures is that of the whole system, however the
/// computation of pairs is divided. The same holds for the kinetic energy, weighted by the number
/// of particles.
#[test]
fn slabs_add_up_to_the_system() {
    let keys = "profile = [{ axis = \"x\", bins = 7, every = 1 }, { axis = \"y\", bins = 1, every = 1 }]\n\
         averages = { start = 0 }\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys).replace("every = 7", "every = 1"));
    let protocol = "--set system.lattice.cells=[4,4,12] --set neighbor.method=cells --set parallel.partition=stripe --set parallel.protocol";
    let mut calls = vec![
        (Start::Threads(1), String::new()),
        (Start::Threads(2), "--set parallel.shell=full".to_owned()),
        (Start::Threads(3), "--set parallel.shell=eighth --set neighbor.precision=mixed".to_owned()),
        (Start::Threads(2), "--set parallel.exchange=staged --threads 2".to_owned()),
        (Start::Threads(2), "--set neighbor.method=direct-sum --set parallel.partition=scattered".to_owned()),
        (Start::Threads(2), "--set integrator={kind=\"langevin\",temperature=1.0,friction=1.0}".to_owned()),
    ];
    if p2p_available() {
        calls.extend(["simple", "dist"].map(|name| (Start::Mpirun(2), format!("{protocol}={name}"))));
    }
    for (start, options) in calls {
        workdir.succeed(start, &format!("run melt.toml --quiet --output out {options}"));
        let summary: Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
        let average = |name: &str| summary["averages"][name]["mean"].as_f64().unwrap();
        let near = |found: f64, expected: f64, what: &str| {
            let tolerance = if options.contains("mixed") { 1e-5 } else { 1e-10 };
            let near = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
            assert!(near, "{options} {what}: {found}, expected {expected}");
        };
        for file in ["out/profile_x.csv", "out/profile_y.csv"] {
            let found = Columns::read(&workdir, file);
            let slabs = found.of("density").len() as f64;
            for name in ["density", "pressure_xx", "pressure_yy", "pressure_zz"] {
                near(found.of(name).iter().sum::<f64>() / slabs, average(name), name);
            }
            let weighted = |name: &str| {
                let terms = found.of(name).into_iter().zip(found.of("density"));
                terms.map(|(value, density)| value * density).sum::<f64>() / slabs / average("density")
            };
            // Over 3 N degrees of freedom.
            near(1.5 * weighted("temperature"), average("kinetic_per_atom"), "temperature");
            if !options.contains("langevin") {
                near(weighted("velocity_y"), 0.0, "velocity");
            }
            assert_eq!(found.names.len(), 17, "{:?}", found.names);
        }
    }
}

/// Errors are the spread of the samples. For a slab that fills the box, the density is constant and
/// its error is 0, and the error of the temperature is that of thermo.csv.
#[test]
fn errors_are_the_spread_of_looks() {
    let keys = "profile = [{ axis = \"z\", bins = 1, every = 5, start = 5 }]\nthermo";
    let workdir = Workdir::new(&MELT.replace("thermo", keys).replace("every = 7", "every = 5"));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    let found = Columns::read(&workdir, "out/profile_z.csv");
    assert_eq!(found.of("density_error"), [0.0]);
    let thermo = Columns::read(&workdir, "out/thermo.csv");
    let rows = &thermo.of("temperature")[1..];
    let mean = rows.iter().sum::<f64>() / 4.0;
    let squares: f64 = rows.iter().map(|row| (row - mean).powi(2)).sum();
    // thermo.csv counts 3 N - 3 degrees of freedom.
    let expected = (squares / 3.0 / 4.0).sqrt() * 599.0 / 600.0;
    let error = found.of("temperature_error")[0];
    assert!((error - expected).abs() <= 1e-9 * expected, "{error}, expected {expected}");
}

/// In two dimensions vectors have two components, and densities refer to an area.
#[test]
fn layers_have_two_dimensions() {
    let layer = "[simulation]\nsteps = 4\ndimension = 2\n[system]\n\
                 lattice = { kind = \"sq\", density = 0.5, cells = [8, 8, 1] }\ntemperature = 1.0\n\
                 [output]\nprofile = [{ axis = \"x\", bins = 4, every = 2 }]\n";
    let workdir = Workdir::new(layer);
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet --output out");
    let found = Columns::read(&workdir, "out/profile_x.csv");
    let names: Vec<&str> = found.names.iter().map(String::as_str).take(7).collect();
    assert_eq!(
        names,
        ["x", "density", "temperature", "pressure_xx", "pressure_yy", "velocity_x", "velocity_y"]
    );
    assert_near(&[found.of("density").iter().sum::<f64>()], &[2.0], 1e-12, "density");
    // Empty slabs have a density, but no temperature.
    let call =
        "run melt.toml --quiet --output out --set output.profile=[{axis=\"x\",bins=64,every=2}] --steps 1";
    workdir.succeed(Start::Threads(2), call);
    let found = Columns::read(&workdir, "out/profile_x.csv");
    let empty =
        found.of("density").into_iter().zip(found.of("temperature")).filter(|(density, _)| *density == 0.0);
    let empty: Vec<f64> = empty.map(|(_, temperature)| temperature).collect();
    workdir.succeed(Start::Plain, "plot out");
    assert!(empty.len() >= 48 && empty.iter().all(|temperature| temperature.is_nan()), "{empty:?}");
}

#[test]
fn what_cannot_be_a_profile() {
    let workdir = Workdir::new(MELT);
    for (keys, message, help) in [
        (
            "{axis=\"z\",every=0}",
            "`output.profile[0].every` must be at least 1, found 0",
            "steps between two looks",
        ),
        (
            "{axis=\"z\",every=5,bins=0}",
            "`output.profile[0].bins` must be at least 1, found 0",
            "number of slabs",
        ),
        (
            "{axis=\"z\",every=5},{axis=\"z\",every=7}",
            "two profiles across z would be one file, `profile_z.csv`",
            "one profile per axis",
        ),
        (
            "{axis=\"x\",every=5,bins=1000},{axis=\"z\",every=5,bins=501}",
            "`output.profile[1].bins` is 501, more than a checkpoint can hold",
            "at most 500",
        ),
    ] {
        let text = error(&workdir, &format!("run melt.toml --set output.profile=[{keys}]"), Start::Plain);
        let (first, _) = text.split_once("\n   ╭─").unwrap();
        assert_eq!(first, format!("exit code 2\nerror: × {message}"));
        assert!(text.trim_end().ends_with(&format!("  help: {help}")), "{text}");
    }
    let flat = "--set simulation.dimension=2 --set system.lattice={kind=\"sq\",density=0.5,cells=[8,8,1]}";
    let call = format!("run melt.toml {flat} --set output.profile=[{{axis=\"z\",every=5}}]");
    let text = error(&workdir, &call, Start::Plain);
    let message = "a 2D simulation is one layer in z: there is no profile across it";
    assert!(text.starts_with(&format!("exit code 2\nerror: × {message}\n")), "{text}");
    assert!(text.trim_end().ends_with("  help: \"x\" or \"y\""), "{text}");
}
