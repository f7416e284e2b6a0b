//! Solid nodes of a scenario: a sphere, or those of a mask file.

use std::path::Path;

use md_comm::World;
use md_grid::lbm::Mask;
use md_grid::{Block, Decomposition, Layout};

use crate::error::RunError;
use crate::grid_inputs::GridInputs;
use crate::input::mask::{MaskFile, MaskReader};
use crate::scenario::{LbmScenario, Obstacle, ObstacleKind};
use crate::text_file::told;

/// This rank's solid nodes. *Collective.*
pub(super) fn mask(
    world: &dyn World,
    inputs: &GridInputs<LbmScenario>,
    decomposition: &Decomposition,
) -> Result<Mask, RunError> {
    let block = decomposition.block(world.rank());
    let mut mask = Mask::fluid(Layout::new(block.size, [1; 3])?)?;
    let Some(obstacle) = &inputs.scenario.lbm.obstacle else { return Ok(mask) };
    match (obstacle.kind, inputs.mask_file()) {
        (ObstacleKind::Mask, Some(path)) => read(world, &path, inputs.scenario.lbm.grid, |node| {
            set(&mut mask, block, node);
        })?,
        _ => every_node(block).filter(|&node| is_in_sphere(obstacle, node)).for_each(|node| {
            set(&mut mask, block, node);
        }),
    }
    Ok(mask)
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

/// The solid nodes of a file, which rank 0 reads and tells piece by piece: nobody holds all of it. *Collective.*
fn read(
    world: &dyn World,
    path: &Path,
    grid: [usize; 3],
    solid: impl FnMut([usize; 3]),
) -> Result<(), RunError> {
    let mut file = None;
    told(Some(world), path, || {
        file = Some(MaskFile::open(path)?);
        Ok(None)
    })?;
    let mut reader = MaskReader::new(path.display().to_string(), grid, solid);
    loop {
        let piece = || file.as_mut().map_or(Ok(None), MaskFile::next);
        match told(Some(world), path, piece)? {
            Some(piece) => reader.read(&piece)?,
            None => return Ok(reader.finish()?),
        }
    }
}
