//! Detection of the launcher that started this process.

/// Variables that have the number of ranks: Open MPI, MPICH and other PMI-1 launchers, Intel MPI.
const SIZE_VARIABLES: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MPI_LOCALNRANKS"];
/// Variable of Slurm, which also sets it in plain batch jobs. Slurm counts as a launcher only if it
/// also offers PMI.
const SLURM_SIZE: &str = "SLURM_NTASKS";
const PMI_SIGNS: [&str; 3] = ["PMI_RANK", "PMI_FD", "PMIX_RANK"];

/// Returns the number of ranks if an MPI launcher has started this process. Reads only the
/// environment, so that a program built without MPI can refuse to run as several copies of itself.
pub fn started_by_launcher() -> Option<usize> {
    ranks_from(|name| std::env::var(name).ok())
}

/// Does what `started_by_launcher` does, but returns `None` if the launcher has started this
/// process alone. Then the ranks may be threads.
pub fn processes_of_job() -> Option<usize> {
    started_by_launcher().filter(|&processes| processes > 1)
}

/// Returns this process's number among those that the launcher has started, if there is a launcher.
/// Works before MPI is initialised.
pub fn rank() -> Option<usize> {
    const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
    RANK_VARIABLES.iter().find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}

fn ranks_from(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let has_pmi = PMI_SIGNS.iter().any(|sign| variable(sign).is_some());
    let slurm = has_pmi.then_some(SLURM_SIZE);
    let ranks = |name| variable(name)?.trim().parse().ok().filter(|&ranks| ranks > 0);
    SIZE_VARIABLES.into_iter().chain(slurm).find_map(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks_with(variables: &[(&str, &str)]) -> Option<usize> {
        ranks_from(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_are_recognised() {
        assert_eq!(ranks_with(&[]), None);
        assert_eq!(ranks_with(&[("OMPI_COMM_WORLD_SIZE", "4")]), Some(4));
        assert_eq!(ranks_with(&[("PMI_SIZE", "3")]), Some(3));
        assert_eq!(ranks_with(&[("SLURM_NTASKS", "8")]), None);
        assert_eq!(ranks_with(&[("SLURM_NTASKS", "8"), ("PMIX_RANK", "0")]), Some(8));
        assert_eq!(ranks_with(&[("PMI_SIZE", "many")]), None);
        assert_eq!(ranks_with(&[("OMPI_COMM_WORLD_SIZE", "0")]), None);
        assert_eq!(ranks_with(&[("PMI_SIZE", "0"), ("PMIX_SIZE", "2")]), Some(2));
    }
}
