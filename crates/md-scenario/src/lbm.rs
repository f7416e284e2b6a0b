//! Scenarios of `md-cli lbm`: `[lbm]`, a flow on a lattice.

mod checks;

use md_core::ExchangePattern;
use md_grid::Edges;
use md_grid::lbm::{Crossing, MAGIC_OF_PLATES, Pattern};
use md_grid::stencil::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Model;
use super::finding::Checked;
use super::grid::{GridOutput, GridParallel, NODES, check_parallel};
use super::output::Every;
use checks::{check_files, check_flow, check_obstacle, check_walls};

/// A whole scenario of a flow, with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LbmScenario {
    /// The flow.
    pub lbm: Lbm,
    /// Ranks and halo exchange.
    #[serde(default)]
    pub parallel: GridParallel,
    /// Files and their intervals.
    #[serde(default)]
    pub output: LbmOutput,
}

/// `[lbm]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lbm {
    /// A line that describes the run in its outputs.
    #[serde(default)]
    pub title: String,
    /// Nodes along x, y and z.
    #[schemars(inner(range(min = 1)), extend("$comment" = NODES))]
    pub grid: [usize; 3],
    /// Collision operator; the default is `trt` if there are walls, an obstacle or `magic`, else
    /// `bgk`.
    pub collision: Option<CollisionKind>,
    /// For `trt`: the magic parameter; 0.1875 (the default) puts walls half-way between nodes.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "0.1875 puts walls half-way between nodes"))]
    pub magic: Option<f64>,
    /// Kinematic viscosity in lattice units, (tau - 1/2) / 3.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub viscosity: f64,
    /// Number of time steps.
    #[schemars(range(min = 1), extend("$comment" = "number of time steps"))]
    pub steps: u64,
    /// Number type in which populations are stored and computed.
    #[serde(default)]
    pub precision: Precision,
    /// One grid, updated in place, or two.
    #[serde(default)]
    pub pattern: Pattern,
    /// What lies beyond the faces perpendicular to x, y and z.
    #[serde(default)]
    pub boundary: [Boundary; 3],
    /// Force per volume in lattice units.
    #[serde(default)]
    #[schemars(extend("$comment" = "in lattice units: nodes and steps"))]
    pub body_force: [f64; 3],
    /// Velocities of moving walls, in nodes per step, with the keys `x_low`, `x_high`, `y_low`,
    /// `y_high`, `z_low`, `z_high`.
    #[serde(default, skip_serializing_if = "WallVelocity::is_empty")]
    #[schemars(extend("$comment" = "in lattice units: nodes and steps"))]
    pub wall_velocity: WallVelocity,
    /// Flow at the start.
    #[serde(default)]
    pub initial: Initial,
    /// Solid nodes.
    pub obstacle: Option<Obstacle>,
}

/// `lbm.collision`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollisionKind {
    /// One relaxation time.
    Bgk,
    /// Two relaxation times.
    Trt,
}

/// What lies beyond a pair of opposite faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The opposite face.
    #[default]
    Periodic,
    /// A wall half a node beyond the last node.
    Wall,
}

/// `lbm.wall_velocity`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WallVelocity {
    /// Velocity of the wall at the lower end of x.
    pub x_low: Option<[f64; 3]>,
    /// Velocity of the wall at the upper end of x.
    pub x_high: Option<[f64; 3]>,
    /// Velocity of the wall at the lower end of y.
    pub y_low: Option<[f64; 3]>,
    /// Velocity of the wall at the upper end of y.
    pub y_high: Option<[f64; 3]>,
    /// Velocity of the wall at the lower end of z.
    pub z_low: Option<[f64; 3]>,
    /// Velocity of the wall at the upper end of z.
    pub z_high: Option<[f64; 3]>,
}

/// ```
/// use md_scenario::WallVelocity;
///
/// // The lid of a cavity.
/// let lid = WallVelocity { z_high: Some([0.1, 0.0, 0.0]), ..WallVelocity::default() };
/// assert_eq!(lid.all()[5], Some([0.1, 0.0, 0.0]));
/// assert_eq!(lid.all().iter().flatten().count(), 1);
/// ```
impl WallVelocity {
    /// Returns the velocities in the order of `Face::ALL`.
    pub fn all(&self) -> [Option<[f64; 3]>; 6] {
        [self.x_low, self.x_high, self.y_low, self.y_high, self.z_low, self.z_high]
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Help for the speed at the start.
const SPEED: &str = "greatest speed in nodes per step, as 0.05";

/// `lbm.initial`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Initial {
    /// Kind of the flow.
    pub kind: InitialKind,
    /// For `taylor-green`: greatest speed in nodes per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "$comment" = SPEED))]
    pub velocity: Option<f64>,
}

/// `lbm.initial.kind`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialKind {
    /// The fluid is at rest.
    #[default]
    Rest,
    /// Vortices in the plane of the first two axes that are longer than one node.
    TaylorGreen,
}

