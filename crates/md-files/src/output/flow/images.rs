//! Images of a flow for ParaView: VTK's XML image data with raw appended binary data.
//!
//! Nodes are the cells of the image, because walls lie half-way between nodes. A single rank writes
//! `fields_STEP.vti`. Several ranks write a piece each, `fields_STEP_RANK.vti`, and the first rank
//! writes `fields_STEP.pvti`, which lists the pieces and is the file to open. Each rank stores only
//! its own part.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use md_comm::World;
use md_grid::lbm::{Flow, LaneReal};
use md_grid::{Block, Real};
use md_scenario::failure::RunError;

use crate::store::{Intact, OutputError};

/// Writes the image of a step. *Collective*: when the file that lists the pieces exists, so do the
/// pieces.
///
/// # Errors
/// Returns an error if a piece cannot be written or communication fails.
pub fn write<T: LaneReal>(
    world: &dyn World,
    folder: &Path,
    flow: &Flow<T>,
    step: u64,
) -> Result<(), RunError> {
    let alone = world.ranks() == 1;
    let name = if alone { format!("{}.vti", stem(step)) } else { piece_name(step, world.rank()) };
    let nodes = whole(world, flow.block())?;
    write_file(&folder.join(name), |out| write_piece(out, flow, nodes, step))?;
    if !alone {
        let blocks: Vec<[u64; 6]> = gather_blocks(world, flow.block())?;
        if world.rank() == 0 {
            let text = index::<T>(nodes, step, &blocks);
            write_file(&folder.join(format!("{}.pvti", stem(step))), |out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(())
}

/// Returns the step of an image, or of a piece of one, from its file name.
pub fn step_of(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("fields_")?;
    let numbers = rest.strip_suffix(".vti").or_else(|| rest.strip_suffix(".pvti"))?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.split('_').all(is_number).then(|| numbers.split('_').next()?.parse().ok())?
}

fn stem(step: u64) -> String {
    format!("fields_{step:08}")
}

fn piece_name(step: u64, rank: usize) -> String {
    format!("{}_{rank}.vti", stem(step))
}

/// Returns the number of nodes of all ranks together along each axis. *Collective.*
fn whole(world: &dyn World, block: Block) -> Result<[usize; 3], RunError> {
    let mut ends = [0, 1, 2].map(|axis| (block.origin[axis] + block.size[axis]) as f64);
    world.max(&mut ends)?;
    Ok(ends.map(|end| end as usize))
}

/// Returns the bounds of the block of every rank, on rank 0. *Collective.*
fn gather_blocks(world: &dyn World, block: Block) -> Result<Vec<[u64; 6]>, RunError> {
    let ends: Vec<u64> = extent(block).map(|bound| bound as u64).to_vec();
    let all = world.gather(0, bytemuck::cast_slice(&ends))?;
    Ok(all.iter().flat_map(|bytes| bytemuck::pod_collect_to_vec::<_, [u64; 6]>(bytes)).collect())
}

/// Returns the bounds in the order of VTK: x, y, z.
fn extent(Block { origin, size }: Block) -> [usize; 6] {
    let [x, y, z] = origin;
    [x, x + size[0], y, y + size[1], z, z + size[2]]
}

fn bounds<N: ToString>(extent: [N; 6]) -> String {
    extent.map(|bound| bound.to_string()).join(" ")
}

const OPENING: &str = "<?xml version=\"1.0\"?>\n";

fn attributes(kind: &str) -> String {
    format!("<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n")
}

fn geometry(nodes: [usize; 3]) -> String {
    let [x, y, z] = nodes;
    let extent = bounds([0, x, 0, y, 0, z]);
    format!("WholeExtent=\"{extent}\" Origin=\"-0.5 -0.5 -0.5\" Spacing=\"1 1 1\"")
}

/// Returns the time of an image, which is its step, in the form that ParaView and VTK read.
fn time(step: u64) -> String {
    format!(
        "<FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{step}</DataArray>\n\
         </FieldData>\n"
    )
}

fn vtk_type<T: Real>() -> &'static str {
    if size_of::<T>() == 8 { "Float64" } else { "Float32" }
}

/// Returns the arrays in their order: name, type, number of components.
fn arrays<T: Real>() -> [(&'static str, &'static str, usize); 3] {
    [("density", vtk_type::<T>(), 1), ("velocity", vtk_type::<T>(), 3), ("solid", "UInt8", 1)]
}

/// Returns the content of the file that lists the pieces.
fn index<T: Real>(nodes: [usize; 3], step: u64, blocks: &[[u64; 6]]) -> String {
    let mut text = format!("{OPENING}{}", attributes("PImageData"));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "<PImageData {} GhostLevel=\"0\">\n{}", geometry(nodes), time(step).trim_end());
    text.push_str("<PCellData Scalars=\"density\" Vectors=\"velocity\">\n");
    for (name, kind, components) in arrays::<T>() {
        let _ = writeln!(
            text,
            "<PDataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\"/>"
        );
    }
    text.push_str("</PCellData>\n");
    for (rank, block) in blocks.iter().enumerate() {
        let source = piece_name(step, rank);
        let _ = writeln!(text, "<Piece Extent=\"{}\" Source=\"{source}\"/>", bounds(*block));
    }
    text.push_str("</PImageData>\n</VTKFile>\n");
    text
}

fn write_piece<T: LaneReal>(
    out: &mut dyn Write,
    flow: &Flow<T>,
    nodes: [usize; 3],
    step: u64,
) -> io::Result<()> {
    let block = flow.block();
    let count = block.size.iter().product::<usize>();
    writeln!(out, "{OPENING}{}<ImageData {}>", attributes("ImageData"), geometry(nodes))?;
    out.write_all(time(step).as_bytes())?;
    writeln!(out, "<Piece Extent=\"{}\">", bounds(extent(block)))?;
    writeln!(out, "<CellData Scalars=\"density\" Vectors=\"velocity\">")?;
    let mut offset = 0;
    let sizes = [size_of::<T>() * count, 3 * size_of::<T>() * count, count];
    for ((name, kind, components), bytes) in arrays::<T>().into_iter().zip(sizes) {
        writeln!(
            out,
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" \
             offset=\"{offset}\"/>"
        )?;
        offset += size_of::<u64>() + bytes;
    }
    write!(out, "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_")?;
    out.write_all(&(sizes[0] as u64).to_le_bytes())?;
    for_each_node(block.size, |node| {
        write_number::<T>(out, flow.state(node).map_or(0.0, |(density, _)| density))
    })?;
    out.write_all(&(sizes[1] as u64).to_le_bytes())?;
    for_each_node(block.size, |node| {
        let velocity = flow.state(node).map_or([0.0; 3], |(_, velocity)| velocity);
        velocity.into_iter().try_for_each(|component| write_number::<T>(out, component))
    })?;
    out.write_all(&(sizes[2] as u64).to_le_bytes())?;
    for_each_node(block.size, |node| out.write_all(&[u8::from(flow.state(node).is_none())]))?;
    out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
}

/// Calls a function for each node in the order of VTK, with x varying fastest.
fn for_each_node(
    [nx, ny, nz]: [usize; 3],
    mut visit: impl FnMut([usize; 3]) -> io::Result<()>,
) -> io::Result<()> {
    let mut nodes = (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])));
    nodes.try_for_each(&mut visit)
}

fn write_number<T: Real>(out: &mut dyn Write, value: f64) -> io::Result<()> {
    if size_of::<T>() == size_of::<f64>() {
        out.write_all(&value.to_le_bytes())
    } else {
        out.write_all(&(value as f32).to_le_bytes())
    }
}

/// Writes a file that appears complete or not at all.
fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), OutputError> {
    let unfinished = unfinished(path);
    let written = || {
        let mut out = BufWriter::new(File::create(&unfinished)?);
        write(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    written().map_err(|reason| {
        fs::remove_file(&unfinished).ok();
        OutputError::Write { path: path.to_owned(), reason, intact: Intact::EarlierFiles }
    })
}

fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.unfinished"))
}
