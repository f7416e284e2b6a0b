//! Work of one job: all strategies in turn, each compared with two-sided messages.

use std::process::ExitCode;
use std::time::Duration;

use md_comm::mpi::{self, MpiWorld};
use md_comm::{Buffering, World, local};
use md_engine::Thermo;
use md_scenario::failure::RunError;

use crate::scenario::{Outcome, SYSTEMS, run};
use crate::strategy::{Decomposition, Extent, Transport};
use crate::tally::Tally;

const WATCHDOG: Duration = Duration::from_secs(60);
/// Relative tolerance. Sums in another order differ by rounding, which grows with time.
const ROUNDING: f64 = 1e-10;
/// Number of rows of thermo that must agree within `ROUNDING`: steps 0 and 20.
const ROWS_TO_ROUNDING: usize = 2;
const FEWEST_REBUILDS: u64 = 20;
const REFERENCE: Decomposition = Decomposition { shell: "full", exchange: "direct", partition: "rect" };

/// Runs all selected strategies on this rank.
pub(crate) fn play_all() -> ExitCode {
    let world = match mpi::start(WATCHDOG) {
        Ok(world) => world,
        Err(error) => {
            println!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Only rank 0 uses the tally.
    let mut tally = Tally::default();
    for (name, text) in SYSTEMS {
        // Errors may have left the ranks at different points.
        if let Err(what) = compare(&world, name, text, &mut tally) {
            println!("rank {}: {what}", world.rank());
            world.abort(1);
        }
    }
    if world.rank() == 0 { tally.end() } else { tally.code() }
}

fn compare(world: &MpiWorld, name: &str, text: &str, tally: &mut Tally) -> Result<(), String> {
    let alone = if world.rank() == 0 { Some(on_threads(1, text, REFERENCE)?) } else { None };
    if let Some(alone) = &alone {
        let other = on_threads(1, &text.replace("seed = ", "seed = 9"), REFERENCE)?;
        let differs = identical(&other, alone).err().map(drop);
        tally.count("the comparison sees another seed", differs.ok_or_else(|| "it does not".to_owned()));
    }
    for &decomposition in Decomposition::all(Extent::wanted()) {
        let play = |transport: Transport| {
            over(world, transport, text, decomposition)
                .map_err(|error| format!("{name}, {transport}, {decomposition}: {error}"))
        };
        let expected = play(Transport::reference())?;
        if let Some(alone) = &alone {
            let what = format!("{name}, {}, {decomposition}", Transport::reference());
            let on_threads = on_threads(world.ranks(), text, decomposition)?;
            let outcome = agrees(&expected, alone).and_then(|()| identical(&expected, &on_threads));
            tally.count(&what, outcome);
        }
        for transport in Transport::others(world.ranks()) {
            let actual = play(transport)?;
            if world.rank() == 0 {
                tally.count(&format!("{name}, {transport}, {decomposition}"), identical(&actual, &expected));
            }
        }
    }
    Ok(())
}

fn over(
    world: &MpiWorld,
    transport: Transport,
    text: &str,
    decomposition: Decomposition,
) -> Result<Outcome, RunError> {
    let world = world.clone().with_backend(transport.backend)?.with_options(transport.options)?;
    run(&world, text, decomposition, transport.buffering)
}

/// Runs the same system on ranks that are threads of this process.
fn on_threads(ranks: usize, text: &str, decomposition: Decomposition) -> Result<Outcome, String> {
    let outcome = local::run(ranks, WATCHDOG, |world| {
        run(world, text, decomposition, Buffering::Double).map_err(|error| error.to_string())
    });
    let ended = outcome.into_iter().next().ok_or("no rank")?;
    ended.map_err(|panicked| panicked.to_string())?
}

/// Checks that two outcomes are equal bit for bit.
fn identical(actual: &Outcome, expected: &Outcome) -> Result<(), String> {
    for (row, reference) in actual.thermo.iter().zip(&expected.thermo) {
        if bits(row) != bits(reference) {
            return Err(format!("{row:?} instead of {reference:?}"));
        }
    }
    for (particle, reference) in actual.particles.iter().zip(&expected.particles) {
        let bits = |vector: [f64; 3]| vector.map(f64::to_bits);
        let same = particle.id == reference.id
            && bits(particle.position) == bits(reference.position)
            && bits(particle.vector) == bits(reference.vector);
        if !same {
            return Err(format!("{particle:?} instead of {reference:?}"));
        }
    }
    let counts = |outcome: &Outcome| (outcome.thermo.len(), outcome.particles.len(), outcome.rebuilds);
    if counts(actual) == counts(expected) {
        Ok(())
    } else {
        Err(format!("{:?} instead of {:?} rows, particles, rebuilds", counts(actual), counts(expected)))
    }
}

/// Checks that two outcomes agree within rounding, before it has grown.
fn agrees(actual: &Outcome, expected: &Outcome) -> Result<(), String> {
    if actual.rebuilds.min(expected.rebuilds) < FEWEST_REBUILDS {
        return Err(format!("only {} rebuilds", actual.rebuilds));
    }
    for (row, reference) in actual.thermo.iter().zip(&expected.thermo).take(ROWS_TO_ROUNDING) {
        for (value, wanted) in values(row).into_iter().zip(values(reference)) {
            let deviation = (value - wanted).abs() / wanted.abs().max(1.0);
            if deviation > ROUNDING {
                return Err(format!("step {}: {value:?} instead of {wanted:?} on one rank", row.step));
            }
        }
    }
    Ok(())
}

fn values(row: &Thermo) -> [f64; 6] {
    let Thermo { time, temperature, potential_per_atom, kinetic_per_atom, total_per_atom, pressure, .. } =
        *row;
    [time, temperature, potential_per_atom, kinetic_per_atom, total_per_atom, pressure]
}

fn bits(row: &Thermo) -> [u64; 6] {
    values(row).map(f64::to_bits)
}
