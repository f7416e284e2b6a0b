//! The step loop of an application on a grid, with the work between two steps: rows, files,
//! checkpoints and the check for an early end.

use std::time::Instant;

use md_comm::World;
use md_engine::Phase;
use md_files::checkpoint::{Checkpoints, OutputState, Resumed, SavedNodes};
use md_files::output::{Progress, Screen, Verbosity};
use md_files::store::{OutputDirectory, OutputError, RecordFile};
use md_grid::{Application, GridError, Progress as Found};
use md_scenario::failure::RunError;

use super::{Extension, Observed};
use crate::args::GridArgs;
use crate::commands::ending::Ending;
use crate::early_end::{EarlyEnd, Ended};
use crate::report::grid::{GridContext, GridThermoWriter, header_line, row_line};

/// Number of steps after which the ranks agree on whether to end early.
const LONGEST_SILENCE: u64 = 20;

/// State at the end of a step loop.
pub(super) struct End {
    /// Number of the last step.
    pub(super) done: u64,
    pub(super) ended: Ended,
    /// The first and the last row.
    pub(super) ends: [Vec<f64>; 2],
}

/// Returns the result of the program after `done` of `steps` steps. A run that has made all steps
/// may still fall short of its aim.
pub(super) fn into_result(
    ended: Ended,
    [done, steps]: [u64; 2],
    shortfall: Option<String>,
) -> Result<(), RunError> {
    match ended {
        Ended::Signal(signal) => Err(Ending::Signalled { signal, done, steps }.into()),
        Ended::AsPlanned => {
            shortfall.map_or(Ok(()), |problem| Err(GridError::Failed { step: done, problem }.into()))
        }
        Ended::Converged | Ended::WallTime | Ended::Box => Ok(()),
    }
}

/// Range of steps, and the interval between rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Number of steps that earlier runs have made.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) interval: u64,
}

/// Outputs that rank 0 writes row by row.
pub(super) struct Console {
    pub(super) screen: Screen,
    pub(super) progress: Progress,
    pub(super) thermo: GridThermoWriter,
    /// File of `--trace`.
    pub(super) timeline: Option<RecordFile>,
}

impl Console {
    pub(super) fn open(
        directory: &OutputDirectory,
        columns: &[&str],
        context: &GridContext,
        args: &GridArgs,
        resumed: Option<&Resumed>,
    ) -> Result<Self, OutputError> {
        let mut screen = Screen::stdout(Verbosity::unless(args.quiet));
        screen.print(&header_line(columns));
        let first = resumed.map_or(0, |resumed| resumed.header.step);
        Ok(Self {
            screen,
            progress: Progress::over_steps(args.progress, first, context.steps),
            thermo: GridThermoWriter::open(directory, columns, resumed)?,
            timeline: args.trace.trace.as_ref().map(|path| directory.create_elsewhere(path)).transpose()?,
        })
    }

    fn take(&mut self, step: u64, row: &[f64], interval: u64) -> Result<(), OutputError> {
        let Self { screen, progress, thermo, .. } = self;
        progress.suspend(|| screen.print(&row_line(step, row)));
        if step.is_multiple_of(interval) { thermo.write(step, row) } else { thermo.write_last(step, row) }
    }
}

/// The step loop and its outputs. All methods are *collective*.
pub(super) struct Steps<'r, E> {
    pub(super) world: &'r dyn World,
    pub(super) early_end: &'r EarlyEnd,
    /// Console of rank 0.
    pub(super) console: Option<Console>,
    pub(super) extension: E,
    pub(super) checkpoints: Checkpoints<'r>,
    pub(super) nodes: SavedNodes,
    pub(super) span: Span,
}

