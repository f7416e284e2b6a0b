//! Progress of a run, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use md_lab::significant;

/// When progress is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// A bar if standard error is a terminal.
    #[default]
    Auto,
    /// A bar on a terminal; otherwise a line every few seconds.
    Always,
    /// Never.
    Never,
}

/// Largest number of times per second that the bar is drawn.
const DRAWS_PER_SECOND: u8 = 5;
/// Interval of the lines if there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const TEMPLATE: &str = "{bar:30} {pos}/{len} {what} {percent}%  {speed}ETA {eta}";

/// Work to be done.
#[derive(Debug, Clone, Copy)]
struct Work {
    /// Amount of work that had been done before.
    begins_at: u64,
    count: u64,
    what: &'static str,
    /// Number of particles for the speed.
    atoms: Option<u64>,
}

/// Progress of a run. A tick does no more than read the clock.
#[derive(Debug)]
pub enum Progress {
    /// No progress is shown.
    Nothing,
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// Lines, if there is no terminal.
    Lines(Lines),
}

impl Progress {
    /// Creates the progress of `steps` steps of `atoms` particles, from `first_step` on.
    pub fn new(mode: ProgressMode, first_step: u64, steps: u64, atoms: u64) -> Self {
        Self::over(mode, Work { begins_at: first_step, count: steps, what: "steps", atoms: Some(atoms) })
    }

    /// Creates the progress of steps that are not those of particles.
    pub fn over_steps(mode: ProgressMode, first_step: u64, steps: u64) -> Self {
        Self::over(mode, Work { begins_at: first_step, count: steps, what: "steps", atoms: None })
    }

    /// Creates the progress over the cases of benchmarks.
    pub fn over_cases(mode: ProgressMode, cases: u64) -> Self {
        Self::over(mode, Work { begins_at: 0, count: cases, what: "cases", atoms: None })
    }

    /// Creates the progress over the samples of a comparison.
    pub fn over_samples(mode: ProgressMode, samples: u64) -> Self {
        Self::over(mode, Work { begins_at: 0, count: samples, what: "samples", atoms: None })
    }

    fn over(mode: ProgressMode, work: Work) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
        match (mode, io::stderr().is_terminal() && !target.is_hidden()) {
            (ProgressMode::Never, _) | (ProgressMode::Auto, false) => Self::Nothing,
            (ProgressMode::Auto | ProgressMode::Always, true) => Self::Bar(bar(target, work)),
            (ProgressMode::Always, false) => Self::Lines(Lines::new(work)),
        }
    }

    /// Records that the amount `done` of the work has been done.
    pub fn tick(&mut self, done: u64) {
        match self {
            Self::Nothing => {}
            Self::Bar(bar) => bar.set_position(done),
            Self::Lines(lines) => lines.tick(done, Instant::now()),
        }
    }

    /// Shows something without mixing it with the bar.
    pub fn suspend(&self, show: impl FnOnce()) {
        match self {
            Self::Bar(bar) => bar.suspend(show),
            Self::Nothing | Self::Lines(_) => show(),
        }
    }

    /// Removes the bar before the report is printed.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn bar(target: ProgressDrawTarget, work: Work) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        out.write_str(&speed_text(state.per_sec(), work)).ok();
    };
    let what = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
        out.write_str(work.what).ok();
    };
    let style = style.with_key("speed", speed).with_key("what", what);
    let bar = ProgressBar::with_draw_target(Some(work.count), target).with_style(style);
    // The speed and the remaining time are computed from here on.
    bar.set_position(work.begins_at);
    bar.reset_eta();
    bar
}

fn speed_text(steps_per_s: f64, work: Work) -> String {
    let text = |atoms: u64| format!("{} Matom-step/s  ", significant(steps_per_s * atoms as f64 / 1e6, 3));
    work.atoms.map(text).unwrap_or_default()
}

/// Progress in lines, if there is no terminal.
#[derive(Debug)]
pub struct Lines {
    work: Work,
    start: Instant,
    last_line: Instant,
}

impl Lines {
    fn new(work: Work) -> Self {
        let start = Instant::now();
        Self { work, start, last_line: start }
    }

    fn tick(&mut self, done: u64, now: Instant) {
        if now.saturating_duration_since(self.last_line) >= LINE_INTERVAL {
            self.last_line = now;
            let line = self.line(done, now.saturating_duration_since(self.start));
            io::stderr().write_all(line.as_bytes()).ok();
        }
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let Work { begins_at, count, what, .. } = self.work;
        let steps_per_s =
            done.saturating_sub(begins_at) as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let left_s = count.saturating_sub(done) as f64 / steps_per_s.max(f64::MIN_POSITIVE);
        format!(
            "{done}/{count} {what} {}%  {}ETA {left_s:.0} s\n",
            done * 100 / count.max(1),
            speed_text(steps_per_s, self.work)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress() {
        let line = Lines::new(Work { begins_at: 0, count: 1000, what: "steps", atoms: Some(32_000) })
            .line(250, Duration::from_secs(10));
        insta::assert_snapshot!(line, @"250/1000 steps 25%  0.8 Matom-step/s  ETA 30 s");
    }

    #[test]
    fn the_template_is_valid() {
        ProgressStyle::with_template(TEMPLATE).unwrap();
        let bar =
            bar(ProgressDrawTarget::hidden(), Work { begins_at: 0, count: 10, what: "cases", atoms: None });
        bar.set_position(5);
        assert_eq!(bar.position(), 5);
    }

    #[test]
    fn never_shows_nothing_and_lets_text_through() {
        let mut progress = Progress::new(ProgressMode::Never, 0, 10, 1);
        progress.tick(1);
        assert!(matches!(progress, Progress::Nothing));
        let mut shown = false;
        progress.suspend(|| shown = true);
        progress.finish();
        assert!(shown);
    }
}
