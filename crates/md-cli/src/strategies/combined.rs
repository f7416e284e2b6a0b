//! Protocols and partitions of `compare --protocols`.

use md_core::PartitionKind;
use md_engine::Protocol;
use md_scenario::{Parallel, Scenario, fault};

use super::{Selection, select};
use crate::args::CompareArgs;

/// The protocols and partitions that are combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    protocols: Selection<Protocol>,
    partitions: Selection<PartitionKind>,
}

impl Combined {
    /// Reads the options; `None` where `--protocols` is not given.
    ///
    /// # Errors
    /// An unknown name, with all valid ones; an option that has no meaning together with
    /// `--protocols`.
    pub fn read(args: &CompareArgs) -> Result<Option<Self>, String> {
        let protocols = select("--protocols", &args.protocols, Protocol::ALL)?;
        if protocols == Selection::Own {
            return Ok(None);
        }
        let partitions = select("--partitions", &args.divisions.partitions, PartitionKind::ALL)?;
        let others = [
            ("--vary", args.vary.is_empty()),
            ("--shells", args.divisions.shells.is_empty()),
            ("--exchanges", args.divisions.exchanges.is_empty()),
            ("--trace", args.trace.trace.is_none()),
        ];
        match others.into_iter().find(|(_, is_absent)| !is_absent) {
            Some((option, _)) => Err(format!("{option} has no meaning beside --protocols")),
            None => Ok(Some(Self { protocols, partitions })),
        }
    }

    /// Returns all combinations that are possible for the scenario, and why combinations that were
    /// named are not.
    pub(crate) fn scenarios(&self, base: &Scenario) -> (Vec<Scenario>, Vec<String>) {
        let (mut able, mut remarks) = (Vec::new(), Vec::new());
        let partitions = self.partitions.resolve(base.parallel.partition, PartitionKind::ALL);
        let has_stripe = partitions.contains(&PartitionKind::Stripe);
        // `simple` supports only the partition `stripe`; the others are meant for the other
        // protocols.
        let is_for_others = |protocol: Protocol, partition: PartitionKind| {
            protocol == Protocol::Simple && has_stripe && partition != PartitionKind::Stripe
        };
        for protocol in self.protocols.resolve(base.parallel.protocol, Protocol::ALL) {
            for &partition in &partitions {
                let grid = base.parallel.grid.filter(|_| partition == PartitionKind::Rect);
                let parallel = Parallel { protocol, partition, grid, ..base.parallel.clone() };
                let scenario = Scenario { parallel, ..base.clone() };
                match fault(&scenario) {
                    None => able.push(scenario),
                    Some(_) if is_for_others(protocol, partition) => (),
                    Some(why) => remarks.push(why),
                }
            }
        }
        remarks.dedup();
        (able, remarks)
    }
}
