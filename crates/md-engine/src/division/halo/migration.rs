//! Migration of particles: to neighbours at a rebuild, to any rank when the decomposition is
//! replaced.

use md_comm::{Buffering, EdgeId, Exchange, Flow, Sizes, World};
use md_core::Particles;
pub(crate) use md_core::migrate::Messages;
use md_core::migrate::append_migrants;

use super::{collect_arrivals, edge, open};
use crate::error::EngineError;

/// The context between this rank and all ranks to which its particles may move.
pub(crate) struct Migration {
    peers: Vec<usize>,
    context: Exchange,
    outgoing: Vec<Vec<u64>>,
    needs: Vec<usize>,
}

impl Migration {
    /// Opens the context with the ranks `peers`, ascending. *Collective.*
    pub(crate) fn open(
        world: &dyn World,
        peers: Vec<usize>,
        buffering: Buffering,
    ) -> Result<Self, EngineError> {
        let edges = peers.iter().map(|&peer| edge(peer, Flow::Both)).collect();
        let context = open(world, "migrate", edges, Sizes::Variable, buffering)?;
        let (outgoing, needs) = (vec![Vec::new(); peers.len()], vec![0; peers.len()]);
        Ok(Self { peers, context, outgoing, needs })
    }

    /// Sends the particles that `take` moves into the peers' messages and appends arriving ones, in
    /// edge order. *Collective.*
    pub(crate) fn exchange(
        &mut self,
        particles: &mut Particles,
        take: impl FnOnce(&mut Particles, Messages) -> Result<(), EngineError>,
        collected: &mut Vec<Vec<u64>>,
    ) -> Result<(), EngineError> {
        let Self { peers, context, outgoing, needs } = self;
        take(particles, Messages { peers, outgoing })?;
        // Reserves the size needed by the last migration; this one may still be longer.
        context.negotiate(needs)?;
        for (index, migrants) in outgoing.iter().enumerate() {
            let migrants: &[u8] = bytemuck::cast_slice(migrants);
            context.send_buffer(EdgeId(index), migrants.len())?.copy_from_slice(migrants);
            context.start(EdgeId(index))?;
        }
        context.initiate()?;
        collect_arrivals(context, collected)?;
        context.complete()?;
        for message in &collected[..peers.len()] {
            append_migrants(message, particles);
        }
        Ok(())
    }

    pub(crate) fn context(&self) -> &Exchange {
        &self.context
    }

    /// Closes the context. *Collective.*
    pub(crate) fn finalise(self) -> Result<(), EngineError> {
        Ok(self.context.finalise()?)
    }
}
