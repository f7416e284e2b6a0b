//! Check that all ranks were started alike, as each computes what follows from its own command
//! line.

use std::hash::{DefaultHasher, Hash, Hasher};

use md_comm::{Reduction, World};
use md_scenario::failure::{RunError, Unlike};

use crate::commands::ROOT;

/// Variables that must have equal values on all ranks.
const VARIABLES: [&str; 1] = ["MD_RANKS_PER_NODE"];

/// Refuses ranks whose options or version differ from those of rank 0. *Collective.*
///
/// # Errors
/// [`Unlike`], the same on all ranks; communication.
pub(super) fn expect_alike(world: &dyn World) -> Result<(), RunError> {
    expect_same(world, &given())
}

/// Returns the version, variables and arguments of this rank, one line each.
fn given() -> String {
    let version = format!("md-cli {} ({})", env!("CARGO_PKG_VERSION"), env!("MD_GIT"));
    let words = |words: &mut dyn Iterator<Item = std::ffi::OsString>| {
        let words: Vec<String> = words.map(|word| word.to_string_lossy().replace('\n', "\\n")).collect();
        words.join(" ")
    };
    let variables = VARIABLES.map(|name| {
        let value =
            std::env::var_os(name).map_or_else(|| "unset".into(), |value| words(&mut [value].into_iter()));
        format!("{name} {value}")
    });
    [version, variables.join(" "), words(&mut std::env::args_os().skip(1))].join("\n")
}

fn expect_same(world: &dyn World, own: &str) -> Result<(), RunError> {
    let mut hasher = DefaultHasher::new();
    own.hash(&mut hasher);
    let sum = hasher.finish();
    let mut ends = [sum, !sum];
    world.reduce(&mut ends, Reduction::Highest)?;
    if ends[0] == !ends[1] {
        return Ok(());
    }
    let all = world.gather(ROOT, own.as_bytes())?;
    let mut text = first_difference(own, &all).into_bytes();
    world.broadcast(ROOT, &mut text)?;
    Err(Unlike(String::from_utf8_lossy(&text).into_owned()).into())
}

/// Describes the first line in which the lowest rank that differs from rank 0 does so.
fn first_difference(first: &str, all: &[Vec<u8>]) -> String {
    let differing = all.iter().enumerate().find_map(|(rank, text)| {
        let text = String::from_utf8_lossy(text);
        let (theirs, own) = text.split('\n').zip(first.split('\n')).find(|(theirs, own)| theirs != own)?;
        Some(format!("rank {rank} was given other options than rank 0: `{theirs}` instead of `{own}`"))
    });
    differing.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use md_comm::local;

    use super::*;

    #[test]
    fn the_lowest_rank_that_differs_is_named_by_all() {
        let said = |given: [&'static str; 3]| {
            local::run(given.len(), Duration::from_secs(60), |world| expect_same(world, given[world.rank()]))
        };
        assert!(said(["v\nrun a"; 3]).into_iter().all(|said| said.unwrap().is_ok()));
        for (given, expected) in [
            (
                ["v\nrun a", "v\nrun a", "v\nrun"],
                "rank 2 was given other options than rank 0: `run` instead of `run a`",
            ),
            (
                ["v\nrun a", "w\nrun a", "v\nrun"],
                "rank 1 was given other options than rank 0: `w` instead of `v`",
            ),
        ] {
            for said in said(given) {
                let error = said.unwrap().unwrap_err();
                assert_eq!((error.to_string().as_str(), error.exit_code()), (expected, 2));
            }
        }
    }
}
