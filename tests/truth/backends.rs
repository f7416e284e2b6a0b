//! Every transport moves the same bytes: bit-identical trajectories, with several rebuilds and migrations.

use crate::support::{Backend, RESTLESS_MELT, Run, p2p_available};

/// Backends that need MPI, by their names in a scenario.
fn mpi_backends() -> Vec<&'static str> {
    let over_mpi = |backend: &&md_comm::Backend| **backend != md_comm::Backend::Local;
    let names = md_comm::Backend::ALL.iter().filter(over_mpi).map(|backend| backend.name());
    names.collect()
}

fn thermo_text(run: &Run) -> String {
    run.succeed().text("thermo.csv")
}

fn check(ranks: usize, settings: &[&str]) {
    let run = settings.iter().fold(Run::new("run", RESTLESS_MELT), |run, setting| run.set(*setting));
    let expected = thermo_text(&run.clone().on(Backend::Local, ranks));
    for name in mpi_backends() {
        let here = run.clone().on(Backend::P2p, ranks).set(format!("parallel.backend={name:?}"));
        assert_eq!(thermo_text(&here), expected, "{name} on {ranks} ranks with {settings:?}");
    }
}

/// Options that move the same bytes in other ways.
const OPTIONS: [(&str, &[&str]); 10] = [
    ("rma-fence", &["operation=get", "asserts=true"]),
    ("rma-pscw", &["windows=per-edge", "asserts=true"]),
    ("rma-lock", &["operation=get", "window=create", "slots=1"]),
    ("rma-notify", &["polling=strict", "window=create"]),
    ("rma-ring", &["ring=shared", "slots=1"]),
    ("shm", &["slots=1"]),
    ("rma-fence", &["epoch=initiate", "arrivals=copied"]),
    ("rma-pscw", &["epoch=initiate", "slots=1"]),
    ("rma-lock-epoch", &["epoch=initiate", "notice=neighbor-barrier"]),
    ("rma-barrier", &["barriers=per-message"]),
];

#[test]
fn every_option() {
    if !p2p_available() {
        return;
    }
    let expected = thermo_text(&Run::new("run", RESTLESS_MELT).on(Backend::Local, 3));
    for (name, options) in OPTIONS {
        let here =
            Run::new("run", RESTLESS_MELT).on(Backend::P2p, 3).set(format!("parallel.backend={name:?}"));
        let here = options.iter().fold(here, |run, option| run.set(format!("parallel.rma.{option}")));
        assert_eq!(thermo_text(&here), expected, "{name} with {options:?}");
    }
}

#[test]
fn every_backend() {
    if p2p_available() {
        check(2, &["parallel.shell=eighth", "parallel.exchange=staged"]);
        check(3, &["parallel.partition=stripe", "parallel.shell=half"]);
    }
}
