//! AMBER's `NetCDF` convention (version 1.0), readable by OVITO, ASE, `MDAnalysis`, VMD and others.
//!
//! All ranks write, each a part of every frame at its own place in the file, by positioned writes as for checkpoints: the folder has to be on a file system that
//! all of them see. Particles stand in the order of their ids, so each rank is given those of a range of ids; where its part begins follows
//! from how many the ranks before it have. The number of frames in the header grows when a frame is complete: a run that is killed leaves
//! whole frames.
//!
//! The convention prescribes names of units, which readers insist on; the numbers are in reduced units. Positions, velocities and forces are `f32`, as the convention
//! wants it, unless the scenario asks for `f64`.

mod schema;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use md_comm::{Rank, Reduction, World, deliver_items};
use md_engine::ObserverError;

use super::frame::{Frame, FrameLayout, FrameRow, put_in_order};
use super::{COLUMNS_BUT_MOMENTUM, Compressible, Compression, Format, FrameSink};
use crate::checkpoint::{OutputMark, sum_before};
use crate::input;
use crate::memory::Gathers;
use crate::netcdf::{Header, MOST_RECORDS, RECORDS_AT};
use crate::output::run_output::Opening;
use crate::output::{Intact, OutputError, RecordFile};
use crate::scenario::{TrajectoryColumn, TrajectoryPrecision};
use schema::{ATOM, bytes_of, header_of};

/// `.nc`
pub(super) const FORMAT: Format = Format {
    extension: ".nc",
    compression: Compressible::No,
    columns: COLUMNS_BUT_MOMENTUM,
    default_columns: &[TrajectoryColumn::Velocity],
    default_precision: Some(TrajectoryPrecision::Single),
    contents: input::netcdf::contents,
    frames: input::FrameReader::Netcdf,
    gathers: Gathers::Nothing,
    is_own: |head| head.starts_with(b"CDF\x02") && head.windows(9).any(|name| name == b"atom_type"),
    open,
};

/// One rank's part of the file.
struct Netcdf<'a> {
    world: &'a dyn World,
    layout: FrameLayout,
    header: Header,
    /// The smallest and the largest id of all particles, once they have been seen.
    ids: Option<[u64; 2]>,
    /// Where this rank writes, once it is known.
    file: Option<OwnFile>,
    /// On rank 0.
    root: Option<RecordFile>,
}

struct OwnFile {
    path: PathBuf,
    file: File,
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
            write_records(&header, &file)?;
            Ok(file)
        }
        None => root.directory.create_records(&layout.path, &first),
    });
    let root = root.transpose()?;
    Ok(Box::new(Netcdf { world: *world, layout, header, ids: None, file: None, root }))
}

/// Whole frames in a file of so many bytes.
fn frames_at(header: &Header, bytes: u64) -> u64 {
    let (begin, record) = (header.records_begin(), header.record_bytes());
    begin.zip(record).map_or(0, |(begin, record)| bytes.saturating_sub(begin) / record.max(1))
}

/// Whether a file that is to go on has the same columns and particles.
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

/// Says in the header how many frames there are.
fn write_records(header: &Header, file: &RecordFile) -> Result<(), OutputError> {
    let records = u32::try_from(header.records).unwrap_or(u32::MAX).to_be_bytes();
    let open = File::options().write(true).open(file.path());
    open.and_then(|own| own.write_all_at(&records, RECORDS_AT)).map_err(|reason| file.write_error(reason))
}

