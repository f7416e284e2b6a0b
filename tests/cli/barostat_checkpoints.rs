//! Stopping and resuming with a barostat gives the same bits as one run.

use crate::checkpoints::{at_once_and_in_parts, expect_same_bits, expect_same_numbers, melt};
use crate::support::{Start, p2p_available};

/// The box has changed since the pair lists were made, has other cells than at the start, and
/// changes again in the next step.
#[test]
fn barostats_go_on() {
    let workdir = melt();
    let weak = |keys: &str| format!("kind=\"berendsen\",relaxation=0.2,compressibility=0.3,{keys}");
    let stochastic = |keys: &str| weak(keys).replace("berendsen", "stochastic-cell-rescaling");
    for (number, (barostat, neighbor)) in [
        (weak("pressure=-4.0"), ""),
        (weak("pressure=20.0,axes=\"xyz\",every=3"), "--set neighbor.precision=mixed"),
        (weak("pressure=-4.0,axes=[\"z\",\"x\"],every=31"), "--set neighbor.method=cells"),
        (stochastic("pressure=20.0,every=2"), "--set neighbor.precision=mixed --set neighbor.skin=0.4"),
        (stochastic("pressure=-4.0,axes=\"xyz\",every=1"), ""),
        (stochastic("pressure=2.0,axes=\"z\",every=7"), "--set neighbor.method=direct-sum"),
        (
            stochastic("pressure=2.0,axes=\"xyz\",every=7"),
            "--set neighbor.rebuild.every=9 --set parallel.partition=rcb",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let thermostat = "kind=\"csvr\",temperature=1.0,relaxation=0.1";
        let options = format!("{neighbor} --set integrator={{{thermostat},barostat={{{barostat}}}}}");
        for ranks in if neighbor.contains("direct-sum") { vec![1] } else { vec![1, 2] } {
            at_once_and_in_parts(&workdir, [Start::Threads(ranks); 2], [&options; 2]);
            expect_same_bits(&workdir, &format!("{number}, {ranks} ranks: {options}"));
        }
    }
    // On another number of ranks.
    let options = format!(
        "--set integrator={{kind=\"csvr\",temperature=1.0,relaxation=0.1,barostat={{{}}}}}",
        weak("pressure=2.0")
    );
    at_once_and_in_parts(&workdir, [Start::Threads(2), Start::Threads(1)], [&options; 2]);
    expect_same_numbers(&workdir, &options);
}

#[test]
fn barostats_go_on_over_mpi_too() {
    if !p2p_available() {
        return;
    }
    let workdir = melt();
    let barostat = |kind: &str, keys: &str| {
        format!("barostat={{kind=\"{kind}\",relaxation=0.2,compressibility=0.3,{keys}}}")
    };
    for (ranks, barostat, other) in [
        (2, barostat("berendsen", "pressure=-4.0"), "--set parallel.backend=shm"),
        (4, barostat("stochastic-cell-rescaling", "pressure=20.0,axes=\"xyz\",every=1"), ""),
    ] {
        let thermostat = "kind=\"nose-hoover\",temperature=1.0,relaxation=0.1";
        let options = format!("--set integrator={{{thermostat},{barostat}}}");
        at_once_and_in_parts(&workdir, [Start::Mpirun(ranks); 2], [&options, &format!("{options} {other}")]);
        expect_same_bits(&workdir, &format!("{ranks} ranks: {options}"));
    }
}
