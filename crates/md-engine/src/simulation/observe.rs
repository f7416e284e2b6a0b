//! Output of a simulation: observables, timings, particles.

use std::rc::Rc;
use std::time::Instant;

use md_comm::{Choice, Traffic};
use md_core::momentum::MotionSums;
use md_core::observables::{SystemSums, ThermalMotion, momentum_flux};
use md_core::potential::Tail;
use md_core::{ConservedMomentum, Domain, Particles, SymmetricTensor};

use super::Simulation;
use crate::checkpoint::{SavedState, Shared, division};
use crate::clock::{Phase, PhaseObserver};
use crate::collective::expect_room;
use crate::division::Decomposition;
use crate::division::halo::total;
use crate::error::EngineError;
use crate::forces::NearPairs;
use crate::forces::{GhostPositions, Interaction};
use crate::measure::RankTiming;
use crate::measure::{Needs, Observer, RunsOn, Snapshot};
use crate::motion::barostat::BoxReport;
use crate::motion::thermal::Thermal;
use crate::report::{EnergyReport, ForceTotals, NeighborReport, ParticleRow, RowVector, Thermo};
use crate::setup::Setup;
use crate::state::State;

const FIRST_RANK: usize = 0;

impl<I: Interaction> Simulation<'_, I> {
    /// Passes the present state to the observers that are due. *Collective.*
    pub(crate) fn observe(&mut self, observers: &mut [&mut dyn Observer]) -> Result<(), EngineError> {
        let step = self.state.step;
        let rank = self.world.rank();
        if !observers.is_empty() {
            self.observed = Some(step);
        }
        let mut seen = Seen::default();
        for observer in observers {
            let Some(needs) = observer.due(step) else { continue };
            self.provide(needs, &mut seen)?;
            if observer.runs_on() == RunsOn::FirstRank && rank != FIRST_RANK {
                continue;
            }
            let State { particles, domain, time, integrator, .. } = &self.state;
            let Decomposition { grid, plan, pairs, .. } = &self.decomposition;
            let near_pairs = NearPairs {
                interaction: &self.interaction,
                particles,
                cells: &self.cells,
                grid,
                plan,
                pairs,
                threads: &self.threads,
                simd: self.setup.simd,
            };
            let snapshot = Snapshot {
                sums: seen.thermo.as_ref().map(|(sums, _)| sums),
                thermo: seen.thermo.as_ref().map(|(_, thermo)| thermo),
                gathered: seen.gathered.as_deref().filter(|_| rank == FIRST_RANK),
                particle_energies: seen.particle_energies.as_deref(),
                particle_virials: seen.particle_virials.as_ref(),
                near_pairs: Some(near_pairs),
                neighborhood: self.neighborhood,
                box_warnings: self.box_warnings(),
                minimisation: integrator.minimisation(),
                conserved_momentum: self.conserved_momentum(),
                saved: seen.shared.as_deref().map(|shared| SavedState {
                    shared,
                    particles,
                    reference: self.watch.reference(),
                }),
                time: *time,
                rank,
                step,
                domain,
                particles,
            };
            let begun = Instant::now();
            let observed = observer.observe(&snapshot);
            self.clock.book_since(Phase::Output, begun);
            observed.map_err(EngineError::Observer)?;
        }
        Ok(())
    }

    /// Computes the data that an observer needs and that are not in `seen` yet.
    fn provide(&mut self, needs: Needs, seen: &mut Seen) -> Result<(), EngineError> {
        if needs.contains(Needs::VELOCITIES) {
            self.complete_step()?;
        }
        if needs.contains(Needs::ENERGY_AND_VIRIAL) && seen.thermo.is_none() {
            let sums = self.system_sums()?;
            let thermo = self.thermo(&sums);
            self.check_drift(&thermo)?;
            seen.thermo = Some((sums, thermo));
        }
        if needs.contains(Needs::GATHERED_PARTICLES) && seen.gathered.is_none() {
            // This time counts as integration, not as output.
            self.complete_step()?;
            let begun = Instant::now();
            seen.gathered = Some(self.gather_rows(RowVector::Velocity)?);
            self.clock.book_since(Phase::Output, begun);
        }
        if needs.contains(Needs::PARTICLE_ENERGIES) && seen.particle_energies.is_none() {
            seen.particle_energies = self.with_forces(GhostPositions::Stale, |interaction, context| {
                interaction.particle_energies(context)
            })?;
        }
        if needs.contains(Needs::PARTICLE_VIRIALS) && seen.particle_virials.is_none() {
            seen.particle_virials = self.with_forces(GhostPositions::Stale, |interaction, context| {
                interaction.particle_virials(context)
            })?;
        }
        if needs.contains(Needs::SAVED_STATE) && seen.shared.is_none() {
            self.complete_step()?;
            self.hear_of_last_step()?;
            // Combines the contributions of the ranks to the integrator's memory.
            self.reservoir_now()?;
            seen.shared = Some(self.shared().words());
        }
        Ok(())
    }

    /// Returns the part of the state after this complete step that is the same on all ranks.
    fn shared(&self) -> Shared {
        let State { domain, step, time, integrator, barostat, .. } = &self.state;
        let work = barostat.as_ref().map_or(0.0, |barostat| barostat.work);
        Shared {
            step: *step,
            time: *time,
            timestep: self.timestep(),
            time_at_start: self.time_at_start,
            origin: domain.origin,
            lengths: domain.lengths,
            lengths_at_rebuild: self.watch.lengths(),
            simd: self.setup.simd,
            history: self.watch.history(),
            neighborhood: self.neighborhood,
            energy: self.energy,
            box_changes: self.box_changes,
            reservoirs: [self.earlier_reservoirs, work],
            division: division::words(&self.setup, &self.decomposition),
            balance: self.balancer.report.clone(),
            memory: integrator.memory(),
        }
    }

    /// Returns the sums over all ranks at the present step, which must have computed energy and
    /// virial. *Collective.*
    ///
    /// # Errors
    /// Communication; an energy that is not finite; a wrong number of particles;
    /// [`EngineError::NoEnergy`].
    pub fn system_sums(&mut self) -> Result<SystemSums, EngineError> {
        self.complete_step()?;
        if self.pairs_step != self.state.step {
            let (step, known) = (self.state.step, self.pairs_step);
            return Err(EngineError::NoEnergy { step, known });
        }
        let (State { particles, step, .. }, masses) = (&self.state, &self.setup.config.masses);
        let MotionSums { momentum, mass, .. } = MotionSums::of(particles, masses);
        let sums = SystemSums {
            atoms: particles.owned() as f64,
            mass,
            momentum,
            momentum_flux: momentum_flux([0.0; 3], particles, masses),
            thermal: ThermalMotion::default(),
            pairs: self.pairs,
        };
        let mut values = sums.to_array();
        self.world.sum(&mut values)?;
        let mut sums = SystemSums::from_array(values);
        let (step, expected) = (*step, self.atoms());
        if sums.atoms as u64 != expected {
            return Err(EngineError::WrongCount { step, found: sums.atoms as u64, expected });
        }
        let (potential, kinetic) = (sums.pairs.energy / sums.atoms, 0.5 * sums.twice_kinetic() / sums.atoms);
        if !(potential.is_finite() && kinetic.is_finite() && sums.pairs.virial.trace().is_finite()) {
            return Err(EngineError::NotFinite { step, potential, kinetic });
        }
        sums.thermal = self.thermal_motion(&sums)?;
        self.reservoir_energy = self.reservoir_now()?;
        Ok(sums)
    }

    /// Returns the motion about the drift that follows from these sums. *Collective.*
    fn thermal_motion(&self, sums: &SystemSums) -> Result<ThermalMotion, EngineError> {
        let conserved = self.conserved_momentum();
        let drift = conserved.drift(&sums.motion());
        let mut flux = sums.momentum_flux;
        if drift != [0.0; 3] {
            let SymmetricTensor(own) = &mut flux;
            *own = momentum_flux(drift, &self.state.particles, &self.setup.config.masses).0;
            self.world.sum(own)?;
        }
        Ok(ThermalMotion { conserved, drift, flux })
    }

    /// Returns the velocity of the whole system, about which temperature and pressure are defined
    /// and which thermostats do not change: that of the centre of mass along the axes of
    /// [`Self::conserved_momentum`], or zero if it is negligible. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn drift(&mut self) -> Result<[f64; 3], EngineError> {
        Ok(self.thermal_now()?.drift)
    }

    /// Returns the thermal motion after the present step. *Collective.*
    pub(crate) fn thermal_now(&mut self) -> Result<Thermal, EngineError> {
        self.complete_step()?;
        let conserved = self.conserved_momentum();
        Thermal::of(&self.state.particles, &self.setup.config.masses, conserved, self.world)
    }

    /// Returns the axes along which the integrator and the walls conserve the total momentum.
    pub fn conserved_momentum(&self) -> ConservedMomentum {
        ConservedMomentum::new(&self.state.domain, self.state.integrator.total_momentum())
    }

    /// Returns the number of degrees of freedom of the temperature.
    pub fn degrees_of_freedom(&self) -> u64 {
        self.conserved_momentum().degrees_of_freedom(self.atoms(), self.state.domain.dimension)
    }

    /// Returns the energy that thermostats and barostats, of this stage and earlier ones, have
    /// taken from the particles. *Collective.*
    pub(crate) fn reservoir_now(&mut self) -> Result<f64, EngineError> {
        let State { integrator, barostat, .. } = &mut self.state;
        let work = barostat.as_ref().map_or(0.0, |barostat| barostat.work);
        Ok(self.earlier_reservoirs + integrator.reservoir_energy(self.world)? - work)
    }

    /// Ends the run if the conserved energy has changed by more than the configuration allows, or
    /// by orders of magnitude more than the particles' energies; the same on all ranks. (Particles
    /// that explode are lost or have no finite energy; the energy of a thermostat must be checked
    /// here.)
    fn check_drift(&mut self, thermo: &Thermo) -> Result<(), EngineError> {
        /// In units of the particles' own energies.
        const EXPLODED: f64 = 1000.0;
        self.energy.note_total(thermo);
        let Some(quantity) = self.setup.config.integrator.conserved() else { return Ok(()) };
        self.energy.note(thermo);
        let (step, change) = (thermo.step, self.energy.drift);
        let energy = thermo.kinetic_per_atom.max(self.energy.mean_kinetic) + thermo.potential_per_atom.abs();
        match self.setup.config.max_drift {
            Some(most) if change.abs() > most => Err(EngineError::Drift { step, quantity, change, most }),
            _ if change.abs() > EXPLODED * energy || !change.is_finite() => {
                Err(EngineError::Explodes { step, quantity, change, energy })
            }
            _ => Ok(()),
        }
    }

    /// Returns the thermodynamic state that follows from these sums.
    pub fn thermo(&self, sums: &SystemSums) -> Thermo {
        let domain = &self.state.domain;
        let observables = sums.observables(domain, self.tail);
        Thermo {
            step: self.state.step,
            time: self.state.time,
            temperature: observables.temperature,
            potential_per_atom: observables.potential_per_atom,
            kinetic_per_atom: observables.kinetic_per_atom,
            total_per_atom: observables.potential_per_atom + observables.kinetic_per_atom,
            pressure: observables.pressure,
            pressure_tensor: observables.pressure_tensor,
            volume: domain.volume(),
            lengths: domain.lengths,
            density: sums.atoms / domain.volume(),
            conserved_per_atom: observables.potential_per_atom
                + observables.kinetic_per_atom
                + self.reservoir_energy / sums.atoms,
        }
    }

    /// Returns the totals of the forces that follow from these sums.
    pub fn force_totals(&self, sums: &SystemSums) -> ForceTotals {
        let Tail { energy, .. } = self.tail;
        ForceTotals {
            potential_energy: sums.pairs.energy + energy,
            virial: sums.pairs.virial.trace(),
            virial_tensor: sums.pairs.virial,
            tail_energy: energy,
            pressure: sums.observables(&self.state.domain, self.tail).pressure,
        }
    }

    /// Returns this rank's timings since [`Self::start_measuring`]; [`crate::Timings::reduce`]
    /// combines those of all ranks.
    ///
    /// # Errors
    /// Communication.
    pub fn timing(&mut self) -> Result<RankTiming, EngineError> {
        self.complete_step()?;
        let Traffic { messages, bytes } = total([self.decomposition.halo.traffic(), self.traffic_closed]);
        Ok(RankTiming {
            phases: self.clock.times(self.state.step - self.measured_from),
            messages: messages - self.traffic_before.messages,
            bytes: bytes - self.traffic_before.bytes,
            owned: self.state.particles.owned() as u64,
            ghosts: self.state.particles.ghosts() as u64,
            second_share: self.decomposition.pairs.second_share(),
        })
    }

    /// Returns all particles on rank 0, by id; on other ranks, an empty list. *Collective.*
    ///
    /// # Errors
    /// Communication; no memory for the rows.
    pub fn gather_rows(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, EngineError> {
        let mine = self.rows(vector)?;
        let all = self.world.gather(FIRST_RANK, bytemuck::cast_slice(&mine))?;
        drop(mine);
        let count = all.iter().map(|bytes| bytes.len() / size_of::<ParticleRow>()).sum();
        let mut rows = Vec::<ParticleRow>::new();
        expect_room(&mut rows, count, "the rows of all particles")?;
        // The bytes of each rank are freed before those of the next are copied.
        for bytes in all {
            rows.extend(
                bytes.chunks_exact(size_of::<ParticleRow>()).map(bytemuck::pod_read_unaligned::<ParticleRow>),
            );
        }
        rows.sort_unstable_by_key(|row| row.id);
        Ok(rows)
    }

    /// Returns the rows of this rank's particles.
    ///
    /// # Errors
    /// Errors of the integrator; no memory for the rows.
    pub fn rows(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, EngineError> {
        self.complete_step()?;
        let State { particles, domain, .. } = &self.state;
        let mut rows = Vec::new();
        expect_room(&mut rows, particles.owned(), "the rows of this rank's particles")?;
        rows.extend((0..particles.owned()).map(|index| row(particles, index, vector, domain)));
        Ok(rows)
    }

    /// Returns the choices of contexts that select their transport themselves.
    pub fn choices(&self) -> Vec<Choice> {
        self.decomposition.halo.choices()
    }

    /// Returns the state of this rank. Velocities are half a step behind unless an observer has
    /// requested them.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the setup of the simulation, with the present integrator and box.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns the number of particles of the whole system.
    pub fn atoms(&self) -> u64 {
        self.setup.atoms()
    }

    /// Returns the time step, \[time\].
    pub fn timestep(&self) -> f64 {
        self.setup.config.timestep
    }

    /// Returns statistics of rebuilds so far.
    pub fn neighbor_report(&self) -> NeighborReport {
        self.neighborhood
    }

    /// Returns statistics of the energy conservation so far.
    pub fn energy_report(&self) -> EnergyReport {
        self.energy
    }

    /// Returns the number of times a barostat has changed the box.
    pub fn box_report(&self) -> BoxReport {
        self.box_changes
    }

    /// Sets the observer of all phases of this rank from now on.
    pub fn observe_phases(&mut self, observer: Rc<dyn PhaseObserver>) {
        self.clock.observe(observer);
    }

    /// Starts the measured part of a run: clears the times and traffic of the set-up. *Collective.*
    ///
    /// # Errors
    /// Communication.
    pub fn start_measuring(&mut self) -> Result<(), EngineError> {
        self.complete_step()?;
        self.measured_from = self.state.step;
        self.traffic_before = self.decomposition.halo.traffic();
        self.traffic_closed = Traffic::default();
        self.clock.restart();
        Ok(())
    }
}

/// Data computed so far for the observers of one step.
#[derive(Default)]
struct Seen {
    thermo: Option<(SystemSums, Thermo)>,
    gathered: Option<Vec<ParticleRow>>,
    shared: Option<Vec<u64>>,
    particle_energies: Option<Vec<f64>>,
    particle_virials: Option<[Vec<f64>; 3]>,
}

fn row(particles: &Particles, index: usize, vector: RowVector, domain: &Domain) -> ParticleRow {
    let (position, images) = domain.wrap_counting(particles.position_of(index), particles.images_of(index));
    let vector = match vector {
        RowVector::Velocity => particles.get(index).velocity,
        RowVector::Force => particles.force_of(index),
    };
    ParticleRow {
        id: particles.id[index],
        kind: particles.species[index] as u32 + 1,
        images,
        position,
        vector,
    }
}