impl FrameSink for Netcdf<'_> {
    fn write(&mut self, frame: &Frame, own: Vec<FrameRow>) -> Result<(), ObserverError> {
        let rows = self.in_order(own)?;
        let before = sum_before(rows.len() as u64, self.world)?;
        self.open_file()?;
        let written = self.write_part(frame, &rows, before);
        let mut failures = [u64::from(written.is_err())];
        self.world.reduce(&mut failures, Reduction::Highest)?;
        written?;
        self.header.records += 1;
        match &mut self.root {
            Some(root) if failures == [0] => Ok(complete(&self.header, root, frame.step)?),
            _ => Ok(()),
        }
    }

    fn mark(&self) -> Result<Option<OutputMark>, ObserverError> {
        let synced = self
            .file
            .as_ref()
            .map_or(Ok(()), |own| own.file.sync_data().map_err(|reason| failed(&own.path, reason)));
        self.world.barrier()?;
        synced?;
        Ok(self.root.as_ref().map(RecordFile::mark).transpose()?)
    }

    fn finish(self: Box<Self>) -> Result<(), OutputError> {
        self.root.map_or(Ok(()), RecordFile::finish)
    }
}

/// The frame counts from now on.
fn complete(header: &Header, root: &mut RecordFile, step: u64) -> Result<(), OutputError> {
    let end = header.records_begin().zip(header.record_bytes());
    let end = end.map_or(0, |(begin, record)| begin + header.records * record);
    let open = File::options().write(true).open(root.path());
    open.and_then(|own| own.set_len(end)).map_err(|reason| root.write_error(reason))?;
    write_records(header, root)?;
    root.has_grown_to(end, step);
    Ok(())
}

fn failed(path: &Path, reason: io::Error) -> OutputError {
    OutputError::Write { path: path.to_owned(), reason, intact: Intact::EarlierFrames }
}

impl Netcdf<'_> {
    /// The rows of all ranks, of which this rank has a range of ids, in their order. *Collective.*
    fn in_order(&mut self, own: Vec<FrameRow>) -> Result<Vec<FrameRow>, ObserverError> {
        let Self { world, ids, .. } = self;
        let [lowest, highest] = match *ids {
            Some(ids) => ids,
            None => {
                let all = || own.iter().map(|row| row.id);
                let mut words = [!all().min().unwrap_or(u64::MAX), all().max().unwrap_or(0)];
                world.reduce(&mut words, Reduction::Highest)?;
                *ids.insert([!words[0], words[1]])
            }
        };
        if highest > i32::MAX as u64 {
            return Err(format!("id {highest} is larger than `.nc` can hold: choose another format").into());
        }
        let ranks = world.ranks() as u64;
        let owner = |id: u64| ((id - lowest) * ranks / (highest - lowest + 1)) as Rank;
        let mut rows = match ranks {
            1 => own,
            _ => deliver_items(*world, own.into_iter().map(|row| (owner(row.id), row)))?,
        };
        put_in_order(&mut rows);
        Ok(rows)
    }

    /// Opens the file that rank 0 has made, and hears from it how many frames there are. *Collective.*
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
        let opened = File::options().write(true).open(&path).map_err(|reason| failed(&path, reason));
        self.file = Some(OwnFile { file: opened?, path });
        Ok(())
    }

    /// This rank's values of all variables, so many particles after the first.
    fn write_part(&self, frame: &Frame, rows: &[FrameRow], before: u64) -> Result<(), OutputError> {
        let (Self { header, layout, .. }, Some(OwnFile { path, file })) = (self, &self.file) else {
            return Ok(());
        };
        let record = header.records;
        let full = || failed(path, io::Error::other("it cannot hold more frames"));
        if record > MOST_RECORDS {
            return Err(full());
        }
        let is_first = record == 0;
        let is_root = self.root.is_some();
        for variable in &header.variables {
            let is_of_all = !header.dimensions_of(variable).any(|name| name == ATOM);
            let is_written = (is_first || header.has_records(variable)) && (is_root || !is_of_all);
            if !is_written {
                continue;
            }
            let bytes = bytes_of(layout, variable, frame, rows);
            let of_particle = header.values(variable).zip(header.length(ATOM));
            let of_particle = of_particle.and_then(|(values, atoms)| values.checked_div(atoms)).unwrap_or(0);
            let first = if is_of_all { 0 } else { before * of_particle };
            let place = header.place(variable, record, first).ok_or_else(full)?;
            file.write_all_at(&bytes, place).map_err(|reason| failed(path, reason))?;
        }
        Ok(())
    }
}
