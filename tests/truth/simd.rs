//! Every instruction set of this CPU computes the same forces.

use crate::support::{
    Backend, CLUSTERS, Configuration, Outcome, Pair, Random, Run, Shift, assert_close, assert_forces,
};
use md_core::{Dimension, SimdLevel};

/// Settings for lists without spare room.
const TIGHT: [&str; 2] = ["neighbor.skin=0.0", "neighbor.rebuild.every=1"];

/// A lattice of different particles, where no force vanishes.
const MIXTURE: &str = r#"
[simulation]
steps = 1
seed = 3
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [5, 5, 5] }
[[species]]
name = "A"
"#;

/// Returns a mixture of `species` species.
fn mixture(species: usize) -> String {
    let of = |n: usize| {
        let (fraction, sigma) = (0.8 / species as f64, 1.0 - 0.2 * n as f64 / species as f64);
        format!("[[species]]\nname = \"B{n}\"\nfraction = {fraction}\nsigma = {sigma}\nepsilon = 0.7\n")
    };
    MIXTURE.to_owned() + &(1..species).map(of).collect::<String>()
}

const SHELLS: [&str; 3] = ["full", "half", "eighth"];

/// How the forces are computed, and the allowed errors.
#[derive(Clone, Copy)]
struct Path {
    method: &'static str,
    precision: &'static str,
    /// Relative error between levels.
    between: f64,
    /// Relative error of all levels.
    of_all: f64,
    /// Difference in pairs per atom. In mixed precision, a pair at exactly the cutoff may be inside
    /// or outside.
    pairs_apart: f64,
}

const DOUBLE: Path =
    Path { method: "clusters", precision: "double", between: 1e-12, of_all: 1e-11, pairs_apart: 0.0 };
const PATHS: [Path; 3] = [
    DOUBLE,
    Path { method: "cells", ..DOUBLE },
    Path { method: "clusters", precision: "mixed", between: 3e-6, of_all: 3e-6, pairs_apart: 0.01 },
];

fn at(
    level: &str,
    configuration: &Configuration,
    path: Path,
    shell: &str,
    shift: Shift,
    ranks: usize,
) -> Outcome {
    let Path { method, precision, .. } = path;
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz()).set_all(TIGHT);
    let run = run.set(format!("parallel.shell={shell:?}")).set(format!("neighbor.method={method:?}"));
    let run = run.set(format!("neighbor.precision={precision:?}"));
    let run = run.set(format!("interaction.shift={:?}", shift.name()));
    let run = run.environment("MD_SIMD", level);
    let outcome = run.on(Backend::Local, ranks).succeed();
    assert_eq!(outcome.summary()["simd"], level, "{}: the instruction set used", outcome.case());
    outcome
}

#[test]
fn every_level_gives_the_same_forces() {
    let lengths = [12.0, 9.0, 10.5];
    let configuration =
        Configuration::clustered(&mut Random::new(50), lengths, [true; 3], 500, Dimension::Three);
    let levels: Vec<&str> = SimdLevel::available().map(SimdLevel::name).collect();
    assert!(levels.contains(&SimdLevel::detect().name()), "{levels:?}");
    for (shell, shift) in SHELLS.into_iter().zip([Shift::None, Shift::Energy, Shift::Force]) {
        let expected = configuration.sums(Pair { cutoff: 2.5, shift });
        for (path, ranks) in PATHS.into_iter().flat_map(|path| [1, 2, 8].map(|ranks| (path, ranks))) {
            let Path { between, of_all, pairs_apart, .. } = path;
            let reference = at(levels[0], &configuration, path, shell, shift, ranks);
            for level in &levels {
                let outcome = at(level, &configuration, path, shell, shift, ranks);
                let case = outcome.case();
                assert_forces(&outcome.forces(), &reference.forces(), expected.scale, between, case);
                // All levels could be wrong in the same way.
                assert_forces(&outcome.forces(), &expected.forces, expected.scale, of_all, case);
                for key in ["potential_energy", "virial"] {
                    let (actual, wanted) = (outcome.number(key), reference.number(key));
                    assert_close(actual, wanted, between, &format!("{case}: {key}"));
                }
                let pairs = |outcome: &Outcome| outcome.number("useful_pairs_per_atom");
                let apart = (pairs(&outcome) - pairs(&reference)).abs();
                assert!(apart <= pairs_apart, "{case}: pairs within the cutoff");
            }
        }
    }
}

