//! The choices that define a halo exchange.

use std::fmt;

use md_comm::{Backend, Buffering, RmaOptions, WindowKind};

/// Extent of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// No options and one decomposition, for several nodes.
    Nodes,
    /// Two decompositions, the library's choice of windows, each option alone on 2 ranks, and no
    /// options on 3 ranks.
    Slice,
    /// Each option alone, in all other respects complete.
    Each,
    /// All combinations of options, in all other respects complete.
    Full,
}

impl Extent {
    /// Environment variable that selects the extent.
    pub(crate) const VARIABLE: &str = "MD_STRATEGIES";

    pub(crate) fn wanted() -> Self {
        match std::env::var(Self::VARIABLE).as_deref() {
            Ok("nodes") => Self::Nodes,
            Ok("each") => Self::Each,
            Ok("full") => Self::Full,
            _ => Self::Slice,
        }
    }

    /// Returns how many options of a transport may differ from their defaults.
    fn most_changes(self, ranks: usize) -> usize {
        match self {
            Self::Nodes => 0,
            Self::Slice if ranks > 2 => 0,
            Self::Slice | Self::Each => 1,
            // More changes at a time add no new pair of values.
            Self::Full => 4,
        }
    }
}

/// Choices that determine the bits of the result. With the same number of ranks, all backends agree
/// on them.
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
            Extent::Nodes => &SLICE[..1],
            Extent::Slice => SLICE,
            Extent::Each | Extent::Full => FULL,
        }
    }

    /// Returns the choices as overrides of a scenario.
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

/// Choices about the transport of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transport {
    pub(crate) backend: Backend,
    pub(crate) options: RmaOptions,
    pub(crate) buffering: Buffering,
}

impl Transport {
    /// The backend with which the others are compared.
    pub(crate) const REFERENCE: Backend = Backend::P2p;

    /// Environment variable with the names of backends that cannot run here, separated by commas.
    pub(crate) const WITHOUT: &str = "MD_STRATEGIES_WITHOUT";

    /// Environment variable that leaves out windows over the program's own memory.
    pub(crate) const ALLOCATED_ONLY: &str = "MD_STRATEGIES_ALLOCATED_ONLY";

    /// Environment variable with words that a strategy's name must contain, for example `rma-lock
    /// get`.
    const ONLY: &str = "MD_STRATEGIES_ONLY";

    /// Returns the transport by two-sided messages.
    pub(crate) fn reference() -> Self {
        Self::plain(Self::REFERENCE)
    }

    fn plain(backend: Backend) -> Self {
        Self { backend, options: RmaOptions::default(), buffering: Buffering::Double }
    }

    /// Returns all other transports that run over MPI on `ranks` ranks, with the options that they
    /// accept. Unless everything is requested, each option occurs alone.
    pub(crate) fn others(ranks: usize) -> impl Iterator<Item = Self> {
        let without = std::env::var(Self::WITHOUT).unwrap_or_default();
        let runs = move |backend: &&Backend| {
            **backend != Backend::Local && without.split(',').all(|name| name != backend.name())
        };
        let most = Extent::wanted().most_changes(ranks);
        let options: Vec<RmaOptions> =
            RmaOptions::combinations().into_iter().filter(|options| changes(options) <= most).collect();
        let known = Backend::ALL.iter().copied().filter(move |backend| runs(&backend));
        let with_options = known.flat_map(move |backend| {
            let all = options.clone().into_iter().flat_map(move |options| {
                [Buffering::Double, Buffering::Single].map(|buffering| Self { backend, options, buffering })
            });
            all.filter(move |transport| transport.changes() <= most)
        });
        let allocated_only = std::env::var_os(Self::ALLOCATED_ONLY).is_some();
        let only = std::env::var(Self::ONLY).unwrap_or_default();
        let is_wanted = move |transport: &Self| {
            let name = transport.to_string();
            only.split_whitespace().all(|word| name.contains(word))
        };
        with_options.filter(is_wanted).filter(move |transport| {
            let has_window = !allocated_only || transport.options.window == WindowKind::Allocate;
            has_window && transport.is_possible() && *transport != Self::reference()
        })
    }

    fn changes(&self) -> usize {
        changes(&self.options) + usize::from(self.buffering == Buffering::Single)
    }

    /// Returns whether the transport can run. The options of `hybrid` are those of its backend
    /// between nodes, which is two-sided here.
    fn is_possible(&self) -> bool {
        let asked = if self.backend == Backend::Hybrid { Backend::P2p } else { self.backend };
        asked.refuses(&self.options, self.buffering).is_ok()
    }
}

/// Returns the number of options that differ from their defaults.
fn changes(options: &RmaOptions) -> usize {
    options.to_string().split_whitespace().count()
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = if self.buffering == Buffering::Single { " slots=1" } else { "" };
        let text = format!("{} {}{slots}", self.backend.name(), self.options);
        f.write_str(text.trim())
    }
}
