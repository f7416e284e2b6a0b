//! Comparison of protocols and partitions, with the columns of Matthey and Hansen (2000):
//! communication, computation, update of the cells, and speed-up over one rank.

use std::time::Duration;

use md_comm::{CommError, World, local};
use md_core::PartitionKind;
use md_engine::{EngineError, Phase, Protocol, Setup, Simulation, Timings};
use serde::Serialize;

use crate::tables::{aligned, table as csv_table};
use crate::{EncodeError, ROOT, name_of};

const COLUMNS: &str = "protocol,partition,ranks,cells_per_rank,communication_s,computation_s,update_s,total_s,speedup,messages,bytes";

/// Time limit of the run on one rank, longer than any such run should take.
const ALONE_LIMIT: Duration = Duration::from_secs(3600);

/// A row of `protocols.csv`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Protocol by which pairs of particles of different ranks get their forces.
    pub protocol: Protocol,
    /// Assignment of cells to ranks.
    pub partition: PartitionKind,
    /// Number of ranks.
    pub ranks: usize,
    /// Mean number of cells per rank.
    pub cells_per_rank: f64,
    /// Seconds, mean over ranks: each step's messages with packing, waiting, and migration.
    pub communication_s: f64,
    /// Seconds, mean over ranks: forces and integration.
    pub computation_s: f64,
    /// Seconds, mean over ranks: sorting particles into their cells.
    pub update_s: f64,
    /// Seconds of the whole run on the slowest rank.
    pub total_s: f64,
    /// Time on one rank divided by [`Self::total_s`].
    pub speedup: f64,
    /// Number of messages of all ranks.
    pub messages: f64,
    /// Bytes of all ranks.
    pub bytes: f64,
}

/// Length and number of the runs.
#[derive(Debug, Clone, Copy)]
pub struct Measuring {
    /// Steps of a run, after one step that is not counted.
    pub steps: u64,
    /// Number of runs; the run of median duration counts.
    pub repeat: usize,
}

/// Returns the seconds of a run on rank 0 alone; `setup` is for one rank. *Collective.*
///
/// # Errors
/// As [`Simulation::new`] and [`Simulation::run`].
pub fn alone_s(world: &dyn World, setup: &Setup, measuring: Measuring) -> Result<f64, EngineError> {
    let mut seconds = [0.0];
    let mut outcome = Ok(());
    if world.rank() == ROOT {
        let ended = local::run(1, ALONE_LIMIT, |world| runs(world, setup, measuring));
        match ended.into_iter().next() {
            Some(Ok(Ok(timings))) => seconds = [timings.phase(Phase::Total).seconds.max],
            Some(Ok(Err(error))) => outcome = Err(error),
            Some(Err(panicked)) => outcome = Err(EngineError::Config(panicked.to_string())),
            None => (),
        }
    }
    world.max(&mut seconds)?;
    outcome?;
    if seconds[0] > 0.0 { Ok(seconds[0]) } else { Err(CommError::PeerFailed { rank: ROOT }.into()) }
}

/// Measures one protocol with one partition. *Collective.*
///
/// # Errors
/// As [`alone_s`].
pub fn measure(
    world: &dyn World,
    setup: &Setup,
    measuring: Measuring,
    alone_s: f64,
) -> Result<Row, EngineError> {
    use Phase::{
        Border, Force, ForceReturn, HaloPack, HaloTransfer, HaloUnpack, HaloWait, Integrate, Migrate,
        Neighbor,
    };
    let timings = runs(world, setup, measuring)?;
    let sum = |phases: &[Phase]| phases.iter().map(|&phase| timings.phase(phase).seconds.avg).sum();
    let total_s = timings.phase(Phase::Total).seconds.max;
    Ok(Row {
        protocol: setup.config.parallel.protocol,
        partition: setup.config.parallel.partition,
        ranks: world.ranks(),
        cells_per_rank: setup.division.grid.len() as f64 / world.ranks() as f64,
        communication_s: sum(&[Border, ForceReturn, HaloPack, HaloTransfer, HaloUnpack, HaloWait, Migrate]),
        computation_s: sum(&[Force, Integrate]),
        update_s: sum(&[Neighbor]),
        total_s,
        speedup: alone_s / total_s,
        messages: timings.messages as f64,
        bytes: timings.bytes as f64,
    })
}

