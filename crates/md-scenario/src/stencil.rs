//! `[stencil]`: a stencil application, its grid, and the length of the run.

use md_grid::stencil::{Compute, Kind, Precision, Problem};
use md_grid::{Decomposition, Edges, GridError, Neighbours};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finding::{Checked, Finding, at_least_one, check_directory};
use super::grid::{GridOutput, GridParallel, NODES, check_parallel};
use super::schema::lift_kind;
use super::wording::float;
use super::{Model, ScenarioError, ScenarioSource};

/// A scenario of `md-cli stencil`, with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StencilScenario {
    /// The application, and its grid.
    pub stencil: Stencil,
    /// Ranks and halo exchange.
    #[serde(default)]
    pub parallel: GridParallel,
    /// Files and their intervals.
    #[serde(default)]
    pub output: GridOutput,
}

/// `[stencil]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(transform = lift_kind)]
pub struct Stencil {
    /// Kind of the application, and its parameters.
    #[serde(flatten)]
    pub kind: Kind,
    /// Nodes along x, y and z; an axis with 1 node is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)), extend("$comment" = NODES))]
    pub grid: Option<[usize; 3]>,
    /// Nodes of each rank along x, y and z, instead of `grid`, for weak scaling.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(range(min = 1)), extend("$comment" = NODES))]
    pub grid_per_rank: Option<[usize; 3]>,
    /// What lies beyond the faces along x, y and z.
    pub boundary: [Edges; 3],
    /// Precision of the numbers.
    pub precision: Precision,
    /// Number of steps; for `poisson`, the largest number of iterations.
    #[schemars(range(min = 1), extend("$comment" = "steps; of `poisson`, the most iterations"))]
    pub steps: u64,
}

/// ```
/// use md_grid::stencil::Kind;
/// use md_scenario::Stencil;
///
/// // MONC with moisture: 29 fields.
/// assert!(matches!(Stencil::default().kind, Kind::Swap { fields: 29, depth: 2, .. }));
/// ```
impl Default for Stencil {
    fn default() -> Self {
        let kind = Kind::Swap {
            fields: 29,
            depth: 2,
            neighbours: Neighbours::default(),
            compute: Compute::default(),
        };
        Self {
            kind,
            grid: None,
            grid_per_rank: None,
            boundary: [Edges::Periodic; 3],
            precision: Precision::default(),
            steps: 100,
        }
    }
}

impl Model for StencilScenario {
    fn validate(&self) -> Checked {
        check(&self.stencil)?;
        check_parallel(&self.parallel)?;
        if self.parallel.threads != 1 {
            let message =
                format!("a stencil works with one thread per rank, found {}", self.parallel.threads);
            return Err(Finding::new("parallel.threads", message, "start more ranks instead"));
        }
        check_directory(&self.output.directory)
    }
}

fn check(stencil: &Stencil) -> Checked {
    match (stencil.grid, stencil.grid_per_rank) {
        (Some(_), None) | (None, Some(_)) => check_kind(stencil),
        (None, None) => {
            let message = "missing key `grid` in [stencil]";
            let help = "`grid = [64, 64, 64]`: nodes along x, y and z; or `grid_per_rank`";
            Err(Finding::new("stencil.grid", message, help).at_absence())
        }
        (Some(_), Some(_)) => {
            let message = "`stencil.grid` and `stencil.grid_per_rank` are both given";
            let help = "`grid` is the whole grid, `grid_per_rank` the part of each rank; keep one";
            Err(Finding::new("stencil.grid_per_rank", message, help).or_at("stencil.grid"))
        }
    }
}

fn check_kind(stencil: &Stencil) -> Checked {
    match stencil.kind {
        Kind::Swap { fields, depth, .. } => {
            at_least_one("stencil.fields", fields, "MONC has 29")?;
            at_least_one("stencil.depth", depth, "layers of ghosts; MONC has 2")
        }
        Kind::Tvd { fields, courant } => {
            at_least_one("stencil.fields", fields, "tracers")?;
            (0..3).try_for_each(|axis| check_courant(axis, courant[axis], stencil.boundary[axis]))
        }
        Kind::Poisson { tolerance } => {
            if !(tolerance > 0.0 && tolerance < 1.0) {
                let message =
                    format!("`stencil.tolerance` must be above 0 and below 1, found {}", float(tolerance));
                return Err(Finding::new(
                    "stencil.tolerance",
                    message,
                    "relative residual, the default is 1e-12",
                ));
            }
            if stencil.precision == Precision::Double {
                return Ok(());
            }
            let message = "`poisson` is computed in double precision only";
            Err(Finding::new("stencil.precision", message, "leave the key out"))
        }
    }
}

