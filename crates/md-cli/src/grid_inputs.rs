//! Reading the scenario of an application on a grid: rank 0 reads, and all ranks check.

use std::io;
use std::path::{Path, PathBuf};

use md_comm::World;
use md_files::store::OutputError;
use md_files::text_file::is_open_already;
use md_grid::stencil::Precision;
use md_grid::{Application, Decomposition, GridError, Schedule};
use md_lab::{in_words, name_of};
use md_scenario::failure::RunError;
use md_scenario::{
    GridOutput, GridParallel, LbmScenario, Model, Parallel, ScenarioError, ScenarioSource, StencilScenario,
    effective_toml, has_table, load_as,
};

use crate::args::ScenarioArgs;
use crate::inputs::{Inputs, PARTICLES, ReadInputs, read_source};
use crate::report::grid::GridContext;

/// A scenario with a grid.
pub trait GridModel: Model + Clone + Sync {
    /// The top-level table that identifies the kind of scenario and contains its number of steps.
    const TABLE: &'static str;

    /// The problem that is computed on a given number of ranks.
    type Problem;

    /// Returns `[parallel]`.
    fn parallel(&self) -> &GridParallel;

    /// Returns `[parallel]`, to be changed.
    fn parallel_mut(&mut self) -> &mut GridParallel;

    /// Returns `[output]`.
    fn output(&self) -> &GridOutput;

    /// Returns the description of the computation.
    fn subject(&self) -> Subject;

    /// Sets the number of nodes along each axis, for any number of ranks, and the precision.
    fn resize(&mut self, nodes: [usize; 3], precision: Precision);

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

    /// Checks what a run needs in addition to memory.
    ///
    /// # Errors
    /// A file that cannot be read, or an environment variable without meaning.
    fn expect_ready(_: &GridInputs<Self>) -> Result<(), RunError> {
        Ok(())
    }

    /// Returns the problem of the scenario on `ranks` ranks.
    ///
    /// # Errors
    /// The grid cannot be divided among these ranks.
    fn problem(inputs: &GridInputs<Self>, ranks: usize) -> Result<Self::Problem, RunError>;

    /// Returns the decomposition of the grid among the ranks.
    fn decomposition(problem: &Self::Problem) -> &Decomposition;

    /// Returns the schedule of a step on `ranks` ranks.
    ///
    /// # Errors
    /// The grid cannot be divided among these ranks.
    fn schedule(inputs: &GridInputs<Self>, ranks: usize) -> Result<Schedule, RunError>;

    /// Returns the number of bytes that a rank needs.
    ///
    /// # Errors
    /// More nodes than can be counted.
    fn needed_bytes(inputs: &GridInputs<Self>, problem: &Self::Problem) -> Result<f64, RunError>;

    /// Returns what needs more memory than the `available` bytes, and the key to be changed.
    fn too_large(
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
        available: f64,
    ) -> (String, &'static str);

    /// Returns the application in its initial state. *Collective.*
    ///
    /// # Errors
    /// See [`RunError`].
    fn open<'w>(
        world: &'w dyn World,
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
    ) -> Result<Box<dyn Application + 'w>, RunError>;

    /// Returns further properties that affect the time of an update, with their keys in
    /// summary.json.
    fn ways(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns whether the closed formula of a flow in double precision applies.
    fn has_formula(&self) -> bool {
        false
    }

    /// Checks that `available` bytes are enough for each rank.
    ///
    /// # Errors
    /// They are not.
    fn expect_room(
        inputs: &GridInputs<Self>,
        problem: &Self::Problem,
        available: Option<f64>,
    ) -> Result<(), RunError> {
        let needed = Self::needed_bytes(inputs, problem)?;
        let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
        let (what, key) = Self::too_large(inputs, problem, available);
        let message = format!("{what} need about {} of memory per rank", in_words(needed));
        let help = format!("there are {} of memory per rank here", in_words(available));
        Err(ScenarioError::at(&inputs.source, key, message, help).into())
    }

    /// Returns the columns that make rows of its tables understandable without the scenario.
    fn context(&self, world: &dyn World, problem: &Self::Problem) -> GridContext {
        let (parallel, decomposition) = (self.parallel(), Self::decomposition(problem));
        let Subject { kind, fields, depth, precision, steps } = self.subject();
        let crossed = |counts: [usize; 3]| counts.map(|count| count.to_string()).join("x");
        GridContext {
            backend: parallel.backend,
            exchange: parallel.exchange,
            messages: parallel.messages,
            kind,
            nodes: crossed(decomposition.nodes()),
            fields,
            depth,
            grid: crossed(decomposition.ranks()),
            ranks: world.ranks(),
            threads: parallel.threads,
            precision: name_of(precision),
            steps,
            mpi_library: world.platform().library().lines().next().unwrap_or_default().to_owned(),
            host: gethostname::gethostname().to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The computation of a scenario with a grid.
pub struct Subject {
    /// Kind of the problem, as in summary.json.
    pub kind: String,
    /// Number of fields for which an update of a node counts.
    pub fields: usize,
    /// Number of ghost layers.
    pub depth: usize,
    /// Precision of the numbers.
    pub precision: Precision,
    /// Number of steps.
    pub steps: u64,
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
        Self::load(args.scenario.clone(), read_source(args, world, |_| M::TABLE)?)
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
        let (path, mut kind) = (args.scenario.clone(), PARTICLES);
        let source = read_source(args, world, |text| {
            let grids = [StencilScenario::TABLE, LbmScenario::TABLE];
            kind = grids.into_iter().find(|table| has_table(text, table)).unwrap_or(PARTICLES);
            kind
        })?;
        Ok(match kind {
            StencilScenario::TABLE => Self::Stencil(Box::new(GridInputs::load(path, source)?)),
            LbmScenario::TABLE => Self::Lbm(Box::new(GridInputs::load(path, source)?)),
            _ => Self::Particles(Box::new(Inputs::load(path, source, world)?)),
        })
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
