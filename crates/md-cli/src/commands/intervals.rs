//! Warnings about intervals, starts and lengths with which outputs stay empty, which the user
//! usually did not intend.

use std::iter;

use md_core::words::counted;
use md_scenario::{AnalysisKeys, Scenario};

/// Range of steps that outputs observe: those of a run, or of a stage with separate outputs.
struct Span<'s> {
    /// Scenario with the parameters of the outputs.
    scenario: &'s Scenario,
    /// Prefix of `output` in the scenario of the run.
    within: String,
    what: &'static str,
    /// Step at which analyses without a `start` begin.
    begin: u64,
    /// The last step.
    end: u64,
    /// Where observations are missing, for messages.
    afterwards: &'static str,
}

/// Returns the warnings about a scenario's outputs and those of its stages.
pub(crate) fn interval_warnings(scenario: &Scenario) -> Vec<String> {
    let end = scenario.simulation.steps;
    let last_stage = scenario.stages().last().map_or(end, |stage| stage.steps);
    let begin = end.saturating_sub(last_stage);
    let of_run =
        Span { scenario, within: String::new(), what: "run", begin, end, afterwards: "after step 0" };
    let mut warnings = of_run.warnings();
    for stage in scenario.stages_with_outputs() {
        let begin = scenario.stage.iter().take(stage.number).map(|stage| stage.steps).sum();
        let (scenario, within) = (&stage.scenario, stage.within());
        let end = begin + scenario.simulation.steps;
        let of_stage = Span { scenario, within, what: "stage", begin, end, afterwards: "in it" };
        warnings.extend(of_stage.warnings());
    }
    warnings
}

impl Span<'_> {
    fn warnings(&self) -> Vec<String> {
        let correlations = self.long_correlations();
        self.long_intervals().into_iter().chain(self.late_starts()).chain(correlations).collect()
    }

    /// Returns warnings about intervals that are longer than all steps.
    fn long_intervals(&self) -> Vec<String> {
        let Self { scenario: Scenario { output, simulation, .. }, within, what, afterwards, .. } = self;
        let frame = format!("no frame {afterwards} will be written");
        let look = format!("nothing {afterwards} will be looked at");
        let every = output.trajectory.as_ref().map(|trajectory| trajectory.every);
        let analyses = output.analyses.keys().into_iter().filter(|it| it.kind.key != "profile");
        let analyses = analyses.map(|it| (it.kind.key, Some(it.every), look.as_str()));
        let outputs: Vec<_> = iter::once(("trajectory", every, frame.as_str())).chain(analyses).collect();
        beyond((within, what), simulation.steps, &outputs)
    }

    /// Returns warnings about analyses that begin after the last step.
    fn late_starts(&self) -> Vec<String> {
        let Self { scenario: Scenario { output, .. }, within, what, end, .. } = self;
        let averages = ("averages", output.analyses.averages.map(|averages| averages.start));
        let starts = output.analyses.keys().into_iter().map(|it| (it.kind.key, it.start));
        let late = |(output, start): (&str, Option<u64>)| {
            let start = start.filter(|start| start > end)?;
            let ends = if within.is_empty() {
                format!("has {}", counted(*end, "step"))
            } else {
                format!("ends with step {end}")
            };
            Some(format!(
                "`{within}output.{output}.start` is {start}, but the {what} {ends}: nothing will be looked at"
            ))
        };
        iter::once(averages).chain(starts).filter_map(late).collect()
    }

    /// Returns warnings about correlations that are longer than the observed steps.
    fn long_correlations(&self) -> Vec<String> {
        let Self { scenario: Scenario { output, simulation, .. }, within, what, begin, end, .. } = self;
        let looks_after = |start: Option<u64>, every: u64| {
            // A stage's outputs observe nothing before it, whatever their `start` is.
            let start =
                start.map_or(*begin, |start| if within.is_empty() { start } else { start.max(*begin) });
            (end / every + 1).checked_sub(start.div_ceil(every)).map_or(0, |looks| looks.saturating_sub(1))
        };
        let timestep = simulation.timestep;
        let too_long = |keys: AnalysisKeys| {
            let (output, lags) = (keys.kind.key, keys.lags(timestep));
            let looks = looks_after(keys.start, keys.every);
            (looks > 0 && looks < lags as u64).then(|| {
                format!(
                    "`{within}output.{output}.length` is {lags} looks, but the {what} has {looks} after the first: {output}.csv will have no rows"
                )
            })
        };
        let correlations = output.analyses.keys().into_iter().filter(|keys| keys.length.is_some());
        correlations.filter_map(too_long).collect()
    }
}

/// Returns warnings about outputs whose intervals are longer than `steps` steps, with the outcome
/// of each. `what` (a run or a stage) has these steps; `within` is the prefix of `output` in the
/// scenario.
pub(super) fn beyond(
    (within, what): (&str, &str),
    steps: u64,
    outputs: &[(&str, Option<u64>, &str)],
) -> Vec<String> {
    let one = |&(output, every, outcome): &(&str, Option<u64>, &str)| {
        let every = every.filter(|&every| every > steps)?;
        let steps = counted(steps, "step");
        Some(format!("`{within}output.{output}.every` is {every}, but the {what} has {steps}: {outcome}"))
    };
    outputs.iter().filter_map(one).collect()
}
