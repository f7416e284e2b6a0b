//! AMBER's `NetCDF` convention (version 1.0), readable by OVITO, ASE, `MDAnalysis`, VMD and others.
//!
//! All ranks write a part of every frame at its own place in the file, by MPI-IO like checkpoints.
//! The folder must therefore be on a file system that all of them can access. Particles are in the
//! order of their ids, so each rank receives the particles of a range of ids; the place of its part
//! follows from the number of particles in the ranges of lower ranks. The number of frames in the
//! header grows when a frame is complete, so that a killed run leaves whole frames.
//!
//! The convention prescribes names of units, which readers require; the numbers are in reduced
//! units. Positions, velocities and forces are `f32` as in the convention, unless the scenario
//! requests `f64`.

mod schema;
mod slabs;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable, cast_slice};
use md_comm::{Reduction, SharedFile, World};
use md_engine::ObserverError;
use md_scenario::TrajectoryFormat;

use super::frame::{Frame, FrameLayout, OwnParticles};
use super::{Compression, Format, FrameSink};
use crate::input;
use crate::netcdf::{Header, MOST_RECORDS, RECORDS_AT, Variable};
use crate::output::gathers::Gathers;
use crate::output::run_output::Opening;
use crate::store::{Intact, OutputError, OutputMark, RecordFile};
use schema::{ATOM, bytes_of, header_of};
use slabs::{Column, Slabs};

/// The format `.nc`.
pub(super) const FORMAT: Format = Format {
    properties: TrajectoryFormat::Netcdf.properties(),
    contents: input::netcdf::contents,
    frames: input::FrameReader::Netcdf,
    gathers: Gathers::Nothing,
    farthest: f64::INFINITY,
    is_own: |head| head.starts_with(b"CDF\x02") && head.windows(9).any(|name| name == b"atom_type"),
    open,
};

/// The part of the file that one rank writes.
struct Netcdf<'a> {
    world: &'a dyn World,
    layout: FrameLayout,
    header: Header,
    /// Slabs of the columns, from the first frame on.
    slabs: Option<Slabs>,
    /// The file that this rank writes, from the first frame on.
    file: Option<OwnFile>,
    /// The file on rank 0.
    root: Option<RecordFile>,
}

struct OwnFile {
    path: PathBuf,
    file: Box<dyn SharedFile>,
}

fn open<'a>(
    opening: &Opening<'a>,
    layout: FrameLayout,
    _: Compression,
) -> Result<Box<dyn FrameSink + 'a>, OutputError> {
    let mut header = header_of(&layout, opening.subject.atoms);
    let too_large = || OutputError::Encode {
        file: layout.path.clone(),
        reason: "a column of a frame is larger than 4 GiB, which the format cannot hold".to_owned(),
    };
    let first = header.laid_out().ok_or_else(too_large)?;
    let Opening { world, root, .. } = opening;
    let root = root.as_ref().map(|root| match opening.mark(&layout.path) {
        Some((mark, step)) => {
            let file = root.directory.go_on_with_records(mark, step)?;
            header.records = frames_at(&header, mark.bytes);
            expect_same(&file, &first)?;
            let open = File::options().write(true).open(file.path());
            let written = open.and_then(|own| write_records(&header, &own));
            written.map_err(|reason| file.write_error(reason))?;
            Ok(file)
        }
        // The checksum excludes the header, because it contains the number of frames.
        None => Ok(root.directory.create_records(&layout.path, &first)?.with_changing_head()),
    });
    let root = root.transpose()?;
    Ok(Box::new(Netcdf { world: *world, layout, header, slabs: None, file: None, root }))
}

/// Returns the number of whole frames in a file of `bytes` bytes.
fn frames_at(header: &Header, bytes: u64) -> u64 {
    let (begin, record) = (header.records_begin(), header.record_bytes());
    begin.zip(record).map_or(0, |(begin, record)| bytes.saturating_sub(begin) / record.max(1))
}

