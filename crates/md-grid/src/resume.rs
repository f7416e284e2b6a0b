//! Checkpoint and restart: the state that later steps depend on, as words that a file can hold.
//!
//! The state has one row of numbers per own node, as bits of `f64`, and words that are equal on all
//! ranks. Rows belong to nodes, not to ranks, so a run can resume on any decomposition, with the
//! same bits.

use crate::GridError;

/// State that can be saved and restored.
///
/// ```
/// use md_grid::{Field, GridError, Layout, Resumable};
///
/// struct Heat {
///     temperature: Field<f64>,
///     steps: u64,
/// }
///
/// impl Resumable for Heat {
///     fn words_per_node(&self) -> usize {
///         self.temperature.components()
///     }
///     fn append_node(&self, node: [usize; 3], words: &mut Vec<u64>) {
///         self.temperature.append_node(node, words);
///     }
///     fn restore_node(&mut self, node: [usize; 3], words: &[u64]) {
///         self.temperature.restore_node(node, words);
///     }
///     fn shared_words(&self) -> Vec<u64> {
///         vec![self.steps]
///     }
///     fn restore_shared(&mut self, words: &[u64]) -> Result<(), GridError> {
///         self.steps = *words.first().ok_or_else(|| GridError::Shape("no steps".to_owned()))?;
///         Ok(())
///     }
/// }
///
/// let layout = Layout::new([1, 1, 2], [0; 3], size_of::<f64>())?;
/// let mut heat = Heat { temperature: Field::new(layout, 1)?, steps: 7 };
/// heat.temperature.fill_own(|_, [_, _, z]| 300.0 + z as f64);
/// let mut words = Vec::new();
/// heat.append_node([0, 0, 1], &mut words);
///
/// let mut resumed = Heat { temperature: Field::new(layout, 1)?, steps: 0 };
/// resumed.restore_node([0, 0, 1], &words);
/// resumed.restore_shared(&heat.shared_words())?;
/// assert_eq!(resumed.temperature.component(0)[layout.index([0, 0, 1])], 301.0);
/// assert_eq!(resumed.steps, 7);
/// # Ok::<(), GridError>(())
/// ```
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
