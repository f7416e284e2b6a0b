//! A scenario made to fit a strategy: what its backend does not take is left out, and told.

use md_comm::{Backend, Refusal};

use crate::scenario::{Rma, Scenario};

/// A scenario with one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The scenario.
    pub scenario: Scenario,
    /// What the backend does not take of the options in `[parallel.rma]`; they have their defaults.
    pub left_out: Vec<Refusal>,
}

impl Fitted {
    /// What has been left out and why, in words; empty if nothing.
    pub fn note(&self) -> String {
        let line = |Refusal { key, reason }: &Refusal| {
            format!("`parallel.rma.{}` left at its default: {reason}", key.name())
        };
        self.left_out.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

/// Sets the options that a backend does not take back to their defaults; what they were refused for.
pub(super) fn leave_out_refused(rma: &mut Rma, backend: Backend) -> Vec<Refusal> {
    let mut left_out = Vec::new();
    while let Some(refusal) = backend.refusal(&rma.options(), rma.buffering()) {
        rma.reset(refusal.key);
        left_out.push(refusal);
    }
    left_out
}

#[cfg(all(test, feature = "mpi"))]
mod tests {
    use super::Backend;
    use crate::commands::compare::strategies::{Strategy, tests::scenario};
    use crate::scenario::Rma;

    #[test]
    fn only_options_that_a_backend_refuses_are_left_out() {
        let options = "[parallel.rma]\nwindows = \"per-edge\"\noperation = \"get\"\nslots = 1\n";
        let base = scenario(&format!(
            "[parallel]\nbackend = \"rma-fence\"\nbetween_nodes = \"rma-lock\"\n{options}"
        ));
        let fitted = |backend| Strategy { backend, ..Strategy::of(&base.parallel) }.scenario(&base).unwrap();
        let keys = |backend| -> Vec<&str> {
            fitted(backend).left_out.iter().map(|refusal| refusal.key.name()).collect()
        };
        assert_eq!(keys(Backend::RmaFence), [""; 0]);
        assert_eq!(keys(Backend::Hybrid), [""; 0], "they are for its backend between nodes");
        assert_eq!(keys(Backend::RmaPscw), ["operation"]);
        assert_eq!(keys(Backend::P2p), ["windows", "operation"]);
        let Rma { windows, operation, slots, .. } = fitted(Backend::RmaPscw).scenario.parallel.rma;
        assert_eq!((windows, slots), (base.parallel.rma.windows, 1));
        assert_eq!(operation, Rma::default().operation);
        let note = fitted(Backend::RmaBarrier).note();
        assert!(
            note.starts_with("`parallel.rma.operation` left at its default: its barrier comes after"),
            "{note}"
        );
    }
}
