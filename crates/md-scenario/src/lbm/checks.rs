//! Checks of the scenario of a flow.

use std::collections::BTreeMap;

use md_core::words::counted;
use md_grid::lbm::Face;

use super::{Boundary, CollisionKind, Initial, InitialKind, Lbm, LbmOutput, ObstacleKind};
use crate::finding::{Checked, Finding, at_least_one, not_negative, positive};
use crate::grid::{check_nodes, check_output};

pub(super) fn check_flow(lbm: &Lbm) -> Checked {
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
    match (lbm.collision_kind(), lbm.magic) {
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

pub(super) fn check_walls(lbm: &Lbm) -> Checked {
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

pub(super) fn check_obstacle(lbm: &Lbm) -> Checked {
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

pub(super) fn check_files(output: &LbmOutput, grid: [usize; 3]) -> Checked {
    check_output(&output.common)?;
    if let Some(fields) = output.fields {
        at_least_one("output.fields.every", fields.every, "steps between two images")?;
    }
    if let Some(drag) = output.drag {
        at_least_one("output.drag.every", drag.every, "steps between two rows of drag.csv")?;
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
