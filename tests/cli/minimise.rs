//! `md-cli minimise`: clusters whose lowest energies are known, a crystal that is already at its
//! minimum, and messages.
//!
//! Energies of clusters of Lennard-Jones particles, all pairs: the Cambridge Cluster Database
//! (<https://www-wales.ch.cam.ac.uk/CCD.html>).
#![expect(clippy::unwrap_used, reason = "these are tests")]

use serde_json::Value;

use crate::support::{MELT, Start, Workdir, starts};

const LENGTH: f64 = 40.0;

/// Returns a scenario of a cluster in a box that is so large that no image is within the cutoff.
fn scenario(file: &str) -> String {
    format!(
        "[simulation]\nsteps = 1\n[system]\nfile = {{ path = \"{file}\", format = \"extxyz\" }}\n\
         [interaction]\ncutoff = 12.0\n[output]\ndirectory = \"out\"\n"
    )
}

/// Returns positions around the middle of the box, each shifted by up to `shake`.
fn extxyz(places: &[[f64; 3]], shake: f64) -> String {
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        shake * ((state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    let row = |place: &[f64; 3]| {
        let [x, y, z] = place.map(|x| 0.5 * LENGTH + x + noise());
        format!("A {x:?} {y:?} {z:?}\n")
    };
    let rows: String = places.iter().map(row).collect();
    format!(
        "{}\nLattice=\"{LENGTH} 0 0 0 {LENGTH} 0 0 0 {LENGTH}\" Properties=species:S:1:pos:R:3\n{rows}",
        places.len()
    )
}

/// Returns a particle, and twelve around it.
fn icosahedron() -> Vec<[f64; 3]> {
    let golden = 0.5 * (1.0 + 5_f64.sqrt());
    let scale = 1.1 / (1.0 + golden * golden).sqrt();
    let mut places = vec![[0.0; 3]];
    for (a, b) in [(1.0, golden), (1.0, -golden), (-1.0, golden), (-1.0, -golden)] {
        places.extend([[0.0, a, b], [a, b, 0.0], [b, 0.0, a]].map(|place| place.map(|x| scale * x)));
    }
    places
}

/// Returns the truncated octahedron of fcc: sites around an octahedral hole of the lattice.
fn octahedron() -> Vec<[f64; 3]> {
    let half = 1.1 / 2_f64.sqrt();
    let range = || -2_i32..=2;
    let sites = range().flat_map(|x| range().flat_map(move |y| range().map(move |z| [x, y, z])));
    let taken = sites.filter(|[x, y, z]| (x + y + z) % 2 != 0 && x.abs() + y.abs() + z.abs() <= 3);
    taken.map(|site| site.map(|x| half * f64::from(x))).collect()
}

fn summary(workdir: &Workdir) -> Value {
    serde_json::from_str(&workdir.read("out/summary.json")).unwrap()
}

#[test]
fn clusters_come_to_their_lowest_energies() {
    for (places, energy) in [(icosahedron(), -44.326_801), (octahedron(), -173.928_427)] {
        let workdir = Workdir::new(&scenario("cluster.extxyz"));
        workdir.write("cluster.extxyz", &extxyz(&places, 0.05));
        for start in starts() {
            let said = workdir.succeed(start, "minimise melt.toml --force-tolerance 1e-7");
            let found = summary(&workdir);
            let potential = found["potential_energy"].as_f64().unwrap();
            assert!((potential - energy).abs() < 1e-6, "{} particles: {potential}", places.len());
            assert_eq!(found["converged"], true);
            assert!(found["largest_force"].as_f64().unwrap() <= 1e-7);
            assert!(said.stdout.contains("Minimised after"), "{}", said.stdout);
        }
    }
}

/// The forces vanish by symmetry. The energy is that of the lattice sum at density 0.8442 and
/// cutoff 2.5.
#[test]
fn a_perfect_crystal_stays_what_it_is() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(1), "minimise melt.toml --output out");
    let found = summary(&workdir);
    let atoms = found["atoms"].as_f64().unwrap();
    let energy = found["potential_energy"].as_f64().unwrap() / atoms;
    assert!((energy + 6.773_368_053_3).abs() < 1e-9, "{energy}");
    assert!(found["steps"].as_u64().unwrap() <= 2, "{}", found["steps"]);
    // The final state can be read again, and is at rest.
    let frame = workdir.read("out/minimised.extxyz");
    assert!(frame.starts_with(&format!("{atoms}\n")));
    let again = "[simulation]\nsteps = 1\n[system]\nfile = { path = \"out/minimised.extxyz\", format = \"extxyz\" }\n\
                 [output]\ndirectory = \"again\"\n";
    workdir.write("again.toml", again);
    workdir.succeed(Start::Threads(1), "forces again.toml");
    let forces: Value = serde_json::from_str(&workdir.read("again/summary.json")).unwrap();
    let again = forces["potential_energy"].as_f64().unwrap() / atoms;
    assert!((again - energy).abs() < 1e-12, "{again}");
}

#[test]
fn steps_that_do_not_suffice_are_a_failure_with_its_files() {
    let workdir = Workdir::new(&scenario("cluster.extxyz"));
    workdir.write("cluster.extxyz", &extxyz(&icosahedron(), 0.05));
    let said = workdir.call(Start::Threads(1), "minimise melt.toml --steps 3");
    assert_eq!(said.code, Some(1), "{said:?}");
    let expected =
        "after 3 steps there are forces above 1e-6; more `--steps`, or another `--force-tolerance`";
    assert!(said.stderr.contains(expected), "{said:?}");
    assert_eq!(summary(&workdir)["converged"], false);
    assert!(workdir.read("out/minimised.extxyz").starts_with("13\n"));
}

