//! Every instruction set that this CPU has computes the same forces.

mod support;

use md_core::SimdLevel;
use support::{Backend, Configuration, Outcome, Pair, Random, Run, Shift, assert_close, assert_forces};

/// Clusters, so that rows of every length occur, also shorter than a vector.
const SCENARIO: &str = r#"
[simulation]
steps = 1
[system]
file = { path = "clusters.extxyz", format = "extxyz" }
[neighbor]
skin = 0.0
rebuild = { every = 1 }
"#;

const SHELLS: [&str; 3] = ["full", "half", "eighth"];

fn at(level: &str, configuration: &Configuration, (method, shell): (&str, &str), ranks: usize) -> Outcome {
    let run = Run::new("forces", SCENARIO).file("clusters.extxyz", configuration.extxyz());
    let run = run.set(format!("parallel.shell={shell:?}")).set(format!("neighbor.method={method:?}"));
    let run = run.environment("MD_SIMD", level);
    let outcome = run.on(Backend::Local, ranks).succeed();
    assert_eq!(outcome.summary()["simd"], level, "{}: the instruction set used", outcome.case());
    outcome
}

#[test]
fn every_level_gives_the_same_forces() {
    let lengths = [12.0, 9.0, 10.5];
    let configuration = Configuration::clustered(&mut Random::new(50), lengths, [true; 3], 500, false);
    let expected = configuration.sums(Pair { cutoff: 2.5, shift: Shift::None });
    let levels: Vec<&str> =
        SimdLevel::ALL.into_iter().filter(|level| level.is_available()).map(SimdLevel::name).collect();
    assert!(levels.contains(&SimdLevel::detect().name()), "{levels:?}");
    let paths = ["clusters", "cells"].into_iter().flat_map(|method| SHELLS.map(|shell| (method, shell)));
    for path in paths {
        for ranks in [1, 2, 8] {
            let reference = at(levels[0], &configuration, path, ranks);
            for level in &levels {
                let outcome = at(level, &configuration, path, ranks);
                let case = outcome.case();
                assert_forces(&outcome.forces(), &reference.forces(), expected.scale, 1e-12, case);
                // The levels might all be wrong in the same way.
                assert_forces(&outcome.forces(), &expected.forces, expected.scale, 1e-11, case);
                for key in ["potential_energy", "virial"] {
                    assert_close(
                        outcome.number(key),
                        reference.number(key),
                        1e-12,
                        &format!("{case}: {key}"),
                    );
                }
                assert_eq!(
                    outcome.number("useful_pairs_per_atom"),
                    reference.number("useful_pairs_per_atom"),
                    "{case}: pairs within the cutoff"
                );
            }
        }
    }
}

/// Without `MD_SIMD` it is the best for the method.
#[test]
fn the_best_level_is_the_default() {
    let configuration = Configuration::clustered(&mut Random::new(51), [9.0; 3], [true; 3], 50, false);
    let run = Run::new("forces", SCENARIO).file("clusters.extxyz", configuration.extxyz());
    let run = run.on(Backend::Local, 1).environment("MD_SIMD", "");
    for (method, best) in [("clusters", SimdLevel::for_clusters()), ("cells", SimdLevel::detect())] {
        let outcome = run.clone().set(format!("neighbor.method={method:?}")).succeed();
        assert_eq!(outcome.summary()["simd"], best.name(), "{method}");
    }
}

#[test]
fn an_unknown_level_is_refused() {
    let configuration = Configuration::clustered(&mut Random::new(51), [9.0; 3], [true; 3], 50, false);
    let run = Run::new("forces", SCENARIO).file("clusters.extxyz", configuration.extxyz());
    let outcome = run.environment("MD_SIMD", "mmx").on(Backend::Local, 1).finish();
    assert_eq!(outcome.code(), Some(2), "{}", outcome.report());
    assert!(outcome.report().contains("MD_SIMD is `mmx`, but this CPU has "), "{}", outcome.report());
}
