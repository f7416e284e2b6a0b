//! Scenarios of `md-cli lbm`: `[lbm]`, a flow on a lattice.

use std::collections::BTreeMap;

use md_core::ExchangePattern;
use md_core::words::counted;
use md_grid::Edges;
use md_grid::lbm::{Crossing, Face, MAGIC_OF_PLATES, Pattern};
use md_grid::stencil::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Model;
use super::finding::{Checked, Finding, at_least_one, not_negative, positive};
use super::grid::{GridOutput, GridParallel, check_nodes, check_output, check_parallel};
use super::output::Every;

/// A whole scenario of a flow, all defaults filled in.
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
    /// A line that names the run in its outputs.
    #[serde(default)]
    pub title: String,
    /// Nodes along x, y and z.
    pub grid: [usize; 3],
    /// How populations relax.
    #[serde(default)]
    pub collision: CollisionKind,
    /// For `trt`: the magic parameter; 0.1875 (the default) puts walls half-way between nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub magic: Option<f64>,
    /// Kinematic viscosity in lattice units, (tau - 1/2) / 3.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub viscosity: f64,
    /// Number of time steps.
    #[schemars(range(min = 1))]
    pub steps: u64,
    /// What populations are stored and computed in.
    #[serde(default)]
    pub precision: Precision,
    /// One grid, updated in place, or two.
    #[serde(default)]
    pub pattern: Pattern,
    /// What is beyond the faces across x, y and z.
    #[serde(default)]
    pub boundary: [Boundary; 3],
    /// Force per volume in lattice units.
    #[serde(default)]
    pub body_force: [f64; 3],
    /// Velocities of walls that move, in nodes per step: of `x_low`, `x_high`, `y_low`, `y_high`, `z_low`, `z_high`.
    #[serde(default, skip_serializing_if = "WallVelocity::is_empty")]
    pub wall_velocity: WallVelocity,
    /// The flow at the start.
    #[serde(default)]
    pub initial: Initial,
    /// Solid nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

/// `lbm.collision`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollisionKind {
    /// One relaxation time.
    #[default]
    Bgk,
    /// Two relaxation times.
    Trt,
}

/// What is beyond a pair of opposite faces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// The opposite face.
    #[default]
    Periodic,
    /// A wall half a node beyond the last one.
    Wall,
}

/// `lbm.wall_velocity`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WallVelocity {
    /// Of the wall where x is least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_low: Option<[f64; 3]>,
    /// Of the wall where x is greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x_high: Option<[f64; 3]>,
    /// Of the wall where y is least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y_low: Option<[f64; 3]>,
    /// Of the wall where y is greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y_high: Option<[f64; 3]>,
    /// Of the wall where z is least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z_low: Option<[f64; 3]>,
    /// Of the wall where z is greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z_high: Option<[f64; 3]>,
}

impl WallVelocity {
    /// In the order of [`Face::ALL`].
    pub fn all(&self) -> [Option<[f64; 3]>; 6] {
        [self.x_low, self.x_high, self.y_low, self.y_high, self.z_low, self.z_high]
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// `lbm.initial`
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Initial {
    /// Which flow.
    pub kind: InitialKind,
    /// For `taylor-green`: greatest speed in nodes per step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0))]
    pub velocity: Option<f64>,
}

/// `lbm.initial.kind`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InitialKind {
    /// Everything at rest.
    #[default]
    Rest,
    /// Vortices in the plane of the first two axes that are longer than one node.
    TaylorGreen,
}

/// `lbm.obstacle`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Obstacle {
    /// What it is.
    pub kind: ObstacleKind,
    /// For `sphere`: its centre in nodes; the first node is at 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub center: Option<[f64; 3]>,
    /// For `sphere`: its radius in nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: Option<f64>,
    /// For `mask`: a file, relative to the folder of the scenario; `.vti`, or text: a line of three numbers of nodes, then 0 or 1 for each
    /// node, x fastest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// `lbm.obstacle.kind`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObstacleKind {
    /// All nodes within a distance.
    Sphere,
    /// Nodes that a file names.
    Mask,
}

/// `[output]` of a flow
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LbmOutput {
    /// What all applications on grids have.
    #[serde(flatten)]
    pub common: GridOutput,
    /// Density and velocity of some nodes over time: probe.csv.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Density and velocity of all nodes, for ParaView.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Every>,
}

