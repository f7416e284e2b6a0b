//! Reading the scenario of an application on a grid: rank 0 reads, and all ranks check.

use std::path::{Path, PathBuf};
use std::{fs, io};

use md_comm::World;
use md_files::store::OutputError;
use md_files::text_file::{broadcast_read, is_open_already, read_text};
use md_grid::{Decomposition, GridError};
use md_scenario::failure::RunError;
use md_scenario::{
    GridOutput, GridParallel, LbmScenario, Model, Parallel, ScenarioSource, Stencil, StencilScenario,
    effective_toml, has_table, load_as,
};

use crate::args::ScenarioArgs;
use crate::inputs::{Inputs, ReadInputs};

/// A scenario with a grid.
pub trait GridModel: Model + Clone + Sync {
    /// The top-level table that identifies the kind of scenario and contains its number of steps.
    const TABLE: &'static str;

    /// Returns `[parallel]`.
    fn parallel(&self) -> &GridParallel;

    /// Returns `[parallel]`, to be changed.
    fn parallel_mut(&mut self) -> &mut GridParallel;

    /// Returns `[output]`.
    fn output(&self) -> &GridOutput;

    /// Returns whether the scenario gives the number of nodes per rank instead of the total.
    fn grows(&self) -> bool {
        false
    }

    /// Gives each of `ranks` ranks the nodes that the scenario has (weak scaling), and replaces its
    /// decomposition.
    ///
    /// # Errors
    /// More nodes than can be counted, or no axis that may be cut.
    fn grow(&mut self, ranks: usize) -> Result<(), GridError>;

    /// Returns the file that is read in addition to a scenario.
    fn file_beside(_: &GridInputs<Self>) -> Option<PathBuf> {
        None
    }

    /// Makes the paths of the files read in addition to a scenario absolute.
    ///
    /// # Errors
    /// There is no such file.
    fn find_files(_: &mut GridInputs<Self>) -> io::Result<()> {
        Ok(())
    }
}

impl GridModel for StencilScenario {
    const TABLE: &'static str = "stencil";

    fn parallel(&self) -> &GridParallel {
        &self.parallel
    }

    fn parallel_mut(&mut self) -> &mut GridParallel {
        &mut self.parallel
    }

    fn output(&self) -> &GridOutput {
        &self.output
    }

    fn grows(&self) -> bool {
        self.stencil.grid_per_rank.is_some()
    }

    fn grow(&mut self, _: usize) -> Result<(), GridError> {
        let Stencil { grid, grid_per_rank, .. } = &mut self.stencil;
        *grid_per_rank = grid_per_rank.or(grid.take());
        self.parallel.grid = None;
        Ok(())
    }
}

impl GridModel for LbmScenario {
    const TABLE: &'static str = "lbm";

    fn parallel(&self) -> &GridParallel {
        &self.parallel
    }

    fn parallel_mut(&mut self) -> &mut GridParallel {
        &mut self.parallel
    }

    fn output(&self) -> &GridOutput {
        &self.output.common
    }

    fn grow(&mut self, ranks: usize) -> Result<(), GridError> {
        let whole = self.parallel.decomposition.may_be_cut().map(|may| !may);
        let grown = Decomposition::of_blocks(self.lbm.grid, ranks, None, self.lbm.edges(), whole)?;
        (self.lbm.grid, self.parallel.grid) = (grown.nodes(), Some(grown.ranks()));
        Ok(())
    }

    fn file_beside(inputs: &GridInputs<Self>) -> Option<PathBuf> {
        inputs.mask_file()
    }

    fn find_files(inputs: &mut GridInputs<Self>) -> io::Result<()> {
        let found = inputs.mask_file().map(fs::canonicalize).transpose()?;
        if let (Some(obstacle), Some(path)) = (&mut inputs.scenario.lbm.obstacle, found) {
            let text = path.into_os_string().into_string();
            obstacle.path = Some(text.map_err(|_| io::Error::other("its path is not UTF-8"))?);
        }
        Ok(())
    }
}

/// Everything an application starts from, the same on all ranks.
#[derive(Debug, Clone)]
pub struct GridInputs<M> {
    /// Path of the scenario.
    pub path: PathBuf,
    /// The scenario's text and overrides.
    pub source: ScenarioSource,
    /// The scenario, checked.
    pub scenario: M,
}

