//! Warnings of a run about its physics: on standard error, also with `--quiet`, and under
//! `warnings` in summary.json.

use md_core::potential::Shift;
use md_core::words::counted;
use md_engine::{BoxReport, ColdStart, Config, EnergyReport, NeighborReport, Setup};
use md_lab::significant;

use super::statistics::percent;

/// Significant digits. Only the order of magnitude matters.
const DIGITS: usize = 3;

/// Largest change of the total energy that can come from the cutoff and rounding, relative to the
/// mean kinetic energy.
const LARGEST_CHANGE: f64 = 0.03;
/// Energies and forces of a system at rest below which they are rounding errors, relative to the
/// units of the potential.
const ROUNDING: f64 = 1e-6;

/// Orders of magnitude of the force and energy of a pair, because not every scenario is in reduced
/// units.
#[derive(Debug, Clone, Copy)]
pub struct Units {
    /// Order of magnitude of a force.
    pub force: f64,
    /// Order of magnitude of an energy.
    pub energy: f64,
}

/// Returns everything that puts the results of a run in doubt.
pub fn warnings(
    neighborhood: &NeighborReport,
    energy: &EnergyReport,
    setup: &Setup,
    units: Units,
    shift: Shift,
) -> Vec<String> {
    let drift = drift(energy, setup, units, cause(neighborhood, shift));
    [dangers(neighborhood), drift, standstill(energy, setup, units)].into_iter().flatten().collect()
}

/// Returns the reason why an energy may not be conserved.
pub fn cause(neighborhood: &NeighborReport, shift: Shift) -> &'static str {
    match (neighborhood.first_dangerous_step, shift) {
        (Some(_), _) => "pairs that were missed may be the cause",
        (None, Shift::None) => {
            "the time step is too large, or the potential jumps too far at its cutoff: try `interaction.shift = \"energy\"` or a \
             larger `interaction.cutoff`"
        }
        (None, _) => "the time step is probably too large",
    }
}

/// Returns the warning about a neighbour list that may lack pairs, once, as soon as this is
/// detected.
pub fn first_danger(report: &NeighborReport) -> Option<String> {
    let step = report.first_dangerous_step?;
    Some(format!(
        "step {step}: a particle has moved by {} times half the skin since the last rebuild, so pairs within the \
         cutoff may have been missed; use `neighbor.rebuild = {{ displacement = true }}`, rebuild more often, or give a \
         larger `neighbor.skin`",
        significant(report.largest_displacement, DIGITS)
    ))
}

/// Returns the warning at the end of a run about the number of such rebuilds.
fn dangers(report: &NeighborReport) -> Option<String> {
    let &NeighborReport { rebuilds, dangerous_rebuilds, dangerous_checks, largest_displacement, .. } = report;
    let first = report.first_dangerous_step?;
    Some(format!(
        "pairs within the cutoff may have been missed, first before step {first}: {dangerous_rebuilds} of {rebuilds} \
         rebuilds came too late, and {} between rebuilds found a particle beyond half the skin; \
         largest displacement: {} times half the skin",
        counted(dangerous_checks, "check"),
        significant(largest_displacement, DIGITS)
    ))
}

/// Returns the warning about a thermostat that does not heat the particles of a stage. The name
/// `stage` may be empty.
pub fn cold_start(cold: ColdStart, stage: &str) -> String {
    let of_stage = if stage.is_empty() { String::new() } else { format!("stage {stage}: ") };
    let problem = match cold {
        ColdStart::Motionless => {
            "the particles are at rest relative to each other and no force moves them, so that a thermostat which multiplies \
             their velocities has nothing to multiply but rounding errors"
        }
        ColdStart::FarBelow => {
            "the particles are almost at rest: from there `nose-hoover` takes many relaxation times, and then overshoots by far"
        }
    };
    format!("{of_stage}{problem}; give `system.temperature`, or begin with a stage of `langevin`")
}