/// The largest numbers of species that fit into registers in f64 and in f32, and more than these,
/// also in two dimensions, against the direct sum over all pairs.
#[test]
fn several_species_at_every_level() {
    let flat = "simulation.dimension=2";
    let square = "system.lattice={ kind = \"hex\", density = 0.86, cells = [12, 7, 1] }";
    for (species, settings) in [(2, &[][..]), (4, &[flat, square]), (5, &[]), (8, &[]), (11, &[])] {
        let run =
            Run::new("forces", mixture(species)).set_all(settings.iter().copied()).on(Backend::Local, 2);
        let expected = run.clone().set("neighbor.method=\"direct-sum\"").succeed();
        let scale =
            expected.forces().iter().flat_map(|row| row.force).fold(0.0, |most: f64, f| most.max(f.abs()));
        for level in SimdLevel::available().map(SimdLevel::name) {
            for Path { method, precision, .. } in PATHS {
                // Relative to the largest net force. Pair forces are several times as large.
                let allowed = if precision == "mixed" { 1e-5 } else { 1e-11 };
                let run =
                    run.clone().environment("MD_SIMD", level).set(format!("neighbor.method={method:?}"));
                let outcome = run.set(format!("neighbor.precision={precision:?}")).succeed();
                assert_forces(&outcome.forces(), &expected.forces(), scale, allowed, outcome.case());
            }
        }
    }
}

/// Without `neighbor.shape` and `MD_SIMD`, the level is the best one for the method.
#[test]
fn the_best_level_is_the_default() {
    let configuration =
        Configuration::clustered(&mut Random::new(51), [9.0; 3], [true; 3], 50, Dimension::Three);
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz()).set_all(TIGHT);
    let run = run.on(Backend::Local, 1).environment("MD_SIMD", "");
    for (method, best) in [("clusters", SimdLevel::for_clusters()), ("cells", SimdLevel::detect())] {
        let outcome = run.clone().set(format!("neighbor.method={method:?}")).succeed();
        assert_eq!(outcome.summary()["simd"], best.name(), "{method}");
    }
}

/// The scenario's setting takes precedence over the environment's. A measured choice can be
/// repeated by its name.
#[test]
fn a_level_by_name_or_by_measuring() {
    let configuration =
        Configuration::clustered(&mut Random::new(51), [9.0; 3], [true; 3], 50, Dimension::Three);
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz()).set_all(TIGHT);
    let run = run.on(Backend::Local, 2);
    let taken = |outcome: &Outcome| ["simd", "shape"].map(|key| outcome.summary()[key].clone());
    let shape = |name: &str| run.clone().set(format!("neighbor.shape={name:?}"));
    let named = shape(SimdLevel::Baseline.name()).environment("MD_SIMD", SimdLevel::detect().name());
    assert_eq!(taken(&named.succeed()), [SimdLevel::Baseline.name(), "named"]);
    let wide = SimdLevel::available().filter(|&level| level >= SimdLevel::Avx2).count();
    let measured = shape("auto").succeed();
    let [level, how] = taken(&measured);
    assert_eq!(how, if wide > 1 { "measured" } else { "cpu" });
    let again = shape(level.as_str().unwrap()).environment("MD_SIMD", "").succeed();
    assert_eq!(measured.forces(), again.forces());
    let lacking = SimdLevel::ALL.iter().find(|level| !level.is_available()).unwrap().name();
    let outcome = shape(lacking).finish();
    assert_eq!(outcome.code(), Some(2), "{}", outcome.report());
    let report = outcome.report();
    assert!(report.contains(&format!("`neighbor.shape` is `{lacking}`, which this CPU lacks")), "{report}");
    assert!(report.contains(&format!("it has {}, ", SimdLevel::Baseline.name())), "{report}");
}

#[test]
fn an_unknown_level_is_refused() {
    let configuration =
        Configuration::clustered(&mut Random::new(51), [9.0; 3], [true; 3], 50, Dimension::Three);
    let run = Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz()).set_all(TIGHT);
    let outcome = run.environment("MD_SIMD", "mmx").on(Backend::Local, 1).finish();
    assert_eq!(outcome.code(), Some(2), "{}", outcome.report());
    assert!(outcome.report().contains("MD_SIMD is `mmx`, but this CPU has "), "{}", outcome.report());
}
