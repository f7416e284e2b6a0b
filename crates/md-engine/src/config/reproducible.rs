//! What a run needs so that its bits depend neither on ranks and threads nor on the instruction set
//! ([`Summation::Exact`]).

use md_core::SimdLevel;
use md_core::force::{MethodKind, Precision, Summation};
use md_core::quantum::LONGEST_BOX;
use md_core::rebuild::RebuildPolicy;

use super::{Config, NeighborConfig, Protocol};
use crate::error::EngineError;
use crate::motion::integrator::Integrator;

impl Config {
    /// Checks that sums are exact with these settings and this instruction set, if they shall be.
    ///
    /// # Errors
    /// [`EngineError::NotReproducible`] with the first setting that is in the way.
    pub(crate) fn check_reproducible(&self, simd: SimdLevel) -> Result<(), EngineError> {
        let NeighborConfig { method, rebuild, precision, summation, .. } = self.neighbor;
        if summation == Summation::Rounded {
            return Ok(());
        }
        let domain = self.domain();
        let is_near = |dim: usize| domain.origin[dim].abs().max(domain.upper(dim).abs()) <= LONGEST_BOX;
        let needed = [
            (precision == Precision::Double, "`neighbor.precision = \"double\"`".to_owned()),
            (method == MethodKind::Clusters, "`neighbor.method = \"clusters\"`".to_owned()),
            (self.parallel.protocol == Protocol::One, "`parallel.protocol = \"one\"`".to_owned()),
            (
                rebuild == RebuildPolicy::Displacement,
                "`neighbor.rebuild = { displacement = true }`, so that no pair is missed".to_owned(),
            ),
            (!matches!(self.integrator, Integrator::Fire(_)), "another integrator than `fire`".to_owned()),
            (
                simd.has_fused_multiply_add(),
                format!("fused multiply-add, which `{}` does not have", simd.name()),
            ),
            (
                (0..3).all(is_near),
                format!("a box whose coordinates are from -{LONGEST_BOX} to {LONGEST_BOX}"),
            ),
        ];
        first_missing(needed).map_or(Ok(()), |what| Err(EngineError::NotReproducible(what)))
    }

    /// Checks that the steps of a run can be undone to the last bit.
    pub(crate) fn check_reversible(&self) -> Result<(), EngineError> {
        let Self { neighbor, integrator, barostat, .. } = self;
        let needed = [
            (neighbor.summation == Summation::Exact, "`simulation.reproducible = true`"),
            (matches!(integrator, Integrator::VelocityVerlet(_)), "the integrator `velocity-verlet`"),
            (barostat.is_none(), "a constant box"),
        ];
        first_missing(needed).map_or(Ok(()), |what| Err(EngineError::NotReversible(what)))
    }
}

/// Returns the first name of a condition that does not hold.
fn first_missing<N>(needed: impl IntoIterator<Item = (bool, N)>) -> Option<N> {
    needed.into_iter().find(|(is_so, _)| !is_so).map(|(_, what)| what)
}