/// Returns a run that minimises the same cluster.
fn run_of(integrator: &str) -> Workdir {
    let at_rest = scenario("cluster.extxyz").replace("[interaction]", "temperature = 0.0\n[interaction]");
    let workdir = Workdir::new(&format!("{at_rest}{integrator}"));
    workdir.write("cluster.extxyz", &extxyz(&icosahedron(), 0.05));
    workdir
}

#[test]
fn a_run_that_does_not_come_to_its_tolerance_says_so() {
    let workdir = run_of("[integrator]\nkind = \"fire\"\n");
    for start in starts() {
        let said = workdir.succeed(start, "run melt.toml --quiet --steps 3");
        insta::allow_duplicates! { insta::assert_snapshot!(said.stderr, @"warning: the minimisation has not converged: after 3 steps the largest force is 1.030e1, above the tolerance of 1e-6; more `simulation.steps`, or a larger `integrator.force_tolerance`") }
        let found = summary(&workdir);
        assert_eq!(found["ended"], "steps");
        assert_eq!(said.stderr, format!("warning: {}\n", found["warnings"][0].as_str().unwrap()));
        let minimisation = &found["minimisations"][0];
        assert_eq!((&minimisation["converged"], &minimisation["steps"]), (&false.into(), &3.into()));
        assert_eq!(minimisation["force_tolerance"], 1e-6);
    }
    let said = workdir.succeed(Start::Threads(1), "run melt.toml --steps 3000");
    assert_eq!(said.stderr, "");
    let found = summary(&workdir);
    assert_eq!(
        (&found["ended"], &found["minimisations"][0]["converged"]),
        (&"converged".into(), &true.into())
    );
    assert_eq!(found["minimisations"][0]["steps"], found["steps"]);
    assert!(found["minimisations"][0]["largest_force"].as_f64().unwrap() <= 1e-6);
}

/// Also if the run resumes from a checkpoint of a later stage.
#[test]
fn a_stage_that_does_not_come_to_its_tolerance_says_so() {
    let workdir = run_of(
        "checkpoint = { every = 6, keep = 9 }\n[[stage]]\nname = \"relax\"\nsteps = 4\nintegrator = { kind = \"fire\", force_tolerance = 0.001 }\n\
         [[stage]]\nsteps = 4\n[[stage]]\nsteps = 2\n[integrator]\nkind = \"fire\"\nforce_tolerance = 0.01\n",
    );
    workdir.write(
        "melt.toml",
        &workdir.read("melt.toml").replace("[simulation]\nsteps = 1\n", "[simulation]\n"),
    );
    let said = workdir.succeed(Start::Threads(1), "run melt.toml --quiet");
    insta::assert_snapshot!(said.stderr, @r"
    warning: the minimisation of stage `relax` has not converged: after 4 steps the largest force is 9.826e0, above the tolerance of 1e-3; more `stage[0].steps`, or a larger `stage[0].integrator.force_tolerance`
    warning: the minimisation of stage 2 has not converged: after 4 steps the largest force is 7.299e0, above the tolerance of 1e-2; more `stage[1].steps`, or a larger `integrator.force_tolerance`
    warning: the minimisation of stage 3 has not converged: after 2 steps the largest force is 6.015e0, above the tolerance of 1e-2; more `stage[2].steps`, or a larger `integrator.force_tolerance`
    ");
    let whole = summary(&workdir);
    let again = workdir.succeed(Start::Threads(1), "run melt.toml --quiet --resume out/checkpoint-6.mdc");
    // A minimisation that ended before the checkpoint has already been reported.
    assert!(again.stderr.starts_with("warning: the minimisation of stage 2 has"), "{}", again.stderr);
    let found = summary(&workdir);
    for key in ["minimisations", "warnings", "ended"] {
        assert_eq!(found[key], whole[key], "{key}");
    }
    assert_eq!(found["warnings"].as_array().unwrap().len(), 3);
}

/// Rounding of forces in mixed precision is larger than small tolerances, so more steps would not
/// help.
#[test]
fn a_minimisation_in_mixed_precision_is_one_in_double() {
    let gas = "[simulation]\nsteps = 10\nseed = 3\n[system]\ngas = { atoms = 120, box = [6.5, 7.0, 6.5], minimal_distance = 0.7 }\n\
               temperature = 0.0\n[interaction]\nshift = \"force\"\n[neighbor]\nprecision = \"mixed\"\n";
    let workdir = Workdir::new(gas);
    let said = workdir.succeed(Start::Threads(2), "minimise melt.toml --quiet --force-tolerance 1e-6");
    let note = "note: `minimise` computes in double precision: rounding in mixed precision leaves forces above small tolerances\n";
    assert_eq!(said.stderr, note);
    let found = summary(&workdir);
    assert_eq!((&found["converged"], &found["precision"]), (&true.into(), &"double".into()));
    assert!(found["largest_force"].as_f64().unwrap() <= 1e-6, "{found}");
}

#[test]
fn a_run_in_mixed_precision_that_does_not_converge_says_that_rounding_may_be_why() {
    let workdir = run_of("[integrator]\nkind = \"fire\"\n[neighbor]\nprecision = \"mixed\"\n");
    let said = workdir.succeed(Start::Threads(1), "run melt.toml --quiet --steps 3");
    let advice = "or a larger `integrator.force_tolerance`; or `neighbor.precision = \"double\"`, since rounding in mixed precision \
                  may keep forces above it\n";
    assert!(said.stderr.ends_with(advice), "{}", said.stderr);
}
