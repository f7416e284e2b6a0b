//! `md-cli compare`: halo strategies on the user's scenario and machine, checked, measured and
//! ranked.
//!
//! This module contains the outputs and the exit status that comparisons on particles and on grids
//! share.

mod grid;
mod particles;
mod protocols;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use md_comm::{Backend, World};
use md_lab::compare::{
    Comparison, Conditions, Ground, Publisher, Recording, RowContext, StrategyReport, chart, compare_csv,
    conduct, recommendation, table,
};
use md_lab::plot::Picture;
use md_lab::{Transports, Variant};

use super::timeline::Timelines;
use super::{ROOT, open_on_root, output_directory, refused};
use crate::args::CompareArgs;
use crate::commands::ending::{Outcome, of_outcomes};
use crate::cores;
pub use grid::compare_on_grid;
use md_files::output::{Progress, ResultFiles, Screen, Verbosity};
use md_files::store::{OutputDirectory, OutputError};
use md_scenario::failure::{COMMUNICATION_FAILED, RunError};
use md_scenario::known_file::KnownFile;
use md_scenario::messages::print_error;
pub use particles::compare;

/// Arguments of a comparison.
#[derive(Clone, Copy)]
struct Call<'c> {
    transports: &'c dyn Transports,
    args: &'c CompareArgs,
    /// Ends all ranks with an exit code, from any thread, even while a call does not return.
    end_job: fn(u8),
}

impl<'c> Call<'c> {
    /// Returns the conditions under which these strategies are compared. `own` returns whether a
    /// strategy is the scenario's own setting. The world of the ranks' agreement gets its watchdog.
    /// *Collective.*
    fn conditions(
        &self,
        variants: &'c [Variant],
        own: impl FnMut(&Variant) -> bool,
        between_nodes: Backend,
        steps: u64,
    ) -> Result<Conditions<'c>, RunError> {
        let Self { transports, args, .. } = *self;
        let mut conditions = Conditions {
            transports,
            variants,
            own: variants.iter().position(own),
            between_nodes,
            repeat: args.repeat as usize,
            steps,
            timeout: Duration::from_secs_f64(args.timeout),
            ranks_per_core: 0.0,
            recording: None,
        };
        conditions.watch_agreement();
        conditions.ranks_per_core = ranks_per_core(transports.agreement())?;
        Ok(conditions)
    }

    /// Opens the outputs on rank 0, in the directory that `open` returns for these files.
    fn open<C: RowContext>(
        &self,
        variants: &[Variant],
        open: impl FnOnce(&ResultFiles, Verbosity) -> Result<OutputDirectory, OutputError>,
    ) -> Result<Outputs, OutputError> {
        let Self { args, end_job, .. } = *self;
        let names = variants.iter().map(|variant| variant.names(C::KEYS));
        let elsewhere: &Vec<PathBuf> = &Timelines::files(&args.trace, names).collect();
        let verbosity = Verbosity::unless(args.quiet);
        let directory = open(&ResultFiles { elsewhere, ..ResultFiles::default() }, verbosity)?;
        let mut screen = Screen::stdout(verbosity);
        screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
        let progress = Progress::over_samples(args.progress, variants.len() as u64 * u64::from(args.repeat));
        Ok(Outputs { directory, screen, progress, end_job })
    }

    /// Checks and measures all strategies and publishes the results. `wrong` is the message about
    /// strategies with wrong results. *Collective.*
    ///
    /// # Errors
    /// Returns the errors of [`of_outcomes`], and an error if the agreement's world is broken or an
    /// output fails.
    fn conduct<G: Ground>(
        &self,
        ground: &G,
        conditions: Conditions,
        outputs: Option<Outputs>,
        wrong: &str,
    ) -> Result<(), RunError> {
        let timelines = Timelines::new(&self.args.trace);
        let take = |names: &[String], part: &[u8]| timelines.take(names, part);
        let recording = timelines.events().map(|events| Recording { events, take: &take });
        let rows = conduct(ground, Conditions { recording, ..conditions }, outputs)?;
        timelines.finish()?;
        let outcomes = rows.iter().map(|StrategyReport { variant, status, note, .. }| {
            let names = variant.names(G::Context::KEYS);
            let name = format!("{} ({})", names[0], names[1..].join(", "));
            Outcome { name, by: variant.strategy.backend.name(), status: *status, note }
        });
        of_outcomes(&outcomes.collect::<Vec<_>>(), wrong, KnownFile::COMPARE.name())
    }
}

/// Returns the number of ranks on rank 0's machine per hardware thread, or per core if a launcher
/// has bound ranks to fewer cores. *Collective.*
fn ranks_per_core(world: &dyn World) -> Result<f64, RunError> {
    let hosts = world.gather(ROOT, gethostname::gethostname().as_encoded_bytes())?;
    let here = hosts.iter().filter(|host| *host == &hosts[0]).count();
    let bound =
        world.platform().crowded_cores(1)?.map_or(0.0, |crowded| crowded.ranks as f64 / crowded.cores as f64);
    Ok(bound.max(here as f64 / cores::of_machine() as f64))
}

/// Outputs of a comparison on rank 0.
struct Outputs {
    directory: OutputDirectory,
    screen: Screen,
    progress: Progress,
    end_job: fn(u8),
}

impl<C: RowContext> Publisher<C> for Outputs {
    type Error = RunError;

    fn show_progress(&mut self, done: usize) {
        self.progress.tick(done as u64);
    }

    /// Writes the most important files first.
    fn publish(&mut self, comparison: &Comparison<C>) -> Result<(), RunError> {
        let Self { directory, screen, progress, .. } = self;
        progress.finish();
        let (advice, chart) = (recommendation(comparison), chart(comparison));
        screen.print(&format!("\n{}\n{advice}", table(comparison)));
        directory.write_encoded(KnownFile::COMPARE, compare_csv(comparison))?;
        directory.write_encoded(KnownFile::RECOMMENDATION, Ok(advice.into_bytes()))?;
        directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())?;
        directory.finish()?;
        Ok(screen.finish()?)
    }

    fn end_job(&mut self, reason: &str) {
        self.directory.unlock();
        print_error(&format!("{reason}; see {}", KnownFile::COMPARE.name()));
        (self.end_job)(COMMUNICATION_FAILED);
    }
}
