//! How models are explored.

use loom::model::Builder;

/// All executions with at most so many context switches that no wait forces, which goes deeper in the same time; `None`: every one.
pub(crate) fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}
