//! Solid nodes of a scenario: those of a sphere or of a mask file.

use std::path::Path;

use md_comm::{Reduction, World};
use md_files::checkpoint::SavedMask;
use md_files::input::mask::{MaskFile, MaskReader};
use md_files::text_file::broadcast_read;
use md_grid::lbm::{Face, Mask};
use md_grid::{Block, Decomposition, Layout};
use md_lab::significant;
use md_scenario::failure::RunError;
use md_scenario::{Boundary, Lbm, LbmScenario, ObstacleKind, ScenarioError, at_key};

use crate::grid_inputs::GridInputs;

/// Returns this rank's solid nodes, and path and checksum of the mask file, if there is one.
/// *Collective.*
pub(super) fn mask(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
) -> Result<(Mask, Option<SavedMask>), RunError> {
    let block = decomposition.block(world.rank());
    let mut mask = Mask::fluid(Layout::new(block.size, [1; 3], size_of::<f32>())?)?;
    let lbm = &inputs.scenario.lbm;
    let Some(obstacle) = &lbm.obstacle else { return Ok((mask, None)) };
    if let (ObstacleKind::Mask, Some(file), Some(path)) = (obstacle.kind, inputs.mask_file(), &obstacle.path)
    {
        let solid = |node| set(&mut mask, block, node);
        let checksum = read(Some(world), inputs, &file, solid)?;
        return Ok((mask, Some(SavedMask { path: path.clone(), checksum })));
    }
    for node in every_node(block).filter(|&node| is_in_sphere(lbm, node)) {
        set(&mut mask, block, node);
    }
    Ok((mask, None))
}

/// Checks that the mask file, if there is one, can be read and belongs to this lattice.
pub(super) fn expect_readable(inputs: &GridInputs<LbmScenario>) -> Result<(), RunError> {
    let file = inputs.mask_file();
    file.map_or(Ok(()), |file| read(None, inputs, &file, |_| ()).map(drop))
}

/// Checks that some node is fluid, and returns warnings about an obstacle that contains no node or
/// reaches beyond walls. *Collective.*
pub(super) fn expect_fluid(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    mask: &Mask,
) -> Result<Vec<String>, RunError> {
    let lbm = &inputs.scenario.lbm;
    let Some(obstacle) = &lbm.obstacle else { return Ok(Vec::new()) };
    let mut solid = [mask.solid_nodes() as u64];
    world.reduce(&mut solid, Reduction::Sum)?;
    let (solid, nodes) = (solid[0], lbm.grid.iter().map(|&nodes| nodes as u64).product::<u64>());
    let crossed = lbm.grid.map(|nodes| nodes.to_string()).join(" x ");
    if solid == nodes {
        let message = format!("`lbm.obstacle` takes all {crossed} nodes: no fluid is left");
        let help = match obstacle.kind {
            ObstacleKind::Sphere => "a smaller radius, or another centre",
            ObstacleKind::Mask => "a mask in which some nodes are 0",
        };
        return Err(ScenarioError::at(&inputs.source, "lbm.obstacle", message, help).into());
    }
    if solid > 0 {
        return Ok(walls_crossed(lbm));
    }
    let why = match obstacle.kind {
        ObstacleKind::Sphere => "the nearest one is farther from its centre than its radius",
        ObstacleKind::Mask => "all nodes of its file are fluid",
    };
    Ok(vec![format!(
        "`lbm.obstacle` has none of the {crossed} nodes ({why}), so that nothing stands in the flow"
    )])
}

/// Returns warnings about a sphere that reaches beyond walls, which are half a node outside the
/// last nodes.
fn walls_crossed(lbm: &Lbm) -> Vec<String> {
    let sphere = lbm.obstacle.as_ref().and_then(|it| it.center.zip(it.radius));
    let Some((center, radius)) = sphere else { return Vec::new() };
    let beyond = |face: Face| {
        let (axis, is_low) = (face.axis(), Face::ALL[2 * face.axis()] == face);
        let room = if is_low { center[axis] + 0.5 } else { lbm.grid[axis] as f64 - 0.5 - center[axis] };
        let is_cut = lbm.boundary[axis] == Boundary::Wall && radius > room;
        is_cut.then(|| {
            let depth = significant(radius - room, 3);
            format!(
                "`lbm.obstacle` reaches beyond the wall `{}`, which cuts it off (depth {depth}, in nodes)",
                face.name()
            )
        })
    };
    Face::ALL.into_iter().filter_map(beyond).collect()
}

/// Makes a node solid if this rank owns it.
fn set(mask: &mut Mask, block: Block, node: [usize; 3]) {
    let own = [0, 1, 2].map(|axis| node[axis].wrapping_sub(block.origin[axis]));
    if (0..3).all(|axis| own[axis] < block.size[axis]) {
        mask.set_solid(own.map(|index| index as isize));
    }
}

fn every_node(Block { origin, size }: Block) -> impl Iterator<Item = [usize; 3]> {
    let along = move |axis: usize| origin[axis]..origin[axis] + size[axis];
    along(0).flat_map(move |x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])))
}

/// Returns whether a node lies in the sphere, or in its nearest image across periodic boundaries.
fn is_in_sphere(lbm: &Lbm, node: [usize; 3]) -> bool {
    let sphere = lbm.obstacle.as_ref().and_then(|it| it.center.zip(it.radius));
    sphere.is_some_and(|(center, radius)| {
        let distance = |axis: usize| {
            let (distance, length) = (node[axis] as f64 - center[axis], lbm.grid[axis] as f64);
            match lbm.boundary[axis] {
                Boundary::Periodic => distance - length * (distance / length).round(),
                Boundary::Wall => distance,
            }
        };
        (0..3).map(|axis| distance(axis).powi(2)).sum::<f64>() <= radius * radius
    })
}

/// Passes the solid nodes of a file to `solid`, and returns the checksum of the file. Rank 0 reads
/// the file and sends it piece by piece, so no rank holds all of it. *Collective*, if there is a
/// world.
fn read(
    world: Option<&dyn World>,
    inputs: &GridInputs<LbmScenario>,
    path: &Path,
    solid: impl FnMut([usize; 3]),
) -> Result<u32, RunError> {
    let mut file = None;
    broadcast_read(world, path, || {
        file = Some(MaskFile::open(path)?);
        Ok(None)
    })
    .map_err(|error| at_key(error, &inputs.source, "lbm.obstacle.path"))?;
    let mut reader = MaskReader::new(path.display().to_string(), inputs.scenario.lbm.grid, solid);
    loop {
        let piece = || file.as_mut().map_or(Ok(None), MaskFile::next_piece);
        match broadcast_read(world, path, piece)? {
            Some(piece) => reader.read(&piece)?,
            None => return Ok(reader.finish()?),
        }
    }
}
