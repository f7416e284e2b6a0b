//! `hash.csv`: hashes of the state of all particles.

use md_comm::World;
use md_core::state_hash::StateHash;
use md_engine::{Needs, ObserverError, Snapshot};
use md_scenario::{AnalysisKeys, AnalysisKind};
use serde::Serialize;

use super::super::run_output::Opening;
use super::Analysis;

/// The hashes so far, which are equal on all ranks.
pub(super) struct Hash(Vec<Row>);

/// A row of the table.
struct Row {
    step: u64,
    hash: StateHash,
}

impl Row {
    fn words(&self) -> [u64; 3] {
        let StateHash(hash) = self.hash;
        [self.step, (hash >> u64::BITS) as u64, hash as u64]
    }

    fn from_words([step, high, low]: [u64; 3]) -> Self {
        Self { step, hash: StateHash(u128::from(high) << u64::BITS | u128::from(low)) }
    }
}

impl Analysis for Hash {
    const KIND: AnalysisKind = md_scenario::Hash::KIND;
    const NEEDS: Needs = Needs::VELOCITIES;

    fn new(_: &AnalysisKeys, _: &Opening, words: Option<&[u64]>) -> Option<Self> {
        let (rows, rest) = words.unwrap_or_default().as_chunks();
        rest.is_empty().then(|| Self(rows.iter().copied().map(Row::from_words).collect()))
    }

    fn sample(&mut self, now: &Snapshot, world: &dyn World) -> Result<(), ObserverError> {
        let mut limbs = StateHash::of(now.particles, now.domain).limbs();
        world.sum(&mut limbs)?;
        self.0.push(Row { step: now.step, hash: StateHash::from_limbs(limbs) });
        Ok(())
    }

    fn words(&self) -> Vec<u64> {
        self.0.iter().flat_map(Row::words).collect()
    }

    fn rows(&self) -> impl Iterator<Item = impl Serialize> {
        self.0.iter().map(|row| (row.step, row.hash.to_string()))
    }
}
