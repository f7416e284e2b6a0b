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
    if parallel.protocol == Protocol::One {
        return Ok(());
    }
    check_values(parallel, method)?;
    check_unknown(parallel)
}

/// Refuses values other than the only one that the protocol takes.
fn check_values(parallel: &Parallel, method: MethodKind) -> Checked {
    let Parallel { protocol, partition, shell, exchange, threads, .. } = *parallel;
    let other = |key: &str, value: String, wanted: &str| {
        let help = format!("write `{wanted}`, or `protocol = \"one\"`");
        refused(protocol, key, &format!("takes no {value}"), &help)
    };
    if method != MethodKind::Cells {
        return other("neighbor.method", format!("method `{}`", name_of(method)), "method = \"cells\"");
    }
    if protocol == Protocol::Simple && partition != PartitionKind::Stripe {
        let found = format!("partition `{}`", name_of(partition));
        return other("parallel.partition", found, "partition = \"stripe\"");
    }
    if shell != Shell::Half {
        return other("parallel.shell", format!("shell `{}`", name_of(shell)), "shell = \"half\"");
    }
    if exchange != ExchangePattern::Direct {
        let found = format!("exchange `{}`", name_of(exchange));
        return other("parallel.exchange", found, "exchange = \"direct\"");
    }
    if threads != 1 {
        return other("parallel.threads", format!("{threads} threads"), "threads = 1");
    }
    Ok(())
}

/// Refuses keys that the protocol does not know.
fn check_unknown(parallel: &Parallel) -> Checked {
    let Parallel { protocol, overlap, balance, second_share, .. } = *parallel;
    let nothing = |key: &str| {
        let what = format!("knows no `{key}`: messages are sent between computations");
        refused(protocol, &format!("parallel.{key}"), &what, "leave it out")
    };
    if !overlap {
        return nothing("overlap");
    }
    if second_share != SecondShare::default() {
        return nothing("second_share");
    }
    if protocol == Protocol::Simple && matches!(balance, Balance::By(_)) {
        let what = "keeps its rows: the work is not balanced";
        return refused(protocol, "parallel.balance", what, "leave it out, or use `protocol = \"dist\"`");
    }
    Ok(())
}

fn refused(protocol: Protocol, path: &str, what: &str, help: &str) -> Checked {
    let message = format!("protocol `{}` {what}", protocol.name());
    Err(Finding::new(path, message, help).or_at("parallel.protocol"))
}
