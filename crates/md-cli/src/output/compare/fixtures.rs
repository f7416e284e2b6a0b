//! Fixed comparisons for the tests of the formatting functions.

use crate::comparison::{Comparison, Interval, Measured, Status, StepPhases, StrategyReport};
use crate::output::fixtures::context;
use crate::report::RunContext;

/// A median with bounds 5 % below and above.
pub(super) fn around(median_s: f64) -> Interval {
    Interval { median_s, low_s: 0.95 * median_s, high_s: 1.05 * median_s }
}

/// A strategy with an exchange of so many microseconds and a step of so many milliseconds; its halo takes a fifth.
pub(super) fn strategy(backend: &str, exchange_us: f64, step_ms: f64) -> StrategyReport {
    let step_s = step_ms * 1e-3;
    let measured = Measured {
        messages: 4.0,
        bytes: 90_000.0,
        exchange: around(exchange_us * 1e-6),
        step: around(step_s),
        phases: StepPhases {
            halo_pack_s: 0.02 * step_s,
            halo_transfer_s: 0.03 * step_s,
            halo_wait_s: 0.1 * step_s,
            halo_unpack_s: 0.02 * step_s,
            force_return_s: 0.03 * step_s,
            border_s: 0.0,
            migrate_s: 0.0,
            total_s: step_s,
        },
        rebuilt_share: 0.0,
    };
    StrategyReport {
        context: RunContext { backend: backend.to_owned(), ..context() },
        measured: Some(measured),
        correct: Some(true),
        status: Status::Ok,
        note: String::new(),
    }
}

pub(super) fn unavailable(backend: &str) -> StrategyReport {
    StrategyReport {
        measured: None,
        correct: None,
        status: Status::Unavailable,
        note: "this version does not have it yet".to_owned(),
        ..strategy(backend, 1.0, 1.0)
    }
}

/// Strategies as in [`strategy`]; the first one is the scenario's own.
pub(super) fn comparison(strategies: &[(&str, f64, f64)]) -> Comparison {
    Comparison {
        rows: strategies.iter().map(|&(backend, us, ms)| strategy(backend, us, ms)).collect(),
        own: Some(0),
        controls: Vec::new(),
        repeat: 10,
        ranks_per_core: 1.0,
    }
}