impl<M: GridModel> GridInputs<M> {
    /// Loads a source that has been read.
    ///
    /// # Errors
    /// A fault in the scenario.
    pub fn load(path: PathBuf, source: ScenarioSource) -> Result<Self, RunError> {
        Ok(Self { scenario: load_as(&source)?, path, source })
    }

    /// Returns the effective scenario, with absolute paths of the files that it reads.
    ///
    /// # Errors
    /// Such a file no longer exists, or its name is not UTF-8.
    pub fn effective_toml(&self) -> Result<String, OutputError> {
        let mut inputs = self.clone();
        M::find_files(&mut inputs).map_err(|reason| {
            let path = M::file_beside(self).unwrap_or_default();
            OutputError::Unnamed { path, reason }
        })?;
        Ok(effective_toml(&inputs.scenario))
    }

    /// Returns the files from which the inputs are read.
    pub fn files_read(&self) -> Vec<PathBuf> {
        [self.path.clone()].into_iter().chain(M::file_beside(self)).collect()
    }
}

impl<M: GridModel> ReadInputs for GridInputs<M> {
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        let (path, name) = (args.scenario.clone(), args.scenario.display().to_string());
        let text =
            broadcast_read(world, &path, || read_text(&path, "scenario").map(Some))?.unwrap_or_default();
        Self::load(path, ScenarioSource { name, text, overrides: args.overrides_of(M::TABLE) })
    }

    fn parallel(&self) -> Parallel {
        self.scenario.parallel().transport()
    }

    fn set_threads(&mut self, threads: usize) {
        self.scenario.parallel_mut().threads = threads;
    }
}

impl GridInputs<LbmScenario> {
    /// Returns the path of the mask file, if there is one.
    pub fn mask_file(&self) -> Option<PathBuf> {
        let file = self.scenario.lbm.obstacle.as_ref()?.path.as_ref()?;
        // A file that another process has opened (`/dev/stdin`) is in no folder.
        let folder = self.path.parent().filter(|_| !is_open_already(&self.path));
        Some(folder.unwrap_or(Path::new("")).join(file))
    }
}

/// The inputs of a command that takes scenarios of several kinds, distinguished by the tables at
/// the top.
#[derive(Debug, Clone)]
pub enum AnyInputs {
    /// Molecular dynamics.
    Particles(Box<Inputs>),
    /// `[stencil]`.
    Stencil(Box<GridInputs<StencilScenario>>),
    /// `[lbm]`.
    Lbm(Box<GridInputs<LbmScenario>>),
}

impl AnyInputs {
    /// Reads the inputs in a single process.
    ///
    /// # Errors
    /// An unreadable file, a fault in the scenario or in the particle file.
    pub fn read_file(args: &ScenarioArgs) -> Result<Self, RunError> {
        <Self as ReadInputs>::read(args, None)
    }
}

impl ReadInputs for AnyInputs {
    fn read(args: &ScenarioArgs, world: Option<&dyn World>) -> Result<Self, RunError> {
        let (path, name) = (args.scenario.clone(), args.scenario.display().to_string());
        let text =
            broadcast_read(world, &path, || read_text(&path, "scenario").map(Some))?.unwrap_or_default();
        if has_table(&text, StencilScenario::TABLE) {
            let overrides = args.overrides_of(StencilScenario::TABLE);
            let source = ScenarioSource { name, text, overrides };
            return Ok(Self::Stencil(Box::new(GridInputs::load(path, source)?)));
        }
        if has_table(&text, LbmScenario::TABLE) {
            let overrides = args.overrides_of(LbmScenario::TABLE);
            let source = ScenarioSource { name, text, overrides };
            return Ok(Self::Lbm(Box::new(GridInputs::load(path, source)?)));
        }
        let source = ScenarioSource { name, text, overrides: args.overrides() };
        Ok(Self::Particles(Box::new(Inputs::load(path, source, world)?)))
    }

    fn parallel(&self) -> Parallel {
        match self {
            Self::Particles(inputs) => inputs.parallel(),
            Self::Stencil(inputs) => inputs.parallel(),
            Self::Lbm(inputs) => inputs.parallel(),
        }
    }

    fn set_threads(&mut self, threads: usize) {
        match self {
            Self::Particles(inputs) => inputs.set_threads(threads),
            Self::Stencil(inputs) => inputs.set_threads(threads),
            Self::Lbm(inputs) => inputs.set_threads(threads),
        }
    }
}
