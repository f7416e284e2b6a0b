//! A world that records events.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use md_comm::{CommError, Exchange, ExchangeSpec, Reduction, Unpacked, UnpackedSpec, World};

use md_engine::clock::PhaseObserver;
use serde::Serialize;

use super::clocks::{ClockReading, read_clocks};
use super::recorder::Recorder;
use super::write::{Written, write};

/// A world that records messages, and collectives that wait for all ranks.
pub struct TracedWorld<'w> {
    inner: &'w dyn World,
    pub(super) recorder: Rc<Recorder>,
    /// Time at which the current maximum was begun.
    max_since: Cell<Option<Instant>>,
    /// Readings of the clocks before and after the recording, on rank 0.
    pub(super) clocks: RefCell<[Vec<ClockReading>; 2]>,
}

impl<'w> TracedWorld<'w> {
    /// Wraps another world; each rank keeps this number of events.
    ///
    /// # Errors
    /// [`CommError::OutOfMemory`].
    pub fn new(inner: &'w dyn World, events: usize) -> Result<Self, CommError> {
        let (recorder, clocks) = (Recorder::new(events)?, RefCell::default());
        Ok(Self { inner, recorder, max_since: Cell::new(None), clocks })
    }

    /// Starts recording; `watch` registers the recorder as an observer of phases. *Collective.*
    ///
    /// # Errors
    /// Those of communication.
    pub fn start(&self, watch: impl FnOnce(Rc<dyn PhaseObserver>)) -> Result<(), CommError> {
        self.clocks.borrow_mut()[0] = read_clocks(self.inner, &self.recorder)?;
        watch(Rc::<Recorder>::clone(&self.recorder));
        self.recorder.start();
        Ok(())
    }

    /// Stops recording. *Collective.*
    ///
    /// # Errors
    /// Those of communication.
    pub fn stop(&self) -> Result<(), CommError> {
        self.recorder.stop();
        self.clocks.borrow_mut()[1] = read_clocks(self.inner, &self.recorder)?;
        Ok(())
    }

    /// Writes the events of all ranks through `sink` on rank 0, rank by rank, together with
    /// `context`, the description of the run. If `sink` fails, rank 0 still receives the rest of
    /// the messages, and then returns the error. *Collective.*
    ///
    /// # Errors
    /// Those of communication; in the inner result, the first error of `sink`.
    pub fn write<E>(
        &self,
        context: &impl Serialize,
        sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<Result<Written, E>, CommError> {
        write(self.inner, &self.recorder, &self.clocks.borrow(), context, sink)
    }

    fn collective<T>(&self, work: impl FnOnce(&dyn World) -> T) -> T {
        let begun = Instant::now();
        let result = work(self.inner);
        self.recorder.collective(begun, begun);
        result
    }
}

impl World for TracedWorld<'_> {
    md_comm::forward_to_inner!(rank ranks open_unexpected open_file set_watchdog broadcast gather shift abort platform);

    fn open(&self, spec: ExchangeSpec) -> Result<Exchange, CommError> {
        let observer = self.recorder.context(spec.name);
        Ok(self.inner.open(spec)?.observed(observer))
    }

    fn open_unpacked(&self, spec: UnpackedSpec) -> Result<Box<dyn Unpacked>, CommError> {
        let observer = self.recorder.context(spec.name);
        let mut context = self.inner.open_unpacked(spec)?;
        context.observe(observer);
        Ok(context)
    }

    fn duplicate(&self) -> Result<Box<dyn World + '_>, CommError> {
        self.inner.duplicate()
    }

    fn needs_same_order(&self) -> bool {
        self.inner.needs_same_order()
    }

    fn gather_all(&self, mine: &[u8]) -> Result<Vec<u8>, CommError> {
        self.collective(|world| world.gather_all(mine))
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.collective(|world| world.barrier())
    }

    fn reduce(&self, words: &mut [u64], how: Reduction) -> Result<(), CommError> {
        self.collective(|world| world.reduce(words, how))
    }

    fn sum(&self, values: &mut [f64]) -> Result<(), CommError> {
        self.collective(|world| world.sum(values))
    }

    fn max(&self, values: &mut [f64]) -> Result<(), CommError> {
        self.collective(|world| world.max(values))
    }

    fn start_max(&self, values: &[f64]) -> Result<(), CommError> {
        // Without an MPI library, nothing is sent before `finish_max`.
        self.max_since.set((self.inner.platform().library() != "none").then(Instant::now));
        self.inner.start_max(values)
    }

    fn finish_max(&self, values: &mut [f64]) -> Result<(), CommError> {
        let begun = Instant::now();
        let result = self.inner.finish_max(values);
        self.recorder.collective(self.max_since.take().unwrap_or(begun), begun);
        result
    }
}
