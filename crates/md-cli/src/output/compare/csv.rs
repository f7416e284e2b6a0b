//! compare.csv: one row per strategy.

use serde::Serialize;

use crate::comparison::{Comparison, Interval, Measured, StepPhases, StrategyReport};
use crate::output::directory::KnownFile;
use crate::output::error::OutputError;
use crate::output::tables::table;
use crate::report::RunContext;

/// The columns that users rely on (`docs/`, output files), then those of the context that are not among them.
const COLUMNS: [&str; 32] = [
    "backend",
    "shell",
    "exchange",
    "partition",
    "ranks",
    "atoms",
    "messages",
    "bytes",
    "exchange_median_s",
    "exchange_low_s",
    "exchange_high_s",
    "step_median_s",
    "step_low_s",
    "step_high_s",
    "halo_pack_s",
    "halo_transfer_s",
    "halo_wait_s",
    "halo_unpack_s",
    "force_return_s",
    "border_s",
    "migrate_s",
    "correct",
    "status",
    "note",
    "grid",
    "threads",
    "precision",
    "steps",
    "seed",
    "mpi_library",
    "host",
    "version",
];

/// The whole file. What was not measured is empty.
///
/// # Errors
/// [`OutputError::Encode`].
pub fn compare_csv(comparison: &Comparison) -> Result<Vec<u8>, OutputError> {
    table(KnownFile::Compare, &COLUMNS, comparison.rows.iter().map(row))
}

fn row(report: &StrategyReport) -> impl Serialize + '_ {
    let RunContext { backend, shell, exchange, partition, ranks, atoms, .. } = &report.context;
    let RunContext { grid, threads, precision, steps, seed, mpi_library, host, version, .. } =
        &report.context;
    (
        (backend, shell, exchange, partition, ranks, atoms),
        numbers(report.measured.as_ref()),
        (report.correct, report.status.name(), &report.note),
        (grid, threads, precision, steps, seed, mpi_library, host, version),
    )
}

/// From `messages` to `migrate_s`.
fn numbers(measured: Option<&Measured>) -> [Option<f64>; 15] {
    let Some(Measured { messages, bytes, exchange, step, phases, .. }) = measured else { return [None; 15] };
    let [exchange, step] =
        [exchange, step].map(|Interval { median_s, low_s, high_s }| [median_s, low_s, high_s]);
    let StepPhases { halo_pack_s, halo_transfer_s, halo_wait_s, halo_unpack_s, .. } = phases;
    let StepPhases { force_return_s, border_s, migrate_s, .. } = phases;
    [
        messages,
        bytes,
        exchange[0],
        exchange[1],
        exchange[2],
        step[0],
        step[1],
        step[2],
        halo_pack_s,
        halo_transfer_s,
        halo_wait_s,
        halo_unpack_s,
        force_return_s,
        border_s,
        migrate_s,
    ]
    .map(|number| Some(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::compare::fixtures::{comparison, unavailable};

    #[test]
    fn a_row_per_strategy_with_gaps_where_nothing_was_measured() {
        let mut comparison = comparison(&[("p2p", 10.0, 1.0), ("shm", 2.0, 0.9)]);
        comparison.rows.push(unavailable("hybrid"));
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r#"
        backend,shell,exchange,partition,ranks,atoms,messages,bytes,exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_return_s,border_s,migrate_s,correct,status,note,grid,threads,precision,steps,seed,mpi_library,host,version
        p2p,half,direct,rect,2,16000,4.0,90000.0,9.999999999999999e-6,9.499999999999999e-6,0.0000105,0.001,0.00095,0.0010500000000000002,0.00002,0.00003,0.0001,0.00002,0.00003,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        shm,half,direct,rect,2,16000,4.0,90000.0,2e-6,1.8999999999999998e-6,2.1e-6,0.0009000000000000001,0.0008550000000000001,0.0009450000000000001,0.000018,0.000027000000000000002,0.00009000000000000002,0.000018,0.000027000000000000002,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        hybrid,half,direct,rect,2,16000,,,,,,,,,,,,,,,,,unavailable,this version does not have it yet,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0
        "#);
    }
}