/// `output.probe`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Steps between two rows.
    #[schemars(range(min = 1))]
    pub every: u64,
    /// Which nodes; the first one is [0, 0, 0].
    pub nodes: Vec<[usize; 3]>,
}

impl LbmScenario {
    /// The greatest speed that the scenario names.
    pub fn greatest_speed(&self) -> f64 {
        let walls = self.lbm.wall_velocity.all().into_iter().flatten();
        let walls = walls.map(|velocity| velocity.iter().map(|u| u * u).sum::<f64>().sqrt());
        walls.fold(self.lbm.initial.velocity.unwrap_or_default(), f64::max)
    }

    /// The order in which populations leave.
    pub fn crossing(&self) -> Crossing {
        match self.parallel.exchange {
            ExchangePattern::Direct => Crossing::Direct,
            ExchangePattern::Staged => Crossing::Staged,
        }
    }
}

impl Lbm {
    /// What lies beyond the faces.
    pub fn edges(&self) -> [Edges; 3] {
        self.boundary.map(|boundary| match boundary {
            Boundary::Periodic => Edges::Periodic,
            Boundary::Wall => Edges::Open,
        })
    }

    /// The collision.
    pub fn collision(&self) -> md_grid::lbm::Collision {
        match self.collision {
            CollisionKind::Bgk => md_grid::lbm::Collision::Bgk,
            CollisionKind::Trt => {
                md_grid::lbm::Collision::Trt { magic: self.magic.unwrap_or(MAGIC_OF_PLATES) }
            }
        }
    }
}

impl Model for LbmScenario {
    #[expect(private_interfaces, reason = "see the trait")]
    fn validate(&self) -> Checked {
        check_flow(&self.lbm)?;
        check_walls(&self.lbm)?;
        check_obstacle(&self.lbm)?;
        check_parallel(&self.parallel)?;
        check_files(&self.output, self.lbm.grid)
    }
}

fn check_flow(lbm: &Lbm) -> Checked {
    check_nodes("lbm.grid", lbm.grid)?;
    if lbm.grid.into_iter().try_fold(1_u64, |product, n| product.checked_mul(n as u64)).is_none() {
        return Err(Finding::new("lbm.grid", "`lbm.grid` has more nodes than can be counted", "fewer nodes"));
    }
    let tau = 3.0 * lbm.viscosity + 0.5;
    if !(tau > 0.5 && tau.is_finite()) {
        let message = format!(
            "`lbm.viscosity` is {}: the relaxation time tau = 3 viscosity + 1/2 would be {tau}, and must be above 1/2",
            lbm.viscosity
        );
        return Err(Finding::new("lbm.viscosity", message, "a viscosity above 0, for example 0.01"));
    }
    match (lbm.collision, lbm.magic) {
        (CollisionKind::Bgk, Some(_)) => {
            let message = "collision `bgk` takes no `magic`";
            let finding = Finding::new("lbm.magic", message, "leave it out, or use `collision = \"trt\"`");
            return Err(finding.at_key().or_at("lbm.collision"));
        }
        (_, Some(magic)) => positive("lbm.magic", magic, "0.1875 puts walls half-way between nodes")?,
        (_, None) => (),
    }
    at_least_one("lbm.steps", lbm.steps, "number of time steps")?;
    for (axis, force) in lbm.body_force.into_iter().enumerate() {
        finite(&format!("lbm.body_force[{axis}]"), force)?;
    }
    check_initial(lbm)
}

fn check_initial(lbm: &Lbm) -> Checked {
    const KEY: &str = "lbm.initial.velocity";
    const SPEED: &str = "greatest speed in nodes per step, as 0.05";
    let Initial { kind, velocity } = lbm.initial;
    match (kind, velocity) {
        (_, Some(velocity)) => not_negative(KEY, velocity, SPEED)?,
        (InitialKind::TaylorGreen, None) => {
            let message = "a flow that starts as `taylor-green` needs `velocity`";
            return Err(Finding::new(KEY, message, SPEED).at_absence());
        }
        (InitialKind::Rest, None) => (),
    }
    if kind == InitialKind::Rest && velocity > Some(0.0) {
        let message = "a flow that starts at `rest` takes no `velocity`";
        let finding = Finding::new(KEY, message, "leave it out, or use `kind = \"taylor-green\"`");
        return Err(finding.at_key().or_at("lbm.initial"));
    }
    if kind == InitialKind::TaylorGreen && lbm.grid.iter().filter(|&&nodes| nodes > 1).count() < 2 {
        let message = "vortices of `taylor-green` need two axes of more than one node";
        let finding = Finding::new("lbm.grid", message, "a longer second axis, or `kind = \"rest\"`");
        return Err(finding.or_at("lbm.initial"));
    }
    Ok(())
}

