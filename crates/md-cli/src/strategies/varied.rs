//! Values of `[parallel.rma]`, and of how fields share messages, that are compared beside the strategies.

use md_comm::RmaKey;
use md_grid::Messages;
use md_lab::{Setting, Strategy, Variant};

use super::adapt::leave_out_refused;
use super::{ALL, select, unknown};
use crate::scenario::{Rma, Scenario};

/// The keys that can be varied are those of this table.
const TABLE: &str = "parallel.rma.";
/// And this one, of a grid.
pub(crate) const MESSAGES: &str = "parallel.messages";

/// The values of [`MESSAGES`] in `parallel.messages=aggregated,per-field`; `None` of another key.
pub(super) fn messages_of(text: &str) -> Option<Result<Vec<Messages>, String>> {
    let (path, values) = text.split_once('=').filter(|(path, _)| path.trim() == MESSAGES)?;
    let names: Vec<String> = values.split(',').map(str::to_owned).collect();
    let option = format!("--vary {}", path.trim());
    Some(
        select(&option, &names, Messages::ALL)
            .map(|chosen| chosen.resolve(Messages::default(), Messages::ALL)),
    )
}

/// Several values of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Varied {
    /// Which.
    pub(super) key: RmaKey,
    /// Without repetition.
    pub(super) values: Vec<&'static str>,
}

impl Varied {
    /// `parallel.rma.slots=1,2`.
    ///
    /// # Errors
    /// A key or value that is not there: the nearest one and all of them.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let Some((path, values)) = text.split_once('=') else {
            return Err(format!(
                "no `=` in `--vary {text}`\ngive a key and its values, for example {TABLE}slots=1,2"
            ));
        };
        let key = path.trim().strip_prefix(TABLE).and_then(RmaKey::from_name);
        let Some(key) = key else {
            let paths = RmaKey::ALL.iter().map(|&key| path_of(key)).chain([MESSAGES.to_owned()]);
            let paths: Vec<String> = paths.collect();
            return Err(unknown("--vary", path.trim(), paths.iter().map(String::as_str)));
        };
        let (valid, option) = (Rma::values(key), format!("--vary {path}"));
        let mut named = Vec::new();
        for name in values.split(',').map(str::trim) {
            match valid.iter().find(|valid| **valid == name) {
                _ if name == ALL => return Ok(Self { key, values: valid }),
                Some(value) if named.contains(value) => (),
                Some(value) => named.push(*value),
                None => return Err(unknown(&option, name, valid.into_iter().chain([ALL]))),
            }
        }
        Ok(Self { key, values: named })
    }
}

/// As in `--set`.
pub(super) fn path_of(key: RmaKey) -> String {
    format!("{TABLE}{}", key.name())
}

/// A value of each key, in the order of the keys; the last one changes first.
pub(super) fn combinations(varied: &[Varied]) -> Vec<Vec<(RmaKey, &'static str)>> {
    varied.iter().fold(vec![Vec::new()], |combinations, Varied { key, values }| {
        let with = |combination: &Vec<_>| {
            let each = values.iter().map(|&value| [&combination[..], &[(*key, value)]].concat());
            each.collect::<Vec<_>>()
        };
        combinations.iter().flat_map(with).collect()
    })
}

/// A strategy with some values of the keys that are varied; without those that mean nothing to its backend beside the others.
pub(super) fn variant(strategy: Strategy, combination: &[(RmaKey, &str)], base: &Scenario) -> Variant {
    let mover = strategy.mover(base.parallel.between_nodes);
    let mut rma = combination.iter().fold(base.parallel.rma, |rma, (key, _)| rma.without(*key));
    leave_out_refused(&mut rma, mover, &[]);
    let rma = combination.iter().fold(rma, |rma, (key, value)| rma.with(*key, value).unwrap_or(rma));
    let setting = |&(key, value): &(RmaKey, &str)| {
        let is_used = mover.has_use_for(key, &rma.options());
        Setting { key: path_of(key), value: is_used.then(|| value.to_owned()) }
    };
    Variant { strategy, settings: combination.iter().map(setting).collect() }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(asserts, Varied { key: RmaKey::Asserts, values: vec!["true", "false"] });
        for &key in RmaKey::ALL {
            for value in Rma::values(key) {
                let set = Rma::default().with(key, value).unwrap();
                assert_eq!(set.without(key), Rma::default(), "{key:?} {value}");
            }
        }
    }
}