fn check_courant(axis: usize, courant: f64, beyond: Edges) -> Checked {
    let path = format!("stencil.courant[{axis}]");
    if !(-1.0..=1.0).contains(&courant) {
        let message = format!("`{path}` must be from -1 to 1, found {courant}");
        return Err(Finding::new(
            path,
            message,
            "nodes that the wind moves by in a step; beyond, it is unstable",
        ));
    }
    if courant != 0.0 && beyond == Edges::Open {
        let message = format!("`{path}` is {courant}, but nothing flows through open faces");
        let help = "0.0 there, or a periodic boundary along this axis";
        return Err(Finding::new(path, message, help).or_at("stencil.boundary"));
    }
    Ok(())
}

/// ```
/// use md_scenario::{ScenarioSource, StencilScenario, load_as};
///
/// let text = "[stencil]\nkind = \"swap\"\ngrid = [8, 8, 8]\n".to_owned();
/// let source = ScenarioSource { text, ..ScenarioSource::default() };
/// let swap: StencilScenario = load_as(&source)?;
/// assert_eq!(swap.problem(&source, 4)?.decomposition.nodes(), [8; 3]);
/// // 11 ranks would need 11 nodes along an axis.
/// assert!(swap.problem(&source, 11).is_err_and(|error| error.key_path() == "stencil.grid"));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
impl StencilScenario {
    /// Returns the problem on `ranks` ranks.
    ///
    /// # Errors
    /// Returns an error at its key if the grid cannot be divided among the ranks.
    pub fn problem(&self, source: &ScenarioSource, ranks: usize) -> Result<Problem, ScenarioError> {
        let key = if self.parallel.grid.is_some() { "parallel.grid" } else { self.grid_key() };
        let help = "other numbers of nodes or ranks, or another `parallel.grid`";
        let at = |key: &str, error: &GridError, help: &str| {
            ScenarioError::at(source, key, error.to_string(), help)
        };
        let problem = self.unchecked_problem(ranks).map_err(|error| at(key, &error, help))?;
        let more = "at least two nodes along one of the axes";
        problem.expect_equations().map_err(|error| at(self.grid_key(), &error, more))?;
        let help = "`aggregated` sends all fields that go to a neighbour in one message";
        problem.expect_channels().map_err(|error| at("parallel.messages", &error, help))?;
        Ok(problem)
    }

    /// Returns the key that gives the number of nodes.
    pub fn grid_key(&self) -> &'static str {
        if self.stencil.grid.is_some() { "stencil.grid" } else { "stencil.grid_per_rank" }
    }

    fn unchecked_problem(&self, ranks: usize) -> Result<Problem, GridError> {
        let Self { stencil, parallel, .. } = self;
        let may_be_cut = parallel.decomposition.may_be_cut();
        let whole = may_be_cut.map(|may| !may);
        let decomposition = match (stencil.grid, stencil.grid_per_rank) {
            (Some(nodes), _) => {
                Decomposition::with_fixed_axes(nodes, ranks, parallel.grid, stencil.boundary, whole)?
            }
            (None, block) => {
                let block = block.unwrap_or([1; 3]);
                Decomposition::of_blocks(block, ranks, parallel.grid, stencil.boundary, whole)?
            }
        };
        let problem = Problem {
            decomposition,
            kind: stencil.kind.clone(),
            precision: stencil.precision,
            exchange: parallel.exchange,
            messages: parallel.messages,
            buffering: parallel.rma.slots,
            overlap: if parallel.overlap { md_engine::Overlap::On } else { md_engine::Overlap::Off },
            may_be_cut,
        };
        problem.depth(problem.kind.depth())?;
        Ok(problem)
    }
}
