//! Faults of what a configuration gives: particles, and keys of integrators and barostats.

/// Particle with an invalid position or velocity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("particle {id}: {problem}")]
pub struct ParticleFault {
    /// Id of the particle.
    pub id: u64,
    /// Invalid attribute.
    pub attribute: Attribute,
    /// Why it is invalid.
    pub problem: String,
}

/// Attribute of a particle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// Position.
    Position,
    /// Velocity.
    Velocity,
}

/// An invalid key of an integrator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` of the integrator {problem}")]
pub struct KeyFault {
    /// The key, with the keys that contain it.
    pub key: &'static str,
    /// The problem, as the rest of a sentence that begins with the key.
    pub problem: String,
}

impl KeyFault {
    pub(crate) fn not_a_number_from_0(key: &'static str, value: f64) -> Self {
        let problem = format!("must be a finite number of at least 0, found {value:?}").to_lowercase();
        Self { key, problem }
    }

    pub(crate) fn unless_positive(key: &'static str, value: f64) -> Result<(), Self> {
        if value > 0.0 && value.is_finite() {
            return Ok(());
        }
        let problem = format!("must be a finite number above 0, found {value:?}").to_lowercase();
        Err(Self { key, problem })
    }

    pub(crate) fn unless_at_least_one(key: &'static str, value: Option<u64>) -> Result<(), Self> {
        match value {
            Some(0) => Err(Self { key, problem: "must be at least 1, found 0".to_owned() }),
            _ => Ok(()),
        }
    }
}
