//! `md-cli from-lammps`: data files, and the usual forms of commands.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::from_lammps::{compare, folder, translated};
use crate::support::{Said, Start, Workdir};

const ATOMS: &str = "Atoms # full\n\n1 1 1 0.0 0.5 0.5 0.5\n2 1 2 0.0 1.7 0.5 0.5\n3 1 1 0.0 0.5 1.8 0.5\n4 1 2 0.0 0.5 0.5 1.9\n";

/// Returns a data file with sections before its four atoms of two types.
fn data(sections: &str) -> String {
    format!(
        "made by hand\n\n4 atoms\n2 atom types\n\n0 8 xlo xhi\n0 8 ylo yhi\n0 8 zlo zhi\n\nMasses\n\n1 1.0\n2 2.0\n\n\
         {sections}{ATOMS}"
    )
}

fn script(commands: &str) -> String {
    format!(
        "units lj\natom_style full\npair_style lj/cut 2.5\nread_data data.lammps\n{commands}fix 1 all nve\nrun 20\n"
    )
}

fn with_data(sections: &str, commands: &str) -> Workdir {
    let workdir = folder(&script(commands));
    workdir.write("data.lammps", &data(sections));
    workdir
}

fn table(said: &Said) -> toml::Table {
    said.stdout.parse().unwrap()
}

const DIAGONAL: &str = "Pair Coeffs # lj/cut\n\n1 1.0 1.0\n2 0.5 0.9\n\n";
const ALL: &str = "PairIJ Coeffs # lj/cut\n\n1 1 1.0 1.0 3.0\n1 2 0.9 0.95 3.0\n2 2 0.5 0.9 3.0\n\n";

#[test]
fn coefficients_of_a_data_file_are_taken() {
    let unnamed = DIAGONAL.replace(" # lj/cut", "");
    for (sections, commands, unlike, cutoff) in [
        (DIAGONAL, "", None, 2.5),
        (&unnamed, "", None, 2.5),
        (ALL, "", Some(0.9), 3.0),
        // A later command replaces a coefficient of the file.
        (DIAGONAL, "pair_coeff 1 2 0.7 1.0\n", Some(0.7), 2.5),
        ("", "pair_coeff 1 1 1.0 1.0\npair_coeff 2 2 0.5 0.9\n", None, 2.5),
    ] {
        let workdir = with_data(sections, commands);
        let said = translated(&workdir, "");
        let scenario = table(&said);
        let species = scenario["species"].as_array().unwrap();
        assert_eq!(species.len(), 2, "{said:?}");
        assert_eq!(species[1]["epsilon"].as_float(), Some(0.5));
        let interaction = scenario["interaction"].as_table().unwrap();
        assert_eq!(interaction["cutoff"].as_float(), Some(cutoff));
        assert_eq!(interaction.get("pair").map(|pair| pair[0]["epsilon"].as_float().unwrap()), unlike);
        // The file has no velocities: in LAMMPS the particles start at rest.
        assert_eq!(scenario["system"]["temperature"].as_float(), Some(0.0));
        assert!(!said.stderr.contains("not taken"), "{}", said.stderr);
        workdir.succeed(Start::Threads(1), "run scenario.toml --quiet --output out");
    }
}

#[test]
fn what_a_data_file_has_that_is_not_taken_is_said() {
    for (sections, commands, expected) in [
        (
            "Pair Coeffs # morse\n\n1 1.0 1.0\n2 0.5 0.9\n\n",
            "pair_coeff * * 1.0 1.0\n",
            "differs: `read_data data.lammps`: its pair coefficients are those of `morse`, not of lj/cut",
        ),
        (
            "PairIJ Coeffs # lj/cut\n\n1 1 1.0 1.0 3.0\n1 2 0.9 0.95 2.5\n2 2 0.5 0.9 3.0\n\n",
            "pair_coeff * * 1.0 1.0\n",
            "its pair coefficients 1 2 are not taken: its cutoff is 2.5, that of other pairs 3: here all have the same",
        ),
        (
            DIAGONAL,
            "mass 2 3.0\n",
            "not taken: `mass 2 3.0`: the data file has mass 2 of type 2, and it is that which counts here",
        ),
    ] {
        let said = translated(&with_data(sections, commands), "--partial");
        assert!(said.stderr.replace("\n      ", "").contains(expected), "{expected}: {}", said.stderr);
    }
}

