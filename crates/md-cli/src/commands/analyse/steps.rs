//! Steps at which the frames of a trajectory were written. The number of a frame in the file does
//! not give its step.

use md_files::input::{FrameTime, InputParticles};
use md_scenario::failure::RunError;

use crate::commands::refused;

/// Largest deviation of a time in units of the time step from a whole number, for the rounding of
/// sums of time steps.
const ROUNDING: f64 = 1e-3;

/// Finds the steps of frames, one after the other.
pub(super) struct Steps {
    timestep: f64,
    /// Number of steps between two frames, if the user gives it.
    interval: Option<u64>,
    /// Number of frames so far.
    count: u64,
    /// Step and time of the first frame.
    first: (u64, Option<FrameTime>),
}

impl Steps {
    pub(super) fn new(timestep: f64, interval: Option<u64>) -> Self {
        Self { timestep, interval, count: 0, first: (0, None) }
    }

    /// Returns the step of the next frame: the step in the file, or its time divided by the time
    /// step.
    ///
    /// # Errors
    /// Returns an error if a frame has neither, or if its step and time contradict each other.
    pub(super) fn next(&mut self, name: &str, frame: &InputParticles) -> Result<u64, RunError> {
        let number = self.count;
        self.count += 1;
        let step = match (self.interval, frame.step, frame.time) {
            (Some(interval), ..) if number > 0 => {
                self.first.0.saturating_add(number.saturating_mul(interval))
            }
            (_, Some(step), _) => step,
            (Some(_), None, _) => 0,
            (None, None, Some(time)) => {
                self.of_time(time).map_err(|why| refused(format!("{name}: {why}")))?
            }
            (None, None, None) if number == 0 => 0,
            (None, None, None) => {
                return Err(refused(format!(
                    "{name}: it says neither its step nor its time: give the steps between two frames by --frame-steps N"
                )));
            }
        };
        if number == 0 {
            self.first = (step, frame.time);
        }
        if let (None, Some(time)) = (self.interval, frame.time) {
            self.check(name, step, time)?;
        }
        Ok(step)
    }

    fn of_time(&self, time: FrameTime) -> Result<u64, String> {
        let Self { timestep, .. } = *self;
        let steps = time.value() / timestep;
        let rounding = ROUNDING + time.resolution() / timestep;
        let is_whole = (steps - steps.round()).abs() <= rounding && rounding < 0.5;
        // Up to this limit, all whole numbers can be represented.
        if is_whole && (0.0..=(1_u64 << 53) as f64).contains(&steps.round()) {
            return Ok(steps.round() as u64);
        }
        Err(format!(
            "it has no step, and its time {time} is {steps:.3} time steps of {timestep:?}, which is no whole number from 0: set \
             `simulation.timestep` to that of the run which wrote it, or give the steps between two frames by --frame-steps N"
        ))
    }

    /// Checks that the time since the first frame agrees with the steps since then.
    fn check(&self, name: &str, step: u64, time: FrameTime) -> Result<(), RunError> {
        let Self { timestep, first: (first_step, Some(first)), .. } = *self else { return Ok(()) };
        let steps = step as f64 - first_step as f64;
        let passed = time.value() - first.value();
        let rounding = ROUNDING * timestep + first.resolution() + time.resolution();
        if (passed - steps * timestep).abs() <= rounding.max(1e-9 * passed.abs()) {
            return Ok(());
        }
        let hint = if steps > 0.0 && passed > 0.0 {
            format!(
                "set `simulation.timestep` to that of the run which wrote it (here {:?}), or ",
                passed / steps
            )
        } else {
            String::new()
        };
        Err(refused(format!(
            "{name}: its step is {step} and its time {time}, but from step {first_step} (time {first}) time steps of \
             {timestep:?} lead to time {:?}: {hint}give the steps between two frames by --frame-steps N",
            first.value() + steps * timestep
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(step: Option<u64>, time: Option<FrameTime>) -> InputParticles {
        InputParticles { step, time, ..InputParticles::default() }
    }

    fn found(timestep: f64, interval: Option<u64>, frames: &[InputParticles]) -> Result<Vec<u64>, String> {
        let mut steps = Steps::new(timestep, interval);
        let all = frames.iter().zip(1..).map(|(frame, number)| steps.next(&format!("f{number}"), frame));
        all.collect::<Result<_, _>>().map_err(|error: RunError| error.to_string())
    }

    #[test]
    fn steps_come_from_steps_or_times() {
        let timed = |times: &[f64]| -> Vec<_> {
            times.iter().map(|&time| frame(None, Some(FrameTime::Single((time as f32).into())))).collect()
        };
        assert_eq!(
            found(0.005, None, &timed(&[0.0, 0.1, 0.2, 0.9, 1000.1])),
            Ok(vec![0, 20, 40, 180, 200_020])
        );
        let own: Vec<_> = [0, 100, 250].map(|step| frame(Some(step), None)).into();
        assert_eq!(found(0.005, None, &own), Ok(vec![0, 100, 250]));
        let bare: Vec<_> = (0..3).map(|_| frame(None, None)).collect();
        assert_eq!(found(0.005, Some(50), &bare), Ok(vec![0, 50, 100]));
        assert_eq!(found(0.005, None, &bare[..1]), Ok(vec![0]));
        // MDAnalysis writes the number of a frame as its step.
        let numbered: Vec<_> =
            (0..3).map(|step| frame(Some(step), Some(FrameTime::Single(0.1 * step as f64)))).collect();
        assert_eq!(found(0.005, Some(20), &numbered), Ok(vec![0, 20, 40]));
    }

    #[test]
    fn what_does_not_tell_is_refused() {
        let fault = |timestep, frames: &[InputParticles]| found(timestep, None, frames).unwrap_err();
        let bare = [frame(None, None), frame(None, None)];
        let expected =
            "f2: it says neither its step nor its time: give the steps between two frames by --frame-steps N";
        assert_eq!(fault(0.005, &bare), expected);
        let timed = |time: f64| frame(None, Some(FrameTime::Double(time)));
        let expected = "f1: it has no step, and its time 0.1 is 14.286 time steps of 0.007, which is no whole \
                        number from 0: set `simulation.timestep` to that of the run which wrote it, or give the steps between \
                        two frames by --frame-steps N";
        assert_eq!(fault(0.007, &[timed(0.1)]), expected);
        assert!(fault(0.005, &[timed(-0.1)]).contains("its time -0.1 is -20.000 time steps of 0.005"));
        // At this time, an `f32` cannot distinguish one step from the next.
        let late = frame(None, Some(FrameTime::Single(1e6)));
        assert!(fault(0.005, &[late]).contains("it has no step, and its time 1000000.0"));
        let both = |step, time| frame(Some(step), Some(FrameTime::Double(time)));
        assert_eq!(found(0.005, None, &[both(10, 3.05), both(20, 3.1)]), Ok(vec![10, 20]));
        let expected = "f2: its step is 20 and its time 0.1, but from step 0 (time 0.0) time steps of 0.001 lead to \
                        time 0.02: set `simulation.timestep` to that of the run which wrote it (here 0.005), or give the steps between two \
                        frames by --frame-steps N";
        assert_eq!(fault(0.001, &[both(0, 0.0), both(20, 0.1)]), expected);
    }
}
