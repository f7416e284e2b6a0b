//! Several cases of the suite in one job, one after another.

use crate::Tally;
use crate::cases::Case;
use crate::child::{BACKEND, EXPECTED_RANKS, OPTIONS, OPTIONS_END};
use crate::jobs::{output, play_within, suite_limit, under_launcher};

/// Plays cases that differ in their options only. One that ends its job is failed, and those after it get a new job.
pub(crate) fn play(tally: &mut Tally, cases: &[Case]) {
    let mut left = cases;
    while let Some(first) = left.first() {
        let outcome = job(first, left);
        let (verdicts, ended) = outcome.unwrap_or_else(|what| (Vec::new(), Err(what)));
        for (case, verdict) in left.iter().zip(&verdicts) {
            tally.judge(&case.name(), verdict.clone());
        }
        left = &left[verdicts.len()..];
        if let Some((ending, others)) = left.split_first() {
            tally.judge(&ending.name(), ended.and(Err("it has no verdict".to_owned())));
            left = others;
        } else if let Err(what) = ended {
            tally.judge(&format!("the end of the job of {}", first.name()), Err(what));
        }
    }
}

type Verdict = Result<(), String>;

/// The verdicts of the cases that came to their end, in order, and how the job ended.
fn job(first: &Case, cases: &[Case]) -> Result<(Vec<Verdict>, Verdict), String> {
    let mut command = under_launcher(first.ranks)?;
    command.envs(first.variables());
    command.env(EXPECTED_RANKS, first.ranks.to_string()).env(BACKEND, first.backend.name());
    let options: Vec<_> = cases.iter().map(|case| case.options.to_string()).collect();
    command.env(OPTIONS, options.join(OPTIONS_END));
    // The first has the whole limit, for the start, each of the others half of it.
    let limit = suite_limit() * u32::try_from(cases.len() + 1).unwrap_or(u32::MAX) / 2;
    let finished = play_within(command, "suite", limit)?;
    println!("        {:.1} s in one job", finished.duration.as_secs_f64());
    let verdicts: Vec<Verdict> = finished.stdout.lines().filter_map(verdict).collect();
    let all_right = verdicts.iter().all(Result::is_ok);
    let ended = if finished.succeeded() || (!all_right && verdicts.len() == cases.len()) {
        Ok(())
    } else {
        Err(output(&finished))
    };
    Ok((verdicts, ended))
}

/// What a line of a rank's output says about a case.
fn verdict(line: &str) -> Option<Verdict> {
    match line.split_once('(')? {
        ("Ok", rest) => {
            println!("        Ok({rest}");
            Some(Ok(()))
        }
        ("Err", _) => Some(Err(line.to_owned())),
        _ => None,
    }
}
