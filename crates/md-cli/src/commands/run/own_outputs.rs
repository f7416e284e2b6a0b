//! Separate outputs of stages. Each stage with such outputs has a folder inside that of the run,
//! which resembles the folder of a separate run.

use md_core::ConservedMomentum;
use md_files::checkpoint::{Resumed, folders_of_stages};
use md_files::output::outputs::{Outputs, StageOutputs, all_outputs};
use md_files::output::run_output::{Console, Opening, RootOpening, Scope, Subject, open_outputs};
use md_files::output::trajectory::expect_same_kind;
use md_files::output::{GoingOn, ResultFiles, Verbosity};
use md_files::store::{OutputDirectory, OutputError};
use md_files::text_file::read_text;
use md_scenario::failure::RunError;
use md_scenario::known_file::KnownFile;
use md_scenario::messages::note;
use md_scenario::{Scenario, StageScenario};

use super::super::{open_on_all, prepared_directory};
use crate::inputs::Inputs;

/// A stage with separate outputs, and the checkpoint from which they continue.
pub(super) struct OwnOutputs {
    stage: StageScenario,
    resumed: Option<Resumed>,
}

impl OwnOutputs {
    /// Returns all stages that have separate outputs.
    pub(super) fn of(scenario: &Scenario, resumed: Option<&Resumed>) -> Vec<Self> {
        let own = |stage: StageScenario| {
            let resumed = resumed.map(|resumed| resumed.of_stage(&stage));
            Self { stage, resumed }
        };
        scenario.stages_with_outputs().into_iter().map(own).collect()
    }

    /// Prints which outputs of stages that have begun start at the checkpoint or end there, because
    /// the scenario has changed.
    pub(super) fn note_changes(all: &[Self], resumed: &Resumed) {
        let begun = |number: usize| number <= resumed.header.stage.number;
        let then = folders_of_stages(&resumed.header.scenario);
        let now = || all.iter().map(|own| (own.stage.number, own.stage.folder.as_str()));
        for (number, folder) in
            now().filter(|&(number, folder)| begun(number) && !then.iter().any(|(_, it)| it == folder))
        {
            let keys = format!("stage[{number}].output");
            note(&format!(
                "`{keys}`: there was none in a folder `{folder}` at the checkpoint: it begins there"
            ));
        }
        for (number, folder) in
            then.iter().filter(|(number, it)| begun(*number) && now().all(|(_, folder)| folder != it))
        {
            let stage = number + 1;
            note(&format!(
                "outputs of stage {stage} in the folder `{folder}` do not go on: the scenario has them no longer"
            ));
        }
    }

    /// Prints which folders of an earlier run belong to stages that this run does not have.
    pub(super) fn note_left(all: &[Self], directory: &OutputDirectory, verbosity: Verbosity) {
        let earlier = directory.path().join(KnownFile::SCENARIO.name());
        let earlier = read_text(&earlier, "scenario").unwrap_or_default();
        for (_, folder) in folders_of_stages(&earlier) {
            let path = directory.path().join(&folder);
            let is_left = path.exists() && all.iter().all(|own| own.stage.folder != folder);
            if is_left && verbosity == Verbosity::Normal {
                note(&format!("`{}` stays as an earlier run has left it", path.display()));
            }
        }
    }

    /// Prepares the folder, whose files stay until the run begins. Called on rank 0.
    pub(super) fn directory(&self, inputs: &Inputs) -> Result<OutputDirectory, OutputError> {
        let Scenario { output, .. } = &self.stage.scenario;
        let results = ResultFiles {
            trajectory: output.trajectory.as_ref().map(|it| it.path.as_str()),
            going_on: self.resumed.as_ref().map(GoingOn::from),
            ..ResultFiles::default()
        };
        let directory = prepared_directory(inputs, &self.stage.scenario, &results)?;
        let kind = |(resumed, now)| expect_same_kind(&directory, resumed, now);
        self.resumed.as_ref().zip(output.trajectory.as_ref()).map_or(Ok(()), kind)?;
        Ok(directory)
    }
}

/// Opens the outputs of stages, whose directories exist on rank 0. `run` is the opening of the
/// run's outputs. *Collective.*
pub(super) fn stage_outputs<'a>(
    run: &Opening<'a>,
    all: &'a [OwnOutputs],
    directories: Option<&'a [OutputDirectory]>,
) -> Result<Vec<StageOutputs<'a>>, RunError> {
    let open = |(index, OwnOutputs { stage, resumed }): (usize, &'a OwnOutputs)| {
        let directory = directories.and_then(|all| all.get(index));
        let opening = Opening {
            scenario: &stage.scenario,
            resumed: resumed.as_ref(),
            // Rows of thermo.csv are already on the screen.
            root: directory.map(|directory| RootOpening { directory, console: Console::silent() }),
            within: stage.within(),
            ..run.clone()
        };
        let of_stage = all_outputs().filter(|kind| kind.scope == Scope::Stage);
        let outputs = open_on_all(run.world, || open_outputs(of_stage, &opening))?;
        let Subject { domain, atoms, .. } = run.subject;
        let momentum = stage.scenario.integrator.kind.total_momentum();
        let degrees = ConservedMomentum::new(domain, momentum).degrees_of_freedom(atoms, domain.dimension);
        Ok(StageOutputs::new(stage, Outputs::new(outputs), degrees, directory))
    };
    all.iter().enumerate().map(open).collect()
}
