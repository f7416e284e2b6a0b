//! The report at the end of a run, in the form that users of LAMMPS are used to.

use md_core::words::counted;
use md_engine::{BalanceReport, NeighborReport, Phase, Spread, Timings};
use md_files::output::screen::within_columns;
use md_lab::{RunContext, significant};
use md_scenario::name_of;

use super::RunFacts;
use super::advice::{Host, advice};
use super::choices::choice_lines;
use super::statistics::{
    PhaseStatistics, atom_steps_per_s, ns_per_atom_step, percent, phase_statistics, steps_per_s,
};

/// Significant digits, as in the table of LAMMPS.
const DIGITS: usize = 5;
const MS_PER_S: f64 = 1e3;
const SECONDS_PER_DAY: f64 = 86_400.0;
const ATOM_STEPS_PER_MEGA_ATOM_STEP: f64 = 1e6;

/// Returns the whole report.
pub fn run_report(timings: &Timings, context: &RunContext, facts: &RunFacts) -> String {
    let prose = [
        hidden_line(timings),
        particle_lines(timings),
        check_lines(context, facts),
        balance_lines(&facts.balance),
        choice_lines(&facts.choices),
        advice(timings, Host { crowding: facts.crowding.as_deref(), used: facts.host_use }, &facts.balance)
            .map_or_else(String::new, |advice| format!("\nAdvice: {advice}\n")),
    ];
    [
        within_columns(&performance_lines(context, facts)),
        phase_table(&phase_statistics(timings)),
        within_columns(&prose.concat()),
    ]
    .concat()
}

/// Returns the lines about the duration of the loop, the speed, and the ranks and threads.
fn performance_lines(context: &RunContext, facts: &RunFacts) -> String {
    let RunContext { ranks, threads, steps, atoms, strategy, grid, .. } = context;
    let [backend, shell, exchange, partition] = strategy.names();
    let (steps_per_s, of_ranks) = (steps_per_s(context, facts), counted(*ranks, "rank"));
    format!(
        "\nLoop time of {} on {of_ranks} for {} with {}\n\n\
         Performance: {:.3} tau/day, {:.3} timesteps/s, {:.3} Matom-step/s,\n             {} ns/atom-step\n\
         {of_ranks} x {}, grid {grid}, partition {partition}, {} precision, {}\n\
         Halo: backend {backend}, shell {shell}, exchange {exchange}\n",
        significant(facts.wall_s, 6),
        counted(*steps, "step"),
        counted(*atoms, "atom"),
        steps_per_s * facts.timestep * SECONDS_PER_DAY,
        steps_per_s,
        atom_steps_per_s(context, facts) / ATOM_STEPS_PER_MEGA_ATOM_STEP,
        significant(ns_per_atom_step(context, facts), DIGITS),
        counted(*threads, "thread"),
        name_of(context.precision),
        facts.simd,
    )
}

/// Returns a table with one row per phase.
pub(crate) fn phase_table(phases: &[PhaseStatistics]) -> String {
    let header = "\nTimes in seconds over ranks; the phases are the rows of timing.csv:\n\
        Section       |    calls |  min time  |  avg time  |  max time  |%varavg| %total\n";
    let rule = format!("{}\n", "-".repeat(79));
    let rows = phases.iter().map(phase_row).collect::<String>();
    [header, &rule, &rows].concat()
}

fn phase_row(row: &PhaseStatistics) -> String {
    let [min, avg, max] = [row.min_s, row.avg_s, row.max_s].map(|seconds| significant(seconds, DIGITS));
    format!(
        "{:<13} | {:>8} | {min:<10} | {avg:<10} | {max:<10} | {:>5.1} | {:>6.2}\n",
        row.phase.name(),
        row.calls,
        row.varavg_percent,
        row.share_percent
    )
}

/// Returns a line about the share of the flight time that was hidden behind the computation of
/// forces. It is empty if there was no halo.
fn hidden_line(timings: &Timings) -> String {
    let [hidden_s, wait_s] =
        [Phase::HaloHidden, Phase::HaloWait].map(|phase| timings.phase(phase).seconds.avg);
    if hidden_s == 0.0 {
        return String::new();
    }
    let hidden = percent(hidden_s, hidden_s + wait_s);
    format!(
        "\nThe halo was in flight beside forces for {} s, {hidden:.0} % of its time\n",
        significant(hidden_s, DIGITS)
    )
}

/// Returns lines about the distribution of the particles over the ranks.
fn particle_lines(timings: &Timings) -> String {
    format!("\n{}{}", spread_line("Owned: ", timings.owned), spread_line("Ghosts:", timings.ghosts))
}

fn spread_line(label: &str, Spread { min, avg, max }: Spread) -> String {
    format!("{label} {:>10} ave {max:>10.0} max {min:>10.0} min\n", significant(avg, 8))
}

