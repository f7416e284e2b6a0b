//! Several cases of the suite in one job, one after another, and jobs side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Tally;
use crate::cases::Case;
use crate::child::{BACKEND, EXPECTED_RANKS, OPTIONS, OPTIONS_END};
use crate::jobs::{output, play_within, suite_limit, under_launcher};

/// Jobs at a time. A job spends half of its time starting and ending, when one core is idle.
const AT_ONCE: usize = 2;

/// Plays jobs, each of cases that differ in their options only.
pub(crate) fn play_all(tally: &mut Tally, jobs: &[&[Case]]) {
    let (tally, next) = (Mutex::new(tally), AtomicUsize::new(0));
    let worker = || {
        while let Some(cases) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            play(&tally, cases);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(worker))));
}

/// Plays a job. A case that ends its job has failed, and those after it get a new job.
fn play(tally: &Mutex<&mut Tally>, cases: &[Case]) {
    let mut left = cases;
    while let Some(first) = left.first() {
        let outcome = job(first, left);
        let mut tally = lock(tally);
        let Job { said, results, ended } = outcome.unwrap_or_else(Job::not_run);
        said.iter().for_each(|line| println!("        {line}"));
        for (case, result) in left.iter().zip(&results) {
            tally.show(&case.name(), result.clone());
        }
        left = &left[results.len()..];
        if let Some((ending, others)) = left.split_first() {
            tally.show(&ending.name(), ended.and(Err("it has no result".to_owned())));
            left = others;
        } else if let Err(what) = ended {
            tally.show(&format!("the end of the job of {}", first.name()), Err(what));
        }
    }
}

fn lock<'t, 'a>(tally: &'t Mutex<&'a mut Tally>) -> MutexGuard<'t, &'a mut Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

type CaseResult = Result<(), String>;

/// Outcome of a job.
struct Job {
    /// Lines to be printed.
    said: Vec<String>,
    /// Results of the cases that were completed, in order.
    results: Vec<CaseResult>,
    ended: CaseResult,
}

impl Job {
    fn not_run(what: String) -> Self {
        Self { said: Vec::new(), results: Vec::new(), ended: Err(what) }
    }
}

fn job(first: &Case, cases: &[Case]) -> Result<Job, String> {
    let mut command = under_launcher(first.ranks)?;
    command.envs(first.variables());
    command.env(EXPECTED_RANKS, first.ranks.to_string()).env(BACKEND, first.backend.name());
    let options: Vec<_> = cases.iter().map(Case::options_text).collect();
    command.env(OPTIONS, options.join(OPTIONS_END));
    // The first has the whole limit, for the start, each of the others half of it.
    let limit = suite_limit() * u32::try_from(cases.len() + 1).unwrap_or(u32::MAX) / 2;
    let finished = play_within(command, "suite", limit)?;
    let mut said = vec![format!("{:.1} s in one job", finished.duration.as_secs_f64())];
    said.extend(finished.stdout.lines().filter(|line| line.starts_with("Ok(")).map(str::to_owned));
    let results: Vec<CaseResult> = finished.stdout.lines().filter_map(result).collect();
    let all_right = results.iter().all(Result::is_ok);
    let ended = if finished.succeeded() || (!all_right && results.len() == cases.len()) {
        Ok(())
    } else {
        Err(output(&finished))
    };
    Ok(Job { said, results, ended })
}

/// Parses the result of a case from a line of a rank's output.
fn result(line: &str) -> Option<CaseResult> {
    match line.split_once('(')? {
        ("Ok", _) => Some(Ok(())),
        ("Err", _) => Some(Err(line.to_owned())),
        _ => None,
    }
}
