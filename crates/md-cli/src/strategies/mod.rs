//! The strategies that are compared: names from the command line, and all combinations of them.

mod adapt;
mod base;
mod combined;
mod varied;

use md_comm::Backend;
use md_core::Shell;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_lab::{Strategy, Variant};
use serde::Serialize;

use crate::args::{CompareArgs, DivisionArgs};
use crate::scenario::{Scenario, listed, name_of, nearest};
pub(crate) use adapt::{adapt, adapt_variant};
pub(crate) use base::{by_ghosts, keys_of};
pub use combined::Combined;
pub(crate) use varied::MESSAGES;
use varied::{Key, Varied, combinations, variant};

/// Selects all names that are possible here.
pub(super) const ALL: &str = "all";

/// The user's choice among the names of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection<T> {
    /// The scenario's value.
    Own,
    /// All values that are possible here.
    All,
    /// These values.
    Named(Vec<T>),
}

/// The user's choice of strategies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    backends: Selection<Backend>,
    shells: Selection<Shell>,
    exchanges: Selection<ExchangePattern>,
    partitions: Selection<PartitionKind>,
    varied: Vec<Varied>,
    /// Protocols instead of strategies.
    pub(crate) combined: Option<Combined>,
}

impl Choices {
    /// Reads the names on the command line.
    ///
    /// # Errors
    /// An unknown name: the nearest valid one and all of them.
    pub fn read(args: &CompareArgs) -> Result<Self, String> {
        let mut varied: Vec<Varied> = Vec::new();
        for text in &args.vary {
            let one = Varied::read(text)?;
            if varied.iter().any(|other| other.key == one.key) {
                return Err(format!("--vary {} is given twice: name all values at once", one.key.path()));
            }
            varied.push(one);
        }
        let combined = Combined::read(args)?;
        Ok(Self { varied, combined, ..Self::of(&args.backends, &args.divisions)? })
    }

    /// Returns the choices of these names.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn of(backends: &[String], divisions: &DivisionArgs) -> Result<Self, String> {
        let own_partition = Self::of_one_partition(backends, &divisions.shells, &divisions.exchanges)?;
        let partitions = select("--partitions", &divisions.partitions, PartitionKind::ALL)?;
        Ok(Self { partitions, ..own_partition })
    }

    /// Does what [`Self::of`] does, with the scenario's partition.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
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
            varied: Vec::new(),
            combined: None,
        })
    }

    /// Returns an option that applies only to particles, if one was given.
    pub(crate) fn of_particles(&self) -> Option<&'static str> {
        let options = [
            ("--shells", self.shells == Selection::Own),
            ("--protocols", self.combined.is_none()),
            ("--partitions", self.partitions == Selection::Own),
        ];
        options.into_iter().find_map(|(option, is_absent)| (!is_absent).then_some(option))
    }

    /// Returns an option that applies only to grids, if one was given.
    pub(crate) fn of_grids(&self) -> Option<&'static str> {
        self.varied.iter().any(|it| it.key == Key::Messages).then_some("--vary parallel.messages")
    }

    /// Returns all combinations of strategies and varied values. Combinations that do not differ
    /// for a backend are included once.
    ///
    /// # Errors
    /// A key that has no effect for any of the backends.
    pub fn variants(&self, scenario: &Scenario, here: &[Backend]) -> Result<Vec<Variant>, String> {
        let combinations = combinations(&self.varied);
        let mut variants: Vec<Variant> = Vec::new();
        for strategy in self.strategies(scenario, here) {
            let first = variants.len();
            for combination in &combinations {
                let variant = variant(strategy, combination, scenario);
                if !variants[first..].contains(&variant) {
                    variants.push(variant);
                }
            }
        }
        let is_used = |number: usize| variants.iter().any(|variant| variant.settings[number].value.is_some());
        match (0..self.varied.len()).find(|&number| !is_used(number)) {
            Some(number) => Err(format!(
                "--vary {}: none of the backends that are compared has a use for it",
                self.varied[number].key.path()
            )),
            None => Ok(variants),
        }
    }

    /// Returns all combinations, backends outermost; `all` selects the backends in `here`.
    pub fn strategies(&self, scenario: &Scenario, here: &[Backend]) -> Vec<Strategy> {
        let own = scenario.parallel.strategy();
        let fits = |&partition: &PartitionKind| adapt(Strategy { partition, ..own }, scenario).is_ok();
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
    pub(crate) fn resolve(&self, own: T, all: &[T]) -> Vec<T> {
        match self {
            Self::Own => vec![own],
            Self::All => all.to_vec(),
            Self::Named(names) => names.clone(),
        }
    }
}

