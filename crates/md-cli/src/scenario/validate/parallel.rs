//! `[parallel]`

use super::checks::{at_least_one, available, positive};
use crate::scenario::describe::name_of;
use crate::scenario::finding::{Checked, Finding};
use crate::scenario::model::{Backend, Parallel, Partition, Simulation};
use crate::scenario::rma::Rma;
use crate::scenario::suggest::listed;

pub(super) fn check(parallel: &Parallel, simulation: &Simulation) -> Checked {
    let built = |backend: &Backend| md_comm::Backend::from_name(&name_of(*backend)).is_some();
    let backends: Vec<Backend> = Backend::ALL.into_iter().filter(built).collect();
    available("parallel.backend", &parallel.backend, &backends)?;
    check_between_nodes(parallel, &backends)?;
    available("parallel.partition", &parallel.partition, &[Partition::Rect, Partition::Stripe])?;
    check_rma(parallel)?;
    check_grid(parallel, simulation)?;
    check_ranks(parallel)?;
    at_least_one("parallel.threads", parallel.threads, "threads per rank")?;
    positive("parallel.watchdog_s", parallel.watchdog_s, "seconds, the default is 60.0")
}

fn check_rma(parallel: &Parallel) -> Checked {
    let Rma { slots, .. } = parallel.rma;
    if !matches!(slots, 1 | 2) {
        let message = format!("`parallel.rma.slots` must be 1 or 2, found {slots}");
        return Err(Finding::new("parallel.rma.slots", message, "2 is double buffering, the default"));
    }
    let (backend, key_of_backend) = match parallel.backend {
        Backend::Hybrid => (parallel.between_nodes, "parallel.between_nodes"),
        backend => (backend, "parallel.backend"),
    };
    let name = name_of(backend);
    let refusal = md_comm::Backend::from_name(&name)
        .and_then(|backend| backend.refusal(&parallel.rma.options(), parallel.rma.slots()));
    let Some(refusal) = refusal else { return Ok(()) };
    let key = refusal.key.name();
    let message = format!("backend `{name}` does not take this `{key}`");
    let finding = Finding::new(format!("parallel.rma.{key}"), message, refusal.reason);
    Err(finding.or_at(key_of_backend))
}

fn check_between_nodes(parallel: &Parallel, backends: &[Backend]) -> Checked {
    const KEY: &str = "parallel.between_nodes";
    let alone = [Backend::Local, Backend::Shm, Backend::Hybrid, Backend::Auto];
    let able: Vec<Backend> = backends.iter().copied().filter(|backend| !alone.contains(backend)).collect();
    if !alone.contains(&parallel.between_nodes) {
        return available(KEY, &parallel.between_nodes, &able);
    }
    let name = name_of(parallel.between_nodes);
    let names: Vec<String> = able.iter().map(name_of).collect();
    let help = format!("available: {}", listed(names.iter().map(String::as_str)));
    Err(Finding::new(KEY, format!("`{KEY} = {name:?}` cannot move messages between nodes by itself"), help))
}

fn check_grid(parallel: &Parallel, simulation: &Simulation) -> Checked {
    let Some(grid) = parallel.grid else {
        return Ok(());
    };
    if parallel.partition != Partition::Rect {
        let message = format!("partition `{}` takes no `grid`", name_of(parallel.partition));
        let finding = Finding::new("parallel.grid", message, "leave it out, or use `partition = \"rect\"`");
        return Err(finding.at_key().or_at("parallel.partition"));
    }
    for (axis, ranks) in grid.into_iter().enumerate() {
        let help = "ranks along x, y and z; their product is the number of ranks";
        at_least_one(&format!("parallel.grid[{axis}]"), ranks, help)?;
    }
    if simulation.dimension == 2 && grid[2] != 1 {
        let message = format!("a 2D simulation cannot be divided in z, found {} ranks there", grid[2]);
        let help = format!("write `grid = [{}, {}, 1]`", grid[0], grid[1]);
        return Err(Finding::new("parallel.grid[2]", message, help));
    }
    Ok(())
}

fn check_ranks(parallel: &Parallel) -> Checked {
    at_least_one("parallel.ranks", parallel.ranks, "ranks as threads of this process, for `local` only")?;
    if parallel.ranks > 1 && parallel.backend != Backend::Local {
        let backend = name_of(parallel.backend);
        let message =
            format!("`parallel.ranks = {}` needs backend `local`, found `{backend}`", parallel.ranks);
        let help = format!("start `mpirun -n {}` for `{backend}`, or use `local`", parallel.ranks);
        return Err(Finding::new("parallel.ranks", message, help).or_at("parallel.backend"));
    }
    Ok(())
}
