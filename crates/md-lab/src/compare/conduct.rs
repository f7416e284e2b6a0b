//! A whole comparison on one rank: monitored trials and publication of their results.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use md_comm::Backend;
use md_comm::monitor::{Heartbeat, Monitor};
use md_engine::EngineError;

use super::comparison::{Comparison, RowContext, StrategyReport};
use super::results::Results;
use super::trials::{Ground, Recording, Trials};
use crate::{Problem, Status, Transports, Variant, lock};

/// Strategies of a comparison and conditions of their measurement.
#[derive(Clone, Copy)]
pub struct Conditions<'c> {
    /// Source of the world in which the ranks agree, and of a world per strategy.
    pub transports: &'c dyn Transports,
    /// Strategies to compare.
    pub variants: &'c [Variant],
    /// Index of the scenario's own setting among them.
    pub own: Option<usize>,
    /// Backend that `hybrid` uses between nodes.
    pub between_nodes: Backend,
    /// Samples per strategy.
    pub repeat: usize,
    /// Steps per sample.
    pub steps: u64,
    /// Longest wait for other ranks.
    pub timeout: Duration,
    /// See [`Comparison::ranks_per_core`].
    pub ranks_per_core: f64,
    /// Recording of timelines, if requested.
    pub recording: Option<Recording<'c>>,
}

impl Conditions<'_> {
    /// Sets the watchdog of the agreement world, which also has to wait for computations such as
    /// the reference. The monitor handles calls that hang.
    pub fn watch_agreement(&self) {
        const SHORTEST: Duration = Duration::from_secs(600);
        self.transports.agreement().set_watchdog(SHORTEST.max(4 * self.timeout));
    }
}

/// Destination of the results, on rank 0.
pub trait Publisher<C>: Send + 'static {
    /// Error of publishing or of the comparison.
    type Error: From<EngineError>;

    /// Shows the number of samples done.
    fn show_progress(&mut self, done: usize);

    /// Shows and writes all results so far; called once.
    ///
    /// # Errors
    /// The results could not be written.
    fn publish(&mut self, comparison: &Comparison<C>) -> Result<(), Self::Error>;

    /// Ends all ranks for this reason; called from the monitoring thread while the measuring thread
    /// is blocked.
    fn end_job(&mut self, reason: &str);
}

/// Checks and measures all strategies, and publishes the results. The rows have the same status on
/// all ranks; only rank 0 has the notes. *Collective.*
///
/// # Errors
/// The agreement world is broken, or results could not be published.
pub fn conduct<G: Ground, P: Publisher<G::Context>>(
    ground: &G,
    conditions: Conditions,
    publisher: Option<P>,
) -> Result<Vec<StrategyReport<G::Context>>, P::Error> {
    let results = Arc::new(Mutex::new(Results::new(&conditions)));
    let mut trials = Trials::new(ground, conditions, Arc::clone(&results));
    let publisher = publisher.map(|publisher| Arc::new(Mutex::new(publisher)));
    let monitor = publisher.as_ref().map(|publisher| {
        let (results, publisher) = (Arc::clone(&results), Arc::clone(publisher));
        watch(results, publisher, trials.heartbeat.clone(), 2 * conditions.timeout)
    });
    let ended = trials.run(&mut |done| {
        publisher.iter().for_each(|publisher| lock(publisher).show_progress(done));
    });
    drop(monitor);
    let mut results = lock(&results);
    let publish = |results: &Results<G::Context>| {
        publisher.as_ref().map_or(Ok(()), |publisher| lock(publisher).publish(&results.comparison()))
    };
    if let Err(error) = ended {
        results.give_up_current((&error).into());
        // The comparison ends with an error in any case; results that could not be written have
        // been shown.
        let _ = publish(&results);
        return Err(error.into());
    }
    publish(&results)?;
    Ok(results.rows())
}

/// Starts the monitor on rank 0: if the measuring thread is blocked, it publishes the results so
/// far and ends the job. Its limit leaves time for the watchdogs of the transports, on this rank
/// and then on the others.
fn watch<C: RowContext, P: Publisher<C>>(
    results: Arc<Mutex<Results<C>>>,
    publisher: Arc<Mutex<P>>,
    heartbeat: Heartbeat,
    limit: Duration,
) -> Monitor {
    Monitor::start(
        move || limit,
        move || Some(heartbeat.count()),
        move |_| {
            let (mut results, mut publisher) = (lock(&results), lock(&publisher));
            let stood_still = Problem::stood_still(limit);
            let what = stood_still.note.clone();
            results.give_up_current(stood_still);
            let _ = publisher.publish(&results.comparison());
            let rows = results.rows();
            let hung = rows.iter().filter(|row| row.status == Status::Timeout);
            let names: Vec<String> = hung.map(StrategyReport::name).collect();
            let who =
                if names.is_empty() { "before anything was measured".to_owned() } else { names.join(", ") };
            publisher.end_job(&format!("timed out: {who}: {what}"));
        },
    )
}