/// Returns the values with these names, each once.
pub(crate) fn select<T>(option: &str, names: &[String], values: &[T]) -> Result<Selection<T>, String>
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
            None => return Err(unknown(option, name, and_all(&valid))),
        }
    }
    Ok(if named.is_empty() { Selection::Own } else { Selection::Named(named) })
}

fn and_all(valid: &[String]) -> impl Iterator<Item = &str> + Clone {
    valid.iter().map(String::as_str).chain([ALL])
}

pub(super) fn unknown<'n>(option: &str, name: &str, valid: impl Iterator<Item = &'n str> + Clone) -> String {
    let near = nearest(name, valid.clone());
    let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("{option} has no `{name}`{meant}\nvalid: {}", listed(valid))
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

    pub(super) fn scenario(parallel: &str) -> Scenario {
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
            varied: Vec::new(),
            combined: None,
        };
        let strategies = choices.strategies(&scenario(""), &[Backend::P2p, Backend::Shm]);
        let all = 2 * 2 * 2 * PartitionKind::ALL.len();
        assert_eq!(strategies.len(), all);
        assert_eq!(strategies[0].backend, Backend::P2p);
        assert_eq!(strategies[all - 1].backend, Backend::Shm);
    }

    /// Returns the variants of these backends with these values of two keys, as `backend settings`.
    fn varied(scenario: &Scenario, vary: [&str; 2], backends: &[Backend]) -> Result<Vec<String>, String> {
        let varied = vary.map(Varied::read).into_iter().collect::<Result<_, _>>()?;
        let own = Choices::of(&["all".to_owned()], &DivisionArgs::default())?;
        let variants = Choices { varied, ..own }.variants(scenario, backends)?;
        let text = |it: &Variant| it.to_string().replace(" half direct rect", "");
        Ok(variants.iter().map(text).collect())
    }

    #[test]
    fn what_makes_no_difference_for_a_backend_is_there_once() {
        let (base, window) = (scenario(""), "parallel.rma.window=create,allocate");
        let backends = [Backend::P2p, Backend::RmaFence, Backend::NeighborCollective];
        assert_eq!(
            varied(&base, [window, "parallel.rma.slots=all"], &backends).unwrap(),
            [
                "p2p slots=1",
                "p2p slots=2",
                "rma-fence window=create slots=1",
                "rma-fence window=create slots=2",
                "rma-fence window=allocate slots=1",
                "rma-fence window=allocate slots=2",
                "neighbor-collective",
            ]
        );
        let get = ["parallel.rma.operation=all", "parallel.rma.epoch=all"];
        assert_eq!(
            varied(&base, get, &[Backend::RmaFence, Backend::RmaLock]).unwrap(),
            [
                "rma-fence operation=put epoch=complete",
                "rma-fence operation=put epoch=initiate",
                "rma-fence operation=get",
                "rma-lock operation=put",
                "rma-lock operation=get",
            ]
        );
        assert_eq!(
            varied(&base, get, &[Backend::P2p, Backend::Shm]).unwrap_err(),
            "--vary parallel.rma.operation: none of the backends that are compared has a use for it"
        );
    }
}
