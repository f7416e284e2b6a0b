//! Work of a rank of the job: every backend in turn.

use std::process::ExitCode;

use md_comm::mpi::{self, MpiWorld};
use md_comm::{Backend, World};

use crate::WATCHDOG;
use crate::tally::Tally;
use crate::work::{self, Played};

pub(crate) fn run() -> ExitCode {
    let world = match mpi::start(WATCHDOG) {
        Ok(world) => world,
        Err(error) => {
            println!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut tally = Tally::default();
    for &backend in Backend::ALL.iter().filter(|&&backend| backend != Backend::Local) {
        if let Err(what) = play(&world, backend, &mut tally) {
            println!("rank {}, {}: {what}", world.rank(), backend.name());
            world.abort(1);
        }
    }
    tally.end()
}

fn play(world: &MpiWorld, backend: Backend, tally: &mut Tally) -> Result<(), String> {
    let world = world.clone().with_backend(backend).map_err(|error| error.to_string())?;
    for (name, play) in work::ALL {
        let played = play(&world)?;
        let name = format!("rank {}, {}, {name}", world.rank(), backend.name());
        tally.count(&name, played.expect_no_allocation());
        tally.count(&name, expect_collectives(played, backend));
    }
    Ok(())
}

/// Expects no collectives, or at least one if the backend consists of collectives, which also shows
/// that they are counted.
fn expect_collectives(played: Played, backend: Backend) -> Result<(), String> {
    let defined_by_one =
        matches!(backend, Backend::RmaFence | Backend::RmaBarrier | Backend::NeighborCollective);
    match played.collectives {
        Some(some) if (some > 0) != defined_by_one => Err(format!("{some} collective calls")),
        _ => Ok(()),
    }
}
