//! Text dumps of LAMMPS (`dump custom`): frames of sections that begin with `ITEM:`.
//!
//! The last of several frames is read, unless another is requested. The box must be orthogonal, and
//! its boundaries must agree with the scenario. Columns of positions are required: `x y z`, scaled
//! `xs ys zs`, unwrapped `xu yu zu`, or scaled and unwrapped `xsu ysu zsu`. `type` may be missing
//! if there is one species. Without `id`, particles are numbered by their rows. `ix iy iz` are the
//! image counts of `x y z` and `xs ys zs`, `vx vy vz` are velocities, and `mass` is the mass of the
//! species. Further columns are skipped, with a note.

mod columns;
mod frames;

use md_scenario::failure::RunError;

use super::error::InputError;
use super::fields::{self, Line, Record};
use super::source::Source;
use super::{Contents, FrameTime, InputParticles};
use columns::Columns;
use frames::Frames;

const PARTICLES: &str = "particles";

/// Name of the section that is missing if a frame is cut off early.
pub(super) const ROWS: &str = "`ITEM: ATOMS`";

/// Reads a frame, counted from 1, or the last one. `name` is used in messages, and `species` are
/// the scenario's names.
///
/// # Errors
/// Returns the first fault, with its line and text, or an error if there is no such frame.
pub fn parse_frame(
    name: &str,
    text: &str,
    species: &[String],
    wanted: Option<u64>,
) -> Result<InputParticles, RunError> {
    read(&Source::given(name, text), species, wanted)
}

/// Reads this rank's particles of a frame, counted from 1, or of the last one. *Collective.*
///
/// # Errors
/// Returns the errors of [`parse_frame`], the same on all ranks, and an error if the file cannot be
/// read or communication fails.
pub fn read(
    source: &Source<'_>,
    species: &[String],
    wanted: Option<u64>,
) -> Result<InputParticles, RunError> {
    let frames = Frames::find(source, wanted)?;
    let frame = frames.checked(source.name, wanted)?;
    let (region, columns) = (frame.region(source.name)?, frame.columns(source.name, species.len())?);
    let (records, mut particles) =
        fields::rows(source, &frames.overview, &frame.rows(), (frame.promised, species), |line, order| {
            row(line, order, &columns, &region, species.len())
        })?;
    particles.velocities = columns.velocity.map(|_| records.iter().map(|record| record.velocity).collect());
    (particles.origin, particles.lengths, particles.periodic) =
        (region.origin, region.lengths, region.periodic);
    (particles.lacks_ids, particles.lacks_types) = (columns.id.is_none(), columns.kind.is_none());
    particles.tells_images = columns.tells_images();
    particles.step = frame.step.parse().ok();
    particles.time = frame.time.parse().ok().map(FrameTime::Double);
    particles.note_unknown_columns(&columns.unknown);
    particles.note_frame(frame.number, frames.count, Some(&frame.step));
    frames.overview.check_end_of_frame(source.name, frame.number, frames.count)?;
    Ok(particles)
}

/// Returns the contents of a file, for `inspect`.
///
/// # Errors
/// Returns the fault of the file or of its last frame.
pub(crate) fn contents(source: &Source<'_>) -> Result<Contents, RunError> {
    let frames = Frames::find(source, None)?;
    let frame = frames.checked(source.name, None)?;
    let region = frame.region(source.name)?;
    Ok(Contents {
        format: "LAMMPS text dump",
        frames: frames.count,
        particles: frame.promised,
        step: Some(frame.step.clone()),
        time: Some(frame.time.clone()).filter(|time| !time.is_empty()),
        units: None,
        origin: region.origin,
        lengths: region.lengths,
        columns: frame.names().to_owned(),
    })
}

/// Reads a particle, and its mass if the file contains it. `order` is the number of the row, from
/// 1.
fn row(
    line: Line<'_>,
    order: u64,
    columns: &Columns,
    region: &frames::Region,
    species: usize,
) -> Result<(Record, Option<f64>), InputError> {
    let fields = line.fields();
    if fields.len() != columns.width {
        return Err(line.columns(fields.len(), &format!("{} as `ITEM: ATOMS` says", columns.width)));
    }
    let largest = u32::try_from(species).unwrap_or(u32::MAX);
    let kind = columns.kind.map_or(Ok(1), |column| line.kind(fields[column], largest, "column type"))?;
    let mut record = Record {
        line: line.number_kept(),
        id: columns.id.map_or(Ok(order), |column| line.id(fields[column], "column id"))?,
        kind,
        position: columns.position(line, &fields, region)?,
        velocity: columns.velocity(line, &fields)?,
        ..Record::default()
    };
    columns.set_images(line, &fields, &mut record)?;
    let mass = columns.mass.map(|column| line.mass(fields[column], kind, "column mass"));
    Ok((record, mass.transpose()?))
}

#[cfg(test)]
mod tests;
