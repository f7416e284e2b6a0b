//! Results at the end of a run.

use md_comm::World;
use md_core::words::counted;
use md_engine::{Phase, RankTiming, Simulation, Timings};
use md_files::output::run_output::Console;
use md_files::store::{OutputDirectory, OutputError};
use md_lab::RunContext;
use md_lab::tables::CONTEXT_COLUMNS;
use md_scenario::Scenario;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::warn;

use super::super::{ROOT, RunSummary, context, facts};
use super::beginning::Beginning;
use crate::cores;
use crate::early_end::Ended;
use crate::report::RunFacts;
use crate::report::summary::summary_json;
use crate::report::tables::{balance_csv, timing_csv, timing_ranks_csv};

pub(super) struct Results {
    pub(super) timings: Timings,
    ranks: Vec<RankTiming>,
    pub(super) context: RunContext,
    pub(super) facts: RunFacts,
    /// Number of threads per rank that the cores permit, if it is larger than the number used.
    could_use: Option<usize>,
}

impl Results {
    /// Gathers the results. *Collective.*
    pub(super) fn of(
        simulation: &mut Simulation,
        world: &dyn World,
        scenario: &Scenario,
        beginning: &Beginning,
        ended: Ended,
    ) -> Result<Self, RunError> {
        let timing = simulation.timing()?;
        let (timings, ranks) = (Timings::reduce(&timing, world)?, timing.gather(ROOT, world)?);
        let sums = simulation.system_sums()?;
        let threads = cores::share_of_ranks(world, scenario.parallel.ranks)?;
        let wall_s = timings.phase(Phase::Total).seconds.max;
        // The change is counted from step 0, even if the run continues from a checkpoint.
        let drift_per_atom = simulation.energy_report().total_drift;
        let facts = facts(world, simulation, scenario, &RunSummary { sums, wall_s, drift_per_atom, ended });
        let trajectory = scenario.output.trajectory.as_ref().map(|trajectory| trajectory.path.clone());
        let steps = simulation.state().step - beginning.first_step();
        Ok(Self {
            timings,
            ranks,
            context: context(world, scenario, &beginning.setup, steps),
            facts: RunFacts { trajectory, resumed_from_step: beginning.resumed_from_step, ..facts },
            could_use: Some(threads).filter(|&threads| threads > scenario.parallel.threads),
        })
    }

    pub(super) fn write(&self, directory: &OutputDirectory) -> Result<(), OutputError> {
        let Self { timings, ranks, context, facts, .. } = self;
        directory.write_whole(KnownFile::TIMING, &timing_csv(timings, context, &facts.balance)?)?;
        if !facts.balance.balancings.is_empty() {
            directory.write_whole(KnownFile::BALANCE, &balance_csv(&facts.balance, context)?)?;
        }
        let ranks = timing_ranks_csv(ranks, &Phase::ALL, (CONTEXT_COLUMNS, context))?;
        directory.write_whole(KnownFile::TIMING_RANKS, &ranks)?;
        directory.write_whole(KnownFile::SUMMARY, &summary_json(timings, context, facts, None)?)
    }

    /// Prints warnings and advice, once all files are complete.
    pub(super) fn show(&self, console: &mut Console) {
        let Self { context, facts, could_use, .. } = self;
        let Console { screen, progress } = console;
        facts.warnings.iter().for_each(|text| progress.suspend(|| warn(text)));
        if facts.ended == Ended::WallTime {
            screen.print(&format!("\nEnded by --wall-time after {}\n", counted(context.steps, "step")));
        }
        if let Some(threads) = could_use {
            let used = context.threads;
            screen.print(&format!("\nThreads per rank: {used}; --threads auto would use {threads}\n"));
        }
    }
}
