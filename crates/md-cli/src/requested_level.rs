//! The instruction set requested by the environment.

use md_core::SimdLevel;
use md_scenario::failure::{Failure, RunError};

/// Selects an instruction set other than the best one of this CPU, e.g. `MD_SIMD=avx2+fma`.
const VARIABLE: &str = "MD_SIMD";

/// The environment variable names no instruction set of this CPU.
#[derive(Debug, thiserror::Error)]
#[error("{VARIABLE} is `{wanted}`, but this CPU has {available}")]
struct UnknownSimd {
    wanted: String,
    available: String,
}

impl Failure for UnknownSimd {}

/// Returns the level named by the variable; `None` where it is empty or not set.
///
/// # Errors
/// [`UnknownSimd`] for a level that this CPU lacks and for a word that names no level.
pub(crate) fn requested_level() -> Result<Option<SimdLevel>, RunError> {
    let wanted = std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy().into_owned();
    if wanted.is_empty() {
        return Ok(None);
    }
    let unknown = || UnknownSimd { wanted: wanted.clone(), available: available() };
    Ok(Some(level_named(&wanted).ok_or_else(unknown)?))
}

/// Returns the level named by the variable, or else the widest of this CPU.
///
/// # Errors
/// The errors of [`requested_level`].
pub(crate) fn requested_or_widest() -> Result<SimdLevel, RunError> {
    Ok(requested_level()?.unwrap_or_else(SimdLevel::detect))
}

/// Returns the level of this name, if this CPU has it.
pub(crate) fn level_named(name: &str) -> Option<SimdLevel> {
    SimdLevel::available().find(|level| level.name() == name)
}

/// Returns the names of this CPU's levels, from narrow to wide.
pub(crate) fn available() -> String {
    SimdLevel::available().map(SimdLevel::name).collect::<Vec<_>>().join(", ")
}
