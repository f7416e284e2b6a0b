//! Stopping and going on: what later steps depend on, as words that a file can hold.
//!
//! Every own node has a row of numbers, by the bits of their `f64`; and there are words that all ranks have alike. Rows belong to nodes
//! and not to ranks, so a run goes on from them on any decomposition, with the same bits.

use crate::GridError;

/// What can be stopped and gone on with.
pub trait Resumable {
    /// Numbers per node.
    fn words_per_node(&self) -> usize;

    /// Appends the numbers of an own node, counted from the first own one.
    fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>);

    /// Gives an own node its numbers back, before the first step.
    fn restore_node(&mut self, node: [usize; 3], words: &[u64]);

    /// What all ranks have alike, after a [`crate::Application::row`].
    fn shared_words(&self) -> Vec<u64>;

    /// Goes on from there, once all nodes have their numbers. *Collective.*
    ///
    /// # Errors
    /// [`GridError::Shape`] where these are not the words of such a state; [`GridError::NothingLeft`] where no step follows;
    /// communication.
    fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError>;
}

/// So many words, and no others.
///
/// # Errors
/// [`GridError::Shape`].
pub(crate) fn expect_words<const COUNT: usize>(words: &[u64]) -> Result<[u64; COUNT], GridError> {
    let foreign = || GridError::Shape("its state is not one of this version of md".to_owned());
    words.try_into().map_err(|_| foreign())
}