/// Checks that a file that is to be continued has the same columns and number of particles.
fn expect_same(file: &RecordFile, first: &[u8]) -> Result<(), OutputError> {
    let path = file.path();
    let mut found = vec![0; first.len()];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut found, 0));
    let behind = RECORDS_AT as usize + 4;
    match read {
        Ok(()) if found[behind..] == first[behind..] => Ok(()),
        _ => Err(OutputError::NotContinued {
            path: path.to_owned(),
            reason: "it has other columns or another number of particles".to_owned(),
        }),
    }
}

/// Writes the number of frames into the header.
fn write_records(header: &Header, file: &File) -> io::Result<()> {
    file.write_all_at(&u32::try_from(header.records).unwrap_or(u32::MAX).to_be_bytes(), RECORDS_AT)
}

impl FrameSink for Netcdf<'_> {
    fn write(&mut self, frame: &Frame, own: &OwnParticles) -> Result<(), ObserverError> {
        self.open_file()?;
        self.fill_slabs(own)?;
        let written = self.write_part(frame);
        let mut failures = [u64::from(written.is_err())];
        self.world.reduce(&mut failures, Reduction::Highest)?;
        let sums = written?;
        self.header.records += 1;
        if failures != [0] {
            return Ok(());
        }
        let sums = self.world.gather(0, cast_slice(&sums))?;
        let complete = |root| complete(&self.header, root, &sums, frame.step);
        Ok(self.root.as_mut().map_or(Ok(()), complete)?)
    }

    fn mark(&self) -> Result<Option<OutputMark>, ObserverError> {
        let synced = self
            .file
            .as_ref()
            .map_or(Ok(()), |own| own.file.sync().map_err(|reason| failed(&own.path, reason)));
        self.world.barrier()?;
        synced?;
        Ok(self.root.as_ref().map(RecordFile::mark).transpose()?)
    }

    fn finish(self: Box<Self>) -> Result<(), OutputError> {
        let close = |OwnFile { path, file }| file.close().map_err(|reason| failed(&path, reason));
        let closed = self.file.map_or(Ok(()), close);
        self.root.map_or(Ok(()), RecordFile::finish)?;
        closed
    }
}

/// Includes the frame in the number of frames of the file. `sums` are the checksums of the parts
/// that each rank has written.
fn complete(header: &Header, root: &mut RecordFile, sums: &[Vec<u8>], step: u64) -> Result<(), OutputError> {
    let end = header.records_begin().zip(header.record_bytes());
    let end = end.map_or(0, |(begin, record)| begin + header.records * record);
    let count = |file: File| {
        file.set_len(end)?;
        write_records(header, &file)
    };
    let counted = File::options().write(true).open(root.path()).and_then(count);
    counted.map_err(|reason| root.write_error(reason))?;
    root.has_grown_by(&PartSum::joined(sums, root.bytes()..end), step);
    Ok(())
}

/// Checksum of the bytes that a rank has written at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct PartSum {
    place: u64,
    bytes: u64,
    checksum: u64,
}

impl PartSum {
    fn of(bytes: &[u8], place: u64) -> Self {
        Self { place, bytes: bytes.len() as u64, checksum: crc32fast::hash(bytes).into() }
    }

    /// Returns the checksum of a range of the file that consists of parts of all ranks, with zeros
    /// between them.
    fn joined(of_ranks: &[Vec<u8>], range: Range<u64>) -> crc32fast::Hasher {
        let words = of_ranks.iter().flat_map(|bytes| bytes.chunks_exact(size_of::<Self>()));
        let mut parts: Vec<Self> = words.map(bytemuck::pod_read_unaligned).collect();
        parts.sort_unstable_by_key(|part| part.place);
        parts.push(Self { place: range.end, bytes: 0, checksum: 0 });
        let mut sum = crc32fast::Hasher::new();
        for Self { place, bytes, checksum } in parts {
            let padding = place.saturating_sub(range.start + sum.total_len());
            sum.update(&vec![0; padding as usize]);
            sum.combine(&crc32fast::Hasher::new_with_initial_len(checksum as u32, bytes));
        }
        sum
    }
}

fn failed(path: &Path, reason: io::Error) -> OutputError {
    OutputError::Write { path: path.to_owned(), reason, intact: Intact::EarlierFrames }
}

