//! Differences between CPUs with the same instruction set, as far as they decide which instructions
//! are fastest.

/// Method of inverting eight f64 at level AVX-512.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inversion {
    /// By a division.
    Division,
    /// By an estimate of 14 bits and two Newton steps.
    Newton,
}

impl Inversion {
    /// Returns the faster method on this CPU. A division takes 4 cycles on Zen 5 (measured) and 16
    /// on Intel's CPUs (published tables), longer than the rest of a pair. Zen 4, which splits the
    /// division, uses Newton steps.
    pub fn of_this_cpu() -> Self {
        if is_amd() && has_extension_of_zen_5() { Self::Division } else { Self::Newton }
    }
}

/// Returns whether the CPU splits operations of 512 bits, as AMD's Zen 4 does.
pub(super) fn has_half_units() -> bool {
    is_amd() && !has_extension_of_zen_5()
}

/// Detects AMD by an extension that only its CPUs have.
fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("sse4a");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Detects an extension of AVX-512 that AMD's CPUs have since they have units of full width. (Zen 5
/// for laptops has it too, but with half units; there the choice costs some time.)
fn has_extension_of_zen_5() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vp2intersect");
    #[cfg(not(target_arch = "x86_64"))]
    false
}
