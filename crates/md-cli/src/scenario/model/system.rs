//! `[system]`: where the particles come from, and the faces of their box.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[system]`: exactly one of `lattice` and `file`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Particles on a lattice that fills the box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lattice: Option<Lattice>,
    /// Particles from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<InputFile>,
    /// Maxwell-Boltzmann velocities of this reduced temperature, zero total momentum, scaled exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Boundary per dimension.
    #[serde(default)]
    pub boundary: [Boundary; 3],
}

/// `system.lattice`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lattice {
    /// Kind of the unit cell.
    pub kind: LatticeKind,
    /// Reduced number density; exactly one of `density` and `spacing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// Lattice constant in units of sigma.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<f64>,
    /// Unit cells per dimension (in 2D the third is 1).
    #[schemars(inner(range(min = 1)))]
    pub cells: [u32; 3],
}

/// Kinds of lattices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatticeKind {
    /// Face-centred cubic, 4 sites per cell.
    Fcc,
    /// Body-centred cubic, 2 sites per cell.
    Bcc,
    /// Simple cubic, 1 site per cell.
    Sc,
    /// Hexagonal (2D), 2 sites per cell of a x sqrt(3) a.
    Hex,
    /// Square (2D), 1 site per cell.
    Sq,
}

/// `system.file`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputFile {
    /// Path, relative to the scenario file's folder.
    pub path: String,
    /// Format of the file.
    pub format: InputFormat,
}

/// Formats of particle files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputFormat {
    /// LAMMPS data file, `atom_style atomic`, optionally with velocities.
    LammpsData,
    /// Extended XYZ with a `Lattice` and a `Properties` entry.
    Extxyz,
}

/// What happens at a face of the box.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// Particles leave on one side and come back on the other.
    #[default]
    Periodic,
    /// Particles bounce off elastically.
    Reflecting,
}
