//! Advice to the system about memory, which has no safe form. In a build without MPI nothing is
//! unsafe, and none is given.

#[cfg(feature = "mpi")]
mod large_pages;

#[cfg(feature = "mpi")]
pub use large_pages::prefer_large_pages;

/// Asks the system for large pages for memory that has not been written to. Does nothing in a build
/// without MPI, because the request needs unsafe code.
#[cfg(not(feature = "mpi"))]
pub fn prefer_large_pages<T>(_: &mut [T]) {}
