//! Checks that end a run: lost particles, overlaps, energies that are not finite. All are
//! collective and return the same error on all ranks.

use md_comm::World;
use md_core::Particle;
use md_core::diagnose::{ClosePair, close_pair_at, largest_force};
use md_core::migrate::{LostParticle, find_lost};

use super::Simulation;
use crate::collective::gather_all;
use crate::error::EngineError;

/// Number of lost particles that each rank reports.
const EXAMPLES: usize = 5;
/// Words per lost particle: id, position, displacement.
const WORDS: usize = 7;

impl Simulation<'_> {
    /// Checks that no particle has moved too far to be tracked, and returns the largest squared
    /// displacement since the last rebuild, which the caller may pass if it is known. *Collective.*
    pub(super) fn check_lost(&mut self, displacement2: Option<f64>) -> Result<f64, EngineError> {
        let ahead = self.neighborhood.watch.prediction().longest();
        let most = self.decomposition.grid.longest_move(ahead);
        let largest = match displacement2 {
            Some(known) => known,
            None => self.largest_displacement2()?,
        };
        if largest > most * most {
            self.report_lost(most)?;
        }
        Ok(largest)
    }

    /// Ends the run on all ranks if a particle has moved further than one cell. *Collective.*
    fn report_lost(&self, most: f64) -> Result<(), EngineError> {
        let mine = find_lost(&self.state.particles, &self.neighborhood.watch, most);
        let mut count = [mine.len() as f64];
        self.world.sum(&mut count)?;
        if count[0] == 0.0 {
            return Ok(());
        }
        let examples = gather_examples(&mine, self.world)?;
        Err(EngineError::Lost { step: self.state.step, count: count[0] as u64, examples })
    }

    /// Ends the run if the present force on a particle would move it further than the cutoff in one
    /// step. *Collective.*
    pub(super) fn check_overlaps(&mut self) -> Result<(), EngineError> {
        let cutoff = self.setup.config.forces.cutoff();
        let lightest = self.setup.config.masses.iter().copied().fold(f64::INFINITY, f64::min);
        let timestep = self.timestep();
        let limit = 2.0 * cutoff * lightest / (timestep * timestep);
        let worst = largest_force(&self.state.particles);
        let mut largest = [worst.map_or(0.0, |(_, force)| force)];
        self.world.max(&mut largest)?;
        self.accounts.energy.first_force = largest[0];
        // A minimisation separates overlapping particles.
        if largest[0] <= limit || self.setup.config.integrator.conserved().is_none() {
            return Ok(());
        }
        let mine = worst.filter(|(_, force)| *force >= largest[0]);
        let overlap =
            mine.and_then(|(i, force)| close_pair_at(&self.state.particles, i, force, &self.state.domain));
        let words = overlap
            .map_or([0.0; 4], |o| [f64::from_bits(o.id), f64::from_bits(o.neighbour), o.distance, o.force]);
        let found = gather_all(&[words], self.world)?.into_iter().find(|[.., force]| *force > 0.0);
        let overlap = found.map(|[id, neighbour, distance, force]| {
            let [id, neighbour] = [id, neighbour].map(f64::to_bits);
            ClosePair { id, neighbour, distance, force }
        });
        Err(EngineError::Exploded { step: self.state.step, overlap })
    }
}

/// Returns a few of all ranks' lost particles, ordered by id; the same on all ranks.
fn gather_examples(mine: &[LostParticle], world: &dyn World) -> Result<Vec<LostParticle>, EngineError> {
    let mut words = [[0.0; WORDS]; EXAMPLES];
    for (words, lost) in words.iter_mut().zip(mine) {
        let ([x, y, z], [dx, dy, dz]) = (lost.particle.position, lost.displacement);
        *words = [f64::from_bits(lost.particle.id), x, y, z, dx, dy, dz];
    }
    // Ids start at 1: an id of 0 marks an unused entry.
    let filled = gather_all(&words, world)?.into_iter().filter(|words| words[0].to_bits() != 0);
    let mut examples: Vec<LostParticle> = filled
        .map(|[id, x, y, z, dx, dy, dz]| LostParticle {
            particle: Particle { id: id.to_bits(), position: [x, y, z], ..Particle::default() },
            displacement: [dx, dy, dz],
        })
        .collect();
    examples.sort_by_key(|lost| lost.particle.id);
    Ok(examples)
}
