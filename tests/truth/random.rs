//! Random systems (dense, sparse, clustered, tiny boxes, two dimensions): linked cells and cluster
//! lists against the direct sum over all pairs, and all of them against the sums of this test.

use crate::support::{Backend, Configuration, ForceRow, Pair, Random, Run, Shift, assert_forces};
use md_core::Dimension;
use proptest::prelude::*;

/// How the work is divided.
#[derive(Debug, Clone, Copy)]
struct Way {
    shell: &'static str,
    exchange: &'static str,
    partition: &'static str,
    ranks: usize,
}

const DOUBLE: f64 = 1e-9;
/// Tolerance in mixed precision, relative to the largest sum of pair forces on a particle, like the
/// tolerance in double precision. A pair's force varies with a power of 14 of the distance, so that
/// f32 rounds it by about 1e-6.
const MIXED: f64 = 3e-6;

/// How the forces are computed.
#[derive(Debug, Clone, Copy)]
struct Method {
    name: &'static str,
    precision: &'static str,
    /// Allowed difference.
    tolerance: f64,
}

const METHODS: [Method; 4] = [
    Method { name: "cells", precision: "double", tolerance: DOUBLE },
    Method { name: "clusters", precision: "double", tolerance: DOUBLE },
    Method { name: "clusters", precision: "mixed", tolerance: MIXED },
    Method { name: "direct-sum", precision: "double", tolerance: DOUBLE },
];

/// A system and a division of the work for each method.
#[derive(Debug, Clone)]
struct System {
    configuration: Configuration,
    dimension: Dimension,
    cutoff: f64,
    skin: f64,
    shift: Shift,
    ways: [Way; METHODS.len()],
}

prop_compose! {
    fn way()(
        shell in prop_oneof![Just("full"), Just("half"), Just("eighth")],
        exchange in prop_oneof![Just("direct"), Just("staged")],
        partition in prop_oneof![Just("rect"), Just("stripe")],
        ranks in 1_usize..=8,
    ) -> Way {
        Way { shell, exchange, partition, ranks }
    }
}

prop_compose! {
    fn system()(
        cutoff in 1.2_f64..3.2,
        skin in 0.0_f64..0.6,
        // In units of cutoff + skin: one to five cells.
        sides in prop::array::uniform3(1.01_f64..5.0),
        periodic in prop::array::uniform3(any::<bool>()),
        shift in prop_oneof![Just(Shift::None), Just(Shift::Energy), Just(Shift::Force)],
        count in 1_usize..250,
        seed in any::<u64>(),
        dimension in prop_oneof![Just(Dimension::Two), Just(Dimension::Three)],
        clustered in any::<bool>(),
        ways in [way(), way(), way(), way()],
    ) -> System {
        let lengths = sides.map(|side| side * (cutoff + skin));
        // A three-dimensional reference must not have periodic images above and below.
        let periodic = [periodic[0], periodic[1], periodic[2] && dimension == Dimension::Three];
        let place = if clustered { Configuration::clustered } else { Configuration::scattered };
        let configuration = place(&mut Random::new(seed), lengths, periodic, count, dimension);
        System { configuration, dimension, cutoff, skin, shift, ways }
    }
}

/// Returns the forces of a method on the given number of ranks, or on the largest smaller number
/// for which the box has room.
fn forces(system: &System, method: Method, way: Way) -> Vec<ForceRow> {
    let Method { name, precision, .. } = method;
    let System { configuration, dimension, cutoff, skin, shift, .. } = system;
    let Way { shell, exchange, partition, ranks: most_ranks } = way;
    let is_periodic = |dim: usize| configuration.periodic[dim] || dim >= dimension.count();
    let boundary = [0, 1, 2].map(|dim| if is_periodic(dim) { "periodic" } else { "reflecting" });
    let scenario = format!(
        "[simulation]\nsteps = 1\ndimension = {}\n\
         [system]\nfile = {{ path = \"random.extxyz\", format = \"extxyz\" }}\nboundary = {boundary:?}\n\
         [interaction]\ncutoff = {cutoff:?}\nshift = {:?}\n\
         [neighbor]\nmethod = {name:?}\nprecision = {precision:?}\nskin = {skin:?}\nrebuild = {{ every = 1 }}\n\
         [parallel]\nshell = {shell:?}\nexchange = {exchange:?}\npartition = {partition:?}\n",
        dimension.count(),
        shift.name()
    );
    let run = Run::new("forces", scenario).file("random.extxyz", configuration.extxyz());
    let mut outcomes = (1..=most_ranks).rev().map(|ranks| run.clone().on(Backend::Local, ranks).finish());
    // The only allowed refusal is that there are too many ranks for the box.
    let outcome = outcomes.find(|outcome| {
        let is_too_thin = outcome.code() == Some(2) && outcome.finished().stderr.contains("fewer ranks");
        assert!(is_too_thin || outcome.finished().succeeded(), "{}", outcome.report());
        !is_too_thin
    });
    outcome.map(|outcome| outcome.forces()).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn every_method_finds_the_pairs_that_brute_force_finds(system in system()) {
        let expected = system.configuration.sums(Pair { cutoff: system.cutoff, shift: system.shift });
        // A single particle has no force.
        let scale = expected.scale.max(1.0);
        for (method, way) in METHODS.into_iter().zip(system.ways) {
            let actual = forces(&system, method, way);
            let case = format!("{} in {}, {way:?}, against the sums of this test", method.name, method.precision);
            assert_forces(&actual, &expected.forces, scale, method.tolerance, &case);
        }
    }
}
