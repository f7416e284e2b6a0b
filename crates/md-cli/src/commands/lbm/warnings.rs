//! Warnings about the results of a flow.

use md_grid::lbm::{MAGIC_OF_PLATES, SOUND_SPEED_SQUARED};
use md_lab::{name_of, significant};
use md_scenario::{Boundary, CollisionKind, Lbm, LbmScenario};

use super::super::intervals::beyond;

/// Mach number above which the flow is compressible. Errors grow with its square.
const HIGHEST_MACH: f64 = 0.3;

/// Slip relative to the greatest velocity, above which a magic parameter in the scenario leads to a
/// warning.
const GREATEST_SLIP: f64 = 0.01;

/// Returns a warning if the fluid slips at walls.
pub(super) fn slip_warning(lbm: &Lbm) -> Option<String> {
    let (kind, collision) = (lbm.collision_kind(), lbm.collision());
    let (width, like) = narrowest(lbm).filter(|_| lbm.has_walls())?;
    let slip = collision.slip(lbm.viscosity, width);
    let is_told = match kind {
        CollisionKind::Bgk => true,
        CollisionKind::Trt => slip.abs() > GREATEST_SLIP,
    };
    is_told.then(|| {
        format!(
            "collision `{}` with viscosity {} has the magic parameter {}, with which fluid slips along walls and obstacles: driven by \
             a force through a channel of {width} nodes, {like}, by {} % of its greatest velocity, and by more in narrower ones; \
             `collision = \"trt\"` with `magic = {MAGIC_OF_PLATES}` has no slip",
            name_of(kind),
            lbm.viscosity,
            significant(collision.magic(lbm.viscosity), 3),
            significant(100.0 * slip, 3),
        )
    })
}

/// Returns the number of nodes across the narrowest channel that the boundary makes, and a
/// description: the distance between walls, or else the width of the box.
fn narrowest(lbm: &Lbm) -> Option<(usize, String)> {
    let axes = |is_wanted: &dyn Fn(usize) -> bool| {
        (0..3).filter(|&axis| is_wanted(axis)).min_by_key(|&axis| lbm.grid[axis])
    };
    let named =
        |axis: usize, what: &str| (lbm.grid[axis], format!("as {what} along {}", ["x", "y", "z"][axis]));
    let walled = axes(&|axis| lbm.boundary[axis] == Boundary::Wall);
    let long = || axes(&|axis| lbm.grid[axis] > 1);
    walled
        .map(|axis| named(axis, "between the walls"))
        .or_else(|| long().map(|axis| named(axis, "the box has")))
}

/// Returns a warning if velocities are too high for an incompressible flow.
pub(super) fn mach_warning(speed: f64) -> Option<String> {
    let mach = speed / SOUND_SPEED_SQUARED.sqrt();
    (mach > HIGHEST_MACH).then(|| {
        format!(
            "{speed:.3} nodes per step is Mach {mach:.2}: above {HIGHEST_MACH} the flow is compressible, with errors of about Mach \
             squared, and may become unstable; take a lower velocity and more steps"
        )
    })
}

/// Returns warnings about outputs that are written only at the start or the end of the run.
pub(super) fn interval_warnings(LbmScenario { lbm, output, .. }: &LbmScenario) -> Vec<String> {
    let probe = output.probe.as_ref().map(|probe| probe.every);
    let fields = output.fields.map(|fields| fields.every);
    let outputs = [
        ("probe", probe, "no row after step 0 will be written"),
        ("drag", output.drag.map(|drag| drag.every), "no row will be written"),
        ("fields", fields, "no image between step 0 and the last will be written"),
    ];
    beyond(("", "run"), lbm.steps, &outputs)
}
