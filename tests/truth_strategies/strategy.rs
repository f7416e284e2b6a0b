//! What can be chosen about a halo exchange.

use std::fmt;

use md_comm::Backend;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Slice,
    Full,
}

impl Extent {
    /// Variable that asks for the long form.
    pub(crate) const VARIABLE: &str = "MD_STRATEGIES";
    pub(crate) const FULL: &str = "full";

    pub(crate) fn wanted() -> Self {
        let full = std::env::var(Self::VARIABLE).is_ok_and(|extent| extent == Self::FULL);
        if full { Self::Full } else { Self::Slice }
    }
}

/// Decides which bits come out: with the same number of ranks, all backends agree on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decomposition {
    pub(crate) shell: &'static str,
    pub(crate) exchange: &'static str,
    pub(crate) partition: &'static str,
}

const SLICE: &[Decomposition] = &[
    Decomposition { shell: "half", exchange: "direct", partition: "rect" },
    Decomposition { shell: "eighth", exchange: "staged", partition: "rect" },
];

const FULL: &[Decomposition] = &[
    Decomposition { shell: "full", exchange: "direct", partition: "rect" },
    Decomposition { shell: "full", exchange: "staged", partition: "rect" },
    Decomposition { shell: "half", exchange: "direct", partition: "rect" },
    Decomposition { shell: "half", exchange: "staged", partition: "rect" },
    Decomposition { shell: "eighth", exchange: "direct", partition: "rect" },
    Decomposition { shell: "eighth", exchange: "staged", partition: "rect" },
    Decomposition { shell: "half", exchange: "direct", partition: "stripe" },
];

impl Decomposition {
    pub(crate) fn all(extent: Extent) -> &'static [Self] {
        match extent {
            Extent::Slice => SLICE,
            Extent::Full => FULL,
        }
    }

    /// As overrides of a scenario.
    pub(crate) fn settings(self) -> Vec<String> {
        let Self { shell, exchange, partition } = self;
        [("shell", shell), ("exchange", exchange), ("partition", partition)]
            .map(|(key, value)| format!("parallel.{key}={value:?}"))
            .into()
    }
}

impl fmt::Display for Decomposition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shell, {}, {}", self.shell, self.exchange, self.partition)
    }
}

/// What moves the bytes. Options of a backend are further fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transport {
    pub(crate) backend: Backend,
}

impl Transport {
    /// The one that the others are compared with.
    pub(crate) const REFERENCE: Self = Self { backend: Backend::P2p };

    /// Variable with the names of backends that cannot run here, separated by commas.
    pub(crate) const WITHOUT: &str = "MD_STRATEGIES_WITHOUT";

    /// All others that run over MPI.
    pub(crate) fn others() -> impl Iterator<Item = Self> {
        let without = std::env::var(Self::WITHOUT).unwrap_or_default();
        let runs = move |backend: &&Backend| {
            **backend != Backend::Local && without.split(',').all(|name| name != backend.name())
        };
        let known = Backend::ALL.iter().filter(runs);
        known.map(|&backend| Self { backend }).filter(|&transport| transport != Self::REFERENCE)
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.backend.name())
    }
}
