//! Planning and monitoring of the box under a barostat. Each change is planned before the step that
//! makes it: if the run cannot continue in the new box, the box stays as it is and the run ends
//! normally after that step. Boxes close to such a box, and boxes that have grown excessively,
//! cause a warning as soon as they are detected.

use md_core::Domain;
use md_core::diagnose::largest_force;

use super::Simulation;
use crate::config::placement;
use crate::error::EngineError;
use crate::measure::Observer;
use crate::motion::barostat::{Barostat, Extent, PressureMoment, Stretch};

/// Action of the barostat before the next step.
#[derive(Debug, Clone)]
pub(super) enum PlannedChange {
    /// No change: the barostat does not act, or the box has to stay as it is.
    None,
    /// A change of the box.
    Stretch {
        /// Factors of the change.
        stretch: Stretch,
        /// Energy of all particles before the change, with the tail correction, \[energy\].
        energy: f64,
        /// Velocity about which velocities are scaled: the drift of the whole system, \[length /
        /// time\].
        drift: [f64; 3],
    },
}

/// Plan, end and warnings of the box; the same on all ranks.
#[derive(Debug, Default)]
pub(super) struct BoxCourse {
    /// Change planned for the next step.
    planned: Option<PlannedChange>,
    /// Reason why the box could not follow the pressure, which ends the run.
    end: Option<String>,
    warnings: Vec<String>,
    has_warned_of: Warned,
    /// Lengths for which no invalid box was found nearby.
    clear: Option<[f64; 3]>,
}

/// Warnings already issued.
#[derive(Debug, Default)]
struct Warned {
    limits: bool,
    growth: bool,
}

impl BoxCourse {
    /// Clears the end of the previous run.
    pub(super) fn begin(&mut self) {
        self.end = None;
    }

    pub(super) fn take_plan(&mut self) -> Option<PlannedChange> {
        self.planned.take()
    }
}