/// Returns the timings of the run of median duration. *Collective.*
fn runs(world: &dyn World, setup: &Setup, measuring: Measuring) -> Result<Timings, EngineError> {
    let mut all = Vec::new();
    for _ in 0..measuring.repeat.max(1) {
        let mut simulation = Simulation::new(world, setup)?;
        simulation.run(1, &mut [])?;
        simulation.start_measuring()?;
        simulation.run(measuring.steps, &mut [])?;
        all.push(Timings::reduce(&simulation.timing()?, world)?);
        simulation.finalise()?;
    }
    let length = |timings: &Timings| timings.phase(Phase::Total).seconds.max;
    all.sort_by(|a, b| length(a).total_cmp(&length(b)));
    Ok(all.swap_remove((all.len() - 1) / 2))
}

/// Returns the contents of `protocols.csv`.
///
/// # Errors
/// As [`crate::tables::table`].
pub fn protocols_csv(rows: &[Row]) -> Result<Vec<u8>, EncodeError> {
    csv_table(&[COLUMNS], rows)
}

/// Returns the table for the screen. The line below it is the paper's gain: the speed-up of the
/// best partition with `one` relative to the best with `dist`.
pub fn table(rows: &[Row]) -> String {
    let header = [
        "protocol",
        "partition",
        "communication s",
        "computation s",
        "update s",
        "total s",
        "speed-up",
        "messages",
        "MB",
    ];
    let line = |row: &Row| {
        let seconds =
            [row.communication_s, row.computation_s, row.update_s, row.total_s].map(|s| format!("{s:.3}"));
        let names = [name_of(row.protocol), name_of(row.partition)];
        let rest = [
            format!("{:.2}", row.speedup),
            format!("{:.0}", row.messages),
            format!("{:.2}", row.bytes / 1e6),
        ];
        names.into_iter().chain(seconds).chain(rest).collect::<Vec<_>>()
    };
    let lines: Vec<Vec<String>> =
        [header.map(str::to_owned).to_vec()].into_iter().chain(rows.iter().map(line)).collect();
    let best = |protocol: Protocol| {
        let own = rows.iter().filter(|row| row.protocol == protocol);
        own.map(|row| row.speedup).max_by(f64::total_cmp)
    };
    let gain = match (best(Protocol::One), best(Protocol::Dist)) {
        (Some(one), Some(dist)) => format!("\nGain of one over dist: {:.0} %\n", 100.0 * (one / dist - 1.0)),
        _ => String::new(),
    };
    aligned(&lines) + &gain
}

#[cfg(test)]
mod tests {
    use md_core::force::MethodKind;
    use md_core::lattice::{Lattice, LatticeKind};
    use md_core::potential::LennardJones;
    use md_engine::Config;

    use super::*;

    #[test]
    fn parts_of_a_run_add_up_to_no_more_than_it_and_messages_are_those_of_the_protocol() {
        let setup = |protocol, ranks| {
            let lattice = Lattice::with_density(LatticeKind::Fcc, 0.8442, [8; 3]);
            let mut config = Config::new(lattice, LennardJones::reduced(2.5));
            config.neighbor.method = MethodKind::Cells;
            config.parallel.partition = PartitionKind::Stripe;
            config.parallel.protocol = protocol;
            Setup::new(config, ranks).unwrap()
        };
        let measuring = Measuring { steps: 4, repeat: 3 };
        let ended = local::run(2, Duration::from_secs(60), |world| {
            let alone = alone_s(world, &setup(Protocol::One, 1), measuring).unwrap();
            [Protocol::One, Protocol::Simple, Protocol::Dist]
                .map(|protocol| measure(world, &setup(protocol, 2), measuring, alone).unwrap())
        });
        let rows = ended.into_iter().next().unwrap().unwrap();
        for row in &rows {
            let parts = row.communication_s + row.computation_s + row.update_s;
            assert!(parts > 0.0 && parts <= row.total_s && row.speedup > 0.0, "{row:?}");
        }
        // `simple`: rows to the neighbour and back. `dist`: requests, cells and forces, many more.
        assert_eq!(rows[1].messages, 4.0 * 2.0 * 2.0);
        assert!(rows[2].messages > 10.0 * rows[1].messages, "{rows:?}");
        let printed = table(&rows);
        assert!(printed.contains("Gain of one over dist: "), "{printed}");
        let csv = String::from_utf8(protocols_csv(&rows).unwrap()).unwrap();
        assert!(csv.starts_with(COLUMNS) && csv.contains("\nsimple,stripe,2,"), "{csv}");
    }
}
