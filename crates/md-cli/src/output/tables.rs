//! CSV tables: `timing.csv` and `timing_ranks.csv` (where the time went), `forces.csv` (the force on every particle of one
//! configuration), `compare.csv` (one row per halo strategy), and how rows become bytes. Floats come out in the shortest form that reads back exactly.

use csv::WriterBuilder;
use serde::Serialize;

use super::directory::KnownFile;
use super::error::OutputError;
use super::statistics::phase_statistics;
use crate::comparison::{Comparison, Measured, StrategyReport};
use crate::report::RunContext;
use md_engine::{ParticleRow, Phase, RankTiming, Timings};

const FORCE_COLUMNS: &str = "id,type,x,y,z,fx,fy,fz";

/// Columns of `timing.csv` before those of the context.
const PHASE_COLUMNS: &str = "phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent";

/// Columns of `timing_ranks.csv` before those of the context. `messages` and `bytes` are what the rank sent over the
/// whole run, so they are the same in all of its rows.
const RANK_COLUMNS: &str = "rank,phase,calls,time_s,messages,bytes";

/// The fields of [`RunContext`].
const CONTEXT_COLUMNS: &str =
    "backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version";

/// Columns of `compare.csv`: those that users rely on (`docs/`, output files), then those of the context that are not
/// among them.
const COMPARE_COLUMNS: [&str; 5] = [
    "backend,shell,exchange,partition,ranks,atoms,messages,bytes",
    "exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s",
    "halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_return_s,border_s,migrate_s,halo_hidden_s",
    "correct,status,note",
    "grid,threads,precision,steps,seed,mpi_library,host,version",
];

/// Columns from `messages` to `halo_hidden_s`.
const MEASURED_COLUMNS: usize = 16;

/// One row per phase, reduced over ranks.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_csv(timings: &Timings, context: &RunContext) -> Result<Vec<u8>, OutputError> {
    let rows = phase_statistics(timings).map(|row| {
        let times = (row.min_s, row.avg_s, row.max_s, row.varavg_percent, row.share_percent);
        (row.phase.name(), row.calls, times, context)
    });
    table(KnownFile::TIMING, &[PHASE_COLUMNS, CONTEXT_COLUMNS], rows)
}

/// One row per rank and phase. `ranks` is in the order of the ranks.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn timing_ranks_csv(ranks: &[RankTiming], context: &RunContext) -> Result<Vec<u8>, OutputError> {
    let rows = ranks.iter().enumerate().flat_map(|(rank, timing)| {
        Phase::ALL.map(|phase| {
            let time = timing.phases[phase as usize];
            let sent = (timing.messages, timing.bytes);
            (rank, phase.name(), time.calls, time.seconds, sent, context)
        })
    });
    table(KnownFile::TIMING_RANKS, &[RANK_COLUMNS, CONTEXT_COLUMNS], rows)
}

/// The table of particles sorted by id; `vector` of a row is the force.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn forces_csv(particles: &[ParticleRow]) -> Result<Vec<u8>, OutputError> {
    let rows = particles.iter().map(|row| (row.id, row.kind, row.position, row.vector));
    table(KnownFile::FORCES, &[FORCE_COLUMNS], rows)
}

/// One row per strategy. What was not measured is empty.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn compare_csv(comparison: &Comparison) -> Result<Vec<u8>, OutputError> {
    table(KnownFile::COMPARE, &COMPARE_COLUMNS, comparison.rows.iter().map(compare_row))
}

fn compare_row(report: &StrategyReport) -> impl Serialize + '_ {
    let RunContext { strategy, ranks, atoms, grid, threads, precision, .. } = &report.context;
    let RunContext { steps, seed, mpi_library, host, version, .. } = &report.context;
    let gaps = || vec![None; MEASURED_COLUMNS];
    (
        (strategy, ranks, atoms, report.measured.as_ref().map_or_else(gaps, measured_values)),
        (report.correct, report.status, &report.note),
        (grid, threads, precision, steps, seed, mpi_library, host, version),
    )
}

fn measured_values(measured: &Measured) -> Vec<Option<f64>> {
    let Measured { messages, bytes, exchange, step, .. } = measured;
    let bounds = [exchange, step].into_iter().flat_map(|time| [time.median_s, time.low_s, time.high_s]);
    let hidden_s = [measured.phases[Phase::HaloHidden as usize]];
    let times = bounds.chain(measured.halo_s()).chain(hidden_s);
    [*messages, *bytes].into_iter().chain(times).map(Some).collect()
}

/// A whole table: the line of column names, then the rows.
fn table<R: Serialize>(
    file: KnownFile,
    columns: &[&str],
    entries: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    let header = format!("{}\n", columns.join(","));
    Ok([header.into_bytes(), rows(file, entries)?].concat())
}

/// Rows without column names. A row is a tuple or a struct; those within it are laid out flat.
pub(super) fn rows<R: Serialize>(
    file: KnownFile,
    rows: impl IntoIterator<Item = R>,
) -> Result<Vec<u8>, OutputError> {
    let mut writer = WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|reason| OutputError::encode(file, &reason))?;
    }
    writer.into_inner().map_err(|reason| OutputError::encode(file, &reason))
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;

    use super::*;
    use crate::output::compare::fixtures::{comparison, unavailable};
    use crate::output::fixtures::{context, reduced, two_ranks};

    #[test]
    fn a_row_per_phase() {
        let text = String::from_utf8(timing_csv(&reduced(&two_ranks()), &context()).unwrap()).unwrap();
        let (first, context) =
            text.lines().nth(1).unwrap().split_at("integrate,200,0.05,0.05,0.05,0.0,5.0".len());
        assert_eq!(first, "integrate,200,0.05,0.05,0.05,0.0,5.0");
        insta::assert_snapshot!(text.replace(context, ""), @r"
        phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent,backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version
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
        output,2,0.000035578,0.000035578,0.000035578,0.0,0.0035578
        other,0,0.0,0.0,0.0,0.0,0.0
        total,1,1.0,1.0,1.0,0.0,100.0
        ");
    }

    #[test]
    fn a_row_per_rank_and_phase() {
        let text = String::from_utf8(timing_ranks_csv(&two_ranks(), &context()).unwrap()).unwrap();
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
        let bytes = timing_csv(&reduced(&two_ranks()), &context()).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        assert_eq!(reader.headers().unwrap().len(), 7 + 14);
        assert!(reader.records().all(|record| &record.unwrap()[18] == "Open MPI v4.1.4, package: Debian"));
    }

    #[test]
    fn a_row_per_strategy_with_gaps_where_nothing_was_measured() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        comparison.rows.push(unavailable(Backend::Hybrid));
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r#"
        backend,shell,exchange,partition,ranks,atoms,messages,bytes,exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_return_s,border_s,migrate_s,halo_hidden_s,correct,status,note,grid,threads,precision,steps,seed,mpi_library,host,version
        p2p,half,direct,rect,2,16000,4.0,90000.0,9.999999999999999e-6,9.499999999999999e-6,0.0000105,0.001,0.00095,0.0010500000000000002,0.00002,0.00003,0.0001,0.00002,0.00003,0.0,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        shm,half,direct,rect,2,16000,4.0,90000.0,2e-6,1.8999999999999998e-6,2.1e-6,0.0009000000000000001,0.0008550000000000001,0.0009450000000000001,0.000018,0.000027000000000000002,0.00009000000000000002,0.000018,0.000027000000000000002,0.0,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        hybrid,half,direct,rect,2,16000,,,,,,,,,,,,,,,,,,unavailable,this version does not have it yet,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        "#);
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
