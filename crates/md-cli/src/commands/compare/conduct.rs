//! What all comparisons share: trials that are watched, outputs, and how the program ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::Backend;
use md_comm::monitor::{Heartbeat, Monitor};
use md_lab::compare::{Exclusion, Ground, Results, Sampling, Status, Trials};
use md_lab::{Transports, Variant, lock};

use crate::error::{COMMUNICATION_FAILED, Remains, RunError};
use crate::output::{KnownFile, OutputDirectory, OutputError, Progress, ProgressMode, Screen};
use crate::session::print_error;

/// How results are written and shown.
pub(in crate::commands) trait Report<C> {
    /// What a strategy is called, in words.
    fn names(variant: &Variant) -> Vec<String>;

    /// Shows the results and writes their files, the most precious first.
    ///
    /// # Errors
    /// Output.
    fn publish(
        &self,
        results: &Results<C>,
        screen: &mut Screen,
        directory: &OutputDirectory,
    ) -> Result<(), OutputError>;
}

/// Where a comparison is written and shown, on rank 0.
pub(in crate::commands) struct Outputs<R> {
    pub(in crate::commands) directory: OutputDirectory,
    pub(in crate::commands) screen: Screen,
    pub(in crate::commands) report: R,
}

impl<R> Outputs<R> {
    fn publish<C>(&mut self, results: &Results<C>) -> Result<(), OutputError>
    where
        R: Report<C>,
    {
        self.report.publish(results, &mut self.screen, &self.directory)?;
        self.directory.finish()?;
        self.screen.finish()
    }

    /// Publishes what there is, before the job ends for something that happened to the current strategy.
    fn give_up<C: Clone>(&mut self, results: &mut Results<C>, why: &Exclusion)
    where
        R: Report<C>,
    {
        results.give_up_current(why);
        // The job ends with an error in any case; what could not be written has been shown.
        let _ = self.publish(results);
    }
}

/// What is compared, and how.
pub(in crate::commands) struct Conditions<'c> {
    pub(in crate::commands) transports: &'c dyn Transports,
    pub(in crate::commands) variants: &'c [Variant],
    /// What `hybrid` uses between nodes.
    pub(in crate::commands) between_nodes: Backend,
    pub(in crate::commands) sampling: Sampling,
    pub(in crate::commands) progress: ProgressMode,
    /// Ends all ranks with an exit code, from any thread, also while a call does not return.
    pub(in crate::commands) end_job: fn(u8),
}

/// What has become of the strategies.
pub(in crate::commands) struct Outcome {
    names: Vec<Vec<String>>,
    /// The same on all ranks.
    statuses: Vec<Option<Status>>,
    /// What kept backends from being measured, on rank 0.
    reasons: Vec<String>,
}

/// Checks and measures all strategies, and publishes the results. *Collective.*
///
/// # Errors
/// The agreement's world is broken; output.
pub(in crate::commands) fn conduct<G, R>(
    ground: &G,
    conditions: &Conditions,
    outputs: Option<Outputs<R>>,
) -> Result<Outcome, RunError>
where
    G: Ground<Context: Send + 'static>,
    R: Report<G::Context> + Send + 'static,
{
    let Conditions { transports, variants, between_nodes, sampling, progress, end_job } = *conditions;
    let names: Vec<Vec<String>> = variants.iter().map(R::names).collect();
    let on_root = outputs.map(|outputs| {
        (Arc::new(Mutex::new(Results::<G::Context>::default())), Arc::new(Mutex::new(outputs)))
    });
    let results = on_root.as_ref().map(|(results, _)| Arc::clone(results));
    let mut trials = Trials::new(transports, ground, between_nodes, sampling, results);
    let monitor = on_root.clone().map(|on_root| {
        watch(on_root, names.clone(), trials.heartbeat.clone(), 2 * sampling.timeout, end_job)
    });
    let samples = (variants.len() * sampling.repeat) as u64;
    let mut shown = on_root.is_some().then(|| Progress::over_samples(progress, samples));
    let statuses = trials.run(variants, &mut |done| shown.iter_mut().for_each(|it| it.tick(done as u64)));
    shown.iter().for_each(Progress::finish);
    drop(monitor);
    let statuses = match statuses {
        Ok(statuses) => statuses,
        Err(error) => {
            if let Some((results, outputs)) = &on_root {
                lock(outputs).give_up(&mut lock(results), &(&error).into());
            }
            return Err(error.into());
        }
    };
    let mut reasons = Vec::new();
    if let Some((results, outputs)) = &on_root {
        let results = lock(results);
        lock(outputs).publish(&results)?;
        reasons = reasons_of(variants, &results);
    }
    Ok(Outcome { names, statuses, reasons })
}

