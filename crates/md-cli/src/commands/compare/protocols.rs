//! `md-cli compare --protocols`: protocols and partitions in the columns of Matthey and Hansen
//! (2000).

use md_core::PartitionKind;
use md_core::words::counted;
use md_engine::{Protocol, Setup};
use md_files::memory;
use md_files::output::{Progress, ResultFiles, Screen, Verbosity};
use md_lab::Transports;
use md_lab::protocols::{Measuring, Row, alone_s, measure, protocols_csv, table};
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::warn;

use super::{open_on_root, output_directory, refused};
use crate::args::CompareArgs;
use crate::inputs::Inputs;
use crate::setup::{self, room};
use crate::strategies::Combined;

/// Default number of steps of a run.
const STEPS: u64 = 20;

/// Measures all combinations, one after another. *Collective.*
///
/// # Errors
/// Returns [`RunError`], also if no combination is possible.
pub(super) fn compare_protocols(
    transports: &dyn Transports,
    inputs: &Inputs,
    args: &CompareArgs,
    combined: &Combined,
) -> Result<(), RunError> {
    let (agreement, base) = (transports.agreement(), &inputs.scenario);
    let measuring = Measuring { steps: args.steps.unwrap_or(STEPS), repeat: args.repeat as usize };
    let alone = alone(inputs)?;
    let (setups, left_out) = setups(inputs, combined, agreement.ranks());
    let Some(first) = setups.first() else { return Err(refused(left_out.join("\n"))) };
    let verbosity = Verbosity::unless(args.quiet);
    let open = || {
        room::expect(inputs, first, memory::of_machine())?;
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
    let Some(directory) = directory else { return Ok(()) };
    let mut screen = Screen::stdout(verbosity);
    let steps = counted(measuring.steps, "step");
    screen.print(&format!("One rank: {sequential_s:.3} s for {steps}\n\n{}", table(&rows)));
    directory.write_encoded(KnownFile::PROTOCOLS, protocols_csv(&rows))?;
    directory.finish()?;
    Ok(screen.finish()?)
}

/// Returns the set-up of one rank, with which the others are compared.
fn alone(inputs: &Inputs) -> Result<Setup, RunError> {
    let mut scenario = inputs.scenario.clone();
    let parallel = &mut scenario.parallel;
    (parallel.partition, parallel.grid) = (PartitionKind::Rect, None);
    (parallel.protocol, parallel.ranks) = (Protocol::One, 1);
    setup::of_scenario(inputs, &scenario, 1)
}

/// Returns the possible set-ups, and why the other combinations are left out.
fn setups(inputs: &Inputs, combined: &Combined, ranks: usize) -> (Vec<Setup>, Vec<String>) {
    let (scenarios, mut left_out) = combined.scenarios(&inputs.scenario);
    let mut setups = Vec::new();
    for scenario in &scenarios {
        match setup::of_scenario(inputs, scenario, ranks) {
            Ok(setup) => setups.push(setup),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    (setups, left_out)
}