impl<E> Steps<'_, E> {
    /// Makes the steps. Rows are written at the first step, at the last step and at intervals. A
    /// run that continues from a checkpoint already has its first row.
    pub(super) fn run<A: Application + ?Sized>(&mut self, app: &mut A) -> Result<End, RunError>
    where
        E: Extension<A>,
    {
        let Span { first, last, .. } = self.span;
        let begin = finite_row(app, first)?;
        if first == 0 {
            self.show(0, &begin)?;
            self.extension.observe(app, 0)?;
        }
        self.world.barrier()?;
        app.clock().restart();
        let (mut done, mut end) = (first, begin.clone());
        let mut ended = Ended::AsPlanned;
        while done < last && ended == Ended::AsPlanned {
            let found = app.step()?;
            done += 1;
            if found == Found::Converged {
                ended = Ended::Converged;
                self.checkpoints.last_is(done);
            } else if done.is_multiple_of(LONGEST_SILENCE) && self.wants_end()? {
                ended = self.early_end.reason(self.world)?;
                self.checkpoints.ends_at(done);
            }
            let is_last = done == last || ended != Ended::AsPlanned;
            self.look(app, done, is_last, &mut end)?;
        }
        Ok(End { done, ended, ends: [begin, end] })
    }

    /// Writes the rows, files and checkpoint that are due at this step.
    fn look<A: Application + ?Sized>(
        &mut self,
        app: &mut A,
        step: u64,
        is_last: bool,
        row: &mut Vec<f64>,
    ) -> Result<(), RunError>
    where
        E: Extension<A>,
    {
        let begun = Instant::now();
        let mut observed = Observed::Nothing;
        if is_last || step.is_multiple_of(self.span.interval) {
            *row = finite_row(app, step)?;
            self.show(step, row)?;
            observed = Observed::Something;
        }
        if self.extension.observe(app, step)? == Observed::Something {
            observed = Observed::Something;
        }
        if self.checkpoints.is_due(step) {
            let kept = self.kept::<A>()?;
            self.checkpoints.write_nodes(step, &*app, &self.nodes, kept)?;
            observed = Observed::Something;
        }
        if let Some(console) = &mut self.console {
            console.progress.tick(step);
        }
        if observed == Observed::Something {
            app.clock().book_since(Phase::Output, begun);
        }
        Ok(())
    }

    fn show(&mut self, step: u64, row: &[f64]) -> Result<(), OutputError> {
        let interval = self.span.interval;
        self.console.as_mut().map_or(Ok(()), |console| console.take(step, row, interval))
    }

    /// Returns the state of the files that grow.
    fn kept<A: ?Sized>(&self) -> Result<Vec<OutputState>, OutputError>
    where
        E: Extension<A>,
    {
        let mark = self.console.as_ref().map(|console| console.thermo.mark()).transpose()?;
        let mut kept = vec![OutputState { mark, memory: None }];
        kept.append(&mut self.extension.kept()?);
        Ok(kept)
    }

    /// Returns whether an early end is requested on any rank.
    fn wants_end(&self) -> Result<bool, RunError> {
        let mut votes = [f64::from(u8::from(self.early_end.is_wanted()))];
        self.world.max(&mut votes)?;
        Ok(votes[0] > 0.0)
    }
}

/// Returns the row of a step. A value that is not finite is reported as such, before a file rejects
/// it.
fn finite_row<A: Application + ?Sized>(app: &mut A, step: u64) -> Result<Vec<f64>, GridError> {
    let row = app.row()?;
    expect_finite(app.columns(), &row, step)?;
    Ok(row)
}

fn expect_finite(columns: &[&str], row: &[f64], step: u64) -> Result<(), GridError> {
    let Some((column, value)) = columns.iter().zip(row).find(|(_, value)| !value.is_finite()) else {
        return Ok(());
    };
    Err(GridError::Failed { step, problem: format!("`{column}` is not a finite number any more ({value})") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_exploded_says_so_itself() {
        assert!(expect_finite(&["sum", "error"], &[1.0, 0.0], 3).is_ok());
        for (value, shown) in [(f64::NAN, "NaN"), (f64::NEG_INFINITY, "-inf")] {
            let error = RunError::from(expect_finite(&["sum", "error"], &[1.0, value], 3).unwrap_err());
            let expected = format!("step 3: `error` is not a finite number any more ({shown})");
            assert_eq!((error.exit_code(), error.to_string()), (1, expected));
        }
    }
}
