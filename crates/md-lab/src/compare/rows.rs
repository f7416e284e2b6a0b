//! `compare.csv`.

use md_engine::Phase;
use serde::Serialize;

use super::comparison::{Comparison, Measured, RowContext, StrategyReport};
use crate::EncodeError;
use crate::tables::table;

/// Columns of the exchange alone and of the step: medians and the bounds of their intervals.
const INTERVALS: [&str; 6] =
    ["exchange_median_s", "exchange_low_s", "exchange_high_s", "step_median_s", "step_low_s", "step_high_s"];
/// Messages and bytes of an exchange.
const COUNTS: usize = 2;
const JUDGEMENT: [&str; 3] = ["correct", "status", "note"];

/// Returns one row per strategy. Values that were not measured are empty, as are varied keys that
/// the backend does not use.
///
/// # Errors
/// A value that CSV cannot hold.
pub fn compare_csv<C: RowContext>(comparison: &Comparison<C>) -> Result<Vec<u8>, EncodeError> {
    let phases: Vec<String> = phases::<C>().map(|phase| format!("{}_s", phase.name())).collect();
    let first = comparison.rows.first();
    let varied = first.into_iter().flat_map(|row| row.variant.settings.iter().map(|it| it.key.as_str()));
    let columns = [C::BEFORE, C::SENT].into_iter().chain(INTERVALS).chain(phases.iter().map(String::as_str));
    let columns = columns.chain(JUDGEMENT).chain(C::AFTER.iter().copied()).chain(["baseline"]).chain(varied);
    table(&columns.collect::<Vec<_>>(), comparison.rows.iter().map(|row| compare_row(comparison, row)))
}

/// Returns the phases that have a column.
fn phases<C: RowContext>() -> impl Iterator<Item = Phase> {
    C::PHASES.iter().copied().chain([Phase::HaloHidden])
}

fn compare_row<'c, C: RowContext>(
    comparison: &Comparison<C>,
    report: &'c StrategyReport<C>,
) -> impl Serialize + use<'c, C> {
    let settings: Vec<_> = report.variant.settings.iter().map(|setting| &setting.value).collect();
    let gaps = || vec![None; COUNTS + INTERVALS.len() + phases::<C>().count()];
    (
        (report.context.before(), report.measured.as_ref().map_or_else(gaps, measured_values::<C>)),
        (report.correct, report.status, &report.note),
        (report.context.after(), comparison.is_baseline(report), settings),
    )
}

fn measured_values<C: RowContext>(measured: &Measured) -> Vec<Option<f64>> {
    let Measured { messages, bytes, exchange, step, .. } = measured;
    let bounds = [exchange, step].into_iter().flat_map(|time| [time.median_s, time.low_s, time.high_s]);
    let phases = phases::<C>().map(|phase| measured.phases[phase as usize]);
    [*messages, *bytes].into_iter().chain(bounds).chain(phases).map(Some).collect()
}

#[cfg(test)]
mod tests {
    use md_comm::Backend;

    use super::*;
    use crate::Setting;
    use crate::compare::fixtures::{comparison, on_nodes, unavailable};

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
    fn a_grid_has_its_own_columns() {
        let comparison = on_nodes(&[(Backend::P2p, 10.0, 1.0), (Backend::Shm, 2.0, 0.9)]);
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        insta::assert_snapshot!(text, @r"
        nodes,messages_per_exchange,bytes_per_exchange,exchange_median_s,exchange_low_s,exchange_high_s,step_median_s,step_low_s,step_high_s,halo_pack_s,halo_hidden_s,correct,status,note,baseline,parallel.messages
        512,4.0,90000.0,9.999999999999999e-6,9.499999999999999e-6,0.0000105,0.001,0.00095,0.0010500000000000002,0.00002,0.0,true,ok,,true,aggregated
        512,4.0,90000.0,2e-6,1.8999999999999998e-6,2.1e-6,0.0009000000000000001,0.0008550000000000001,0.0009450000000000001,0.000018,0.0,true,ok,,false,per-field
        ");
    }

    #[test]
    fn varied_keys_are_columns() {
        let mut comparison = comparison(&[(Backend::P2p, 10.0, 1.0), (Backend::RmaFence, 2.0, 0.9)]);
        for (row, value) in comparison.rows.iter_mut().zip([None, Some("create".to_owned())]) {
            row.variant.settings = vec![Setting { key: "parallel.rma.window".to_owned(), value }];
        }
        let text = String::from_utf8(compare_csv(&comparison).unwrap()).unwrap();
        let ends: Vec<_> =
            text.lines().map(|line| &line[line.rfind("0.1.0").unwrap_or(line.len() - 36)..]).collect();
        assert_eq!(ends, ["version,baseline,parallel.rma.window", "0.1.0,true,", "0.1.0,false,create"]);
    }
}
