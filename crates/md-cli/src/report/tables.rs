//! CSV tables: `timing.csv` and `timing_ranks.csv` (time per phase), and `forces.csv` (force on
//! every particle of one configuration).

use md_engine::{BalanceReport, ParticleRow, Phase, RankTiming, Timings};
use md_files::output::tables::table;
use md_files::store::OutputError;
use md_lab::RunContext;
use md_lab::tables::CONTEXT_COLUMNS;
use md_scenario::known_file::KnownFile;
use serde::Serialize;

use super::statistics::phase_statistics;

const FORCE_COLUMNS: &str = "id,type,x,y,z,fx,fy,fz";

/// Columns of `timing.csv` before those of the context.
pub(super) const PHASE_COLUMNS: &str = "phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent";

/// Columns of `timing_ranks.csv` before those of the context. `messages` and `bytes` are the
/// amounts that the rank sent in the whole run, so they are equal in all of its rows.
const RANK_COLUMNS: &str = "rank,phase,calls,time_s,messages,bytes";

/// Columns of `timing.csv` after those of the context. They are equal in all rows.
const BALANCE_COLUMNS: &str =
    "balancings,imbalance_first,imbalance_last,particles_moved,balance_s,balance_won_s";

/// Columns of `balance.csv`.
pub(crate) const BALANCING_COLUMNS: &str =
    "step,imbalance_before,imbalance_after,particles_moved,spent_s,won_s,division,ranks,partition,balancings";

/// Returns a table with one row per balancing. Each row contains the properties that decide whether
/// another run can repeat it.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn balance_csv(balance: &BalanceReport, context: &RunContext) -> Result<Vec<u8>, OutputError> {
    let run = (context.ranks, context.strategy.partition, balance.balancings.len());
    let rows = balance.balancings.iter().map(|it| {
        let imbalance = (it.imbalance_before, it.imbalance_after);
        (it.step, imbalance, it.particles_moved, it.spent_s, it.won_s, &it.division, run)
    });
    table(KnownFile::BALANCE, &[BALANCING_COLUMNS], rows)
}

/// Returns a table with one row per phase, reduced over ranks. Each row contains the results of
/// balancing (an imbalance of 1 if the balance was not checked).
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_csv(
    timings: &Timings,
    context: &RunContext,
    balance: &BalanceReport,
) -> Result<Vec<u8>, OutputError> {
    let [first, last] =
        [balance.imbalance_first, balance.imbalance_last].map(|imbalance| imbalance.unwrap_or(1.0));
    let counts = (balance.balancings.len(), first, last, balance.particles_moved());
    let balance = (counts, balance.spent_s, balance.won_s());
    let rows = phase_statistics(timings).map(|row| {
        let times = (row.min_s, row.avg_s, row.max_s, row.varavg_percent, row.share_percent);
        (row.phase.name(), row.calls, times, context, balance)
    });
    table(KnownFile::TIMING, &[PHASE_COLUMNS, CONTEXT_COLUMNS, BALANCE_COLUMNS], rows)
}

/// Returns a table with one row per rank and phase. `ranks` is in the order of the ranks, and
/// `columns` are those of the context.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_ranks_csv(
    ranks: &[RankTiming],
    phases: &[Phase],
    (columns, context): (&str, &impl Serialize),
) -> Result<Vec<u8>, OutputError> {
    let rows = ranks.iter().enumerate().flat_map(|(rank, timing)| {
        phases.iter().map(move |&phase| {
            let time = timing.phases[phase as usize];
            let sent = (timing.messages, timing.bytes);
            (rank, phase.name(), time.calls, time.seconds, sent, context)
        })
    });
    table(KnownFile::TIMING_RANKS, &[RANK_COLUMNS, columns], rows)
}

