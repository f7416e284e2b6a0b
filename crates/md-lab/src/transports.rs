//! Worlds of a measurement: one in which the ranks agree, and one per transport.

use md_comm::{Backend, CommError, Rank, RmaOptions, World};

/// Opens worlds with different backends over a fixed set of ranks.
///
/// ```
/// use md_comm::{Backend, RmaOptions, local};
/// use md_lab::{Threads, Transports};
/// use std::time::Duration;
///
/// /// Returns the names of the backends of which all ranks can open a world.
/// fn usable(transports: &dyn Transports) -> Vec<&'static str> {
///     let opens = |backend: &Backend| transports.world(*backend, RmaOptions::default()).is_ok();
///     [Backend::Local, Backend::P2p].into_iter().filter(opens).map(Backend::name).collect()
/// }
///
/// let names = local::run(2, Duration::from_secs(60), |world| usable(&Threads(world)));
/// assert_eq!(names, [Ok(vec!["local"]), Ok(vec!["local"])]);
/// ```
pub trait Transports {
    /// Returns the world in which the ranks agree on the outcome of a strategy. Strategies never
    /// use it, so it stays in step whatever state they leave behind. Measurements do not use it
    /// either, except for messages from and to lent memory, whose failure ends the job.
    fn agreement(&self) -> &dyn World;

    /// Returns a separate world for one strategy. *Collective.*
    ///
    /// # Errors
    /// [`CommError::Unavailable`], on all ranks, if the backend does not run here or does not
    /// support the options; errors of communication.
    fn world(&self, backend: Backend, options: RmaOptions) -> Result<Box<dyn World + '_>, CommError>;

    /// Returns, for each rank, the lowest rank on its node. *Collective.*
    ///
    /// # Errors
    /// Those of communication.
    fn nodes(&self) -> Result<Vec<Rank>, CommError> {
        Ok(vec![0; self.agreement().ranks()])
    }

    /// Returns whether plain MPI calls can be measured.
    fn has_calls(&self) -> bool {
        false
    }

    /// Returns the MPI world for plain MPI calls, if there is one.
    #[cfg(feature = "mpi")]
    fn mpi(&self) -> Option<&md_comm::mpi::MpiWorld> {
        None
    }

    /// Returns the backends that run here, the baseline first.
    fn backends(&self) -> Vec<Backend>;
}

/// Transports between ranks that are threads of this process.
///
/// ```
/// use md_comm::{Backend, local};
/// use md_lab::{Threads, Transports};
/// use std::time::Duration;
///
/// let backends = local::run(1, Duration::from_secs(60), |world| Threads(world).backends());
/// assert_eq!(backends, [Ok(vec![Backend::Local])]);
/// ```
pub struct Threads<'w>(pub &'w dyn World);

impl Transports for Threads<'_> {
    fn agreement(&self) -> &dyn World {
        self.0
    }

    fn world(&self, backend: Backend, _: RmaOptions) -> Result<Box<dyn World + '_>, CommError> {
        if backend == Backend::Local {
            return self.0.duplicate();
        }
        let reason = "the ranks of this run are threads of one process; start it with mpirun, or with an MPI backend \
                      in the scenario";
        Err(CommError::Unavailable { backend: backend.name(), reason: reason.to_owned() })
    }

    fn backends(&self) -> Vec<Backend> {
        vec![Backend::Local]
    }
}

/// Transports between ranks that are processes of an MPI run.
///
/// ```no_run
/// use md_comm::{Backend, CommError, mpi};
/// use md_lab::{Processes, Transports};
/// use std::time::Duration;
///
/// // In a program that mpirun has started.
/// let world = mpi::start(Duration::from_secs(60))?;
/// assert_eq!(Processes(&world).backends().first(), Some(&Backend::P2p));
/// # Ok::<(), CommError>(())
/// ```
#[cfg(feature = "mpi")]
pub struct Processes<'w>(pub &'w md_comm::mpi::MpiWorld);

#[cfg(feature = "mpi")]
impl Transports for Processes<'_> {
    fn agreement(&self) -> &dyn World {
        self.0
    }

    fn world(&self, backend: Backend, options: RmaOptions) -> Result<Box<dyn World + '_>, CommError> {
        Ok(Box::new(self.0.duplicate()?.with_backend(backend)?.with_options(options)?))
    }

    fn nodes(&self) -> Result<Vec<Rank>, CommError> {
        self.0.nodes()
    }

    fn has_calls(&self) -> bool {
        true
    }

    fn mpi(&self) -> Option<&md_comm::mpi::MpiWorld> {
        Some(self.0)
    }

    /// Omits `local`, which does not connect processes, and `auto`, a choice among the others.
    fn backends(&self) -> Vec<Backend> {
        let can_compete = |backend: &Backend| !matches!(backend, Backend::Local | Backend::Auto);
        Backend::ALL.iter().copied().filter(can_compete).collect()
    }
}
