//! In what CPUs of one instruction set differ, as far as it decides which instructions are the fastest.

/// How eight f64 are inverted at level AVX-512.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inversion {
    /// By a division.
    Division,
    /// By an estimate of 14 bits and two Newton steps.
    Newton,
}

impl Inversion {
    /// What is faster on this CPU: a division takes 4 cycles on Zen 5 (measured), and on Intel's CPUs, by published tables, 16,
    /// longer than the rest of a pair. Zen 4, which splits it, keeps to Newton steps.
    pub fn of_this_cpu() -> Self {
        if is_amd() && has_extension_of_zen_5() { Self::Division } else { Self::Newton }
    }
}

/// Whether the CPU splits operations of 512 bits: AMD's Zen 4.
pub(super) fn has_half_units() -> bool {
    is_amd() && !has_extension_of_zen_5()
}

/// By an extension that only AMD has.
fn is_amd() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("sse4a");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// An extension of AVX-512 that came to AMD's CPUs with units of full width. (Zen 5 for laptops has it too, with half units: there
/// the choice costs some time.)
fn has_extension_of_zen_5() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512vp2intersect");
    #[cfg(not(target_arch = "x86_64"))]
    false
}
