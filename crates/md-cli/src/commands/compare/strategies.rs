//! Which strategies are compared: names from the command line, and all combinations of them.

use std::fmt;

use md_comm::Backend;
use md_core::Shell;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use serde::Serialize;

use super::fitted::{Fitted, leave_out_refused};
use crate::args::CompareArgs;
use crate::scenario::{Parallel, Scenario, fault, listed, name_of, nearest};

/// Stands for all names that are possible here.
const ALL: &str = "all";

/// What a user has chosen of one kind of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection<T> {
    /// The scenario's own.
    Own,
    /// Everything that is possible here.
    All,
    /// These.
    Named(Vec<T>),
}

/// What a user has chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    backends: Selection<Backend>,
    shells: Selection<Shell>,
    exchanges: Selection<ExchangePattern>,
    partitions: Selection<PartitionKind>,
}

/// One way to move the halo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// What moves the messages.
    pub backend: Backend,
    /// Which cells are imported.
    pub shell: Shell,
    /// Direct or staged.
    pub exchange: ExchangePattern,
    /// Who owns which cell.
    pub partition: PartitionKind,
}

impl fmt::Display for Strategy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, shell, exchange, partition } = self;
        let [backend, shell] = [backend.name().to_owned(), name_of(shell)];
        write!(formatter, "{backend} ({shell}, {}, {})", name_of(exchange), name_of(partition))
    }
}

impl Choices {
    /// The names on the command line.
    ///
    /// # Errors
    /// An unknown name: the nearest valid one and all of them.
    pub fn read(args: &CompareArgs) -> Result<Self, String> {
        Ok(Self {
            backends: select("--backends", &args.backends, Backend::ALL)?,
            shells: select("--shells", &args.shells, Shell::ALL)?,
            exchanges: select("--exchanges", &args.exchanges, ExchangePattern::ALL)?,
            partitions: select("--partitions", &args.partitions, PartitionKind::ALL)?,
        })
    }

    /// All combinations, backends outermost; `all` backends are those that `here` names.
    pub fn strategies(&self, scenario: &Scenario, here: &[Backend]) -> Vec<Strategy> {
        let own = Strategy::of(&scenario.parallel);
        let fits = |partition: &PartitionKind| {
            let strategy = Strategy { partition: *partition, ..own };
            strategy.scenario(scenario).is_ok()
        };
        let possible: Vec<_> = PartitionKind::ALL.iter().copied().filter(fits).collect();
        let partitions = self.partitions.resolve(own.partition, &possible);
        let exchanges = self.exchanges.resolve(own.exchange, ExchangePattern::ALL);
        let shells = self.shells.resolve(own.shell, Shell::ALL);
        let mut strategies = Vec::new();
        for backend in self.backends.resolve(own.backend, here) {
            for &shell in &shells {
                for &exchange in &exchanges {
                    for &partition in &partitions {
                        strategies.push(Strategy { backend, shell, exchange, partition });
                    }
                }
            }
        }
        strategies
    }
}

impl<T: Copy> Selection<T> {
    fn resolve(&self, own: T, all: &[T]) -> Vec<T> {
        match self {
            Self::Own => vec![own],
            Self::All => all.to_vec(),
            Self::Named(names) => names.clone(),
        }
    }
}

impl Strategy {
    /// A scenario's own.
    pub fn of(parallel: &Parallel) -> Self {
        let Parallel { backend, shell, exchange, partition, .. } = *parallel;
        Self { backend, shell, exchange, partition }
    }

    /// The scenario with this strategy, without the options that its backend does not take.
    ///
    /// # Errors
    /// Why there is none.
    pub fn scenario(self, base: &Scenario) -> Result<Fitted, String> {
        let Self { backend, shell, exchange, partition } = self;
        let mut scenario = base.clone();
        let parallel = &mut scenario.parallel;
        (parallel.backend, parallel.shell, parallel.exchange) = (backend, shell, exchange);
        if partition != PartitionKind::Rect {
            parallel.grid = None;
        }
        parallel.partition = partition;
        if backend != Backend::Local {
            parallel.ranks = 1;
        }
        let left_out = leave_out_refused(&mut parallel.rma, self.mover(parallel.between_nodes));
        fault(&scenario).map_or(Ok(Fitted { scenario, left_out }), Err)
    }

