//! What a simulation tells about itself: observables, timings, particles for files.

use md_comm::Choice;
use md_core::Particles;
use md_core::observables::{SystemSums, twice_kinetic_energy};
use md_core::potential::Tail;

use super::error::RunError;
use super::simulation::Simulation;
use crate::report::{ForceTotals, ParticleRow, Phase, PhaseTime, RankTiming, Thermo};

/// Which vector a particle's row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowVector {
    /// For trajectories.
    Velocity,
    /// For forces.csv.
    Force,
}

impl Simulation<'_> {
    /// Sums over all ranks at the last step that computed pair sums. *Collective.*
    ///
    /// # Errors
    /// Communication; an energy that is not a number; a particle too many or too few.
    pub fn system_sums(&mut self) -> Result<SystemSums, RunError> {
        self.complete_step();
        let sums = SystemSums {
            atoms: self.particles.owned() as f64,
            twice_kinetic: twice_kinetic_energy(&self.particles, &self.setup.masses),
            pairs: self.pairs,
        };
        let mut values = sums.to_array();
        self.world.sum(&mut values)?;
        let sums = SystemSums::from_array(values);
        let expected = self.setup.atoms();
        if sums.atoms as u64 != expected {
            return Err(RunError::WrongCount { step: self.step, found: sums.atoms as u64, expected });
        }
        let (potential, kinetic) = (sums.pairs.energy / sums.atoms, 0.5 * sums.twice_kinetic / sums.atoms);
        if !(potential.is_finite() && kinetic.is_finite() && sums.pairs.virial.is_finite()) {
            return Err(RunError::NotFinite { step: self.step, potential, kinetic });
        }
        Ok(sums)
    }

    /// The row of thermo.csv for these sums.
    pub fn thermo(&self, sums: &SystemSums) -> Thermo {
        let observables = sums.observables(&self.setup.domain, self.tail);
        Thermo {
            step: self.step,
            time: self.step as f64 * self.timestep,
            temperature: observables.temperature,
            potential_per_atom: observables.potential_per_atom,
            kinetic_per_atom: observables.kinetic_per_atom,
            total_per_atom: observables.potential_per_atom + observables.kinetic_per_atom,
            pressure: observables.pressure,
        }
    }

    /// What `forces` adds to summary.json.
    pub fn force_totals(&self, sums: &SystemSums) -> ForceTotals {
        let Tail { energy, .. } = self.tail;
        ForceTotals {
            potential_energy: sums.pairs.energy + energy,
            virial: sums.pairs.virial,
            tail_energy: energy,
            pressure: sums.observables(&self.setup.domain, self.tail).pressure,
        }
    }

    /// Every rank's timings, on all ranks. *Collective.*
    pub fn timings(&mut self) -> Result<Vec<RankTiming>, RunError> {
        self.complete_step();
        let traffic = self.halo.traffic();
        let times = self.clock.times(self.step);
        let mut words: Vec<f64> = times.iter().flat_map(|time| [time.calls as f64, time.seconds]).collect();
        let counts = [
            traffic.messages - self.traffic_before.messages,
            traffic.bytes - self.traffic_before.bytes,
            self.particles.owned() as u64,
            self.particles.ghosts() as u64,
        ];
        words.extend(counts.map(|count| count as f64));
        let all: Vec<f64> =
            bytemuck::pod_collect_to_vec(&self.world.gather_all(bytemuck::cast_slice(&words))?);
        Ok(all.chunks_exact(words.len()).map(rank_timing).collect())
    }

    /// All particles on rank 0, unsorted; nothing elsewhere. Positions are wrapped into the box. *Collective.*
    pub fn gather_rows(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, RunError> {
        self.complete_step();
        let mine: Vec<u8> =
            pack_rows(&self.particles, vector, |position| self.setup.domain.wrap_position(position));
        let all = self.world.gather(0, &mine)?;
        Ok(all.iter().flat_map(|bytes| unpack_rows(bytes)).collect())
    }

    /// [`Self::gather_rows`], booked as output. *Collective.*
    pub fn gather_timed(&mut self, vector: RowVector) -> Result<Vec<ParticleRow>, RunError> {
        // Integration, not output.
        self.complete_step();
        let start = std::time::Instant::now();
        let rows = self.gather_rows(vector);
        self.clock.book(Phase::Output, start.elapsed());
        rows
    }

    /// What contexts that choose their transports by themselves have chosen.
    pub fn choices(&self) -> Vec<Choice> {
        self.halo.choices()
    }

    /// Time step, in tau.
    pub fn timestep(&self) -> f64 {
        self.timestep
    }

    /// Bytes that particles, cells and reference positions of this rank hold.
    pub fn memory_bytes(&self) -> usize {
        self.particles.bytes() + self.cells.bytes() + self.watch.bytes()
    }

    /// Starts the measured part: forgets the times and traffic of the set-up.
    pub fn start_measuring(&mut self) {
        self.complete_step();
        self.traffic_before = self.halo.traffic();
        self.clock.restart();
    }

    /// Books the time of `work` on a phase.
    pub fn time<R>(&mut self, phase: Phase, work: impl FnOnce() -> R) -> R {
        self.clock.time(phase, work)
    }
}

fn rank_timing(words: &[f64]) -> RankTiming {
    let (times, counts) = words.split_at(2 * Phase::ALL.len());
    let mut timing = RankTiming::default();
    for (phase, time) in timing.phases.iter_mut().zip(times.chunks_exact(2)) {
        *phase = PhaseTime { calls: time[0] as u64, seconds: time[1] };
    }
    if let [messages, bytes, owned, ghosts] = counts[..] {
        (timing.messages, timing.bytes) = (messages as u64, bytes as u64);
        (timing.owned, timing.ghosts) = (owned as u64, ghosts as u64);
    }
    timing
}

/// id, type, position, vector.
const ROW_WORDS: usize = 8;

fn pack_rows(particles: &Particles, vector: RowVector, wrap: impl Fn([f64; 3]) -> [f64; 3]) -> Vec<u8> {
    let row = |index: usize| {
        let [x, y, z] = wrap(particles.position_of(index));
        let [vx, vy, vz] = match vector {
            RowVector::Velocity => particles.get(index).velocity,
            RowVector::Force => particles.force_of(index),
        };
        let (id, kind) = (particles.id[index], particles.species[index] + 1);
        [f64::from_bits(id), f64::from_bits(kind), x, y, z, vx, vy, vz]
    };
    let rows: Vec<[f64; ROW_WORDS]> = (0..particles.owned()).map(row).collect();
    bytemuck::cast_slice(&rows).to_vec()
}

fn unpack_rows(bytes: &[u8]) -> impl Iterator<Item = ParticleRow> + use<> {
    let rows: Vec<[f64; ROW_WORDS]> = bytemuck::pod_collect_to_vec(bytes);
    rows.into_iter().map(|[id, kind, x, y, z, vx, vy, vz]| ParticleRow {
        id: id.to_bits(),
        kind: kind.to_bits() as u32,
        position: [x, y, z],
        vector: [vx, vy, vz],
    })
}
