//! Restrictions of backends that follow from the properties of the MPI library. A build may contain
//! a backend that cannot be used on the machine.

use md_comm::mpi::{Survey, WindowSurvey};
use md_comm::{Backend, Communication};

/// Other calls that make a window, and their names in a scenario.
const OTHER_WINDOWS: [(&str, &str); 2] =
    [("MPI_Win_create", "create"), ("MPI_Win_create_dynamic", "dynamic")];

/// Returns the restrictions of the backends of this build, in words.
pub(super) fn restrictions(survey: &Survey) -> Vec<(Backend, String)> {
    let all = Backend::ALL.iter();
    all.filter_map(|&backend| Some((backend, restriction(backend, survey)?))).collect()
}

fn restriction(backend: Backend, survey: &Survey) -> Option<String> {
    match backend.communication() {
        Communication::SharedMemory => {
            several_nodes(survey).or_else(|| refused(survey, "MPI_Win_allocate_shared")).map(|why| not(&why))
        }
        Communication::Composed if backend == Backend::Hybrid => {
            refused(survey, "MPI_Win_allocate_shared").map(|why| not(&why))
        }
        Communication::OneSided => {
            refused(survey, "MPI_Win_allocate").map(|why| with_other_windows(survey, &why))
        }
        Communication::Threads
        | Communication::TwoSided
        | Communication::Collective
        | Communication::Composed => None,
    }
}

fn not(why: &str) -> String {
    format!("not available: {why}")
}

fn window<'s>(survey: &'s Survey, call: &str) -> Option<&'s WindowSurvey> {
    survey.windows.iter().find(|window| window.call == call)
}

/// Returns the reason why the library makes no windows with this call, if it does not.
fn refused(survey: &Survey, call: &str) -> Option<String> {
    window(survey, call)?.made.as_ref().err().cloned()
}

fn several_nodes(survey: &Survey) -> Option<String> {
    let nodes = survey.ranks_on_nodes.len();
    let why = "shared memory ends at the node; `hybrid` uses it inside nodes";
    (nodes > 1).then(|| format!("the ranks are on {nodes} nodes, and {why}"))
}

fn with_other_windows(survey: &Survey, why: &str) -> String {
    let is_made = |call| window(survey, call).is_some_and(|window| window.made.is_ok());
    match OTHER_WINDOWS.iter().find(|(call, _)| is_made(call)) {
        Some((_, name)) => format!("available with `window = {name:?}` in [parallel.rma] only: {why}"),
        None => not(why),
    }
}

#[cfg(test)]
mod tests {
    use md_comm::mpi::WindowFacts;

    use super::*;

    /// Returns the restrictions if the library refuses these calls.
    fn listed(refused: &[&str], ranks_on_nodes: &[usize]) -> String {
        let calls =
            ["MPI_Win_allocate", "MPI_Win_create", "MPI_Win_create_dynamic", "MPI_Win_allocate_shared"];
        let made = |call: &str| match refused.contains(&call) {
            true => Err(format!("{call} failed: MPI_ERR_WIN: invalid window")),
            false => Ok(WindowFacts { component: "osc/rdma".to_owned(), memory_model: "unified" }),
        };
        let windows = calls.map(|call| WindowSurvey { call, made: made(call) }).into();
        let ranks_on_nodes = ranks_on_nodes.to_vec();
        let survey = Survey { thread_level: "MPI_THREAD_FUNNELED", ranks_on_nodes, windows };
        let lines = restrictions(&survey).into_iter();
        lines.map(|(backend, text)| format!("{}  {text}\n", backend.name())).collect()
    }

    #[test]
    fn where_all_can_be_had_nothing_is_said() {
        assert_eq!(listed(&[], &[2]), "");
        assert_eq!(listed(&["MPI_Win_create", "MPI_Win_create_dynamic"], &[1]), "");
    }

    #[test]
    fn without_shared_windows() {
        insta::assert_snapshot!(listed(&["MPI_Win_allocate_shared"], &[2]), @r"
        shm  not available: MPI_Win_allocate_shared failed: MPI_ERR_WIN: invalid window
        hybrid  not available: MPI_Win_allocate_shared failed: MPI_ERR_WIN: invalid window
        ");
    }

    #[test]
    fn on_several_nodes() {
        let refused = listed(&["MPI_Win_allocate_shared"], &[2, 1]);
        assert!(
            refused.starts_with("shm  not available: the ranks are on 2 nodes"),
            "no option helps: {refused}"
        );
        insta::assert_snapshot!(listed(&[], &[2, 1]), @"shm  not available: the ranks are on 2 nodes, and shared memory ends at the node; `hybrid` uses it inside nodes");
    }

    #[test]
    fn without_allocated_windows() {
        let others = listed(&["MPI_Win_allocate", "MPI_Win_create"], &[2]);
        assert_eq!(others.lines().count(), 7);
        insta::assert_snapshot!(others.lines().next().unwrap_or_default(), @r#"rma-fence  available with `window = "dynamic"` in [parallel.rma] only: MPI_Win_allocate failed: MPI_ERR_WIN: invalid window"#);
        let none = listed(&["MPI_Win_allocate", "MPI_Win_create", "MPI_Win_create_dynamic"], &[2]);
        insta::assert_snapshot!(none.lines().last().unwrap_or_default(), @"rma-ring  not available: MPI_Win_allocate failed: MPI_ERR_WIN: invalid window");
    }
}
