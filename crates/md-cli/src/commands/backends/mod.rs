//! `md-cli backends`: transports of the halo that are available here.

#[cfg(feature = "mpi")]
mod here;

use std::fmt::Write as _;

#[cfg(feature = "mpi")]
use md_comm::mpi::{MpiWorld, WindowSurvey};
use md_comm::{Backend, Library, Purpose, known_problems};

/// Properties of the MPI library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Properties, written as `name: value` lines below the name of the library.
    lines: Vec<(&'static str, String)>,
    /// Backends of this build that can be used here only in part or not at all, with the reason.
    restrictions: Vec<(Backend, String)>,
}

/// Returns one entry per backend, followed by the MPI library, its properties and its known
/// problems.
pub fn backends(library: &str, findings: &Findings) -> String {
    let mut text = String::new();
    let width = Backend::ALL.iter().map(|backend| backend.name().len()).max().unwrap_or(0);
    for &backend in Backend::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", backend.name(), state_of(backend, findings));
        let _ = writeln!(text, "{:width$}  {}", "", backend.description());
        if let Purpose::Control { shows } = backend.purpose() {
            let _ = writeln!(text, "{:width$}  control for experiments: shows {shows}", "");
        }
    }
    let _ = writeln!(text, "\nMPI library: {}", library.lines().next().unwrap_or_default());
    for (name, value) in &findings.lines {
        let _ = writeln!(text, "{name}: {value}");
    }
    text + &problems_of(&Library::from_text(library))
}

fn state_of(backend: Backend, findings: &Findings) -> String {
    let restriction = findings.restrictions.iter().find(|(restricted, _)| *restricted == backend);
    match (backend.availability(), restriction) {
        (Err(why), _) => format!("not available: {why}"),
        (Ok(()), Some((_, restriction))) => restriction.clone(),
        (Ok(()), None) => "available".to_owned(),
    }
}

fn problems_of(library: &Library) -> String {
    let mut problems = known_problems(library).peekable();
    if problems.peek().is_none() {
        return String::new();
    }
    let mut text = format!("\nknown problems of {library}:\n");
    for problem in problems {
        let _ =
            writeln!(text, "- {}\n  here: {}\n  see: {}", problem.what, problem.remedy, problem.reference);
    }
    text
}

/// Returns the properties of a build without MPI.
pub fn no_findings() -> Findings {
    Findings { lines: vec![("RMA component", "none".to_owned())], restrictions: Vec::new() }
}

/// Queries the MPI library. *Collective.*
///
/// # Errors
/// Returns an error if ranks cannot be reached.
#[cfg(feature = "mpi")]
pub fn findings(world: &MpiWorld) -> Result<Findings, md_comm::CommError> {
    let survey = world.survey()?;
    let component = |window: &WindowSurvey| match &window.made {
        Ok(made) => made.component.clone(),
        Err(why) => format!("none, {why}"),
    };
    let model =
        |window: &WindowSurvey| window.made.as_ref().map_or("none", |made| made.memory_model).to_owned();
    let lines = vec![
        ("RMA component", per_call(&survey.windows, component)),
        ("memory model", per_call(&survey.windows, model)),
        ("thread level", survey.thread_level.to_owned()),
        ("ranks", ranks_text(&survey.ranks_on_nodes)),
    ];
    Ok(Findings { lines, restrictions: here::restrictions(&survey) })
}

/// Returns each value with the calls that it holds for:
/// `osc/rdma [MPI_Win_allocate, MPI_Win_create]; osc/sm [MPI_Win_allocate_shared]`.
#[cfg(feature = "mpi")]
fn per_call(windows: &[WindowSurvey], fact: impl Fn(&WindowSurvey) -> String) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for window in windows {
        let value = fact(window);
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, calls)) => calls.push(window.call),
            None => groups.push((value, vec![window.call])),
        }
    }
    let groups = groups.into_iter().map(|(value, calls)| format!("{value} [{}]", calls.join(", ")));
    groups.collect::<Vec<_>>().join("; ")
}

#[cfg(feature = "mpi")]
fn ranks_text(on_nodes: &[usize]) -> String {
    let ranks: usize = on_nodes.iter().sum();
    let least = on_nodes.iter().min().copied().unwrap_or(0);
    let most = on_nodes.iter().max().copied().unwrap_or(0);
    let nodes = if on_nodes.len() == 1 { "1 node".to_owned() } else { format!("{} nodes", on_nodes.len()) };
    if least == most {
        format!("{ranks} on {nodes}, {most} per node")
    } else {
        format!("{ranks} on {nodes}, {least} to {most} per node")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_problems_stand_below_the_library() {
        let text = backends("Open MPI v4.1.4, package: Debian OpenMPI\n", &no_findings());
        let (library, problems) =
            (text.find("MPI library: Open MPI v4.1.4"), text.find("known problems of Open MPI 4.1.4:"));
        assert!(library.is_some() && library < problems, "{text}");
    }

    #[test]
    fn controls_say_that_they_are() {
        let text = backends("", &no_findings());
        let controls = |line: &&str| line.contains("control for experiments");
        assert_eq!(text.lines().filter(controls).count(), 2, "{text}");
        assert!(text.contains("control for experiments: shows what waiting for all ranks costs"), "{text}");
    }

    #[test]
    fn a_library_without_known_problems_has_no_list_of_them() {
        assert!(!backends("none (built without MPI)", &no_findings()).contains("known problems"));
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn what_is_restricted_here_is_not_called_available() {
        let restrictions = vec![(Backend::Shm, "not available: no shared windows".to_owned())];
        let text = backends("", &Findings { restrictions, ..no_findings() });
        let state = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        assert_eq!(state("shm "), Some("not available: no shared windows"));
        assert_eq!(state("p2p "), Some("available"));
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn equal_answers_are_told_once() {
        let window = |call| WindowSurvey { call, made: Err("invalid window".to_owned()) };
        let windows = ["MPI_Win_allocate", "MPI_Win_create", "MPI_Win_allocate_shared"].map(window);
        let length = |window: &WindowSurvey| window.call.len().min(15).to_string();
        assert_eq!(
            per_call(&windows, length),
            "15 [MPI_Win_allocate, MPI_Win_allocate_shared]; 14 [MPI_Win_create]"
        );
    }

    #[cfg(feature = "mpi")]
    #[test]
    fn uneven_nodes_are_told() {
        assert_eq!(ranks_text(&[4]), "4 on 1 node, 4 per node");
        assert_eq!(ranks_text(&[2, 2]), "4 on 2 nodes, 2 per node");
        assert_eq!(ranks_text(&[2, 1]), "3 on 2 nodes, 1 to 2 per node");
    }
}