/// With the thread that watches.
type Shared<T> = Arc<Mutex<T>>;

/// On rank 0: if the measuring thread stands still, publishes what there is and ends the job. A wait that the transports' own
/// watchdog can end comes first, on this rank and then on the others.
fn watch<C: Clone + Send + 'static, R: Report<C> + Send + 'static>(
    (results, outputs): (Shared<Results<C>>, Shared<Outputs<R>>),
    names: Vec<Vec<String>>,
    heartbeat: Heartbeat,
    limit: Duration,
    end_job: fn(u8),
) -> Monitor {
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let (mut results, mut outputs) = (lock(&results), lock(&outputs));
            let (status, note) = (Status::Timeout, gave_up(limit));
            outputs.give_up(&mut results, &Exclusion { status, note });
            outputs.directory.unlock();
            let rows = results.rows();
            let hung = names.iter().zip(&rows).filter(|(_, row)| row.status == Status::Timeout);
            print_error(&timed_out(hung.map(|(names, _)| names.join(" ")), limit));
            end_job(COMMUNICATION_FAILED);
        },
    )
}

/// What is said of the strategy at work when the job has to be ended.
fn gave_up(limit: Duration) -> String {
    format!("a call did not come back within {} s; the job was ended", limit.as_secs_f64())
}

/// The same of all that have timed out, as the program's last word.
fn timed_out(names: impl Iterator<Item = String>, limit: Duration) -> String {
    let names: Vec<String> = names.collect();
    let who = if names.is_empty() { "before anything was measured".to_owned() } else { names.join(", ") };
    format!("timed out: {who}: {}; see {}", gave_up(limit), KnownFile::COMPARE.name())
}

/// What kept backends from being measured.
fn reasons_of<C: Clone>(variants: &[Variant], results: &Results<C>) -> Vec<String> {
    let rows = results.rows();
    let mut reasons = BTreeMap::<&str, Vec<&str>>::new();
    for (variant, row) in variants.iter().zip(&rows).filter(|(_, row)| row.status != Status::Ok) {
        reasons.entry(&row.note).or_default().push(variant.strategy.backend.name());
    }
    let one = |(note, mut backends): (&str, Vec<&str>)| {
        backends.dedup();
        format!("{}: {note}", backends.join(", "))
    };
    reasons.into_iter().map(one).collect()
}

impl Outcome {
    /// How the program ends, where what is wrong is called so; the reasons are known on rank 0, which says them.
    ///
    /// # Errors
    /// [`RunError::Compared`] if a strategy was wrong, failed or timed out, or none could be measured.
    pub(in crate::commands) fn into_result(self, wrong: &str) -> Result<(), RunError> {
        let Self { names, statuses, reasons } = &self;
        let named = |wanted: Status| -> Vec<String> {
            let with = names.iter().zip(statuses).filter(|(_, status)| **status == Some(wanted));
            let name = |names: &[String]| {
                let (backend, others) = names.split_at(1);
                format!("{} ({})", backend.concat(), others.join(", "))
            };
            with.map(|(names, _)| name(names)).collect()
        };
        RunError::of_outcomes(
            [
                (wrong, named(Status::Wrong)),
                ("failed", named(Status::Failed)),
                ("timed out", named(Status::Timeout)),
            ],
            KnownFile::COMPARE.name(),
        )?;
        if statuses.iter().any(Option::is_none) {
            return Ok(());
        }
        Err(RunError::Compared {
            summary: format!("nothing could be measured: {}", reasons.join("; ")),
            exit_code: COMMUNICATION_FAILED,
            remains: Remains::Nothing,
        })
    }
}