fn finite(path: &str, value: f64) -> Checked {
    if value.is_finite() {
        return Ok(());
    }
    let message = format!("`{path}` must be a finite number, found {value}");
    Err(Finding::new(path, message, "in lattice units: nodes and steps"))
}

fn check_walls(lbm: &Lbm) -> Checked {
    for (face, velocity) in Face::ALL.into_iter().zip(lbm.wall_velocity.all()) {
        let Some(velocity) = velocity else { continue };
        let (path, axis) = (format!("lbm.wall_velocity.{}", face.name()), face.axis());
        if lbm.boundary[axis] == Boundary::Periodic {
            let message =
                format!("`{path}` is the velocity of a wall, but there is none: that boundary is periodic");
            let help = format!("leave it out, or make `lbm.boundary[{axis}]` \"wall\"");
            return Err(Finding::new(path, message, help).at_key().or_at("lbm.boundary"));
        }
        for (component, value) in velocity.into_iter().enumerate() {
            finite(&format!("{path}[{component}]"), value)?;
        }
        if velocity[axis] != 0.0 {
            let message = format!("`{path}` has a component of {} across the wall", velocity[axis]);
            let help = "walls slide: the component along their own axis is 0";
            return Err(Finding::new(format!("{path}[{axis}]"), message, help));
        }
    }
    Ok(())
}

fn check_obstacle(lbm: &Lbm) -> Checked {
    let Some(obstacle) = &lbm.obstacle else { return Ok(()) };
    let given = BTreeMap::from([
        ("center", obstacle.center.is_some()),
        ("radius", obstacle.radius.is_some()),
        ("path", obstacle.path.is_some()),
    ]);
    let (kind, wanted): (_, &[&str]) = match obstacle.kind {
        ObstacleKind::Sphere => ("sphere", &["center", "radius"]),
        ObstacleKind::Mask => ("mask", &["path"]),
    };
    for (key, is_given) in given {
        let path = format!("lbm.obstacle.{key}");
        let help = format!("an obstacle of kind `{kind}` has {}", wanted.join(" and "));
        match (is_given, wanted.contains(&key)) {
            (true, false) => {
                let message = format!("an obstacle of kind `{kind}` takes no `{key}`");
                return Err(Finding::new(path, message, help).at_key());
            }
            (false, true) => {
                let message = format!("an obstacle of kind `{kind}` needs `{key}`");
                return Err(Finding::new(path, message, help).at_absence());
            }
            (true, true) | (false, false) => (),
        }
    }
    for (axis, center) in obstacle.center.into_iter().flatten().enumerate() {
        finite(&format!("lbm.obstacle.center[{axis}]"), center)?;
    }
    obstacle.radius.map_or(Ok(()), |radius| positive("lbm.obstacle.radius", radius, "in nodes"))
}

fn check_files(output: &LbmOutput, grid: [usize; 3]) -> Checked {
    check_output(&output.common)?;
    if let Some(fields) = output.fields {
        at_least_one("output.fields.every", fields.every, "steps between two images")?;
    }
    let Some(probe) = &output.probe else { return Ok(()) };
    at_least_one("output.probe.every", probe.every, "steps between two rows of probe.csv")?;
    for (number, node) in probe.nodes.iter().enumerate() {
        if let Some(axis) = (0..3).find(|&axis| node[axis] >= grid[axis]) {
            let path = format!("output.probe.nodes[{number}][{axis}]");
            let message =
                format!("`{path}` is {}, but that axis has {}", node[axis], counted(grid[axis], "node"));
            return Err(Finding::new(path, message, "nodes are counted from 0").or_at("lbm.grid"));
        }
    }
    Ok(())
}
