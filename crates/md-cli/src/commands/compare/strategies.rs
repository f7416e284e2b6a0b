//! Which strategies are compared: names from the command line, all combinations of them, and their scenarios.

use md_comm::{Backend, Refusal};
use md_core::Shell;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_lab::Strategy;
use serde::Serialize;

use crate::args::{CompareArgs, DivisionArgs};
use crate::scenario::{Rma, Scenario, fault, is_to_come, listed, name_of, nearest};

/// Stands for all names that are possible here.
const ALL: &str = "all";

const PARTITIONS: &str = "--partitions";

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

impl Choices {
    /// The names on the command line.
    ///
    /// # Errors
    /// An unknown name: the nearest valid one and all of them.
    pub fn read(args: &CompareArgs) -> Result<Self, String> {
        Self::of(&args.backends, &args.divisions)
    }

    /// These names.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of(backends: &[String], divisions: &DivisionArgs) -> Result<Self, String> {
        let own_partition = Self::of_one_partition(backends, &divisions.shells, &divisions.exchanges)?;
        let partitions = select(PARTITIONS, &divisions.partitions, PartitionKind::ALL)?;
        Ok(Self { partitions, ..own_partition })
    }

    /// The same with the scenario's own partition.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn of_one_partition(
        backends: &[String],
        shells: &[String],
        exchanges: &[String],
    ) -> Result<Self, String> {
        Ok(Self {
            backends: select("--backends", backends, Backend::ALL)?,
            shells: select("--shells", shells, Shell::ALL)?,
            exchanges: select("--exchanges", exchanges, ExchangePattern::ALL)?,
            partitions: Selection::Own,
        })
    }

    /// All combinations, backends outermost; `all` backends are those that `here` names.
    pub fn strategies(&self, scenario: &Scenario, here: &[Backend]) -> Vec<Strategy> {
        let own = scenario.parallel.strategy();
        let fits = |&partition: &PartitionKind| fit(Strategy { partition, ..own }, scenario).is_ok();
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
    pub(in crate::commands) fn resolve(&self, own: T, all: &[T]) -> Vec<T> {
        match self {
            Self::Own => vec![own],
            Self::All => all.to_vec(),
            Self::Named(names) => names.clone(),
        }
    }
}

/// The scenario with a strategy, without the options that its backend does not take.
///
/// # Errors
/// Why there is none.
pub(crate) fn fit(strategy: Strategy, base: &Scenario) -> Result<Fitted, String> {
    let mut scenario = base.clone();
    let parallel = &mut scenario.parallel;
    parallel.adopt(strategy);
    if strategy.partition != PartitionKind::Rect {
        parallel.grid = None;
    }
    if strategy.backend != Backend::Local {
        parallel.ranks = 1;
    }
    let left_out = leave_out_refused(&mut parallel.rma, strategy.mover(parallel.between_nodes));
    fault(&scenario).map_or(Ok(Fitted { scenario, left_out }), Err)
}

/// The values behind `names`, each once.
pub(in crate::commands) fn select<T>(
    option: &str,
    names: &[String],
    values: &[T],
) -> Result<Selection<T>, String>
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
    if option == PARTITIONS && is_to_come("parallel.partition", name) {
        return format!("`{option} {name}` is not available yet\nvalid: {}", listed(names()));
    }
    let meant = nearest(name, names()).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("{option} has no `{name}`{meant}\nvalid: {}", listed(names()))
}

/// A scenario with one strategy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fitted {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// What the backend does not take of the options in `[parallel.rma]`; they have their defaults.
    pub(super) left_out: Vec<Refusal>,
}

impl Fitted {
    /// What has been left out and why, in words; empty if nothing.
    pub(super) fn note(&self) -> String {
        let line = |Refusal { key, reason }: &Refusal| {
            format!("`parallel.rma.{}` left at its default: {reason}", key.name())
        };
        self.left_out.iter().map(line).collect::<Vec<_>>().join("; ")
    }
}

/// Sets the options that a backend does not take back to their defaults; what they were refused for.
fn leave_out_refused(rma: &mut Rma, backend: Backend) -> Vec<Refusal> {
    let mut left_out = Vec::new();
    while let Some(refusal) = backend.refusal(&rma.options(), rma.buffering()) {
        rma.reset(refusal.key);
        left_out.push(refusal);
    }
    left_out
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
        let own = base.parallel.strategy();
        assert_eq!(fit(own, &base).unwrap(), Fitted { scenario: base.clone(), left_out: Vec::new() });
        let stripe = fit(Strategy { partition: PartitionKind::Stripe, ..own }, &base).unwrap();
        assert_eq!(stripe.scenario.parallel.grid, None);
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn only_options_that_a_backend_refuses_are_left_out() {
        let options = "[parallel.rma]\nwindows = \"per-edge\"\noperation = \"get\"\nslots = 1\n";
        let base = scenario(&format!(
            "[parallel]\nbackend = \"rma-fence\"\nbetween_nodes = \"rma-lock\"\n{options}"
        ));
        let fitted = |backend| fit(Strategy { backend, ..base.parallel.strategy() }, &base).unwrap();
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
