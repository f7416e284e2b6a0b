//! Fixed comparisons for the tests of the formatting functions.

use md_comm::Backend;
use md_core::Shell;
use md_core::force::Precision;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_engine::Phase;
use serde::Serialize;

use super::comparison::{Comparison, Measured, MeasurementContext, RowContext, StepPhases, StrategyReport};
use crate::statistics::Interval;
use crate::{RunContext, Setting, Status, Strategy};

/// A median with bounds 5 % below and above.
pub(crate) fn around(median_s: f64) -> Interval {
    Interval { median_s, low_s: 0.95 * median_s, high_s: 1.05 * median_s }
}

/// Returns phases that take these seconds; all others take none.
pub(crate) fn phases(times: &[(Phase, f64)]) -> StepPhases {
    let mut phases = StepPhases::default();
    times.iter().for_each(|&(phase, seconds)| phases[phase as usize] = seconds);
    phases
}

/// Returns a strategy with the given exchange in microseconds and step in milliseconds; the halo
/// takes a fifth of the step.
pub(crate) fn strategy(backend: Backend, exchange_us: f64, step_ms: f64) -> StrategyReport {
    let step_s = step_ms * 1e-3;
    let measured = Measured {
        messages: 4.0,
        bytes: 90_000.0,
        exchange: around(exchange_us * 1e-6),
        step: around(step_s),
        phases: phases(&[
            (Phase::HaloPack, 0.02 * step_s),
            (Phase::HaloTransfer, 0.03 * step_s),
            (Phase::HaloWait, 0.1 * step_s),
            (Phase::HaloUnpack, 0.02 * step_s),
            (Phase::ForceReturn, 0.03 * step_s),
            (Phase::Total, step_s),
        ]),
        rebuilt_share: 0.0,
    };
    StrategyReport {
        variant: Strategy { backend, ..context().strategy }.into(),
        context: RunContext { strategy: Strategy { backend, ..context().strategy }, ..context() },
        measured: Some(measured),
        correct: Some(true),
        status: Status::Ok,
        note: String::new(),
    }
}

pub(crate) fn unavailable(backend: Backend) -> StrategyReport {
    StrategyReport {
        measured: None,
        correct: None,
        status: Status::Unavailable,
        note: "this version does not have it yet".to_owned(),
        ..strategy(backend, 1.0, 1.0)
    }
}

/// Returns strategies as of [`strategy`]; the first one is the scenario's own.
pub(crate) fn comparison(strategies: &[(Backend, f64, f64)]) -> Comparison {
    Comparison {
        rows: strategies.iter().map(|&(backend, us, ms)| strategy(backend, us, ms)).collect(),
        own: Some(0),
        controls: Vec::new(),
        between_nodes: Backend::P2p,
        repeat: 10,
        ranks_per_core: 1.0,
    }
}

/// Context with fewer keys and different columns, as for a grid.
#[derive(Clone, Serialize)]
pub(crate) struct Nodes;

impl RowContext for Nodes {
    const KEYS: &'static [&'static str] = &["backend", "exchange"];
    const BEFORE: &'static str = "nodes";
    const SENT: &'static str = "messages_per_exchange,bytes_per_exchange";
    const PHASES: &'static [Phase] = &[Phase::HaloPack];

    fn before(&self) -> impl Serialize {
        512
    }

    fn extent(&self) -> String {
        "512 nodes".to_owned()
    }

    fn job(&self) -> MeasurementContext<'_> {
        MeasurementContext { ranks: 2, steps: 10, host: "node-1" }
    }
}

/// Returns these strategies on nodes; the second one sends its fields in separate messages.
pub(crate) fn on_nodes(strategies: &[(Backend, f64, f64)]) -> Comparison<Nodes> {
    let Comparison { rows, own, controls, between_nodes, repeat, ranks_per_core } = comparison(strategies);
    let rows = rows.into_iter().zip(["aggregated", "per-field"]).map(|(row, messages)| {
        let StrategyReport { mut variant, measured, correct, status, note, .. } = row;
        let (key, value) = ("parallel.messages".to_owned(), Some(messages.to_owned()));
        variant.settings.push(Setting { key, value });
        StrategyReport { variant, context: Nodes, measured, correct, status, note }
    });
    Comparison { rows: rows.collect(), own, controls, between_nodes, repeat, ranks_per_core }
}

fn context() -> RunContext {
    RunContext {
        strategy: Strategy {
            backend: Backend::P2p,
            shell: Shell::Half,
            exchange: ExchangePattern::Direct,
            partition: PartitionKind::Rect,
        },
        grid: "2x1x1".to_owned(),
        ranks: 2,
        threads: 1,
        precision: Precision::Double,
        atoms: 16000,
        steps: 100,
        seed: 87287,
        mpi_library: "Open MPI v4.1.4, package: Debian".to_owned(),
        host: "node-1".to_owned(),
        version: "0.1.0".to_owned(),
    }
}
