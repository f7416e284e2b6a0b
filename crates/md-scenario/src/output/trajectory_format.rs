//! Formats of trajectories, as far as a scenario depends on them.

use super::trajectory::{Trajectory, TrajectoryColumn, TrajectoryPrecision};

/// Suffix of the extension of a compressed text format.
const COMPRESSED: &str = ".gz";

/// Columns of formats that have no momenta in addition to velocities.
const COLUMNS_BUT_MOMENTUM: &[TrajectoryColumn] = &[
    TrajectoryColumn::Velocity,
    TrajectoryColumn::Mass,
    TrajectoryColumn::Images,
    TrajectoryColumn::Force,
    TrajectoryColumn::Energy,
];

/// A format of trajectories.
///
/// ```
/// use md_scenario::{Compression, TrajectoryFormat};
///
/// let gzip = Some((TrajectoryFormat::Extxyz, Compression::Gzip));
/// assert_eq!(TrajectoryFormat::of_path("melt.extxyz.gz"), gzip);
/// // An .xtc file is dense already.
/// assert_eq!(TrajectoryFormat::of_path("melt.xtc.gz"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub enum TrajectoryFormat {
    /// Extended XYZ.
    Extxyz,
    /// Text dump of LAMMPS.
    Lammpstrj,
    /// `NetCDF` in the AMBER convention.
    Netcdf,
    /// Compressed trajectory of GROMACS.
    Xtc,
}

/// Properties of a format.
///
/// ```
/// use md_scenario::{TrajectoryColumn, TrajectoryFormat};
///
/// // GROMACS's format has positions only.
/// let xtc = TrajectoryFormat::Xtc.properties();
/// assert_eq!(xtc.extension, ".xtc");
/// assert!(!xtc.columns.contains(&TrajectoryColumn::Velocity));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatProperties {
    /// Extension with its dot.
    pub extension: &'static str,
    /// Whether its files may be compressed.
    pub compression: Compressible,
    /// Columns of each particle that it supports, other than id, type and position.
    pub columns: &'static [TrajectoryColumn],
    /// Default columns.
    pub default_columns: &'static [TrajectoryColumn],
    /// Default precision of real numbers, or `None` if there is no choice.
    pub default_precision: Option<TrajectoryPrecision>,
}

/// Whether files of a format may be compressed by gzip.
///
/// ```
/// use md_scenario::{Compressible, TrajectoryFormat};
///
/// let compressible = |format: TrajectoryFormat| format.properties().compression;
/// assert_eq!(compressible(TrajectoryFormat::Lammpstrj), Compressible::Yes);
/// assert_eq!(compressible(TrajectoryFormat::Netcdf), Compressible::No);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compressible {
    /// A text format.
    Yes,
    /// A format that is dense already.
    No,
}

/// Whether a file is compressed.
///
/// See [`TrajectoryFormat`] for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    None,
    /// Compressed by gzip in separate blocks, so that frames can be removed again.
    Gzip,
}

impl TrajectoryFormat {
    /// All formats, in the order in which they are listed.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the properties of the format.
    pub const fn properties(self) -> FormatProperties {
        use TrajectoryColumn::{Mass, Momentum, Velocity};
        let text = FormatProperties {
            extension: ".lammpstrj",
            compression: Compressible::Yes,
            columns: COLUMNS_BUT_MOMENTUM,
            default_columns: &[Velocity],
            default_precision: None,
        };
        let binary = FormatProperties { compression: Compressible::No, ..text };
        match self {
            Self::Extxyz => FormatProperties {
                extension: ".extxyz",
                columns: TrajectoryColumn::ALL,
                default_columns: &[Velocity, Mass, Momentum],
                ..text
            },
            Self::Lammpstrj => text,
            Self::Netcdf => FormatProperties {
                extension: ".nc",
                default_precision: Some(TrajectoryPrecision::Single),
                ..binary
            },
            Self::Xtc => FormatProperties { extension: ".xtc", columns: &[], default_columns: &[], ..binary },
        }
    }

    /// Returns the format and the compression that the name of a file stands for.
    pub fn of_path(path: &str) -> Option<(Self, Compression)> {
        let (plain, compression) = match path.strip_suffix(COMPRESSED) {
            Some(plain) => (plain, Compression::Gzip),
            None => (path, Compression::None),
        };
        let format = *Self::ALL.iter().find(|format| plain.ends_with(format.properties().extension))?;
        let fits = compression == Compression::None || format.properties().compression == Compressible::Yes;
        fits.then_some((format, compression))
    }

    /// Returns the available extensions, for messages.
    pub fn extensions() -> String {
        let with_gz = |format: &Self| match format.properties() {
            FormatProperties { extension, compression: Compressible::Yes, .. } => {
                format!("`{extension}[.gz]`")
            }
            FormatProperties { extension, .. } => format!("`{extension}`"),
        };
        Self::ALL.iter().map(with_gz).collect::<Vec<_>>().join(", ")
    }
}

/// ```
/// use md_scenario::{Positions, Trajectory, TrajectoryColumn, TrajectoryPrecision};
///
/// let (path, columns, precision) = ("melt.nc".to_owned(), None, None);
/// let (every, positions) = (100, Positions::Wrapped);
/// let trajectory = Trajectory { path, every, columns, positions, precision };
/// assert_eq!(trajectory.all_columns(), [TrajectoryColumn::Velocity]);
/// // The convention of AMBER stores floats.
/// assert_eq!(trajectory.precision(), TrajectoryPrecision::Single);
/// ```
impl Trajectory {
    /// Returns the properties of the format that the path stands for.
    fn properties(&self) -> Option<FormatProperties> {
        TrajectoryFormat::of_path(&self.path).map(|(format, _)| format.properties())
    }

    /// Returns the columns other than id, type and position, in the order of [`TrajectoryColumn`]
    /// and without duplicates.
    pub fn all_columns(&self) -> Vec<TrajectoryColumn> {
        let default = self.properties().map_or(&[][..], |format| format.default_columns);
        let mut columns = self.columns.clone().unwrap_or_else(|| default.to_vec());
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the precision of real numbers, if the format offers a choice.
    pub fn precision(&self) -> TrajectoryPrecision {
        let default = self.properties().and_then(|format| format.default_precision);
        self.precision.or(default).unwrap_or_default()
    }
}