/// Returns the table of particles sorted by id. The `vector` of a row is the force.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn forces_csv(particles: &[ParticleRow]) -> Result<Vec<u8>, OutputError> {
    let rows = particles.iter().map(|row| (row.id, row.kind, row.position, row.vector));
    table(KnownFile::FORCES, &[FORCE_COLUMNS], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures::{context, reduced, two_ranks};
    use md_files::output::tables::rows;

    #[test]
    fn a_row_per_phase() {
        let text = String::from_utf8(
            timing_csv(&reduced(&two_ranks()), &context(), &BalanceReport::default()).unwrap(),
        )
        .unwrap();
        let (first, context) =
            text.lines().nth(1).unwrap().split_at("integrate,200,0.05,0.05,0.05,0.0,5.0".len());
        assert_eq!(first, "integrate,200,0.05,0.05,0.05,0.0,5.0");
        insta::assert_snapshot!(text.replace(context, ""), @r"
        phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent,backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version,balancings,imbalance_first,imbalance_last,particles_moved,balance_s,balance_won_s
        integrate,200,0.05,0.05,0.05,0.0,5.0
        migrate,0,0.0,0.0,0.0,0.0,0.0
        border,0,0.0,0.0,0.0,0.0,0.0
        neighbor,0,0.0,0.0,0.0,0.0,0.0
        halo_pack,0,0.0,0.0,0.0,0.0,0.0
        halo_transfer,101,0.0375,0.0375,0.0375,0.0,3.75
        halo_wait,101,0.0125,0.1625,0.3125,92.3076923076923,16.25
        halo_hidden,0,0.0,0.0,0.0,0.0,0.0
        halo_unpack,0,0.0,0.0,0.0,0.0,0.0
        force,101,0.6,0.75,0.9,20.000000000000004,75.0
        force_return,0,0.0,0.0,0.0,0.0,0.0
        reduce,0,0.0,0.0,0.0,0.0,0.0
        output,2,0.000035578,0.000035578,0.000035578,0.0,0.0035578
        other,0,0.0,0.0,0.0,0.0,0.0
        total,1,1.0,1.0,1.0,0.0,100.0
        ");
    }

    #[test]
    fn a_row_per_rank_and_phase() {
        let text = String::from_utf8(
            timing_ranks_csv(&two_ranks(), &Phase::ALL, (CONTEXT_COLUMNS, &context())).unwrap(),
        )
        .unwrap();
        let chosen: Vec<&str> =
            text.lines().filter(|line| line.contains("rank,") || line.contains(",force,")).collect();
        insta::assert_snapshot!(chosen.join("\n"), @r#"
        rank,phase,calls,time_s,messages,bytes,backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version
        0,force,101,0.6,1300,104000000,p2p,half,direct,rect,2x1x1,2,1,double,16000,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        1,force,101,0.9,1300,104000000,p2p,half,direct,rect,2x1x1,2,1,double,16000,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        "#);
        assert_eq!(text.lines().count(), 1 + 2 * Phase::ALL.len());
    }

    #[test]
    fn every_row_has_every_column() {
        let bytes = timing_csv(&reduced(&two_ranks()), &context(), &BalanceReport::default()).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        assert_eq!(reader.headers().unwrap().len(), 7 + 14 + 6);
        assert!(reader.records().all(|record| &record.unwrap()[18] == "Open MPI v4.1.4, package: Debian"));
    }

    #[test]
    fn one_row_per_particle() {
        let particles = [
            ParticleRow {
                id: 1,
                kind: 2,
                position: [0.1, 0.2, 0.3],
                vector: [0.0, 0.0, 1e20],
                ..ParticleRow::default()
            },
            ParticleRow {
                id: 2,
                kind: 1,
                position: [1.5, 0.0, -0.25],
                vector: [1e-7, -2.0, 0.0],
                ..ParticleRow::default()
            },
        ];
        let text = String::from_utf8(forces_csv(&particles).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r"
        id,type,x,y,z,fx,fy,fz
        1,2,0.1,0.2,0.3,0.0,0.0,1e20
        2,1,1.5,0.0,-0.25,1e-7,-2.0,0.0
        ");
    }

    #[test]
    fn floats_read_back_exactly_and_commas_are_quoted() {
        let values = [0.1 + 0.2, 1e-7, 1.0, f64::MAX, -0.0];
        let bytes = rows(KnownFile::TIMING, [(values, "Open MPI v4.1.4, package: Debian")]).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(
            text,
            "0.30000000000000004,1e-7,1.0,1.7976931348623157e308,-0.0,\"Open MPI v4.1.4, package: Debian\"\n"
        );
        for (field, value) in text.split(',').zip(values) {
            assert_eq!(field.parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
