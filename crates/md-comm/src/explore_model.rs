//! Exploration of models.

use loom::model::Builder;

/// Explores all executions with at most `preemptions` context switches that no wait forces, which
/// reaches deeper in the same time; `None` explores every execution.
pub(crate) fn explore(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}
