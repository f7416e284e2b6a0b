//! How far the run is, on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::screen::{Screen, significant};

/// When to show progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ProgressMode {
    /// A bar if standard error is a terminal.
    #[default]
    Auto,
    /// A bar on a terminal, else a line every few seconds.
    Always,
    /// Nothing.
    Never,
}

/// Drawn at most so often per second.
const DRAWS_PER_SECOND: u8 = 5;
/// The clock is read about so often, however short a step is.
const CLOCK_INTERVAL: Duration = Duration::from_millis(50);
/// The most steps between two looks at the clock, in case steps become longer.
const LONGEST_STRIDE: u64 = 1024;
/// Interval of lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const TEMPLATE: &str = "{bar:30} {pos}/{len} steps {percent}%  {speed}  ETA {eta}";

/// Progress of a run. A tick costs one comparison on nearly every step.
#[derive(Debug)]
pub struct Progress {
    display: Display,
    stride: Stride,
}

#[derive(Debug)]
enum Display {
    Nothing,
    Bar(ProgressBar),
    Lines(Lines),
}

impl Progress {
    /// Progress over `steps` steps of `atoms` particles.
    pub fn new(mode: ProgressMode, steps: u64, atoms: u64) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND);
        let display = match (mode, io::stderr().is_terminal() && !target.is_hidden()) {
            (ProgressMode::Never, _) | (ProgressMode::Auto, false) => Display::Nothing,
            (ProgressMode::Auto | ProgressMode::Always, true) => Display::Bar(bar(target, steps, atoms)),
            (ProgressMode::Always, false) => Display::Lines(Lines::new(steps, atoms)),
        };
        Self { display, stride: Stride::new() }
    }

    /// `done` steps of this run are done.
    pub fn tick(&mut self, done: u64) {
        if done < self.stride.next || matches!(self.display, Display::Nothing) {
            return;
        }
        let now = Instant::now();
        self.stride.adapt(done, now);
        match &mut self.display {
            Display::Nothing => {}
            Display::Bar(bar) => bar.set_position(done),
            Display::Lines(lines) => lines.tick(done, now),
        }
    }

    /// Shows text on the screen without mixing it with the bar.
    pub fn print(&self, screen: &mut Screen, text: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| screen.print(text)),
            Display::Nothing | Display::Lines(_) => screen.print(text),
        }
    }

    /// Takes the bar away: the report follows.
    pub fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn bar(target: ProgressDrawTarget, steps: u64, atoms: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
    let speed = move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        out.write_str(&speed_text(state.per_sec(), atoms)).ok();
    };
    ProgressBar::with_draw_target(Some(steps), target).with_style(style.with_key("speed", speed))
}

fn speed_text(steps_per_s: f64, atoms: u64) -> String {
    format!("{} Matom-step/s", significant(steps_per_s * atoms as f64 / 1e6, 3))
}

/// After how many steps to look at the clock again: more steps if little time has passed since the last look.
#[derive(Debug)]
struct Stride {
    steps: u64,
    next: u64,
    last_look: Instant,
}

impl Stride {
    fn new() -> Self {
        Self { steps: 1, next: 0, last_look: Instant::now() }
    }

    fn adapt(&mut self, done: u64, now: Instant) {
        let elapsed = now.saturating_duration_since(self.last_look);
        if elapsed < CLOCK_INTERVAL / 2 {
            self.steps = (self.steps * 2).min(LONGEST_STRIDE);
        } else if elapsed > CLOCK_INTERVAL * 2 {
            self.steps = (self.steps / 2).max(1);
        }
        self.next = done.saturating_add(self.steps);
        self.last_look = now;
    }
}

/// Progress where there is no terminal.
#[derive(Debug)]
struct Lines {
    steps: u64,
    atoms: u64,
    start: Instant,
    last_line: Instant,
}

impl Lines {
    fn new(steps: u64, atoms: u64) -> Self {
        let start = Instant::now();
        Self { steps, atoms, start, last_line: start }
    }

    fn tick(&mut self, done: u64, now: Instant) {
        if now.saturating_duration_since(self.last_line) >= LINE_INTERVAL {
            self.last_line = now;
            let line = self.line(done, now.saturating_duration_since(self.start));
            io::stderr().write_all(line.as_bytes()).ok();
        }
    }

    fn line(&self, done: u64, elapsed: Duration) -> String {
        let steps_per_s = done as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        let left_s = self.steps.saturating_sub(done) as f64 / steps_per_s.max(f64::MIN_POSITIVE);
        format!(
            "{done}/{} steps {}%  {}  ETA {left_s:.0} s\n",
            self.steps,
            done * 100 / self.steps.max(1),
            speed_text(steps_per_s, self.atoms)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::screen::Verbosity;

    #[test]
    fn a_line_of_progress() {
        let line = Lines::new(1000, 32_000).line(250, Duration::from_secs(10));
        insta::assert_snapshot!(line, @"250/1000 steps 25%  0.8 Matom-step/s  ETA 30 s");
    }

    #[test]
    fn the_template_is_valid() {
        ProgressStyle::with_template(TEMPLATE).unwrap();
        let bar = bar(ProgressDrawTarget::hidden(), 10, 4000);
        bar.set_position(5);
        assert_eq!(bar.position(), 5);
    }

    /// Looks at the clock during `steps` steps of `step_time`.
    fn looks(steps: u64, step_time: Duration) -> usize {
        let mut stride = Stride::new();
        let start = stride.last_look;
        let is_look = |&done: &u64| {
            let due = done >= stride.next;
            if due {
                stride.adapt(done, start + step_time * u32::try_from(done).unwrap());
            }
            due
        };
        (0..steps).filter(is_look).count()
    }

    #[test]
    fn short_steps_are_looked_at_rarely_and_long_ones_each_time() {
        assert_eq!(looks(100_000, Duration::from_micros(1)), 106);
        assert_eq!(looks(100, Duration::from_millis(200)), 99);
    }

    #[test]
    fn never_shows_nothing_and_lets_text_through() {
        let mut progress = Progress::new(ProgressMode::Never, 10, 1);
        progress.tick(1);
        assert!(matches!(progress.display, Display::Nothing));
        progress.print(&mut Screen::stdout(Verbosity::Quiet), "text");
        progress.finish();
    }
}
