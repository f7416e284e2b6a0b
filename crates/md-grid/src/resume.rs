//! Checkpoint and restart: the state that later steps depend on, as words that a file can hold.
//!
//! The state has one row of numbers per own node, as bits of `f64`, and words that are equal on all
//! ranks. Rows belong to nodes, not to ranks, so a run can resume on any decomposition, with the
//! same bits.

use crate::GridError;

/// State that can be saved and restored.
pub trait Resumable {
    /// Returns the number of words per node.
    fn words_per_node(&self) -> usize;

    /// Appends the numbers of an own node; indices are relative to the first own node.
    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>);

    /// Restores the numbers of an own node, before the first step.
    fn restore_node(&mut self, node: [usize; 3], words: &[u64]);

    /// Returns the words that are equal on all ranks, after a call of [`crate::Application::row`].
    fn shared_words(&self) -> Vec<u64>;

    /// Restores the shared words, after the numbers of all nodes. *Collective.*
    ///
    /// # Errors
    /// [`GridError::Shape`] if the words are not those of such a state; [`GridError::NothingLeft`]
    /// if no step remains; communication errors.
    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError>;
}

/// Returns the words if there are exactly `COUNT` of them.
///
/// # Errors
/// [`GridError::Shape`].
pub(crate) fn expect_words<const COUNT: usize>(words: &[u64]) -> Result<[u64; COUNT], GridError> {
    let foreign = || GridError::Shape("its state is not one of this version of md".to_owned());
    words.try_into().map_err(|_| foreign())
}
