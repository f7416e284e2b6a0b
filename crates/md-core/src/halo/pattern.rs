//! The patterns of the exchange.

/// Exchange pattern: direct or staged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, strum::VariantArray)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum ExchangePattern {
    /// One message per neighbour.
    // Every ghost comes from its owner: up to 26 partners, one latency.
    #[default]
    Direct,
    /// x, then y, then z; corners are forwarded.
    // Up to two partners and one latency per dimension.
    Staged,
}

/// ```
/// use md_core::partition::Rect;
/// use md_core::{Boundary, CellGrid, Dimension, Domain, ExchangePattern, HaloPlan};
/// use md_core::{Partition, Shell};
/// use std::sync::Arc;
///
/// let (origin, lengths, boundary) = ([0.0; 3], [9.0; 3], [Boundary::Periodic; 3]);
/// let domain = Domain { dimension: Dimension::Three, origin, lengths, boundary };
/// let grid = CellGrid::new(domain, [3; 3]);
/// let partition: Partition = Arc::new(Rect { grid: [3; 3] });
/// let messages = |pattern| {
///     let offsets = Shell::Full.offsets(Dimension::Three);
///     let plan = HaloPlan::new(&grid, &partition, &offsets, pattern, 0);
///     plan.stages.iter().map(|stage| stage.edges.len()).sum::<usize>()
/// };
/// // One message to each of the 26 neighbours, or two in each dimension.
/// assert_eq!(messages(ExchangePattern::Direct), 26);
/// assert_eq!(messages(ExchangePattern::Staged), 6);
/// ```
impl ExchangePattern {
    /// All patterns, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}
