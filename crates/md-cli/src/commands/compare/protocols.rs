//! `md-cli compare --protocols`: protocols and partitions in the columns of Matthey and Hansen (2000).

use md_core::PartitionKind;
use md_core::words::counted;
use md_engine::Protocol;
use md_lab::Transports;
use md_lab::protocols::{Measuring, Row, alone_s, measure, protocols_csv, table};

use super::strategies::{Selection, select};
use crate::args::CompareArgs;
use crate::commands::{open_on_root, output_directory, refused};
use crate::error::RunError;
use crate::inputs::Inputs;
use crate::output::{KnownFile, OutputError, Progress, ResultFiles, Screen, Verbosity};
use crate::scenario::{Parallel, Scenario, fault};
use crate::session::warn;
use crate::{memory, setup};

/// Steps of a run where nothing else is said.
const STEPS: u64 = 20;

/// What is combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined {
    protocols: Selection<Protocol>,
    partitions: Selection<PartitionKind>,
}

impl Combined {
    /// `None` where `--protocols` is not given.
    ///
    /// # Errors
    /// An unknown name, and all that are known; an option that has no meaning beside it.
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

    /// All combinations that the scenario can have, and of those that were named why it cannot.
    fn scenarios(&self, base: &Scenario) -> (Vec<Scenario>, Vec<String>) {
        let (mut able, mut remarks) = (Vec::new(), Vec::new());
        let partitions = self.partitions.resolve(base.parallel.partition, PartitionKind::ALL);
        let has_stripe = partitions.contains(&PartitionKind::Stripe);
        // `simple` has its one partition; the others are there for the other protocols.
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

/// Measures all combinations one after the other. *Collective.*
///
/// # Errors
/// See [`RunError`]; no combination that is possible.
pub fn compare_protocols(
    transports: &dyn Transports,
    inputs: &Inputs,
    args: &CompareArgs,
    combined: &Combined,
) -> Result<(), RunError> {
    let (agreement, base) = (transports.agreement(), &inputs.scenario);
    let (scenarios, remarks) = combined.scenarios(base);
    let measuring = Measuring { steps: args.steps.unwrap_or(STEPS), repeat: args.repeat as usize };
    let parallel = Parallel { partition: PartitionKind::Rect, grid: None, ..base.parallel.clone() };
    let parallel = Parallel { protocol: Protocol::One, ranks: 1, ..parallel };
    let alone = setup::of_scenario(inputs, &Scenario { parallel, ..base.clone() }, 1)?;
    let mut setups = Vec::new();
    let mut left_out = remarks;
    for scenario in &scenarios {
        match setup::of_scenario(inputs, scenario, agreement.ranks()) {
            Ok(setup) => setups.push(setup),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    let Some(first) = setups.first() else { return Err(refused(left_out.join("\n"))) };
    let verbosity = Verbosity::unless(args.quiet);
    let open = || {
        memory::expect(inputs, first, memory::of_machine())?;
        Ok::<_, RunError>(output_directory(inputs, &ResultFiles::default(), verbosity)?)
    };
    let directory = open_on_root(agreement, open)?;
    if directory.is_some() {
        left_out.iter().for_each(|why| warn(&format!("left out: {why}")));
    }
    let mut progress =
        directory.is_some().then(|| Progress::over_samples(args.progress, setups.len() as u64 + 1));
    let mut tell = |done: usize| progress.iter_mut().for_each(|progress| progress.tick(done as u64));
    let sequential_s = alone_s(agreement, &alone, measuring)?;
    let mut rows: Vec<Row> = Vec::new();
    for setup in &setups {
        tell(rows.len() + 1);
        let world = transports.world(base.parallel.backend, base.parallel.rma.options())?;
        rows.push(measure(&*world, setup, measuring, sequential_s)?);
    }
    progress.iter().for_each(Progress::finish);
    directory
        .map_or(Ok(()), |directory| {
            let mut screen = Screen::stdout(verbosity);
            screen.print(&format!(
                "One rank: {sequential_s:.3} s for {}\n\n{}",
                counted(measuring.steps, "step"),
                table(&rows)
            ));
            directory.write_encoded(KnownFile::PROTOCOLS, protocols_csv(&rows))?;
            directory.finish()?;
            screen.finish()
        })
        .map_err(|error: OutputError| error.into())
}
