//! Values of `[parallel.rma]` and of `parallel.messages` that are compared in addition to the
//! strategies.

use md_comm::RmaKey;
use md_grid::Messages;
use md_lab::{Setting, Strategy, Variant};
use md_scenario::{Rma, Scenario, name_of};

use super::adapt::leave_out_refused;
use super::{ALL, and_all, unknown};

/// A key that can be varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A key of `[parallel.rma]`.
    Rma(RmaKey),
    /// Sharing of messages between the fields of a grid.
    Messages,
}

/// Path of [`Key::Messages`] in `--set`.
pub(crate) const MESSAGES: &str = "parallel.messages";

impl Key {
    fn all() -> impl Iterator<Item = Self> {
        RmaKey::ALL.iter().map(|&key| Self::Rma(key)).chain([Self::Messages])
    }

    /// Returns the path of the key in `--set`.
    pub(super) fn path(self) -> String {
        match self {
            Self::Rma(key) => format!("parallel.rma.{}", key.name()),
            Self::Messages => MESSAGES.to_owned(),
        }
    }

    fn values(self) -> Vec<String> {
        match self {
            Self::Rma(key) => Rma::values(key).into_iter().map(str::to_owned).collect(),
            Self::Messages => Messages::ALL.iter().map(name_of).collect(),
        }
    }
}

/// Several values of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Varied {
    /// The key that is varied.
    pub(super) key: Key,
    /// Its values, without repetition.
    pub(super) values: Vec<String>,
}

impl Varied {
    /// Parses a text such as `parallel.rma.slots=1,2`.
    ///
    /// # Errors
    /// An unknown key or value: the nearest valid one and all of them.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let Some((path, values)) = text.split_once('=') else {
            return Err(format!(
                "no `=` in `--vary {text}`\ngive a key and its values, for example parallel.rma.slots=1,2"
            ));
        };
        let path = path.trim();
        let Some(key) = Key::all().find(|key| key.path() == path) else {
            let paths: Vec<String> = Key::all().map(Key::path).collect();
            return Err(unknown("--vary", path, paths.iter().map(String::as_str)));
        };
        let valid = key.values();
        let mut named = Vec::new();
        for name in values.split(',').map(str::trim) {
            match valid.iter().find(|valid| *valid == name) {
                _ if name == ALL => return Ok(Self { key, values: valid }),
                Some(value) if named.contains(value) => (),
                Some(value) => named.push(value.clone()),
                None => return Err(unknown(&format!("--vary {path}"), name, and_all(&valid))),
            }
        }
        Ok(Self { key, values: named })
    }
}

/// Returns all combinations of one value per key, in the order of the keys; the last key varies
/// fastest.
pub(super) fn combinations(varied: &[Varied]) -> Vec<Vec<(Key, &str)>> {
    varied.iter().fold(vec![Vec::new()], |combinations, Varied { key, values }| {
        let with = |combination: &Vec<_>| {
            let each = values.iter().map(|value| [&combination[..], &[(*key, value.as_str())]].concat());
            each.collect::<Vec<_>>()
        };
        combinations.iter().flat_map(with).collect()
    })
}

/// Returns a strategy with some values of the varied keys, without those that have no effect for
/// its backend in this combination.
pub(super) fn variant(strategy: Strategy, combination: &[(Key, &str)], base: &Scenario) -> Variant {
    let mover = strategy.mover(base.parallel.between_nodes);
    let of_rma = combination.iter().filter_map(|&(key, value)| match key {
        Key::Rma(key) => Some((key, value)),
        Key::Messages => None,
    });
    let mut rma = of_rma.clone().fold(base.parallel.rma, |rma, (key, _)| rma.without(key));
    leave_out_refused(&mut rma, mover, &[]);
    let rma = of_rma.fold(rma, |rma, (key, value)| rma.with(key, value).unwrap_or(rma));
    let setting = |&(key, value): &(Key, &str)| {
        let is_used = match key {
            Key::Rma(key) => mover.has_use_for(key, &rma.options()),
            Key::Messages => true,
        };
        Setting { key: key.path(), value: is_used.then(|| value.to_owned()) }
    };
    Variant { strategy, settings: combination.iter().map(setting).collect() }
}

#[cfg(test)]
mod tests {
    use md_comm::RmaOptions;

    use super::*;

    #[test]
    fn keys_and_values_that_are_not_there() {
        let error = |text: &str| Varied::read(text).unwrap_err();
        insta::assert_snapshot!(error("parallel.rma.slot=1,2"), @r"
        --vary has no `parallel.rma.slot`; did you mean `parallel.rma.slots`?
        valid: `parallel.rma.window`, `parallel.rma.windows`, `parallel.rma.operation`, `parallel.rma.slots`, `parallel.rma.asserts`, `parallel.rma.polling`, `parallel.rma.ring`, `parallel.rma.epoch`, `parallel.rma.notice`, `parallel.rma.barriers`, `parallel.rma.arrivals`, `parallel.rma.puts`, `parallel.messages`
        ");
        insta::assert_snapshot!(error("parallel.rma.window=create,alocate"), @r"
        --vary parallel.rma.window has no `alocate`; did you mean `allocate`?
        valid: `allocate`, `create`, `dynamic`, `all`
        ");
        insta::assert_snapshot!(error("parallel.rma.asserts=on"), @r"
        --vary parallel.rma.asserts has no `on`
        valid: `false`, `true`, `all`
        ");
        insta::assert_snapshot!(error("parallel.rma.slots"), @r"
        no `=` in `--vary parallel.rma.slots`
        give a key and its values, for example parallel.rma.slots=1,2
        ");
        let asserts = Varied::read("parallel.rma.asserts=true,false,true").unwrap();
        assert_eq!(
            asserts,
            Varied { key: Key::Rma(RmaKey::Asserts), values: vec!["true".to_owned(), "false".to_owned()] }
        );
        for &key in RmaKey::ALL {
            for (value, name) in Rma::values(key).into_iter().zip(key.values()) {
                let set = Rma::default().with(key, value).unwrap();
                assert_eq!(set.without(key), Rma::default(), "{key:?} {value}");
                let options = RmaOptions::default().with(key, name).unwrap_or_default();
                assert_eq!(set.options(), options, "{key:?} {value}");
            }
        }
    }
}
