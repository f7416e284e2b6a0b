//! Random systems: linked cells against every pair with every other, and both against the sums of this test.

mod support;

use proptest::prelude::*;
use support::{Backend, Configuration, ForceRow, Pair, Random, Run, Shift, assert_forces};

/// How the work is divided.
#[derive(Debug, Clone, Copy)]
struct Way {
    shell: &'static str,
    exchange: &'static str,
    partition: &'static str,
    ranks: usize,
}

/// A system and two ways to divide it.
#[derive(Debug, Clone)]
struct System {
    configuration: Configuration,
    cutoff: f64,
    skin: f64,
    shift: Shift,
    ways: [Way; 2],
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
        // In units of cutoff + skin: from one cell to five.
        edges in prop::array::uniform3(1.01_f64..5.0),
        periodic in prop::array::uniform3(any::<bool>()),
        shift in prop_oneof![Just(Shift::None), Just(Shift::Energy), Just(Shift::Force)],
        count in 1_usize..250,
        seed in any::<u64>(),
        ways in [way(), way()],
    ) -> System {
        let lengths = edges.map(|edge| edge * (cutoff + skin));
        let configuration = Configuration::clustered(&mut Random::new(seed), lengths, periodic, count, false);
        System { configuration, cutoff, skin, shift, ways }
    }
}

/// The forces that a method finds on a number of ranks, or the largest smaller number that the box has room for.
fn forces(system: &System, method: &str, way: Way) -> Vec<ForceRow> {
    let System { configuration, cutoff, skin, shift, .. } = system;
    let Way { shell, exchange, partition, ranks: most_ranks } = way;
    let boundary = configuration.periodic.map(|periodic| if periodic { "periodic" } else { "reflecting" });
    let scenario = format!(
        "[simulation]\nsteps = 1\n\
         [system]\nfile = {{ path = \"random.extxyz\", format = \"extxyz\" }}\nboundary = {boundary:?}\n\
         [interaction]\ncutoff = {cutoff:?}\nshift = {:?}\n\
         [neighbor]\nmethod = {method:?}\nskin = {skin:?}\nrebuild = {{ every = 1 }}\n\
         [parallel]\nshell = {shell:?}\nexchange = {exchange:?}\npartition = {partition:?}\n",
        shift.name()
    );
    let run = Run::new("forces", scenario).file("random.extxyz", configuration.extxyz());
    let mut outcomes = (1..=most_ranks).rev().map(|ranks| run.clone().on(Backend::Local, ranks).finish());
    // Too many ranks for the box is the only refusal allowed.
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
    fn cells_find_the_pairs_that_brute_force_finds(system in system()) {
        let expected = system.configuration.sums(Pair { cutoff: system.cutoff, shift: system.shift });
        // Alone, a particle feels nothing.
        let scale = expected.scale.max(1.0);
        let [first, second] = system.ways;
        let cells = forces(&system, "cells", first);
        let direct_sum = forces(&system, "direct-sum", second);
        assert_forces(&cells, &direct_sum, scale, 1e-9, "cells against direct-sum");
        assert_forces(&cells, &expected.forces, scale, 1e-9, "cells against the sums of this test");
    }
}
