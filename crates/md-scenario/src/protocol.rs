//! `parallel.protocol`: checks of the combinations with other keys.

use md_core::Shell;
use md_core::force::MethodKind;
use md_core::halo::ExchangePattern;
use md_core::partition::PartitionKind;
use md_engine::{Balance, Protocol, SecondShare};
use md_lab::name_of;

use super::finding::{Checked, Finding};
use super::parallel::Parallel;

/// Refuses keys that have no meaning for a protocol without ghosts.
pub(super) fn check(parallel: &Parallel, method: MethodKind) -> Checked {
    let Parallel { protocol, partition, shell, exchange, overlap, threads, balance, second_share, .. } =
        *parallel;
    let name = protocol.name();
    let refuse = |path: &str, what: String, help: String| {
        let message = format!("protocol `{name}` {what}");
        Err(Finding::new(path, message, help).or_at("parallel.protocol"))
    };
    let other = |key: &str, value: String, wanted: &str| {
        refuse(key, format!("takes no {value}"), format!("write `{wanted}`, or `protocol = \"one\"`"))
    };
    let is_simple = protocol == Protocol::Simple;
    if protocol == Protocol::One {
        return Ok(());
    }
    if method != MethodKind::Cells {
        return other("neighbor.method", format!("method `{}`", name_of(method)), "method = \"cells\"");
    }
    if is_simple && partition != PartitionKind::Stripe {
        let found = format!("partition `{}`", name_of(partition));
        return other("parallel.partition", found, "partition = \"stripe\"");
    }
    if shell != Shell::Half {
        return other("parallel.shell", format!("shell `{}`", name_of(shell)), "shell = \"half\"");
    }
    if exchange != ExchangePattern::Direct {
        return other(
            "parallel.exchange",
            format!("exchange `{}`", name_of(exchange)),
            "exchange = \"direct\"",
        );
    }
    if threads != 1 {
        return other("parallel.threads", format!("{threads} threads"), "threads = 1");
    }
    let nothing = |key: &str| {
        let what = format!("knows no `{key}`: messages are sent between computations, as they come");
        refuse(&format!("parallel.{key}"), what, "leave it out".to_owned())
    };
    if !overlap {
        return nothing("overlap");
    }
    if second_share != SecondShare::default() {
        return nothing("second_share");
    }
    if is_simple && matches!(balance, Balance::By(_)) {
        let help = "leave it out, or use `protocol = \"dist\"`".to_owned();
        return refuse("parallel.balance", "keeps its rows: the work is not balanced".to_owned(), help);
    }
    Ok(())
}