#[test]
fn a_data_file_that_cannot_be_read_is_no_system() {
    for (text, expected) in [
        (None, "No such file"),
        (Some("title\n\n4 atoms\n2 atom types\n0 8 xlo xhi\nAtoms\n\n"), "data.lammps"),
    ] {
        let workdir = folder(&script("pair_coeff 1 1 1.0 1.0\npair_coeff 2 2 0.5 0.9\n"));
        if let Some(text) = text {
            workdir.write("data.lammps", text);
        }
        let said = workdir.call(Start::Plain, "from-lammps in.script");
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        let line = said
            .stderr
            .lines()
            .find(|line| line.contains("in.script:4: not taken: `read_data data.lammps`: "));
        assert!(line.is_some_and(|line| line.contains(expected)), "{}", said.stderr);
    }
}

const LATTICE: &str = "units lj\nlattice fcc 0.8442\nregion box block 0 4 0 4 0 4\ncreate_box 2 box\nregion half block INF INF INF INF 2 3\n\
     create_atoms 1 box\nmass * 1.0\n";

fn with_pairs(pairs: &str) -> String {
    format!("{LATTICE}{pairs}fix 1 all nve\n")
}

#[test]
fn a_cutoff_that_all_pairs_have_may_stand_in_pair_coeff() {
    let cutoff = |pairs: &str| {
        let said = translated(&folder(&with_pairs(pairs)), "");
        assert!(!said.stderr.contains("not taken"), "{said:?}");
        table(&said)["interaction"]["cutoff"].as_float().unwrap()
    };
    assert_eq!(cutoff("pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0 1.122462\n"), 1.122462);
    let each = "pair_style lj/cut 2.5\npair_coeff 1 1 1.0 1.0 2.0\npair_coeff 2 2 1.0 1.0 2.0\n";
    assert_eq!(cutoff(each), 2.0);
    assert_eq!(cutoff(&format!("{each}pair_style lj/cut 3.0\n")), 3.0);
    for (pairs, expected) in [
        (
            "pair_coeff * * 1.0 1.0 2.0\npair_coeff 2 2 1.0 1.0\n",
            "`pair_coeff 2 2 1.0 1.0`: its cutoff is 2.5, that of other pairs 2: here all have the same",
        ),
        (
            "pair_coeff * * 1.0 1.0\npair_coeff 2 1 0.5 1.0\n",
            "`pair_coeff 2 1 0.5 1.0`: the lower type comes first",
        ),
    ] {
        let said = translated(&folder(&with_pairs(&format!("pair_style lj/cut 2.5\n{pairs}"))), "--partial");
        assert!(said.stderr.contains(&format!("not taken: {expected}")), "{expected}: {}", said.stderr);
    }
}

#[test]
fn purely_repulsive_pairs_have_the_energy_of_lammps() {
    let pairs = "pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0 1.122462\npair_modify shift yes\n";
    if compare(&with_pairs(pairs)).is_none() {
        eprintln!("skipped: LAMMPS (lmp) is not installed");
    }
}

#[test]
fn a_chain_of_thermostats_is_as_long_as_in_the_script() {
    let system = with_pairs("pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0\n").replace("fix 1 all nve\n", "");
    for (keywords, chain, difference) in [
        ("temp 1.0 1.0 0.5", 3, None),
        ("temp 1.0 1.0 0.5 tchain 1", 1, None),
        ("tchain 5 drag 0.0 temp 1.0 1.0 0.5 tloop 2", 5, Some("the same ensemble, without its `tloop`")),
    ] {
        let workdir = folder(&format!("{system}fix 1 all nvt {keywords}\nrun 10\n"));
        let said = translated(&workdir, "");
        let integrator = table(&said)["integrator"].clone();
        assert_eq!(integrator["kind"].as_str(), Some("nose-hoover"), "{keywords}");
        assert_eq!(integrator["chain"].as_integer(), Some(chain), "{keywords}");
        assert_eq!(integrator["relaxation"].as_float(), Some(0.5), "{keywords}");
        match difference {
            None => assert_eq!(said.stderr, "", "{keywords}"),
            Some(difference) => assert!(said.stderr.contains(difference), "{keywords}: {}", said.stderr),
        }
    }
    for keywords in ["", "temp 1.0 1.0", "tchain 2", "iso 1.0 1.0 1.0 temp 1.0 1.0 0.5"] {
        let said = folder(&format!("{system}fix 1 all nvt {keywords}\nrun 10\n"));
        let said = said.call(Start::Plain, "from-lammps in.script");
        assert!(said.stderr.contains("not taken: `fix 1 all nvt"), "{keywords}: {said:?}");
    }
}

