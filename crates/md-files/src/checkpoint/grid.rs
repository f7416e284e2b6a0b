//! Resuming an application on a grid. Every rank reads the nodes that it has now from the slabs of
//! the ranks that had them.

use std::fs::File;
use std::path::Path;

use md_comm::World;
use md_grid::{Application, Block, Decomposition, Edges, GridError};
use md_scenario::Model;
use md_scenario::failure::RunError;

use super::header::{Header, SavedMask, SavedNodes};
use super::layout::{BLOCK_ROWS, Layout, WORD};
use super::read::{Found, Resumed, agree, read_block, read_header};
use super::write::node_of_row;
use super::{CheckpointError, Differences, NothingLeft};

/// Reads the checkpoint given to `--resume` into an application at its start. `now` contains its
/// kind, nodes and ranks, and `steps` is the number of steps of the run. *Collective.*
///
/// # Errors
/// Returns a [`CheckpointError`], which is the same on all ranks, or an error of communication.
pub fn read_nodes<M: Model, A: Application + ?Sized>(
    world: &dyn World,
    path: &Path,
    (scenario, steps): (&M, u64),
    now: &SavedNodes,
    app: &mut A,
) -> Result<Resumed, RunError> {
    let found = read_header(world, path)?;
    let Found { path, header, index, .. } = found.clone();
    let wrong = |problem: String| RunError::from(CheckpointError::new(path.clone(), problem));
    let then = expect_kind(&header, now, app.words_per_node()).map_err(&wrong)?;
    if let Some(problem) = other_obstacle(then, now) {
        return Err(wrong(problem));
    }
    found.expect_steps_left(steps, &[])?;
    let layout = Layout { index, ranks: header.ranks, row_words: header.row_words };
    let read = torus(then, header.ranks)
        .and_then(|owners| torus(now, world.ranks() as u64).map(|own| [owners, own]))
        .and_then(|[owners, own]| {
            let file = File::open(&path).map_err(|error| error.to_string())?;
            restore(&file, &layout, [&owners, &own], world.rank(), app)
        });
    agree(world, &path, read)?;
    app.restore_shared(&header.shared).map_err(|error| match error {
        GridError::Shape(problem) => wrong(problem),
        GridError::NothingLeft(problem) => NothingLeft { path: path.clone(), problem, advice: None }.into(),
        error => error.into(),
    })?;
    let differences = Differences::of_a_grid(&header.scenario, scenario);
    Ok(Resumed { path, header, differences, particle_rows: Vec::new() })
}

/// Checks that the checkpoint belongs to this application.
fn expect_kind<'h>(header: &'h Header, now: &SavedNodes, words: usize) -> Result<&'h SavedNodes, String> {
    let Some(then) = &header.nodes else {
        return Err(format!("it is of particles, not of `{}` on a grid", now.kind));
    };
    if then.kind != now.kind {
        return Err(format!("it is of `{}`, the scenario of `{}`", then.kind, now.kind));
    }
    let text = |nodes: [usize; 3]| nodes.map(|count| count.to_string()).join(" x ");
    if then.nodes != now.nodes {
        return Err(format!("it has {} nodes, the scenario {}", text(then.nodes), text(now.nodes)));
    }
    if header.row_words != words as u64 {
        let found = header.row_words;
        return Err(format!("it has {found} numbers per node, the scenario {words}"));
    }
    Ok(then)
}

/// Returns an error message if the mask file has other solid nodes than at the checkpoint.
fn other_obstacle(then: &SavedNodes, now: &SavedNodes) -> Option<String> {
    let (then, now) = (then.mask.as_ref()?, now.mask.as_ref()?);
    let text =
        |mask: &SavedMask| format!("`{}` (checksum of its solid nodes {:08x})", mask.path, mask.checksum);
    let changed = if then.path == now.path { ": that file has changed since" } else { "" };
    (then.checksum != now.checksum).then(|| {
        format!("its obstacle is the mask {}, that of the scenario {}{changed}", text(then), text(now))
    })
}

/// Returns the division of the nodes among the ranks. The faces do not matter here.
fn torus(saved: &SavedNodes, ranks: u64) -> Result<Decomposition, String> {
    let ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
    Decomposition::new(saved.nodes, ranks, Some(saved.ranks), [Edges::Periodic; 3])
        .map_err(|error| format!("it is damaged: {error}"))
}

/// Restores the values of the nodes of `rank`.
fn restore<A: Application + ?Sized>(
    file: &File,
    layout: &Layout,
    [then, now]: [&Decomposition; 2],
    rank: usize,
    app: &mut A,
) -> Result<(), String> {
    let own = now.block(rank);
    for writer in 0..layout.ranks {
        let theirs = then.block(writer as usize);
        let overlaps = |axis: usize| {
            theirs.origin[axis] < own.origin[axis] + own.size[axis]
                && own.origin[axis] < theirs.origin[axis] + theirs.size[axis]
        };
        if (0..3).all(overlaps) {
            restore_shared_part(file, layout, writer, &Places { theirs, own }, app)?;
        }
    }
    Ok(())
}

/// The nodes of the rank that wrote a slab, and of the rank that reads it.
struct Places {
    theirs: Block,
    own: Block,
}

impl Places {
    /// Returns the node of this rank for a row of the slab, counted from the first node of this
    /// rank.
    fn own_node(&self, row: usize) -> Option<[usize; 3]> {
        let node = node_of_row(row, self.theirs.size);
        let from_first = |axis: usize| {
            let place = (node[axis] + self.theirs.origin[axis]).checked_sub(self.own.origin[axis])?;
            (place < self.own.size[axis]).then_some(place)
        };
        Some([from_first(0)?, from_first(1)?, from_first(2)?])
    }
}

/// Reads the blocks of a writer that contain nodes of this rank.
fn restore_shared_part<A: Application + ?Sized>(
    file: &File,
    layout: &Layout,
    writer: u64,
    places: &Places,
    app: &mut A,
) -> Result<(), String> {
    let slab = layout.read_slab(file, writer)?;
    let expected: usize = places.theirs.size.iter().product();
    if slab.rows != expected as u64 {
        return Err(format!("it is damaged: its index does not have {expected} nodes of rank {writer}"));
    }
    let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
    for block in layout.blocks(writer, slab) {
        let first = (block.number * BLOCK_ROWS) as usize;
        let rows = first..first + block.rows as usize;
        if !rows.clone().any(|row| places.own_node(row).is_some()) {
            continue;
        }
        read_block(file, layout, block, &mut bytes)?;
        let stored = bytes.chunks_exact((layout.row_words * WORD) as usize);
        for (row, stored) in rows.zip(stored) {
            let Some(node) = places.own_node(row) else { continue };
            numbers.clear();
            let words = stored.chunks_exact(WORD as usize);
            numbers.extend(words.map(|word| u64::from_le(bytemuck::pod_read_unaligned(word))));
            if numbers.iter().any(|&number| !f64::from_bits(number).is_finite()) {
                return Err("it has numbers of a node that no run has".to_owned());
            }
            app.restore_node(node, &numbers);
        }
    }
    Ok(())
}
