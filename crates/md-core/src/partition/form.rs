//! The word that says which kind of partition the words after it describe.

/// Kind of partition that the words describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(u64)]
pub(super) enum Form {
    /// [`super::Uneven`].
    Planes = 1,
    /// [`super::Pieces`] in storage order.
    Stripes,
    /// [`super::Pieces`] of a Hilbert curve.
    Curve,
    /// [`super::Rcb`].
    Cuts,
    /// [`super::Scattered`]: no more words.
    Scattered,
    /// A table made by METIS.
    Graph,
    /// Any other [`super::Table`].
    Table,
}

impl Form {
    /// Returns the words with this form in front.
    pub(super) fn with(self, words: impl IntoIterator<Item = u64>) -> Vec<u64> {
        std::iter::once(self as u64).chain(words).collect()
    }
}
