//! Frames that are gathered on rank 0 and appended to its file in turn.

use bytemuck::cast_slice;
use md_comm::World;
use md_engine::ObserverError;

use super::frame::{Frame, FrameLayout, FrameRow, OwnParticles, make_room, put_in_order};
use super::{Compression, FrameSink, gzip};
use crate::output::run_output::Opening;
use crate::store::{OutputError, OutputMark, RecordFile};

/// Encoder of frames.
pub(super) trait Encode {
    /// Appends the bytes of a frame of these particles, which are sorted by id.
    ///
    /// # Errors
    /// Returns a description of data that do not fit the format.
    fn encode(&mut self, frame: &Frame, rows: &[FrameRow], bytes: &mut Vec<u8>) -> Result<(), String>;
}

/// A file that grows by whole frames. Each frame is on disk when it has been written.
struct Records<'a, E> {
    world: &'a dyn World,
    compression: Compression,
    encoder: E,
    /// The file, on rank 0.
    file: Option<RecordFile>,
    /// Rows of a frame. Their memory is reused.
    rows: Vec<FrameRow>,
    bytes: Vec<u8>,
}

/// Creates the file, or continues it.
pub(super) fn open<'a, E: Encode + 'a>(
    opening: &Opening<'a>,
    layout: &FrameLayout,
    compression: Compression,
    encoder: E,
) -> Result<Box<dyn FrameSink + 'a>, OutputError> {
    let file = opening.root.as_ref().map(|root| match opening.mark(&layout.path) {
        Some((mark, step)) => root.directory.go_on_with_records(mark, step),
        None => root.directory.create_records(&layout.path, b""),
    });
    let file = file.transpose()?;
    let (rows, bytes) = (Vec::new(), Vec::new());
    Ok(Box::new(Records { world: opening.world, compression, encoder, file, rows, bytes }))
}

impl<E: Encode> FrameSink for Records<'_, E> {
    fn write(&mut self, frame: &Frame, own: &OwnParticles) -> Result<(), ObserverError> {
        let Self { world, compression, encoder, file, rows, bytes } = self;
        gather(*world, own, rows)?;
        let Some(file) = file else { return Ok(()) };
        bytes.clear();
        let failed = |reason| OutputError::Encode { file: "trajectory".to_owned(), reason };
        encoder.encode(frame, rows, bytes).map_err(failed)?;
        Ok(match compression {
            Compression::None => file.append(bytes, frame.step),
            Compression::Gzip => {
                let record = gzip::record(file.end(), bytes)?;
                file.append_with_end(&record, gzip::END, frame.step)
            }
        }?)
    }

    fn mark(&self) -> Result<Option<OutputMark>, ObserverError> {
        Ok(self.file.as_ref().map(RecordFile::mark).transpose()?)
    }

    fn finish(self: Box<Self>) -> Result<(), OutputError> {
        self.file.map_or(Ok(()), RecordFile::finish)
    }
}

/// Gathers all rows on rank 0, sorted by id. On other ranks `rows` has no meaning. *Collective.*
fn gather(world: &dyn World, own: &OwnParticles, rows: &mut Vec<FrameRow>) -> Result<(), ObserverError> {
    let own_rows = (0..own.ids().len()).map(|index| own.row(index));
    if world.ranks() == 1 {
        return Ok(put_in_order(own.ids().iter().copied(), own_rows, rows)?);
    }
    rows.clear();
    make_room(rows, own.ids().len())?;
    rows.extend(own_rows);
    let come = world.gather(0, cast_slice(rows))?;
    let all = come.iter().flat_map(|bytes| bytes.chunks_exact(size_of::<FrameRow>()));
    let all = all.map(bytemuck::pod_read_unaligned::<FrameRow>);
    Ok(put_in_order(all.clone().map(|row| row.id), all, rows)?)
}
