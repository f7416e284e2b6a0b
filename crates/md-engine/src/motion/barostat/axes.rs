//! Axes along which a barostat changes the box.

use md_core::Dimension;

use crate::error::KeyFault;

/// Lengths of the box that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(untagged), schemars(inline))]
pub enum CoupledAxes {
    /// A name.
    Named(NamedAxes),
    /// A list of axes, each by its own pressure.
    Listed(#[cfg_attr(feature = "serde", schemars(with = "Vec<BoxAxis>"))] ListedAxes),
}

impl Default for CoupledAxes {
    fn default() -> Self {
        Self::Named(NamedAxes::Isotropic)
    }
}

/// Names for the lengths of the box that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum NamedAxes {
    /// All by one factor, by the mean of the diagonal pressures.
    Isotropic,
    /// Each by its own pressure.
    Xyz,
    /// Only x.
    X,
    /// Only y.
    Y,
    /// Only z.
    Z,
    /// x and y, each by its own pressure.
    Xy,
    /// x and z, each by its own pressure.
    Xz,
    /// y and z, each by its own pressure.
    Yz,
}

/// An axis of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase")
)]
pub enum BoxAxis {
    /// Along x.
    X,
    /// Along y.
    Y,
    /// Along z.
    Z,
}

/// Axes as given in a list, in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<BoxAxis>", into = "Vec<BoxAxis>"))]
pub struct ListedAxes {
    /// Number of times each axis is listed.
    counts: [u8; 3],
}

impl From<Vec<BoxAxis>> for ListedAxes {
    fn from(list: Vec<BoxAxis>) -> Self {
        let mut counts = [0_u8; 3];
        list.into_iter().for_each(|axis| counts[axis as usize] = counts[axis as usize].saturating_add(1));
        Self { counts }
    }
}

impl From<ListedAxes> for Vec<BoxAxis> {
    fn from(ListedAxes { counts }: ListedAxes) -> Self {
        let named = [BoxAxis::X, BoxAxis::Y, BoxAxis::Z].into_iter().zip(counts);
        named.flat_map(|(axis, count)| std::iter::repeat_n(axis, count.into())).collect()
    }
}

impl ListedAxes {
    /// Checks that no axis is listed twice and that at least one is listed.
    pub(super) fn check(self) -> Result<(), KeyFault> {
        let fault = |problem: String| Err(KeyFault { key: "barostat.axes", problem });
        let repeated = ['x', 'y', 'z'].into_iter().zip(self.counts).find(|(_, count)| *count > 1);
        match repeated {
            Some((axis, _)) => fault(format!("names {axis} more than once")),
            None if self.counts == [0; 3] => fault("names no axis".to_owned()),
            None => Ok(()),
        }
    }
}

impl CoupledAxes {
    /// Returns which of x, y and z change in a space of this dimension.
    pub(super) fn coupled(self, dimension: Dimension) -> [bool; 3] {
        let chosen = match self {
            Self::Named(name) => name.axes(),
            Self::Listed(ListedAxes { counts }) => counts.map(|count| count > 0),
        };
        [0, 1, 2].map(|dim| chosen[dim] && dim < dimension.count())
    }
}

impl NamedAxes {
    fn axes(self) -> [bool; 3] {
        match self {
            Self::Isotropic | Self::Xyz => [true; 3],
            Self::X => [true, false, false],
            Self::Y => [false, true, false],
            Self::Z => [false, false, true],
            Self::Xy => [true, true, false],
            Self::Xz => [true, false, true],
            Self::Yz => [false, true, true],
        }
    }
}
