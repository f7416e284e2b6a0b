//! Fallible allocation of large blocks.
//!
//! Code that handles many particles or cells cannot continue without its memory, and a failed
//! allocation would normally abort the process. Here a failed allocation of a large block unwinds
//! instead, without a panic message, up to the call of [`or_error`]. Small allocations are left to
//! the allocator.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The system has not enough memory for a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: there is no room for a block of {bytes} bytes")]
pub struct OutOfMemory {
    /// Size of the block.
    pub bytes: usize,
}

/// Runs `work` and returns an error if it runs out of memory. In that case the data that `work` has
/// changed must not be used.
///
/// # Errors
/// [`OutOfMemory`].
pub fn or_error<R>(work: impl FnOnce() -> R) -> Result<R, OutOfMemory> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast() {
        Ok(error) => *error,
        Err(panic) => resume_unwind(panic),
    })
}

/// Reserves room for `more` further elements.
#[inline]
pub(crate) fn reserve<T>(block: &mut Vec<T>, more: usize) {
    if block.capacity() - block.len() < more && block.try_reserve(more).is_err() {
        fail(block, more);
    }
}

/// Appends one element.
#[inline]
pub(crate) fn push<T>(block: &mut Vec<T>, element: T) {
    reserve(block, 1);
    block.push(element);
}

/// Returns an empty block with room for exactly this number of elements.
pub(crate) fn with_capacity<T>(elements: usize) -> Vec<T> {
    let mut block = Vec::new();
    if block.try_reserve_exact(elements).is_err() {
        fail(&block, elements);
    }
    block
}

/// Resizes a block to `elements` elements.
pub(crate) fn resize<T: Clone>(block: &mut Vec<T>, elements: usize, value: T) {
    reserve(block, elements.saturating_sub(block.len()));
    block.resize(elements, value);
}

#[cold]
fn fail<T>(block: &[T], more: usize) -> ! {
    let bytes = block.len().saturating_add(more).saturating_mul(size_of::<T>());
    resume_unwind(Box::new(OutOfMemory { bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aligned::Column;

    #[test]
    fn a_column_that_does_not_fit_is_an_error_that_names_its_size() {
        let error = or_error(|| Column::<f64>::default().set_len(usize::MAX / 32)).unwrap_err();
        assert!(error.bytes > usize::MAX / 4, "{error}");
        let text = OutOfMemory { bytes: 4096 }.to_string();
        assert_eq!(text, "out of memory: there is no room for a block of 4096 bytes");
    }

    #[test]
    fn other_panics_go_on() {
        let panic = catch_unwind(|| or_error(|| resume_unwind(Box::new("another")))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"another"));
        assert_eq!(or_error(|| 7), Ok(7));
    }
}
