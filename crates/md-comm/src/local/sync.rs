//! The locks of `local`: the standard library's, or those of a model checker that explores all
//! their interleavings.

#[cfg(all(test, loom))]
pub(super) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
