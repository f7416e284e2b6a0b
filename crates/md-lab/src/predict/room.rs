//! Estimate of the memory of a prediction, compared with the available memory before allocation.

use md_engine::Setup;

use super::PredictError;
use super::plans::MOST_COUNTED;

/// Bytes per cell of a plan, as in a run.
const CELL: f64 = 225.0;
/// Number of shapes whose plans are kept at a time.
const SHAPES: f64 = 8.0;
/// Bytes per rank: its messages, in both directions, in plans and while they are played. This is an
/// upper bound; 3,000 were measured where many ranks send alike.
const RANK: f64 = 6000.0;
/// Bytes per rank and step: the scatter of its compute times.
const DRAW: f64 = 8.0;

/// Checks that the memory is available and that the system provides it.
///
/// # Errors
/// [`PredictError::NoRoom`], [`PredictError::Refused`].
pub(super) fn expect(
    needed: f64,
    there: Option<f64>,
    what: impl FnOnce() -> String,
) -> Result<(), PredictError> {
    match there {
        Some(there) if needed > there => Err(PredictError::NoRoom { what: what(), needed, there }),
        _ if Vec::<u8>::new().try_reserve_exact(needed as usize).is_err() => {
            Err(PredictError::Refused { what: what(), needed })
        }
        _ => Ok(()),
    }
}

/// Returns the approximate number of bytes of the messages of `ranks` ranks and of `steps` steps.
pub(super) fn of_ranks(ranks: usize, steps: usize) -> f64 {
    ranks as f64 * (RANK + DRAW * steps as f64)
}

/// Returns the approximate number of bytes of the plans of all ranks and of `steps` steps.
pub(super) fn of_plans(setup: &Setup, steps: usize) -> f64 {
    let (grid, ranks) = (&setup.division.grid, setup.ranks as f64);
    let rank_grid = setup.division.partition.rank_grid().unwrap_or([1, 1, setup.ranks]);
    let counts = grid.counts();
    let with_ghosts = |dim: usize| (f64::from(counts[dim]) / rank_grid[dim] as f64).ceil() + 2.0;
    let plan = CELL * [0, 1, 2].map(with_ghosts).iter().product::<f64>();
    let counted =
        if setup.atoms() > MOST_COUNTED { 0.0 } else { size_of::<u32>() as f64 * grid.len() as f64 };
    plan * ranks.min(SHAPES) + counted + of_ranks(setup.ranks, steps)
}