/// Returns the warning about changes of the box that were limited.
pub fn limited_box(&BoxReport { changes, limited }: &BoxReport) -> Option<String> {
    (limited > 0).then(|| {
        format!(
            "the change of the box was limited to 5 % of a length in {limited} of {changes} actions of the barostat, so that the \
             pressure is not followed as asked for: the wanted pressure is too far from that of the system, `relaxation` too short, or \
             `compressibility` too large"
        )
    })
}

/// Returns the warning about balancings of another run that should have been repeated but were not.
pub fn unreached([left, all]: [usize; 2], last_step: u64) -> Option<String> {
    (left > 0).then(|| {
        format!(
            "{left} of {all} balancings in the file of --replay were not reached: the run ended after step {last_step}"
        )
    })
}

/// Returns the warning about a total energy, or another quantity that the integrator conserves,
/// that is not conserved.
fn drift(report: &EnergyReport, setup: &Setup, units: Units, cause: &str) -> Option<String> {
    let Config { max_drift, integrator, .. } = &setup.config;
    let &EnergyReport { largest_change, mean_kinetic, .. } = report;
    let conserved = integrator.conserved()?;
    // What is at rest has no kinetic energy to compare with; warnings of their own tell of it.
    if mean_kinetic <= ROUNDING * units.energy {
        return None;
    }
    (largest_change > LARGEST_CHANGE * mean_kinetic + ROUNDING * units.energy).then(|| {
        format!(
            "the {} has changed by {} per atom, {} % of the mean kinetic energy, where {} % can be expected; \
             {cause}{}",
            conserved,
            significant(largest_change, DIGITS),
            significant(percent(largest_change, mean_kinetic), DIGITS),
            100.0 * LARGEST_CHANGE,
            max_drift.map_or(" (`simulation.max_drift` makes this an error)", |_| ""),
        )
    })
}

/// Returns the warning for particles at rest, if their forces are rounding errors too.
pub fn stillness(first_force: f64, units: Units) -> Option<String> {
    (first_force <= ROUNDING * units.force).then(|| {
        "nothing moves and no force acts: all velocities are 0, and so are all forces, to rounding, so that only rounding errors can \
         set the particles in motion; \
         give the particles a `system.temperature`, or velocities or places that are not in equilibrium"
            .to_owned()
    })
}

/// Returns the warning about steps so short that some or all positions do not change in them.
fn standstill(report: &EnergyReport, setup: &Setup, units: Units) -> Option<String> {
    /// Fraction of the farthest coordinate that most coordinates exceed.
    const SMALL: f64 = 1.0 / 64.0;
    let &EnergyReport { mean_kinetic, first_force, time, .. } = report;
    let (config, domain) = (&setup.config, &setup.domain);
    let lightest = config.masses.iter().copied().fold(f64::INFINITY, f64::min);
    let ends = (0..domain.dimension.count()).flat_map(|dim| [domain.origin[dim], domain.upper(dim)]);
    let farthest = ends.map(f64::abs).fold(0.0, f64::max);
    // Particles at rest do not become faster than this while the forces stay as they are.
    let speed = (2.0 * mean_kinetic / lightest).sqrt().max(first_force / lightest * time);
    let (step, rounding) = (config.timestep.abs() * speed, f64::EPSILON * farthest);
    let has_speed = mean_kinetic > ROUNDING * units.energy;
    let should_move = time > 0.0 && (has_speed || first_force > ROUNDING * units.force);
    (should_move && step < rounding).then(|| {
        let outcome = if step <= SMALL * rounding {
            "nothing moves"
        } else {
            "particles far from the origin move by wrong distances or not at all"
        };
        format!(
            "`simulation.timestep` is {:?}: in a step a particle moves by {}, which is lost in the rounding of its coordinates \
             (double precision), so {outcome}; the time step is too small",
            config.timestep,
            significant(step, DIGITS),
        )
    })
}