/// Returns lines about the results of balancing. They are empty if there was none.
fn balance_lines(balance: &BalanceReport) -> String {
    let BalanceReport { checks, balancings, spent_s, .. } = balance;
    let ([first, ..], [.., last]) = (&balancings[..], &balancings[..]) else { return String::new() };
    format!(
        "\nBalanced {} in {}: work of the busiest rank over the mean {:.3} before step {}, {:.3} after step {}; \
         {} moved, {:.1} ms spent, about {:.1} ms won until the next look (balance.csv)\n",
        counted(balancings.len(), "time"),
        counted(*checks, "look"),
        first.imbalance_before,
        first.step + 1,
        last.imbalance_after,
        last.step,
        counted(balance.particles_moved(), "particle"),
        spent_s * MS_PER_S,
        balance.won_s() * MS_PER_S,
    )
}

/// Returns counts and the energy, by which a user judges whether the run can be trusted.
fn check_lines(context: &RunContext, facts: &RunFacts) -> String {
    let (computed, useful) = (facts.computed_pairs_per_atom, facts.useful_pairs_per_atom);
    let NeighborReport { rebuilds, dangerous_rebuilds, dangerous_checks, largest_displacement, .. } =
        facts.neighborhood;
    // A thermostat or barostat is expected to change the total energy.
    let (what, drift) = match (facts.energy_drift_per_atom, facts.energy.drift) {
        (total, conserved) if total == conserved => ("Energy", total),
        (_, conserved) => ("Conserved energy", conserved),
    };
    format!(
        "\nPairs per atom: {} computed, {} within the cutoff ({:.1} %)\n\
         Rebuilds: {rebuilds}, of which dangerous: {dangerous_rebuilds} (moved by more than half the skin)\n\
         Dangerous checks between rebuilds: {dangerous_checks}\n\
         Largest displacement: {} times half the skin\n\
         Lost particles: {}\n\
         {what} drift: {} per atom over {}\n",
        significant(computed, DIGITS),
        significant(useful, DIGITS),
        percent(useful, computed),
        significant(largest_displacement, 3),
        facts.lost_particles,
        significant(drift, DIGITS),
        counted(facts.resumed_from_step.unwrap_or(0) + context.steps, "step"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures::{context, facts, reduced, two_ranks};

    #[test]
    fn the_report_of_a_run() {
        insta::assert_snapshot!(run_report(&reduced(&two_ranks()), &context(), &facts()), @r"

        Loop time of 1 on 2 ranks for 100 steps with 16000 atoms

        Performance: 43200.000 tau/day, 100.000 timesteps/s, 1.600 Matom-step/s,
                     625 ns/atom-step
        2 ranks x 1 thread, grid 2x1x1, partition rect, double precision, avx512
        Halo: backend p2p, shell half, exchange direct

        Times in seconds over ranks; the phases are the rows of timing.csv:
        Section       |    calls |  min time  |  avg time  |  max time  |%varavg| %total
        -------------------------------------------------------------------------------
        integrate     |      200 | 0.05       | 0.05       | 0.05       |   0.0 |   5.00
        migrate       |        0 | 0          | 0          | 0          |   0.0 |   0.00
        border        |        0 | 0          | 0          | 0          |   0.0 |   0.00
        neighbor      |        0 | 0          | 0          | 0          |   0.0 |   0.00
        halo_pack     |        0 | 0          | 0          | 0          |   0.0 |   0.00
        halo_transfer |      101 | 0.0375     | 0.0375     | 0.0375     |   0.0 |   3.75
        halo_wait     |      101 | 0.0125     | 0.1625     | 0.3125     |  92.3 |  16.25
        halo_hidden   |        0 | 0          | 0          | 0          |   0.0 |   0.00
        halo_unpack   |        0 | 0          | 0          | 0          |   0.0 |   0.00
        force         |      101 | 0.6        | 0.75       | 0.9        |  20.0 |  75.00
        force_return  |        0 | 0          | 0          | 0          |   0.0 |   0.00
        reduce        |        0 | 0          | 0          | 0          |   0.0 |   0.00
        output        |        2 | 3.5578e-05 | 3.5578e-05 | 3.5578e-05 |   0.0 |   0.00
        other         |        0 | 0          | 0          | 0          |   0.0 |   0.00
        total         |        1 | 1          | 1          | 1          |   0.0 | 100.00

        Owned:        8000 ave       8037 max       7963 min
        Ghosts:       9000 ave       9000 max       9000 min

        Pairs per atom: 108 computed, 27 within the cutoff (25.0 %)
        Rebuilds: 5, of which dangerous: 1 (moved by more than half the skin)
        Dangerous checks between rebuilds: 0
        Largest displacement: 1.25 times half the skin
        Lost particles: 0
        Energy drift: -0.0089259 per atom over 100 steps

        Advice: the slowest rank computes for 19 % longer than the average, which costs
          15 % of the run although it has hardly more particles; look for other programs
          on its core, and where its particles are denser, divide the work by what it
          costs, with parallel.balance or parallel.partition
        ");
    }

    #[test]
    fn a_run_of_no_steps_has_a_report() {
        let context = RunContext { steps: 0, ..context() };
        let facts = RunFacts { wall_s: 0.0, ..facts() };
        let text = run_report(&Timings::default(), &context, &facts);
        let performance = text.lines().find(|line| line.starts_with("Performance:")).unwrap();
        assert_eq!(performance, "Performance: 0.000 tau/day, 0.000 timesteps/s, 0.000 Matom-step/s,");
    }
}
