//! Number of cores, and whether each thread of a rank has its own.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;

use md_comm::{CommError, CrowdedCores, World};

/// Returns the number of hardware threads of this machine, including those that the launcher has
/// bound to other ranks.
pub(crate) fn of_machine() -> usize {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let listed = online.trim().split(',').map(count_of_range).sum::<Option<usize>>();
    listed.filter(|&count| count > 0).unwrap_or_else(of_process)
}

/// Returns the length of a range: 4 for `0-3`, 1 for `5`.
fn count_of_range(range: &str) -> Option<usize> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    (last.parse::<usize>().ok()? + 1).checked_sub(first.parse().ok()?)
}

/// Returns the number of hardware threads that this process may use: a launcher may have bound it
/// to a few of them.
fn of_process() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Returns the number of threads per rank that have a core each, if all `ranks` are on this
/// machine, `alike` of them in this process.
pub(crate) fn share(alike: usize, ranks: usize) -> usize {
    (of_process() / alike).min(of_machine() / ranks).max(1)
}

/// Returns the smallest [`share`] over the ranks of a world, which may be on several machines.
/// *Collective.*
pub(crate) fn share_of_ranks(world: &dyn World, alike: usize) -> Result<usize, CommError> {
    let mut hasher = DefaultHasher::new();
    gethostname::gethostname().hash(&mut hasher);
    let own = hasher.finish().to_ne_bytes();
    let here = world.gather_all(&own)?.chunks(own.len()).filter(|host| **host == own).count();
    // The minimum is the negated maximum of the negated values.
    let mut least = [-(share(alike, here) as f64)];
    world.max(&mut least)?;
    Ok(-least[0] as usize)
}

/// Returns the warning for `ranks` ranks with `threads` threads each in this process, if the
/// process has too few cores for them.
pub(crate) fn warning(ranks: usize, threads: usize) -> Option<String> {
    warning_on(ranks, threads, of_process(), of_machine())
}

/// Returns the message about ranks with `threads` threads each that are bound to the same cores.
pub(crate) fn crowding(CrowdedCores { ranks, cores }: CrowdedCores, threads: usize) -> String {
    let with_threads = if threads > 1 { format!(" with {threads} threads each") } else { String::new() };
    let the_same = if cores == 1 { "core".to_owned() } else { format!("{cores} cores") };
    format!(
        "{ranks} ranks of one machine{with_threads} can use only the same {the_same}: they take turns, which looks like slow \
         messages; start with `mpirun --bind-to none`"
    )
}

fn warning_on(ranks: usize, threads: usize, usable: usize, present: usize) -> Option<String> {
    /// Ranks per core that are still useful for trying out a decomposition.
    const MOST_ON_TRIAL: usize = 8;
    let (all, is_bound) = (ranks * threads, usable < present);
    let takes_turns = "they will take turns";
    let what = match (ranks, threads) {
        (1, _) => format!("{all} threads"),
        (_, 1) => format!("{ranks} ranks in one process"),
        _ => format!("{ranks} ranks with {threads} threads each in one process"),
    };
    if all <= usable || (threads == 1 && !is_bound && ranks <= MOST_ON_TRIAL * usable) {
        None
    } else if !is_bound {
        Some(format!(
            "{what} on {present} cores: {takes_turns}; more threads than cores are slower than fewer"
        ))
    } else if ranks > 1 {
        Some(format!(
            "{what}, but it may use only {usable} of {present} cores: {takes_turns}, which looks like slow messages; start it \
             with more cores (`taskset`, the limits of a job or a container)"
        ))
    } else {
        Some(format!(
            "{what}, but this process may use only {usable} of {present} cores, as a rule because the launcher has bound it to \
             them: {takes_turns}; start with `mpirun --bind-to none` or `mpirun --map-by slot:PE={threads}`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cores_are_counted() {
        assert_eq!(["0-3", "5", "x", "3-1"].map(count_of_range), [Some(4), Some(1), None, None]);
    }

    #[test]
    fn threads_with_a_core_each_are_fine() {
        assert_eq!(warning_on(1, 4, 4, 8), None);
        assert_eq!(warning(1, 1), None);
    }

    #[test]
    fn bound_ranks_are_told_how_to_start() {
        let text = warning_on(1, 2, 1, 2).unwrap();
        assert!(text.starts_with("2 threads, but this process may use only 1 of 2 cores"), "{text}");
        assert!(text.ends_with("`mpirun --bind-to none` or `mpirun --map-by slot:PE=2`"), "{text}");
    }

    #[test]
    fn ranks_on_one_core_are_told_how_to_start() {
        let text = crowding(CrowdedCores { ranks: 2, cores: 1 }, 1);
        insta::assert_snapshot!(text, @"2 ranks of one machine can use only the same core: they take turns, which looks like slow messages; start with `mpirun --bind-to none`");
        let text = crowding(CrowdedCores { ranks: 3, cores: 2 }, 4);
        assert!(
            text.starts_with("3 ranks of one machine with 4 threads each can use only the same 2 cores: ")
        );
    }

    #[test]
    fn too_many_threads_take_turns() {
        let text = warning_on(1, 4, 2, 2).unwrap();
        assert!(text.starts_with("4 threads on 2 cores: they will take turns"), "{text}");
        let text = warning_on(2, 2, 2, 2).unwrap();
        assert!(
            text.starts_with("2 ranks with 2 threads each in one process on 2 cores: they will"),
            "{text}"
        );
        assert_eq!(warning_on(16, 1, 2, 2), None, "to try out a division");
        let text = warning_on(64, 1, 2, 2).unwrap();
        insta::assert_snapshot!(text, @"64 ranks in one process on 2 cores: they will take turns; more threads than cores are slower than fewer");
    }

    #[test]
    fn ranks_as_threads_on_too_few_cores_are_told() {
        let text = warning_on(2, 1, 1, 2).unwrap();
        insta::assert_snapshot!(text, @"2 ranks in one process, but it may use only 1 of 2 cores: they will take turns, which looks like slow messages; start it with more cores (`taskset`, the limits of a job or a container)");
        assert_eq!(warning_on(2, 1, 2, 4), None);
    }
}
