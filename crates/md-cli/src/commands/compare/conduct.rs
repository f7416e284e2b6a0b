//! What all comparisons share: trials that are watched, outputs, and how the program ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::monitor::{Heartbeat, Monitor};
use md_comm::{Backend, World};
use md_lab::compare::{
    Comparison, Exclusion, Ground, Results, RowContext, Sampling, Status, Trials, chart, compare_csv,
    recommendation, table,
};
use md_lab::plot::Picture;
use md_lab::{Transports, Variant, lock};

use crate::args::CompareArgs;
use crate::commands::ROOT;
use crate::commands::timeline::Timelines;
use crate::cores;
use crate::error::{COMMUNICATION_FAILED, Remains, RunError};
use crate::output::{KnownFile, OutputDirectory, OutputError, Progress, ResultFiles, Screen, Verbosity};
use crate::session::print_error;

/// The ranks' agreement waits for computations too, such as the reference. A call that hangs is the monitor's business.
const SHORTEST_AGREEMENT_WATCHDOG: Duration = Duration::from_secs(600);

/// Where a comparison is written and shown, on rank 0.
pub(in crate::commands) struct Outputs<C> {
    directory: OutputDirectory,
    screen: Screen,
    /// What is known beside the measurements.
    frame: Comparison<C>,
}

impl<C: RowContext> Outputs<C> {
    /// In a directory that is opened for these files, with what is known before anything is measured.
    ///
    /// # Errors
    /// As `open`.
    pub(in crate::commands) fn open(
        conditions: &Conditions,
        frame: Comparison<C>,
        open: impl FnOnce(&ResultFiles, Verbosity) -> Result<OutputDirectory, OutputError>,
    ) -> Result<Self, OutputError> {
        let Conditions { args, variants, .. } = conditions;
        let names = variants.iter().map(|variant| variant.names(C::KEYS));
        let elsewhere: &Vec<PathBuf> = &Timelines::files(&args.trace, names).collect();
        let verbosity = Verbosity::unless(args.quiet);
        let directory = open(&ResultFiles { elsewhere, ..ResultFiles::default() }, verbosity)?;
        let mut screen = Screen::stdout(verbosity);
        screen.print(&format!("comparing {} strategies, {} repetitions\n", variants.len(), args.repeat));
        Ok(Self { directory, screen, frame })
    }

    /// Shows the results and writes their files, the most precious first.
    fn publish(&mut self, results: &Results<C>) -> Result<(), OutputError> {
        let Self { directory, screen, frame } = self;
        let comparison = &results.comparison(frame);
        let (advice, chart) = (recommendation(comparison), chart(comparison));
        screen.print(&format!("\n{}\n{advice}", table(comparison)));
        directory.write_encoded(KnownFile::COMPARE, compare_csv(comparison))?;
        directory.write_encoded(KnownFile::RECOMMENDATION, Ok(advice.into_bytes()))?;
        directory.write_encoded(KnownFile::COMPARE_SVG, chart.svg().map(String::into_bytes))?;
        directory.write_encoded(KnownFile::COMPARE_PNG, chart.png())?;
        directory.finish()?;
        screen.finish()
    }

    /// Publishes what there is, before the job ends for something that happened to the current strategy.
    fn give_up(&mut self, results: &mut Results<C>, why: &Exclusion) {
        results.give_up_current(why);
        // The job ends with an error in any case; what could not be written has been shown.
        let _ = self.publish(results);
    }
}

/// What is compared, and how.
pub(in crate::commands) struct Conditions<'c> {
    pub(in crate::commands) transports: &'c dyn Transports,
    pub(in crate::commands) args: &'c CompareArgs,
    pub(in crate::commands) variants: &'c [Variant],
    /// What `hybrid` uses between nodes.
    pub(in crate::commands) between_nodes: Backend,
    /// Steps of a sample.
    pub(in crate::commands) steps: u64,
    /// Ends all ranks with an exit code, from any thread, also while a call does not return.
    pub(in crate::commands) end_job: fn(u8),
}

impl Conditions<'_> {
    /// How much is measured.
    pub(in crate::commands) fn sampling(&self) -> Sampling {
        let Self { args, steps, .. } = *self;
        let timeout = Duration::from_secs_f64(args.timeout);
        Sampling { repeat: args.repeat as usize, steps, timeout }
    }

    /// Gives the ranks' agreement its watchdog.
    pub(in crate::commands) fn watch_agreement(&self) {
        let limit = 4 * self.sampling().timeout;
        self.transports.agreement().set_watchdog(SHORTEST_AGREEMENT_WATCHDOG.max(limit));
    }

    /// What is known before anything is measured; `own` says which is the scenario's own setting. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub(in crate::commands) fn frame<C: RowContext>(
        &self,
        own: impl FnMut(&Variant) -> bool,
    ) -> Result<Comparison<C>, RunError> {
        let own = self.variants.iter().position(own);
        let ranks_per_core = ranks_per_core(self.transports.agreement())?;
        Ok(Comparison::of(own, self.between_nodes, self.args.repeat as usize, ranks_per_core))
    }
}

/// Ranks on rank 0's machine per hardware thread of it. *Collective.*
fn ranks_per_core(world: &dyn World) -> Result<f64, RunError> {
    let hosts = world.gather(ROOT, gethostname::gethostname().as_encoded_bytes())?;
    let here = hosts.iter().filter(|host| *host == &hosts[0]).count();
    Ok(here as f64 / cores::of_machine() as f64)
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
pub(in crate::commands) fn conduct<G: Ground>(
    ground: &G,
    conditions: &Conditions,
    outputs: Option<Outputs<G::Context>>,
) -> Result<Outcome, RunError> {
    let Conditions { transports, args, variants, between_nodes, end_job, .. } = *conditions;
    let sampling = conditions.sampling();
    let names: Vec<Vec<String>> = variants.iter().map(|it| it.names(G::Context::KEYS)).collect();
    let on_root = outputs.map(|outputs| {
        (Arc::new(Mutex::new(Results::<G::Context>::default())), Arc::new(Mutex::new(outputs)))
    });
    let results = on_root.as_ref().map(|(results, _)| Arc::clone(results));
    let mut trials = Trials::new(transports, ground, between_nodes, sampling, results);
    let monitor = on_root.clone().map(|on_root| {
        watch(on_root, names.clone(), trials.heartbeat.clone(), 2 * sampling.timeout, end_job)
    });
    let samples = (variants.len() * sampling.repeat) as u64;
    let mut shown = on_root.is_some().then(|| Progress::over_samples(args.progress, samples));
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
fn watch<C: RowContext>(
    (results, outputs): (Shared<Results<C>>, Shared<Outputs<C>>),
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
fn reasons_of<C: RowContext>(variants: &[Variant], results: &Results<C>) -> Vec<String> {
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
