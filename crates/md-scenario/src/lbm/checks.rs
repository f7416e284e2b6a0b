//! Checks of the scenario of a flow.

use std::collections::BTreeMap;

use md_core::words::counted;
use md_grid::lbm::Face;

use super::{Boundary, CollisionKind, Initial, InitialKind, Lbm, LbmOutput, ObstacleKind, SPEED};
use crate::finding::{Checked, Finding, check_directory};

pub(super) fn check_flow(lbm: &Lbm) -> Checked {
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
    if lbm.collision_kind() == CollisionKind::Bgk && lbm.magic.is_some() {
        let message = "collision `bgk` takes no `magic`";
        let finding = Finding::new("lbm.magic", message, "leave it out, or use `collision = \"trt\"`");
        return Err(finding.at_key().or_at("lbm.collision"));
    }
    check_initial(lbm)
}

fn check_initial(lbm: &Lbm) -> Checked {
    const KEY: &str = "lbm.initial.velocity";
    let Initial { kind, velocity } = lbm.initial;
    if kind == InitialKind::TaylorGreen && velocity.is_none() {
        let message = "a flow that starts as `taylor-green` needs `velocity`";
        return Err(Finding::new(KEY, message, SPEED).at_absence());
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
    Ok(())
}

pub(super) fn check_files(output: &LbmOutput, grid: [usize; 3]) -> Checked {
    check_directory(&output.common.directory)?;
    let Some(probe) = &output.probe else { return Ok(()) };
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
