//! Solid nodes of a scenario: a sphere, or those of a mask file.

use std::path::Path;

use md_comm::{Reduction, World};
use md_grid::lbm::Mask;
use md_grid::{Block, Decomposition, Layout};

use crate::checkpoint::SavedMask;
use crate::error::RunError;
use crate::grid_inputs::GridInputs;
use crate::input::mask::{MaskFile, MaskReader};
use crate::scenario::{LbmScenario, Obstacle, ObstacleKind, ScenarioError};
use crate::text_file::told;

/// This rank's solid nodes, and what a mask file is known again by. *Collective.*
pub(super) fn mask(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
) -> Result<(Mask, Option<SavedMask>), RunError> {
    let block = decomposition.block(world.rank());
    let mut mask = Mask::fluid(Layout::new(block.size, [1; 3], size_of::<f32>())?)?;
    let Some(obstacle) = &inputs.scenario.lbm.obstacle else { return Ok((mask, None)) };
    if let (ObstacleKind::Mask, Some(file), Some(path)) = (obstacle.kind, inputs.mask_file(), &obstacle.path)
    {
        let solid = |node| set(&mut mask, block, node);
        let checksum = read(Some(world), inputs, &file, solid)?;
        return Ok((mask, Some(SavedMask { path: path.clone(), checksum })));
    }
    for node in every_node(block).filter(|&node| is_in_sphere(obstacle, node)) {
        set(&mut mask, block, node);
    }
    Ok((mask, None))
}

/// Makes sure that the mask file, if there is one, can be read and is of this lattice.
pub(super) fn expect_readable(inputs: &GridInputs<LbmScenario>) -> Result<(), RunError> {
    let file = inputs.mask_file();
    file.map_or(Ok(()), |file| read(None, inputs, &file, |_| ()).map(drop))
}

/// Makes sure that some node is fluid, and says what is odd: an obstacle that has none of the nodes. *Collective.*
pub(super) fn expect_fluid(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    mask: &Mask,
) -> Result<Option<String>, RunError> {
    let lbm = &inputs.scenario.lbm;
    let Some(obstacle) = &lbm.obstacle else { return Ok(None) };
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
    Ok((solid == 0).then(|| {
        let why = match obstacle.kind {
            ObstacleKind::Sphere => "the nearest one is farther from its centre than its radius",
            ObstacleKind::Mask => "all nodes of its file are fluid",
        };
        format!("`lbm.obstacle` has none of the {crossed} nodes ({why}), so that nothing stands in the flow")
    }))
}

/// Makes a node solid if it is one of this rank's.
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

fn is_in_sphere(obstacle: &Obstacle, node: [usize; 3]) -> bool {
    let (center, radius) = (obstacle.center.unwrap_or_default(), obstacle.radius.unwrap_or_default());
    let square: f64 = (0..3).map(|axis| (node[axis] as f64 - center[axis]).powi(2)).sum();
    square <= radius * radius
}

/// The solid nodes of a file, which rank 0 reads and tells piece by piece: nobody holds all of it. Their checksum. *Collective*, where
/// there is a world.
fn read(
    world: Option<&dyn World>,
    inputs: &GridInputs<LbmScenario>,
    path: &Path,
    solid: impl FnMut([usize; 3]),
) -> Result<u32, RunError> {
    let mut file = None;
    told(world, path, || {
        file = Some(MaskFile::open(path)?);
        Ok(None)
    })
    .map_err(|error| error.or_at_key(&inputs.source, "lbm.obstacle.path"))?;
    let mut reader = MaskReader::new(path.display().to_string(), inputs.scenario.lbm.grid, solid);
    loop {
        let piece = || file.as_mut().map_or(Ok(None), MaskFile::next);
        match told(world, path, piece)? {
            Some(piece) => reader.read(&piece)?,
            None => return Ok(reader.finish()?),
        }
    }
}
