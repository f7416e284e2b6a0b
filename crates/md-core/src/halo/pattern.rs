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

impl ExchangePattern {
    /// All patterns, in the order of their declaration.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}
