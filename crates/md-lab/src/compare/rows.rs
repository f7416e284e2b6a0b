//! compare.csv.

use md_engine::Phase;
use serde::Serialize;

use super::comparison::{Comparison, Measured, StrategyReport};
use crate::tables::table;
use crate::{EncodeError, RunContext};

/// Columns of `compare.csv`: those that users rely on (`docs/`, output files), then those of the context that are not
/// among them.
const COMPARE_COLUMNS: [&str; 5] = [
    "backend,shell,exchange,partition,ranks,atoms,messages,bytes",
    "exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s",
    "halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_return_s,border_s,migrate_s,halo_hidden_s",
    "correct,status,note",
    "grid,threads,precision,steps,seed,mpi_library,host,version,baseline",
];

/// Columns from `messages` to `halo_hidden_s`.
const MEASURED_COLUMNS: usize = 16;

/// One row per strategy. What was not measured is empty, and so is a varied key that the backend has no use for.
///
/// # Errors
/// A value that CSV cannot hold.
pub fn compare_csv(comparison: &Comparison) -> Result<Vec<u8>, EncodeError> {
    let varied = comparison.rows.iter().take(1).flat_map(|row| row.settings.iter().map(|it| it.key.as_str()));
    let columns: Vec<_> = COMPARE_COLUMNS.into_iter().chain(varied).collect();
    table(&columns, comparison.rows.iter().map(|row| compare_row(comparison, row)))
}

fn compare_row<'c>(comparison: &Comparison, report: &'c StrategyReport) -> impl Serialize + use<'c> {
    let settings: Vec<_> = report.settings.iter().map(|setting| &setting.value).collect();
    let RunContext { strategy, ranks, atoms, grid, threads, precision, .. } = &report.context;
    let RunContext { steps, seed, mpi_library, host, version, .. } = &report.context;
    let gaps = || vec![None; MEASURED_COLUMNS];
    (
        (strategy, ranks, atoms, report.measured.as_ref().map_or_else(gaps, measured_values)),
        (report.correct, report.status, &report.note),
        (grid, threads, precision, steps, seed, mpi_library, host, version),
        (comparison.is_baseline(report), settings),
    )
}

fn measured_values(measured: &Measured) -> Vec<Option<f64>> {
    let Measured { messages, bytes, exchange, step, .. } = measured;
    let bounds = [exchange, step].into_iter().flat_map(|time| [time.median_s, time.low_s, time.high_s]);
    let hidden_s = [measured.phases[Phase::HaloHidden as usize]];
    let times = bounds.chain(measured.halo_s()).chain(hidden_s);
    [*messages, *bytes].into_iter().chain(times).map(Some).collect()
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;

    use super::*;
    use crate::Setting;
    use crate::compare::fixtures::{comparison, unavailable};

    #[test]
    fn a_row_per_strategy_with_gaps_where_nothing_was_measured() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        comparison.rows.push(unavailable(Backend::Hybrid));
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r#"
        backend,shell,exchange,partition,ranks,atoms,messages,bytes,exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_return_s,border_s,migrate_s,halo_hidden_s,correct,status,note,grid,threads,precision,steps,seed,mpi_library,host,version,baseline
        p2p,half,direct,rect,2,16000,4.0,90000.0,9.999999999999999e-6,9.499999999999999e-6,0.0000105,0.001,0.00095,0.0010500000000000002,0.00002,0.00003,0.0001,0.00002,0.00003,0.0,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0,true
        shm,half,direct,rect,2,16000,4.0,90000.0,2e-6,1.8999999999999998e-6,2.1e-6,0.0009000000000000001,0.0008550000000000001,0.0009450000000000001,0.000018,0.000027000000000000002,0.00009000000000000002,0.000018,0.000027000000000000002,0.0,0.0,0.0,true,ok,,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0,false
        hybrid,half,direct,rect,2,16000,,,,,,,,,,,,,,,,,,unavailable,this version does not have it yet,2x1x1,1,double,100,87287,"Open MPI v4.1.4, package: Debian",node-1,0.1.0,false
        "#);
    }

    #[test]
    fn varied_keys_are_columns() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::RmaFence, 2.0, 0.9)]);
        for (row, value) in comparison.rows.iter_mut().zip([None, Some("create".to_owned())]) {
            row.settings = vec![Setting { key: "parallel.rma.window".to_owned(), value }];
        }
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        let ends: Vec<_> =
            text.lines().map(|line| &line[line.rfind("0.1.0").unwrap_or(line.len() - 36)..]).collect();
        assert_eq!(ends, ["version,baseline,parallel.rma.window", "0.1.0,true,", "0.1.0,false,create"]);
    }
}
