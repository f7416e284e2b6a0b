//! A file that all ranks of a communicator write (MPI-IO, MPI-3.1 chapter 13).
#![expect(unsafe_code, reason = "raw MPI calls; rules in the parent module")]

use std::ffi::{CString, c_int};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use mpi::ffi;

use super::{Call, Communicator, blank_status, byte, check, guarded};
use crate::CommError;

/// An open file. Only [`Self::close`] closes it, because closing is collective and `Drop` also runs
/// when another rank has ended. Calls on files return their errors unless the program sets another
/// error handler (section 13.7).
#[derive(Debug)]
pub(in crate::mpi) struct OpenFile {
    raw: ffi::MPI_File,
    /// Handles are plain integers in some libraries; MPI calls are funneled through one thread.
    one_thread: PhantomData<*mut ()>,
}

impl OpenFile {
    /// Opens an existing file for writing. *Collective.* Section 13.2.1.
    pub(in crate::mpi) fn open(communicator: &Communicator, path: &Path) -> Result<Self, CommError> {
        const CALL: &str = "MPI_File_open";
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| CommError::Mpi {
            call: CALL,
            message: "the name of the file has a zero in it".to_owned(),
        })?;
        let mode = ffi::MPI_MODE_WRONLY as c_int;
        // SAFETY: the communicator is valid while MPI runs (witness); the name ends with a zero and
        // outlives the call, which copies it; one handle is written.
        // Test: suite.
        unsafe {
            let mut raw = ffi::RSMPI_FILE_NULL;
            guarded(Call::MPI_File_open, || {
                ffi::MPI_File_open(communicator.raw, name.as_ptr(), mode, ffi::RSMPI_INFO_NULL, &raw mut raw)
            })?;
            Ok(Self { raw, one_thread: PhantomData })
        }
    }

    /// Writes bytes at an offset, or only the first of them; returns how many. Section 13.4.2.
    pub(in crate::mpi) fn write_at(&self, bytes: &[u8], at: u64) -> Result<usize, CommError> {
        /// Most bytes of one call: counts are 32 bits wide, and system calls end at 2 GiB.
        const MOST: usize = 1 << 28;
        let bytes = &bytes[..bytes.len().min(MOST)];
        let (mut status, mut written) = (blank_status(), 0);
        let at = ffi::MPI_Offset::try_from(at).map_err(|_| CommError::Mpi {
            call: "MPI_File_write_at",
            message: format!("byte {at} is beyond what a file can hold"),
        })?;
        // SAFETY: the handle is open; the bytes are read during the call alone; a status and an
        // integer are written.
        // Test: suite.
        unsafe {
            let count = bytes.len() as c_int;
            let code =
                ffi::MPI_File_write_at(self.raw, at, bytes.as_ptr().cast(), count, byte(), &raw mut status);
            check("MPI_File_write_at", code)?;
            check("MPI_Get_count", ffi::MPI_Get_count(&raw const status, byte(), &raw mut written))?;
        }
        Ok(usize::try_from(written).unwrap_or_default().min(bytes.len()))
    }

    /// Flushes what this rank has written to disk. *Collective.* Section 13.6.1.
    pub(in crate::mpi) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: the handle is open.
        // Test: suite.
        guarded(Call::MPI_File_sync, || unsafe { ffi::MPI_File_sync(self.raw) })
    }

    /// Closes the file. *Collective.* Section 13.2.2.
    pub(in crate::mpi) fn close(mut self) -> Result<(), CommError> {
        // SAFETY: the handle is open, and the value that has it is consumed.
        // Test: suite.
        guarded(Call::MPI_File_close, || unsafe { ffi::MPI_File_close(&raw mut self.raw) })
    }
}
