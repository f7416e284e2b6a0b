//! A survey of the MPI library and its behaviour here, for `md-cli backends` and for the record of
//! a run.
//!
//! The code that moves a put decides its speed, and the standard has no call that identifies it.
//! Open MPI's components name their windows (`rdma window 3`), all but osc/sm; MPICH includes its
//! device in the version text; others report nothing.

use mpi::Threading;

use super::MpiWorld;
use super::ffi::{Memory, Request, Window};
use super::node::Node;
use super::world_state::WorldState;
use crate::library::{Family, Library};
use crate::{Asserts, CommError, Rank};

/// Size of the windows that are made for the survey.
const SMALL_BYTES: usize = 64;

/// The library, and the location of its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The level provided, as the standard calls it (MPI-3.1 section 12.4.3).
    pub thread_level: &'static str,
    /// Number of ranks on each node, nodes in the order of their lowest ranks.
    pub ranks_on_nodes: Vec<usize>,
    /// The ways to make a window.
    pub windows: Vec<WindowSurvey>,
}

/// Result of one way to make a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSurvey {
    /// The call that makes it.
    pub call: &'static str,
    /// The facts, or the library's reason for refusing the window.
    pub made: Result<WindowFacts, String>,
}

/// A window that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowFacts {
    /// The component of the library that moves its data, and how it was found if the library does
    /// not report it.
    pub component: String,
    /// `unified` or `separate` (MPI-3.1 section 11.4).
    pub memory_model: &'static str,
}

impl MpiWorld {
    /// Surveys the library; small windows are made and freed. *Collective.*
    ///
    /// # Errors
    /// Fails if ranks cannot be reached. A window that cannot be made is not an error but a
    /// finding.
    pub fn survey(&self) -> Result<Survey, CommError> {
        let world = self.state();
        let ranks_on_nodes = sizes_of_groups(self.nodes()?);
        let kinds = [
            ("MPI_Win_allocate", Memory::Allocated),
            ("MPI_Win_create", Memory::Created),
            ("MPI_Win_create_dynamic", Memory::Attached),
            ("MPI_Win_allocate_shared", Memory::Shared),
        ];
        let survey = |(call, memory)| Ok(WindowSurvey { call, made: world.try_window(memory)? });
        let windows = kinds.into_iter().map(survey).collect::<Result<_, CommError>>()?;
        Ok(Survey { thread_level: thread_level(), ranks_on_nodes, windows })
    }

    /// Returns, for each rank, the lowest rank on its node. *Collective.*
    ///
    /// # Errors
    /// Fails if ranks cannot be reached.
    pub fn nodes(&self) -> Result<Vec<Rank>, CommError> {
        let world = self.state();
        let lowest = (world.find_node()?.lowest() as u64).to_ne_bytes().to_vec();
        let all = world.communicator.gather_all(lowest, world.ranks, world.limit())?;
        Ok(bytemuck::pod_collect_to_vec::<u8, u64>(&all).into_iter().map(|rank| rank as Rank).collect())
    }
}

impl WorldState {
    /// Makes a small window and frees it. *Collective.*
    fn try_window(&self, memory: Memory) -> Result<Result<WindowFacts, String>, CommError> {
        let node: &Node = self.find_node()?;
        let on = if memory == Memory::Shared { &node.communicator } else { &self.communicator };
        let (windows, asserts, limit) = (1, Asserts::Off, self.limit());
        let request = Request { memory, windows, extent: SMALL_BYTES, origins: 0, words: 0, asserts, limit };
        let mut window = match self.make_window(on, request)? {
            Ok(window) => window,
            Err(reason) => return Ok(Err(reason)),
        };
        let component = self.component_of(&window)?;
        let memory_model = if window.is_unified() { "unified" } else { "separate" };
        window.free()?;
        Ok(Ok(WindowFacts { component, memory_model }))
    }

    fn component_of(&self, window: &Window) -> Result<String, CommError> {
        Ok(component(&Library::from_text(self.library()), &window.name()?))
    }

    /// Stores the component of a window that a run uses.
    pub(super) fn note_component(&self, window: &Window) -> Result<(), CommError> {
        self.component.replace(Some(self.component_of(window)?));
        Ok(())
    }
}

/// Returns the number of occurrences of each value, in the order of the values.
fn sizes_of_groups(mut values: Vec<Rank>) -> Vec<usize> {
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(<[Rank]>::len).collect()
}

/// Returns the component of a window with this name.
fn component(library: &Library, window_name: &str) -> String {
    let named = window_name.split_once(" window").map(|(component, _)| format!("osc/{component}"));
    match library.family {
        Family::OpenMpi => {
            named.unwrap_or_else(|| "osc/sm (deduced: the others name their windows)".to_owned())
        }
        Family::Mpich | Family::IntelMpi | Family::Other => match &library.device {
            Some(device) => format!("device {device}"),
            None => "not stated by the library".to_owned(),
        },
    }
}

fn thread_level() -> &'static str {
    match mpi::environment::threading_support() {
        Threading::Single => "MPI_THREAD_SINGLE",
        Threading::Funneled => "MPI_THREAD_FUNNELED",
        Threading::Serialized => "MPI_THREAD_SERIALIZED",
        Threading::Multiple => "MPI_THREAD_MULTIPLE",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component_in(library: &str, window_name: &str) -> String {
        component(&Library::from_text(library), window_name)
    }

    #[test]
    fn windows_of_open_mpi_tell_their_component() {
        let library = "Open MPI v4.1.4, package: Debian OpenMPI";
        assert_eq!(component_in(library, "rdma window 3"), "osc/rdma");
        assert_eq!(component_in(library, "pt2pt window 12"), "osc/pt2pt");
        assert!(component_in(library, "").starts_with("osc/sm (deduced"));
    }

    #[test]
    fn other_libraries_tell_their_device_or_nothing() {
        assert_eq!(component_in("MPICH Version: 5.0.2\nMPICH Device: ch4:ofi", ""), "device ch4:ofi");
        assert_eq!(
            component_in("Intel(R) MPI Library 2021.18.1 for Linux* OS", ""),
            "not stated by the library"
        );
    }

    #[test]
    fn ranks_are_counted_per_node() {
        assert_eq!(sizes_of_groups(vec![0, 2, 0, 2, 2, 5]), [2, 3, 1]);
    }
}
