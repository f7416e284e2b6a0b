//! Checks of a configuration.

use md_core::force::MethodKind;
use md_core::rebuild::RebuildPolicy;
use md_core::{ExchangePattern, PartitionKind, Shell};

use super::{Config, FirstOfAll, NeighborConfig, ParallelConfig, ParticleSource, Protocol, placement};
use crate::error::{EngineError, ParticleFault};
use crate::forces::ForceModel;

impl Config {
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        let (masses, shares) = (self.masses.len(), self.shares.len());
        let of_forces = self.forces.models().filter_map(ForceModel::species);
        let species = of_forces.chain([masses]).find(|&species| species != masses).unwrap_or(masses);
        if masses != species || shares != species {
            return wrong(format!("{masses} masses and {shares} shares for {species} species"));
        }
        self.masses.iter().try_for_each(|&mass| positive("a mass", mass))?;
        if let Some(temperature) = self.temperature {
            not_negative("the temperature", temperature)?;
            check_temperature(self, temperature)?;
        }
        if !self.drift.iter().all(|velocity| velocity.is_finite()) {
            return wrong(format!("the drift is {:?}, not finite numbers", self.drift));
        }
        not_negative("the displacement", self.displacement)?;
        positive("the cutoff", self.forces.cutoff())?;
        let lengths = self.domain().lengths;
        if lengths.iter().any(|length| !(*length > 0.0 && length.is_finite())) {
            return wrong(format!("the box is {lengths:?} long, not positive numbers"));
        }
        placement::check_digits(&self.domain(), self.forces.cutoff())?;
        self.check_motion()?;
        placement::check_walls(&self.walls, &self.domain())?;
        check_neighbor(self.neighbor)?;
        let share = self.parallel.second_share.at_first();
        if !(0.0..=1.0).contains(&share) {
            return wrong(format!("the second part of the inner pairs is {share} of them, not 0 to 1"));
        }
        self.parallel.balance.check()?;
        check_protocol(self)?;
        self.check_particles(species)
    }

    fn check_motion(&self) -> Result<(), EngineError> {
        positive("the time step", self.timestep)?;
        self.max_drift.map_or(Ok(()), |max_drift| positive("the largest drift of the energy", max_drift))?;
        self.integrator.check()?;
        if let Some(barostat) = &self.barostat {
            barostat.check(self.dimension, self.boundary, &self.integrator)?;
            barostat.check_relaxation(self.timestep)?;
        }
        Ok(())
    }

    fn check_particles(&self, species: usize) -> Result<(), EngineError> {
        match &self.particles {
            ParticleSource::List { particles, .. } => {
                placement::check_numbers(particles, species)?;
                self.particle_faults().next().map_or(Ok(()), |fault| Err(fault.into()))
            }
            ParticleSource::Regions(regions) => {
                let highest = regions.highest_species().map_or(0, |species| species as usize);
                if highest >= species {
                    return wrong(format!(
                        "a region has particles of species {highest} of {species}, counted from 0"
                    ));
                }
                if regions.draws_species() { placement::check_shares(&self.shares) } else { Ok(()) }
            }
            ParticleSource::Lattice(_) | ParticleSource::Thinned(_) | ParticleSource::Gas(_) => {
                placement::check_shares(&self.shares)
            }
        }
    }

    /// Returns the faults of listed particles, one by one: of their positions and, unless
    /// velocities are drawn, of their velocities. [`crate::Setup::new`] returns the first as an
    /// error.
    pub fn particle_faults(&self) -> impl Iterator<Item = ParticleFault> {
        let (listed, shared) = match &self.particles {
            ParticleSource::List { particles, share, .. } => (&particles[..], share.as_ref()),
            _ => (&[][..], None),
        };
        let own = || listed.first().map(|first| FirstOfAll { id: first.id, z: first.position[2] });
        let first = shared.map_or_else(own, |share| Some(share.first));
        let (domain, is_drawn) = (self.domain(), self.temperature.is_some());
        listed.iter().flat_map(move |particle| {
            let moves = if is_drawn { None } else { placement::velocity_fault(particle, &domain) };
            placement::fault(particle, first, &domain).into_iter().chain(moves)
        })
    }
}

fn wrong(what: String) -> Result<(), EngineError> {
    Err(EngineError::Config(what))
}

fn positive(what: &str, value: f64) -> Result<(), EngineError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    wrong(format!("{what} is {value}, not a positive number"))
}

fn not_negative(what: &str, value: f64) -> Result<(), EngineError> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    wrong(format!("{what} is {value}, not a number from 0"))
}

fn check_neighbor(NeighborConfig { skin, rebuild, .. }: NeighborConfig) -> Result<(), EngineError> {
    not_negative("the skin", skin)?;
    match rebuild {
        RebuildPolicy::Every(steps) if steps > 1 && skin == 0.0 => {
            wrong(format!("the skin is 0, but lists are made anew every {steps} steps only"))
        }
        RebuildPolicy::Every(_) | RebuildPolicy::Displacement => Ok(()),
    }
}

/// Returns an error that names the first setting of `config` that its protocol does not support.
fn check_protocol(config: &Config) -> Result<(), EngineError> {
    let ParallelConfig { protocol, partition, shell, exchange, threads, .. } = config.parallel;
    let wanted = [
        (config.neighbor.method == MethodKind::Cells, "the method `cells`"),
        (shell == Shell::Half, "the half shell"),
        (exchange == ExchangePattern::Direct, "the direct exchange"),
        (threads == 1, "one thread per rank"),
        (protocol != Protocol::Simple || partition == PartitionKind::Stripe, "the partition `stripe`"),
    ];
    match wanted.into_iter().find(|(is_so, _)| !is_so) {
        Some((_, what)) if protocol != Protocol::One => {
            Err(EngineError::Config(format!("the protocol `{}` needs {what}", protocol.name())))
        }
        _ => Ok(()),
    }
}

/// Checks that velocities of a temperature can be drawn: their sums and squares must be finite and
/// have enough digits.
pub(crate) fn check_temperature(config: &Config, temperature: f64) -> Result<(), EngineError> {
    /// Terms of exact sums are multiples of 2^-64 = 5e-20.
    const LEAST_MASS: f64 = 1e-12;
    /// Exact sums stay below 2^63 = 9e18.
    const MOST_MASS_OF_ALL: f64 = 4e18;
    /// Within these limits, squares of velocities are finite for all accepted masses.
    const LEAST: f64 = 1e-280;
    const MOST: f64 = 1e280;
    let atoms = config.particles.len();
    if temperature == 0.0 {
        return Ok(());
    }
    if atoms < 2 {
        let problem =
            "velocities are drawn without a total momentum, so one particle alone has none".to_owned();
        return Err(EngineError::Temperature { temperature, problem });
    }
    if !(LEAST..=MOST).contains(&temperature) {
        let problem = format!("velocities can be drawn for 0 and from {LEAST:e} to {MOST:e} only");
        return Err(EngineError::Temperature { temperature, problem });
    }
    // No memory holds enough particles to bring this below 1.
    let most = (MOST_MASS_OF_ALL / atoms as f64).max(1.0);
    let fault = config.masses.iter().position(|mass| !(LEAST_MASS..=most).contains(mass));
    fault.map_or(Ok(()), |species| {
        let problem = format!(
            "velocities of a temperature can be drawn for masses from {LEAST_MASS:e} to {most:.1e} only ({atoms} particles)"
        );
        Err(EngineError::Mass { species, mass: config.masses[species], problem })
    })
}