impl Simulation<'_> {
    /// Returns why the box could not follow the pressure, if this ended the last run before or at
    /// its last step.
    pub fn box_end(&self) -> Option<&str> {
        self.box_course.end.as_deref()
    }

    /// Returns the warnings about the box so far.
    pub fn box_warnings(&self) -> &[String] {
        &self.box_course.warnings
    }

    /// Plans the action of the barostat before the next step. Returns whether that step is the last
    /// one because the run or an observer cannot continue in the planned box. *Collective.*
    pub(super) fn plan_box(&mut self, observers: &[&mut dyn Observer]) -> Result<bool, EngineError> {
        let planned = self.planned_change()?;
        self.box_course.planned = Some(planned.clone());
        let PlannedChange::Stretch { stretch, .. } = planned else { return Ok(false) };
        let domain = self.state.domain.stretched(stretch.lengths);
        let problem = self.stretch_problem(&stretch)?.or_else(|| self.box_problem(&domain, observers));
        if problem.is_some() {
            self.box_course.end = problem;
            self.box_course.planned = Some(PlannedChange::None);
            return Ok(true);
        }
        self.look_ahead(&domain, observers);
        Ok(false)
    }

    /// Returns the change of the box that the barostat requires after the present step.
    /// *Collective.*
    pub(super) fn planned_change(&mut self) -> Result<PlannedChange, EngineError> {
        let step = self.state.step;
        if !self.barostat_acts_after(step) {
            return Ok(PlannedChange::None);
        }
        self.finish_last_reduction()?;
        let sums = self.system_sums()?;
        let now = PressureMoment {
            step,
            pressure: sums.observables(&self.state.domain, self.accounts.tail).pressure_tensor,
            volume: self.state.domain.volume(),
            temperature: self.state.integrator.temperature(step).unwrap_or_default(),
        };
        let stretch = self.state.barostat.as_ref().map(|barostat| barostat.stretch(&now));
        let energy = 0.5 * sums.twice_kinetic() + sums.pairs.energy + self.accounts.tail.energy;
        let drift = sums.thermal.drift;
        Ok(stretch.map_or(PlannedChange::None, |stretch| PlannedChange::Stretch { stretch, energy, drift }))
    }

    /// Returns a message if a box that shrinks at the limit compresses particles until the time
    /// step is too large for their forces. *Collective.*
    pub(super) fn stretch_problem(&self, stretch: &Stretch) -> Result<Option<String>, EngineError> {
        /// In units of the cutoff: a force that moves a particle further in a time step is about to
        /// eject it.
        const LONGEST_MOVE: f64 = 0.01;
        let shrinks = stretch.lengths.iter().any(|factor| *factor < 1.0);
        if stretch.extent == Extent::Whole || !shrinks {
            return Ok(None);
        }
        let lightest = self.setup.config.masses.iter().copied().fold(f64::INFINITY, f64::min);
        let mut largest = [largest_force(&self.state.particles).map_or(0.0, |(_, force)| force)];
        self.world.max(&mut largest)?;
        let (timestep, [force]) = (self.timestep(), largest);
        let distance = force / lightest * timestep * timestep;
        Ok((distance > LONGEST_MOVE * self.setup.config.forces.cutoff()).then(|| {
            format!(
                "the box shrinks by 5 % at a time and has brought particles so close that a force of {force:.3e} moves one by \
                 {distance:.3e} in a time step, which is too large for it"
            )
        }))
    }

    /// Returns why the run, or one of its observers, cannot continue in this box, if so; the
    /// same on all ranks.
    pub(super) fn box_problem(&self, domain: &Domain, observers: &[&mut dyn Observer]) -> Option<String> {
        let cutoff = self.setup.config.forces.cutoff();
        let cells = || {
            let grid = self.decomposition.grid.over(*domain);
            // A new division may fit where the present cells do not.
            self.setup.check_cells(&grid, cutoff).or_else(|_| self.setup.in_box(*domain).map(drop))
        };
        let problem = placement::check_digits(domain, cutoff).and_then(|()| cells()).err();
        let problem = problem.map(|error| error.to_string());
        problem.or_else(|| observers.iter().find_map(|observer| observer.box_problem(domain)))
    }

    /// Warns once of excessive growth and once of a limit ahead.
    fn look_ahead(&mut self, domain: &Domain, observers: &[&mut dyn Observer]) {
        let Some(barostat) = self.state.barostat.as_ref().map(|barostat| *barostat.keys()) else { return };
        if !self.box_course.has_warned_of.growth
            && let Some(text) = self.growth(domain, &barostat)
        {
            self.box_course.has_warned_of.growth = true;
            self.box_course.warnings.push(text);
        }
        if !self.box_course.has_warned_of.limits
            && let Some(text) = self.limit_ahead(domain, &barostat, observers)
        {
            self.box_course.has_warned_of.limits = true;
            self.box_course.warnings.push(text);
        }
    }

    /// Returns a warning if the box has become very much larger than at the start.
    fn growth(&self, domain: &Domain, barostat: &Barostat) -> Option<String> {
        /// In units of the initial volume: a liquid that has become a gas under any usual pressure.
        const GAS: f64 = 1000.0;
        /// Limit for pressures of 0 or less: no gas has such a pressure, and a liquid is hardly so
        /// dilute.
        const BOILED: f64 = 4.0;
        let (most, outlook) = match barostat.pressure > 0.0 {
            true => (GAS, "it has evaporated, or the pressure has no state of equilibrium"),
            false => (BOILED, "no gas has such a pressure, so that what has boiled away expands without end"),
        };
        let ratio = domain.volume() / self.setup.config.domain().volume();
        (ratio > most).then(|| {
            format!(
                "step {}: the barostat, with a `pressure` of {:?}, has made the box {ratio:.1} times as large as it was at first: {outlook}",
                self.state.step, barostat.pressure,
            )
        })
    }

    /// Returns a warning if the box is close to one in which the run cannot continue.
    fn limit_ahead(
        &mut self,
        domain: &Domain,
        barostat: &Barostat,
        observers: &[&mut dyn Observer],
    ) -> Option<String> {
        /// Relative change of the lengths that is checked.
        const MARGIN: f64 = 0.05;
        /// Boxes whose lengths differ by less, relatively, are not checked again.
        const NEGLIGIBLE: f64 = 0.01;
        let lengths = domain.lengths;
        let is_near = |clear: [f64; 3]| {
            clear.iter().zip(lengths).all(|(then, now)| (now / then - 1.0).abs() < NEGLIGIBLE)
        };
        if self.box_course.clear.is_some_and(is_near) {
            return None;
        }
        self.box_course.clear = Some(lengths);
        let changed = |factor: f64| domain.stretched(barostat.coupled(domain.dimension, factor));
        let ahead = [("shrinks", 1.0 - MARGIN), ("grows", 1.0 + MARGIN)]
            .into_iter()
            .find_map(|(changes, factor)| Some((changes, self.box_problem(&changed(factor), observers)?)));
        ahead.map(|(changes, problem)| {
            let (step, percent) = (self.state.step, 100.0 * MARGIN);
            format!("step {step}: the run will end if the box {changes} by another {percent} % of a length, because then {problem}")
        })
    }
}
