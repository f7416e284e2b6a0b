//! Results of a simulation as plain data for observers and files.

use bytemuck::{Pod, Zeroable};
use md_core::{ImageCounts, SymmetricTensor};

/// Thermodynamic state, by LAMMPS's definitions (`units lj`, `thermo_modify norm yes`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thermo {
    /// Step number; 0 is the initial state.
    pub step: u64,
    /// Simulated time, \[time\].
    pub time: f64,
    /// Temperature about the velocity of the whole system, over the degrees of freedom that the
    /// conserved momentum leaves.
    pub temperature: f64,
    /// Potential energy per atom, including the tail correction if it is switched on.
    pub potential_per_atom: f64,
    /// Kinetic energy per atom.
    pub kinetic_per_atom: f64,
    /// Total energy per atom.
    pub total_per_atom: f64,
    /// Virial pressure, about the velocity of the whole system.
    pub pressure: f64,
    /// Pressure tensor; its trace is three times the pressure (in 2D twice).
    pub pressure_tensor: SymmetricTensor,
    /// Volume of the box; in 2D, its area.
    pub volume: f64,
    /// Lengths of the box, \[length\].
    pub lengths: [f64; 3],
    /// Atoms per volume.
    pub density: f64,
    /// Quantity that the integrator conserves, per atom: the total energy and that of thermostat
    /// and barostat.
    pub conserved_per_atom: f64,
}

/// Statistics of rebuilds on all ranks. A neighbourhood may lack pairs if a particle has moved by
/// more than half the skin since the last rebuild. This is checked where it costs nothing: at
/// rebuilds, and at steps that compute the energy.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NeighborReport {
    /// Rebuilds after the initial one.
    pub rebuilds: u64,
    /// Rebuilds that came too late: pairs may have been missed in the preceding steps.
    pub dangerous_rebuilds: u64,
    /// Checked steps between rebuilds at which a particle had moved further than that.
    pub dangerous_checks: u64,
    /// Largest displacement seen, over half the skin.
    pub largest_displacement: f64,
    /// First step that was found to be dangerous.
    pub first_dangerous_step: Option<u64>,
}

impl NeighborReport {
    /// Returns the report as words for a checkpoint.
    pub(crate) fn words(&self) -> [u64; 6] {
        let &Self {
            rebuilds,
            dangerous_rebuilds,
            dangerous_checks,
            largest_displacement,
            first_dangerous_step,
        } = self;
        let (is_first, first) = (first_dangerous_step.is_some().into(), first_dangerous_step.unwrap_or(0));
        [rebuilds, dangerous_rebuilds, dangerous_checks, largest_displacement.to_bits(), is_first, first]
    }

    pub(crate) fn from_words(words: [u64; 6]) -> Self {
        let [rebuilds, dangerous_rebuilds, dangerous_checks, largest_displacement, is_first, first] = words;
        Self {
            rebuilds,
            dangerous_rebuilds,
            dangerous_checks,
            largest_displacement: f64::from_bits(largest_displacement),
            first_dangerous_step: (is_first != 0).then_some(first),
        }
    }

    /// Records a displacement in units of half the skin, and returns whether it is dangerous: beyond
    /// this limit.
    pub(crate) fn note(&mut self, step: u64, displacement: f64, limit: f64) -> bool {
        self.largest_displacement = self.largest_displacement.max(displacement);
        let is_dangerous = displacement > limit;
        if is_dangerous {
            self.first_dangerous_step.get_or_insert(step);
        }
        is_dangerous
    }
}

/// Statistics of the quantity that the integrator conserves (at constant energy, the total energy),
/// from the steps at which observers have requested it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EnergyReport {
    /// Conserved energy per atom, last minus first.
    pub drift: f64,
    /// Total energy per atom, last minus first, over all stages.
    pub total_drift: f64,
    /// Largest change of the conserved energy per atom relative to the first.
    pub largest_change: f64,
    /// Mean kinetic energy per atom.
    pub mean_kinetic: f64,
    /// Largest force on a particle at the start.
    pub first_force: f64,
    /// Time of the last recorded state, \[time\].
    pub time: f64,
    first_conserved: f64,
    first_total: Option<f64>,
    pub(crate) looks: u64,
}

impl EnergyReport {
    /// Begins new statistics for another conserved quantity.
    pub(crate) fn begin_anew(&mut self) {
        let Self { first_force, total_drift, first_total, .. } = *self;
        *self = Self { first_force, total_drift, first_total, ..Self::default() };
    }

    /// Returns the report as words for a checkpoint.
    pub(crate) fn words(&self) -> [u64; 9] {
        let &Self { drift, total_drift, largest_change, mean_kinetic, first_force, time, .. } = self;
        // NaN marks that no state has been recorded yet.
        let first_total = self.first_total.unwrap_or(f64::NAN);
        let numbers = [drift, total_drift, largest_change, mean_kinetic, first_force, time];
        let [a, b, c, d, e, f] = numbers.map(f64::to_bits);
        [a, b, c, d, e, f, self.first_conserved.to_bits(), first_total.to_bits(), self.looks]
    }

    pub(crate) fn from_words(words: [u64; 9]) -> Self {
        let [
            drift,
            total_drift,
            largest_change,
            mean_kinetic,
            first_force,
            time,
            first_conserved,
            first_total,
            _,
        ] = words.map(f64::from_bits);
        let (first_total, looks) = (Some(first_total).filter(|total| !total.is_nan()), words[8]);
        Self {
            drift,
            total_drift,
            largest_change,
            mean_kinetic,
            first_force,
            time,
            first_conserved,
            first_total,
            looks,
        }
    }

    /// Records the total energy of a state, regardless of the conserved quantity.
    pub(crate) fn note_total(&mut self, thermo: &Thermo) {
        self.total_drift = thermo.total_per_atom - *self.first_total.get_or_insert(thermo.total_per_atom);
    }

    /// Records a state.
    pub(crate) fn note(&mut self, thermo: &Thermo) {
        if self.looks == 0 {
            self.first_conserved = thermo.conserved_per_atom;
        }
        self.looks += 1;
        self.time = thermo.time;
        self.drift = thermo.conserved_per_atom - self.first_conserved;
        self.largest_change = self.largest_change.max(self.drift.abs());
        self.mean_kinetic += (thermo.kinetic_per_atom - self.mean_kinetic) / self.looks as f64;
    }
}

/// Totals of one force evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForceTotals {
    /// Total potential energy, including the tail correction.
    pub potential_energy: f64,
    /// Sum of r . f over pairs.
    pub virial: f64,
    /// Sum of r f over pairs.
    pub virial_tensor: SymmetricTensor,
    /// Tail correction of the energy.
    pub tail_energy: f64,
    /// Pressure.
    pub pressure: f64,
}

/// Vector in a particle's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowVector {
    /// Velocity.
    Velocity,
    /// Force.
    Force,
}

/// A particle as it appears in files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct ParticleRow {
    /// Global id, from 1.
    pub id: u64,
    /// Type number, from 1.
    pub kind: u32,
    /// Numbers of crossings of the periodic faces.
    pub images: ImageCounts,
    /// Position, inside the box.
    pub position: [f64; 3],
    /// Velocity or force ([`RowVector`]).
    pub vector: [f64; 3],
}