    /// What moves the messages that `[parallel.rma]` and calls that hang are about: of `hybrid`, its backend between nodes.
    pub(super) fn mover(self, between_nodes: Backend) -> Backend {
        if self.backend == Backend::Hybrid { between_nodes } else { self.backend }
    }
}

/// The values behind `names`, each once.
fn select<T>(option: &str, names: &[String], values: &[T]) -> Result<Selection<T>, String>
where
    T: Copy + PartialEq + Serialize,
{
    let valid: Vec<String> = values.iter().map(name_of).collect();
    let mut named = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if name == ALL {
            return Ok(Selection::All);
        }
        match values.iter().zip(&valid).find(|(_, valid)| *valid == name) {
            Some((value, _)) if named.contains(value) => (),
            Some((value, _)) => named.push(*value),
            None => return Err(unknown(option, name, &valid)),
        }
    }
    Ok(if named.is_empty() { Selection::Own } else { Selection::Named(named) })
}

fn unknown(option: &str, name: &str, valid: &[String]) -> String {
    let names = || valid.iter().map(String::as_str).chain([ALL]);
    let meant = nearest(name, names()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("{option} has no `{name}`{meant}\nvalid: {}", listed(names()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::scenario::{ScenarioSource, load};

    fn choose(option: &str, names: &str) -> Result<Selection<Shell>, String> {
        let names: Vec<String> =
            names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        select(option, &names, Shell::ALL)
    }

    pub(in crate::commands::compare) fn scenario(parallel: &str) -> Scenario {
        let text = format!(
            "[simulation]\nsteps = 1\n[system]\nlattice = {{ kind = \"sc\", density = 1.0, cells = [9, 9, 9] }}\n{parallel}"
        );
        load(&ScenarioSource { name: "a.toml".to_owned(), text, overrides: Vec::new() }).unwrap()
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_and_all() {
        insta::assert_snapshot!(choose("--shells", "full,hafl").unwrap_err(), @r"
        --shells has no `hafl`; did you mean `half`?
        valid: `full`, `half`, `eighth`, `all`
        ");
        insta::assert_snapshot!(choose("--shells", "sphere").unwrap_err(), @r"
        --shells has no `sphere`
        valid: `full`, `half`, `eighth`, `all`
        ");
    }

    #[test]
    fn names_are_taken_once_and_all_means_all() {
        assert_eq!(
            choose("--shells", "full,half,full").unwrap(),
            Selection::Named(vec![Shell::Full, Shell::Half])
        );
        assert_eq!(choose("--shells", "full,all").unwrap(), Selection::All);
        assert_eq!(choose("--shells", "").unwrap(), Selection::Own);
    }

    #[test]
    fn strategies_are_all_combinations() {
        let choices = Choices {
            backends: Selection::All,
            shells: Selection::Named(vec![Shell::Full, Shell::Eighth]),
            exchanges: Selection::All,
            partitions: Selection::All,
        };
        let strategies = choices.strategies(&scenario(""), &[Backend::P2p, Backend::Shm]);
        assert_eq!(strategies.len(), 2 * 2 * 2 * 2);
        assert_eq!(strategies[0].backend, Backend::P2p);
        assert_eq!(strategies[15].backend, Backend::Shm);
    }

    #[test]
    fn a_grid_is_for_rect_only() {
        let base = scenario("[parallel]\ngrid = [2, 1, 1]\n");
        let own = Strategy::of(&base.parallel);
        assert_eq!(own.scenario(&base).unwrap(), Fitted { scenario: base.clone(), left_out: Vec::new() });
        let stripe = Strategy { partition: PartitionKind::Stripe, ..own }.scenario(&base).unwrap();
        assert_eq!(stripe.scenario.parallel.grid, None);
    }
}