/// `lbm.obstacle`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// Kind of the obstacle.
    pub kind: ObstacleKind,
    /// For `sphere`: its centre in nodes; the first node is at 0. At periodic boundaries the sphere
    /// continues on the other side.
    #[schemars(extend("$comment" = "in lattice units: nodes and steps"))]
    pub center: Option<[f64; 3]>,
    /// For `sphere`: its radius in nodes.
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "in nodes"))]
    pub radius: Option<f64>,
    /// For `mask`: a file, relative to the folder of the scenario; `.vti`, or text: a line of three
    /// numbers of nodes, then 0 or 1 for each node, with x varying fastest.
    pub path: Option<String>,
}

/// `lbm.obstacle.kind`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObstacleKind {
    /// All nodes within a distance of a centre.
    Sphere,
    /// The nodes that a file lists.
    Mask,
}

/// `[output]` of a flow
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LbmOutput {
    /// Keys that all applications on grids have.
    #[serde(flatten)]
    pub common: GridOutput,
    /// Density and velocity of selected nodes over time: probe.csv.
    pub probe: Option<Probe>,
    /// Forces of the fluid on all obstacles and on all walls over time: drag.csv.
    #[schemars(extend("$comment" = "steps between two rows of drag.csv"))]
    pub drag: Option<Every>,
    /// Density and velocity of all nodes, for ParaView.
    #[schemars(extend("$comment" = "steps between two images"))]
    pub fields: Option<Every>,
}

/// `output.probe`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Steps between two rows.
    #[schemars(range(min = 1), extend("$comment" = "steps between two rows of probe.csv"))]
    pub every: u64,
    /// Indices of the nodes; the first node is `[0, 0, 0]`.
    pub nodes: Vec<[usize; 3]>,
}

/// ```
/// use md_scenario::{LbmScenario, ScenarioSource, load_as};
///
/// let text = r#"
///     [lbm]
///     grid = [16, 16, 1]
///     viscosity = 0.02
///     steps = 100
///     initial = { kind = "taylor-green", velocity = 0.05 }
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let vortices: LbmScenario = load_as(&source)?;
/// assert_eq!(vortices.greatest_speed(), 0.05);
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
impl LbmScenario {
    /// Returns the greatest speed in the scenario.
    pub fn greatest_speed(&self) -> f64 {
        let walls = self.lbm.wall_velocity.all().into_iter().flatten();
        let walls = walls.map(|velocity| velocity.iter().map(|u| u * u).sum::<f64>().sqrt());
        walls.fold(self.lbm.initial.velocity.unwrap_or_default(), f64::max)
    }

    /// Returns the order in which populations are sent to other ranks.
    pub fn crossing(&self) -> Crossing {
        match self.parallel.exchange {
            ExchangePattern::Direct => Crossing::Direct,
            ExchangePattern::Staged => Crossing::Staged,
        }
    }
}

/// ```
/// use md_scenario::{Boundary, CollisionKind, LbmScenario, ScenarioSource, load_as};
///
/// let text = r#"
///     [lbm]
///     grid = [1, 1, 16]
///     viscosity = 0.1
///     steps = 10
///     boundary = ["periodic", "periodic", "wall"]
///     body_force = [1e-5, 0.0, 0.0]
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let channel: LbmScenario = load_as(&source)?;
/// assert_eq!(channel.lbm.boundary[2], Boundary::Wall);
/// // Two relaxation times put the walls half-way between nodes.
/// assert_eq!(channel.lbm.collision_kind(), CollisionKind::Trt);
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
impl Lbm {
    /// Returns what lies beyond the faces.
    pub fn edges(&self) -> [Edges; 3] {
        self.boundary.map(|boundary| match boundary {
            Boundary::Periodic => Edges::Periodic,
            Boundary::Wall => Edges::Open,
        })
    }

    /// Returns whether anything in the flow reflects populations.
    pub fn has_walls(&self) -> bool {
        self.obstacle.is_some() || self.boundary.contains(&Boundary::Wall)
    }

    /// Returns the kind of the collision operator, as given or by default.
    pub fn collision_kind(&self) -> CollisionKind {
        self.collision.unwrap_or(match self.magic {
            None if !self.has_walls() => CollisionKind::Bgk,
            _ => CollisionKind::Trt,
        })
    }

    /// Returns the collision operator.
    pub fn collision(&self) -> md_grid::lbm::Collision {
        match self.collision_kind() {
            CollisionKind::Bgk => md_grid::lbm::Collision::Bgk,
            CollisionKind::Trt => {
                md_grid::lbm::Collision::Trt { magic: self.magic.unwrap_or(MAGIC_OF_PLATES) }
            }
        }
    }
}

impl Model for LbmScenario {
    fn complete(&mut self) {
        self.lbm.collision = Some(self.lbm.collision_kind());
    }

    fn validate(&self) -> Checked {
        check_flow(&self.lbm)?;
        check_walls(&self.lbm)?;
        check_obstacle(&self.lbm)?;
        check_parallel(&self.parallel)?;
        check_files(&self.output, self.lbm.grid)
    }
}
