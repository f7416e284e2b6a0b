//! LAMMPS data files whose heading `Atoms` has no style.

use crate::analysis::{Columns, assert_near};
use crate::support::{Start, Workdir, error_everywhere, starts};

const DATA: &str = "two neutral particles, atom_style charge, heading without a comment

2 atoms
1 atom types

0 9 xlo xhi
0 9 ylo yhi
0 9 zlo zhi

Masses

1 1.0

Atoms

1 1 0.0 2.0 3.0 4.0
2 1 0.0 3.2 3.0 4.0
";

const SCRIPT: &str = "units lj
atom_style charge
read_data data.bare
pair_style lj/cut 2.5
pair_coeff * * 1.0 1.0
velocity all create 1.0 99
fix 1 all nve
run 10
";

#[test]
fn the_style_is_that_of_the_script() {
    let workdir = Workdir::new("");
    workdir.write("data.bare", DATA);
    workdir.write("in.bare", SCRIPT);
    let scenario = workdir.succeed(Start::Plain, "from-lammps in.bare").stdout;
    let file = "file = { path = \"data.bare\", format = \"lammps-data\", style = \"charge\" }";
    assert!(scenario.contains(file), "{scenario}");
    workdir.write("melt.toml", &scenario);
    // LAMMPS: one pair at 1.2.
    let pair = 4.0 * (1.2_f64.powi(-12) - 1.2_f64.powi(-6));
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml --output o");
        assert!(said.stderr.contains("left out of the file: charges"), "{said:?}");
        let energies = Columns::read(&workdir, "o/thermo.csv").of("potential_per_atom");
        assert_near(&energies[..1], &[pair / 2.0], 1e-12, "energy per particle");
    }
    // A heading with the style needs no key. A heading with another style contradicts the script.
    workdir.write("data.bare", &DATA.replace("Atoms", "Atoms # charge"));
    let scenario = workdir.succeed(Start::Plain, "from-lammps in.bare").stdout;
    assert!(scenario.contains("format = \"lammps-data\" }"), "{scenario}");
    for (data, script, expected) in [
        (
            DATA.replace("Atoms", "Atoms # molecular"),
            SCRIPT.to_owned(),
            "the heading is `Atoms # molecular`, but the style is given as `charge`: one of the two is wrong",
        ),
        (DATA.to_owned(), SCRIPT.replace("charge", "full"), "lines of 6 columns are not of the style `full`"),
        (
            DATA.to_owned(),
            SCRIPT.replace("atom_style charge\n", ""),
            "the heading `Atoms` names no style, and lines of 6 columns may be `charge` or `molecular`",
        ),
    ] {
        workdir.write("data.bare", &data);
        workdir.write("in.bare", &script);
        let said = workdir.call(Start::Plain, "from-lammps in.bare");
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.stderr.contains(expected), "{said:?}");
    }
}

#[test]
fn a_key_names_the_style() {
    let scenario = |keys: &str| {
        format!(
            "[simulation]\nsteps = 1\n[system]\nfile = {{ path = \"data.bare\", {keys} }}\ntemperature = 0.0\n"
        )
    };
    let workdir = Workdir::new(&scenario("format = \"lammps-data\", style = \"charge\""));
    workdir.write("data.bare", DATA);
    for start in starts() {
        workdir.succeed(start, "forces melt.toml --output o");
    }
    for (keys, expected) in [
        (
            "format = \"lammps-data\"",
            "data.bare:14: the heading `Atoms` names no style, and lines of 6 columns may be `charge` or `molecular`: name the \
             style in the heading, as in `Atoms # full`, or by `system.file.style`",
        ),
        ("format = \"lammps-data\", style = \"sphere\"", "`system.file.style` cannot be \"sphere\""),
        ("format = \"extxyz\", style = \"charge\"", "only a LAMMPS data file has an atom style"),
    ] {
        workdir.write("melt.toml", &scenario(keys));
        let text = error_everywhere(&workdir, "forces melt.toml", &starts());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.starts_with("exit code 2") && words.contains(expected), "{words}");
    }
}
