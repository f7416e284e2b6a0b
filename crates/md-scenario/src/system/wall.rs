//! `system.walls`: solid walls at reflecting faces.

use md_core::Boundary;
use md_core::potential::Well;
use md_engine::{Side, SolidWall};
use md_lab::name_of;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Axis, System};
use crate::defaults::one;
use crate::finding::{Checked, Finding, within};
use crate::simulation::Simulation;

/// `system.walls`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WallPair {
    /// Axis perpendicular to the walls. The boundary along it must be `reflecting`.
    pub axis: Axis,
    /// Which of the two faces have a wall.
    #[serde(default)]
    pub side: WallSide,
    /// Strength: E(r) = epsilon [2/15 (sigma/r)^9 - (sigma/r)^3], with r the distance from the
    /// face.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the default is 1.0"))]
    pub epsilon: f64,
    /// Length sigma of the wall potential.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the default is 1.0"))]
    pub sigma: f64,
    /// Distance from the face up to which the wall acts; the energy is shifted to 0 there.
    #[serde(default = "usual_cutoff")]
    #[schemars(extend("exclusiveMinimum" = 0, "$comment" = "the default is 2.5"))]
    pub cutoff: f64,
}

/// Faces perpendicular to an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WallSide {
    /// Both faces.
    #[default]
    Both,
    /// The face at the origin of the box.
    Low,
    /// The opposite face.
    High,
}

fn usual_cutoff() -> f64 {
    2.5
}

/// ```
/// use md_scenario::{ScenarioSource, load};
///
/// let text = r#"
///     [simulation]
///     steps = 1
///     [system]
///     gas = { atoms = 1000, density = 0.01 }
///     temperature = 1.0
///     boundary = ["periodic", "periodic", "reflecting"]
///     walls = [{ axis = "z" }]
/// "#;
/// let source = ScenarioSource { text: text.to_owned(), ..ScenarioSource::default() };
/// let walls = load(&source)?.system.walls;
/// // Both faces, with the parameters of the particles by default.
/// assert_eq!(walls[0].walls().count(), 2);
/// assert!(walls[0].walls().all(|wall| wall.axis == 2 && wall.sigma == 1.0));
/// # Ok::<(), md_scenario::ScenarioError>(())
/// ```
impl WallPair {
    /// Returns the wall or the two walls of this entry.
    pub fn walls(&self) -> impl Iterator<Item = SolidWall> {
        let &Self { axis, side, epsilon, sigma, cutoff } = self;
        let sides: &[Side] = match side {
            WallSide::Both => &[Side::Low, Side::High],
            WallSide::Low => &[Side::Low],
            WallSide::High => &[Side::High],
        };
        sides.iter().map(move |&side| SolidWall { axis: axis as usize, side, epsilon, sigma, cutoff })
    }
}

pub(super) fn check(system: &System, simulation: &Simulation) -> Checked {
    let mut stands = Vec::new();
    for (number, wall) in system.walls.iter().enumerate() {
        let path = |key: &str| format!("system.walls[{number}].{key}");
        check_axis(path("axis"), wall, system, simulation)?;
        within(&path("epsilon"), wall.epsilon, &Well::EPSILONS)?;
        within(&path("sigma"), wall.sigma, &Well::SIGMAS)?;
        for face in wall.walls().map(|wall| (wall.axis, wall.side)) {
            if stands.contains(&face) {
                let message = format!("two walls stand at the same face across {}", name_of(wall.axis));
                return Err(Finding::new(path("axis"), message, "one wall per face"));
            }
            stands.push(face);
        }
    }
    Ok(())
}

fn check_axis(path: String, wall: &WallPair, system: &System, simulation: &Simulation) -> Checked {
    let (dim, name) = (wall.axis as usize, name_of(wall.axis));
    if dim >= usize::from(simulation.dimension) {
        let message = "a 2D simulation has no motion in z, so no walls across it";
        return Err(Finding::new(path, message, "\"x\" or \"y\"").or_at("simulation.dimension"));
    }
    if system.boundary[dim] == Boundary::Periodic {
        let message = format!("a wall across {name}, where `system.boundary` is periodic");
        let help = format!("write \"reflecting\" as the boundary along {name}: nothing passes the wall");
        return Err(Finding::new(path, message, help).or_at("system.boundary"));
    }
    Ok(())
}