impl Netcdf<'_> {
    /// Opens the file that rank 0 has created, and receives the number of frames from it.
    /// *Collective.*
    fn open_file(&mut self) -> Result<(), ObserverError> {
        if self.file.is_some() {
            return Ok(());
        }
        let path = self.root.as_ref().map(|root| std::path::absolute(root.path())).transpose()?;
        let mut message = path.map_or_else(Vec::new, |path| {
            [&self.header.records.to_be_bytes()[..], path.as_os_str().as_encoded_bytes()].concat()
        });
        self.world.broadcast(0, &mut message)?;
        let Some((records, path)) = message.split_first_chunk() else { return Ok(()) };
        self.header.records = u64::from_be_bytes(*records);
        let path = PathBuf::from(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
        let opened = self.world.open_file(&path).map_err(|reason| failed(&path, reason));
        let mut failures = [u64::from(opened.is_err())];
        self.world.reduce(&mut failures, Reduction::Highest)?;
        match opened? {
            file if failures == [0] => self.file = Some(OwnFile { file, path }),
            // Opening failed on another rank, which ends the run.
            _ => (),
        }
        Ok(())
    }

    /// Collects the values that this rank writes. *Collective.*
    fn fill_slabs(&mut self, own: &OwnParticles) -> Result<(), ObserverError> {
        let Self { world, header, layout, slabs, .. } = self;
        let slabs = match slabs {
            Some(slabs) => slabs,
            None => slabs.insert(Slabs::new(*world, own.ids())?),
        };
        slabs.fill(*world, layout, own, &columns_of(header))
    }

    /// Writes the part of a frame that belongs to this rank.
    fn write_part(&self, frame: &Frame) -> Result<Vec<PartSum>, OutputError> {
        let (Self { header, root, .. }, Some(slabs), Some(OwnFile { path, file })) =
            (self, &self.slabs, &self.file)
        else {
            return Ok(Vec::new());
        };
        let mut sums = Vec::new();
        let mut write = |variable: &Variable, before: u64, bytes: &[u8]| {
            let full = || failed(path, io::Error::other("it cannot hold more frames"));
            let place = header.place(variable, header.records, 0).filter(|_| header.records <= MOST_RECORDS);
            let place = place.and_then(|place| place.checked_add(before)).ok_or_else(full)?;
            sums.push(PartSum::of(bytes, place));
            file.write_at(bytes, place).map_err(|reason| failed(path, reason))
        };
        if root.is_some() {
            let mut of_all = written_now(header).filter(|variable| !is_of_particles(header, variable));
            of_all.try_for_each(|variable| write(variable, 0, &bytes_of(variable, frame)))?;
        }
        for (Column { variable, bytes }, slab) in columns_of(header).into_iter().zip(slabs.columns()) {
            write(variable, slabs.before * bytes as u64, slab)?;
        }
        Ok(sums)
    }
}

/// Returns the variables that have values in the next record. The first record also has those
/// without records.
fn written_now(header: &Header) -> impl Iterator<Item = &Variable> {
    let is_written = |variable: &&Variable| header.records == 0 || header.has_records(variable);
    header.variables.iter().filter(is_written)
}

fn is_of_particles(header: &Header, variable: &Variable) -> bool {
    header.dimensions_of(variable).any(|name| name == ATOM)
}

/// Returns the columns among these variables.
fn columns_of(header: &Header) -> Vec<Column<'_>> {
    let particles = header.length(ATOM).unwrap_or_default();
    let bytes = |variable: &Variable| {
        let values = header.values(variable)?.checked_div(particles)?;
        Some((values * variable.kind.bytes()) as usize)
    };
    let columns = written_now(header).filter(|variable| is_of_particles(header, variable));
    columns.map(|variable| Column { variable, bytes: bytes(variable).unwrap_or_default() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_in_any_order_with_padding_between_have_the_checksum_of_the_whole() {
        let part = |bytes: &[u8], place| bytemuck::bytes_of(&PartSum::of(bytes, place)).to_vec();
        let of_ranks = [[part(b"def", 108), part(b"", 111)].concat(), part(b"abcd", 100)];
        let sum = PartSum::joined(&of_ranks, 100..112);
        assert_eq!((sum.total_len(), sum.finalize()), (12, crc32fast::hash(b"abcd\0\0\0\0def\0")));
    }
}
