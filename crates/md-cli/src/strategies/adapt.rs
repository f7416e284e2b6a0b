//! Changing the strategy of a scenario.

use md_comm::{Backend, Refusal, RmaKey};
use md_core::partition::PartitionKind;
use md_lab::{Strategy, Variant};
use md_scenario::{Rma, Scenario, fault};

/// Returns the scenario with a strategy, without the options that its backend does not take.
///
/// # Errors
/// The reason why the strategy is impossible.
pub(crate) fn adapt(strategy: Strategy, base: &Scenario) -> Result<Adapted, String> {
    adapt_variant(&strategy.into(), base)
}

/// Does what [`adapt`] does, with the varied values; values that would have an effect for the
/// backend but are refused by it are errors.
///
/// # Errors
/// The reason why the strategy is impossible.
pub(crate) fn adapt_variant(variant: &Variant, base: &Scenario) -> Result<Adapted, String> {
    let (mut scenario, strategy) = (base.clone(), variant.strategy);
    let parallel = &mut scenario.parallel;
    parallel.adopt(strategy);
    if strategy.partition != PartitionKind::Rect {
        parallel.grid = None;
    }
    if strategy.backend != Backend::Local {
        parallel.ranks = 1;
    }
    let varied = variant.settings.iter().filter_map(|it| Some((RmaKey::from_name(it.name())?, &it.value)));
    let varied: Vec<_> = varied.collect();
    let rma = &mut parallel.rma;
    *rma = varied.iter().fold(*rma, |rma, (key, value)| match value {
        Some(value) => rma.with(*key, value).unwrap_or(rma),
        None => rma.without(*key),
    });
    let wanted: Vec<_> = varied.into_iter().map(|(key, _)| key).collect();
    let left_out = leave_out_refused(rma, strategy.mover(parallel.between_nodes), &wanted);
    fault(&scenario).map_or(Ok(Adapted { scenario, left_out }), Err)
}

/// A scenario with one strategy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Adapted {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// Options in `[parallel.rma]` that the backend does not take; they have their defaults.
    pub(super) left_out: Vec<Refusal>,
}

impl Adapted {
    /// Describes what was left out and why; empty if nothing was.
    pub(crate) fn note(&self) -> String {
        let line = |Refusal { key, reason }: &Refusal| {
            format!("`parallel.rma.{}` left at its default: {reason}", key.name())
        };
        self.left_out.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

/// Resets the options that a backend does not take to their defaults, up to the first one that is
/// `wanted`; returns the refusals.
pub(super) fn leave_out_refused(rma: &mut Rma, backend: Backend, wanted: &[RmaKey]) -> Vec<Refusal> {
    let mut left_out = Vec::new();
    while let Some(refusal) = backend.refusal(&rma.options(), rma.slots)
        && !wanted.contains(&refusal.key)
    {
        *rma = rma.without(refusal.key);
        left_out.push(refusal);
    }
    left_out
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "mpi")]
    use md_lab::Setting;

    use super::*;
    use crate::strategies::tests::scenario;

    /// Without MPI there is no backend over windows.
    #[cfg(feature = "mpi")]
    #[test]
    fn what_a_backend_would_use_and_cannot_have_is_an_error_of_its_own() {
        let base = scenario("");
        let settings =
            vec![Setting { key: "parallel.rma.operation".to_owned(), value: Some("get".to_owned()) }];
        let strategy = Strategy { backend: Backend::RmaPscw, ..base.parallel.strategy() };
        let refused = adapt_variant(&Variant { strategy, settings: settings.clone() }, &base).unwrap_err();
        assert!(
            refused.starts_with("backend `rma-pscw` does not take this `operation`; its epochs"),
            "{refused}"
        );
        let strategy = Strategy { backend: Backend::RmaFence, ..strategy };
        let adapted = adapt_variant(&Variant { strategy, settings }, &base).unwrap();
        assert_eq!(adapted.scenario.parallel.rma.operation, md_comm::Operation::Get);
    }

    #[test]
    fn a_grid_is_for_rect_only() {
        let base = scenario("[parallel]\ngrid = [2, 1, 1]\n");
        let own = base.parallel.strategy();
        assert_eq!(adapt(own, &base).unwrap(), Adapted { scenario: base.clone(), left_out: Vec::new() });
        let stripe = adapt(Strategy { partition: PartitionKind::Stripe, ..own }, &base).unwrap();
        assert_eq!(stripe.scenario.parallel.grid, None);
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn only_options_that_a_backend_refuses_are_left_out() {
        let options = "[parallel.rma]\nwindows = \"per-edge\"\noperation = \"get\"\nslots = 1\n";
        let base = scenario(&format!(
            "[parallel]\nbackend = \"rma-fence\"\nbetween_nodes = \"rma-lock\"\n{options}"
        ));
        let adapted = |backend| adapt(Strategy { backend, ..base.parallel.strategy() }, &base).unwrap();
        let keys = |backend| -> Vec<&str> {
            adapted(backend).left_out.iter().map(|refusal| refusal.key.name()).collect()
        };
        assert_eq!(keys(Backend::RmaFence), [""; 0]);
        assert_eq!(keys(Backend::Hybrid), [""; 0], "they are for its backend between nodes");
        assert_eq!(keys(Backend::RmaPscw), ["operation"]);
        assert_eq!(keys(Backend::P2p), ["windows", "operation"]);
        let Rma { windows, operation, slots, .. } = adapted(Backend::RmaPscw).scenario.parallel.rma;
        assert_eq!((windows, slots), (base.parallel.rma.windows, md_comm::Buffering::Single));
        assert_eq!(operation, Rma::default().operation);
        let note = adapted(Backend::RmaBarrier).note();
        assert!(
            note.starts_with("`parallel.rma.operation` left at its default: its barrier comes after"),
            "{note}"
        );
    }
}
