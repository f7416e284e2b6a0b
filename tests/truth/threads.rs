//! Threads change no force beyond rounding, and with a given number of threads every run gives the
//! same bits.

use md_core::Dimension;

use crate::support::{
    Backend, CLUSTERS, Configuration, Random, Run, Start, Workdir, assert_forces, data, p2p_available,
};

const THREADS: [usize; 2] = [2, 3];
const SHELLS: [&str; 3] = ["full", "half", "eighth"];
const METHODS: [&str; 3] =
    ["neighbor.method=\"cells\"", "neighbor.precision=\"double\"", "neighbor.precision=\"mixed\""];

/// Returns the rounding of forces, relative to the largest.
fn tolerance(method: &str) -> f64 {
    if method.contains("mixed") { 5e-6 } else { 1e-12 }
}

/// A perfect crystal would have no forces, so it is melted a little first, and the forces come from
/// the last frame.
const MELTING: &str = r#"
[simulation]
steps = 30
seed = 5
[system]
lattice = { kind = "fcc", density = 0.8442, cells = [7, 6, 8] }
temperature = 3.0
[[species]]
name = "A"
[[species]]
name = "B"
fraction = 0.3
sigma = 0.95
[neighbor]
rebuild = { every = 8 }
[output]
thermo = { every = 5 }
trajectory = { path = "traj.extxyz", every = 30 }
"#;

fn with_threads(run: &Run, threads: usize) -> Run {
    run.clone().argument("--threads").argument(threads.to_string())
}

/// Compares the forces of every number of threads with those of one thread.
fn check(run: &Run, ranks: usize) {
    for shell in SHELLS {
        for method in METHODS {
            let run = run.clone().set(format!("parallel.shell={shell:?}")).set(method);
            let run = run.on(Backend::Local, ranks);
            let expected = with_threads(&run, 1).succeed();
            let rows = expected.forces();
            let scale = rows.iter().flat_map(|row| row.force).fold(1.0, |most: f64, f| most.max(f.abs()));
            for threads in THREADS {
                let outcome = with_threads(&run, threads).succeed();
                let case = outcome.case();
                assert_eq!(outcome.number("threads"), threads as f64, "{case}");
                assert_forces(&outcome.forces(), &rows, scale, tolerance(method), case);
                let (pairs, wanted) =
                    (outcome.number("useful_pairs_per_atom"), expected.number("useful_pairs_per_atom"));
                assert_eq!(pairs, wanted, "{case}: pairs within the cutoff");
            }
        }
    }
}

#[test]
fn forces_of_clusters_and_voids() {
    let configuration =
        Configuration::clustered(&mut Random::new(71), [12.0, 9.0, 10.5], [true; 3], 500, Dimension::Three);
    for ranks in [1, 2, 3] {
        check(&Run::new("forces", CLUSTERS).file("clusters.extxyz", configuration.extxyz()), ranks);
    }
}

#[test]
fn forces_of_the_reference_runs() {
    let two_species =
        "[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\nmass = 2.0\nepsilon = 0.5\nsigma = 0.9\n";
    for (name, species) in [("mix864", two_species), ("melt2048", "")] {
        let path = data(name).join("data.lammps");
        let scenario = format!(
            "[simulation]\nsteps = 1\n\
             [system]\nfile = {{ path = {path:?}, format = \"lammps-data\" }}\n{species}"
        );
        check(&Run::new("forces", scenario), 1);
    }
}

/// Returns thermo.csv and the last frame.
fn results(run: &Run) -> (String, [String; 2]) {
    let outcome = run.succeed();
    assert!(outcome.number("rebuilds") >= 2.0, "{}: rebuilds", outcome.case());
    (outcome.case().to_owned(), ["thermo.csv", "traj.extxyz"].map(|file| outcome.text(file)))
}

fn assert_identical(run: &Run, expected: &(String, [String; 2])) {
    let actual = results(run);
    // assert_eq! would print both files.
    assert!(actual.1 == expected.1, "{} and {} differ", actual.0, expected.0);
}

#[test]
fn a_run_can_be_repeated_and_the_transport_changes_no_bit() {
    for (method, shell) in
        METHODS.into_iter().zip(SHELLS).chain([("neighbor.precision=\"double\"", "eighth")])
    {
        let run = Run::new("run", MELTING).set(method).set(format!("parallel.shell={shell:?}"));
        for (threads, ranks) in [(2, 1), (2, 2), (3, 2), (4, 1)] {
            let run = with_threads(&run, threads);
            let local = run.clone().on(Backend::Local, ranks);
            let expected = results(&local);
            assert_identical(&local, &expected);
            assert_identical(&local.set("parallel.overlap=false"), &expected);
            if p2p_available() {
                assert_identical(&run.on(Backend::P2p, ranks), &expected);
            }
        }
    }
}

/// Fewer particles than threads, and empty regions.
#[test]
fn a_thread_may_have_nothing_to_do() {
    let few = Configuration::clustered(&mut Random::new(72), [9.0; 3], [true; 3], 5, Dimension::Three);
    check(&Run::new("forces", CLUSTERS).file("clusters.extxyz", few.extxyz()), 2);
}

#[test]
fn too_many_threads_are_a_warning_only() {
    let workdir = Workdir::new(crate::support::MELT);
    let said = workdir.succeed(Start::Plain, "run melt.toml --quiet --threads 65");
    assert!(said.stderr.starts_with("warning: 65 threads "), "{said:?}");
    assert!(said.stderr.contains("they will take turns"), "{said:?}");
    let said = workdir.succeed(Start::Plain, "run melt.toml --quiet --threads 1");
    assert_eq!(said.stderr, "");
}

#[test]
fn no_threads_are_an_error() {
    let workdir = Workdir::new(crate::support::MELT);
    let said = workdir.call(Start::Plain, "run melt.toml --quiet --threads 0");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("`parallel.threads` must be at least 1, found 0"), "{said:?}");
}

/// Binds each rank to a core, as some launchers do.
#[test]
#[cfg(target_os = "linux")]
fn a_bound_rank_is_told_how_to_start() {
    const NO_TASKSET: Option<i32> = Some(127);
    let cores = std::thread::available_parallelism().expect("Linux knows").get();
    let workdir = Workdir::new(crate::support::MELT);
    let said =
        crate::support::Said::of(workdir.shell("taskset -c 0 \"$md\" run melt.toml --quiet --threads 2"));
    if cores > 1 && said.code != NO_TASKSET {
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.stderr.contains("this process may use only 1 of"), "{said:?}");
        assert!(said.stderr.contains("`mpirun --bind-to none`"), "{said:?}");
        let ranks =
            "taskset -c 0 \"$md\" run melt.toml --quiet --set parallel.backend=local --set parallel.ranks=2";
        let said = crate::support::Said::of(workdir.shell(ranks));
        let expected = format!(
            "warning: 2 ranks in one process, but it may use only 1 of {cores} cores: they will take turns, which looks like \
             slow messages; start it with more cores (`taskset`, the limits of a job or a container)\n"
        );
        assert_eq!((said.code, said.stderr), (Some(0), expected));
    }
}