#[test]
fn what_becomes_of_the_total_momentum_is_true() {
    let pairs = "pair_style lj/cut 2.5\npair_coeff * * 1.0 1.0\n";
    let said = |commands: &str| translated(&folder(&with_pairs(&format!("{pairs}{commands}"))), "--partial");
    let create = "velocity all create 1.0 1 mom no\n";
    let drift = "velocity all set 1.0 0.0 0.0 sum yes units box\n";
    let fix = "fix m all momentum 10 linear 1 1 1\n";
    let stays = "the drift of `velocity all set` stays for the whole run";
    for (commands, expected) in [
        (
            format!("{create}{fix}"),
            "without effect: `fix m all momentum 10 linear 1 1 1`: drawn velocities have no total momentum",
        ),
        (create.to_owned(), "drawn in another way, with a total momentum of 0"),
        (
            format!("{create}{drift}{fix}"),
            "not taken: `fix m all momentum 10 linear 1 1 1`: nothing takes momentum away",
        ),
        (format!("{create}{fix}{drift}"), stays),
        (
            format!("{create}{fix}fix t all langevin 1.0 1.0 1.0 3\nfix 1 all nve\nrun 10\n"),
            "not taken: `run 10`: nothing takes away the total momentum that langevin gives",
        ),
    ] {
        let found = said(&commands).stderr.replace("\n      ", "");
        assert!(found.contains(expected), "{expected}: {found}");
        assert!(!found.contains("is conserved"), "{found}");
    }
    // Drifts are added, and removed by new velocities.
    let drift_of = |commands: &str| {
        let scenario = table(&said(commands));
        scenario["system"].as_table().unwrap().get("drift").map(|drift| drift[0].as_float().unwrap())
    };
    assert_eq!(drift_of(&format!("{create}{drift}{drift}")), Some(2.0));
    assert_eq!(drift_of(&format!("{drift}{create}")), None);
    assert_eq!(drift_of(&format!("{create}{drift}velocity all zero linear\n")), None);
    // LAMMPS uses lattice units by default: 1.67959619138251 by `vcm(all,x)`.
    let found = drift_of("velocity all set 1.0 NULL 0.0 sum yes\n").unwrap();
    assert!((found - 1.679_596_191_382_51).abs() < 1e-13, "{found}");
}

#[test]
fn what_only_looks_needless_is_told() {
    for (command, expected) in [
        ("run_style respa 2 2", "not taken: `run_style respa 2 2`: only verlet can be taken"),
        (
            "reset_timestep 100",
            "without effect: `reset_timestep 100`: steps are counted from the first run on",
        ),
        (
            "thermo_style custom step v_mine",
            "without effect: `thermo_style custom step v_mine`: columns of computes, fixes and variables are left out",
        ),
        ("minimize 1e-4 1e-6 100 1000", "the energy tolerance is left out; particles are at rest behind it"),
    ] {
        let said = translated(&with_data(ALL, &format!("{command}\n")), "--partial");
        assert!(said.stderr.replace("\n      ", " ").contains(expected), "{said:?}");
    }
    let said = translated(&with_data(ALL, "run_style verlet\nthermo_style custom step temp press\n"), "");
    assert!(!said.stderr.contains("_style verlet") && !said.stderr.contains("thermo_style"), "{said:?}");
}
