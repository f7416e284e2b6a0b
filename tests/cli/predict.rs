//! `md-cli predict`: its output, its files and its exit codes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, error, error_everywhere, p2p_available};
use insta::assert_snapshot;

const COLUMNS: &str = "backend,shell,exchange,partition,ranks,atoms,messages,bytes,step_s,step_low_s,step_high_s,integrate_s,\
    migrate_s,border_s,neighbor_s,halo_pack_s,halo_transfer_s,halo_wait_s,halo_unpack_s,force_s,force_return_s,rebuild_s,mean_s,\
    exchange_s,grid,ranks_per_node,placement,scaling,threads,precision,seed,version";

pub(crate) const MACHINE: &str = r#"[[message]]
backend = "p2p"
distance = "node"
from_bytes = 0
latency_s = 1e-6
overhead_s = 2e-7
seconds_per_byte = 1e-10

[[message]]
backend = "shm"
distance = "node"
from_bytes = 0
latency_s = 2e-7
overhead_s = 5e-8
seconds_per_byte = 5e-11

[[message]]
backend = "p2p"
distance = "network"
from_bytes = 0
latency_s = 2e-5
overhead_s = 1e-6
seconds_per_byte = 1e-9

[[compute]]
method = "clusters"
precision = "double"
per_computed_pair_s = 1e-9
per_particle_s = 3e-9
per_ghost_packed_s = 1e-9
per_ghost_unpacked_s = 1e-9
force_scatter = 0.05
"#;

fn workdir() -> Workdir {
    let workdir = Workdir::new(MELT);
    workdir.write("machine.toml", MACHINE);
    workdir
}

/// Returns some columns of a table, row by row.
fn rows(text: &str, columns: &[&str]) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let places: Vec<usize> =
        columns.iter().map(|column| header.iter().position(|name| name == *column).unwrap()).collect();
    let row =
        |record: csv::StringRecord| places.iter().map(|&place| &record[place]).collect::<Vec<_>>().join(" ");
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn messages_and_bytes_are_those_of_compare() {
    let workdir = workdir();
    let own = "backend shell exchange messages bytes atoms grid";
    let own: Vec<&str> = own.split(' ').collect();
    let said = workdir.succeed(
        Start::Plain,
        "predict melt.toml --ranks 2 --machine machine.toml --shells all --exchanges all --backends p2p --progress never --output predicted",
    );
    assert_eq!(said.stderr, "");
    assert_eq!(workdir.files("predicted"), ["predict.csv", "predict.svg", "scenario.toml"]);
    let text = workdir.read("predicted/predict.csv");
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let predicted = rows(&text, &own);
    let call = "compare melt.toml --shells all --exchanges all --repeat 1 --steps 1 --quiet --progress never --output compared";
    workdir.succeed(Start::Threads(2), call);
    let measured = rows(&workdir.read("compared/compare.csv"), &own);
    assert_eq!(predicted, measured.iter().map(|row| row.replace("local", "p2p")).collect::<Vec<_>>());
}

/// Tests one rank, which waits for no other rank whatever else runs here. The waiting of several
/// ranks is tested by simulation (scripts/simulate.sh).
#[test]
fn steps_take_about_as_long_as_predicted() {
    // Other work on the machine can fall between two measurements. Then all of them are repeated.
    const ATTEMPTS: usize = 4;
    let faults: Vec<String> = (0..ATTEMPTS).map_while(|_| fault_of_prediction()).collect();
    assert!(faults.len() < ATTEMPTS, "{faults:#?}");
}

/// Returns what is wrong with the prediction of a small and a large system, if anything is.
fn fault_of_prediction() -> Option<String> {
    const FACTOR: f64 = 5.0;
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Plain, "fit --budget 2 --quiet --output fitted");
    let step_s = |cells: &str| {
        let set = format!("--quiet --set system.lattice.cells={cells}");
        let compare = format!("compare melt.toml --repeat 5 --steps 10 --output compared {set}");
        workdir.succeed(Start::Plain, &compare);
        let call =
            "predict melt.toml --ranks 1 --backends p2p --machine fitted/machine.toml --output predicted";
        workdir.succeed(Start::Plain, &format!("{call} {set}"));
        let read =
            |file: &str, column: &str| rows(&workdir.read(file), &[column])[0].parse().unwrap_or(f64::NAN);
        [read("compared/compare.csv", "step_median_s"), read("predicted/predict.csv", "step_s")]
    };
    let [small, large] = ["[6,5,5]", "[18,16,15]"].map(step_s);
    let is_far = |[measured, predicted]: &[f64; 2]| !(1.0 / FACTOR..FACTOR).contains(&(predicted / measured));
    if let Some([measured, predicted]) = [small, large].into_iter().find(is_far) {
        return Some(format!("{predicted} s instead of {measured} s"));
    }
    let growth: [f64; 2] = std::array::from_fn(|i| large[i] / small[i]);
    let grows = growth.iter().all(|it| *it > 3.0);
    (!grows).then(|| format!("29 times the particles: {growth:?}"))
}

#[test]
fn what_is_printed() {
    let call = "predict melt.toml --ranks 1,2,4,4000 --machine machine.toml --ranks-per-node 2 --placement round-robin --steps 9";
    let said = workdir().succeed(Start::Plain, call);
    // The number of computed pairs depends on the CPU's vectors.
    let shape = said.stdout.lines().map(|line| line.split("  0.").next().unwrap().trim_end());
    let shape: Vec<&str> = shape.collect();
    assert_snapshot!(shape.join("\n"), @r#"
    step: median [95 % interval] of those played; the best 3 on each number of ranks
    ranks  grid   backend              shell  exchange  step, ms                    waiting  messages  bytes
    1      1x1x1  p2p                  half   direct
    1      1x1x1  p2p-persistent       half   direct
    1      1x1x1  neighbor-collective  half   direct
    2      2x1x1  shm                  half   direct
    2      2x1x1  hybrid               half   direct
    2      2x1x1  p2p                  half   direct
    4      2x1x2  hybrid               half   direct
    4      2x1x2  p2p                  half   direct
    the best changes between 2 and 4 ranks: shm half direct -> hybrid half direct
    4000 ranks left out: the box is too thin for the ranks: 4000 ranks do not fit on 3x2x2 cells of at least cutoff + skin; use fewer ranks, a larger box, or partition = "stripe"
    left out on 4 ranks, because the machine has no [[message]] of its own backend and distance "network": `neighbor-collective`, `p2p-persistent`, `rma-barrier`, `rma-fence`, `rma-lock`, `rma-lock-epoch`, `rma-notify`, `rma-pscw`, `rma-ring`, `shm`
    left out on 2 ranks, because the machine has no [[message]] of its own backend and distance "node": `neighbor-collective`, `p2p-persistent`, `rma-barrier`, `rma-fence`, `rma-lock`, `rma-lock-epoch`, `rma-notify`, `rma-pscw`, `rma-ring`
    a rebuild every 20 steps is assumed in `mean_s`
    not in the model:
      contention: messages of different ranks that cross do not slow each other down, on no link and in no memory
      noise: ranks scatter by the residuals of the fit and no more; what an operating system does now and then is not in it
      caches: a particle or a pair costs as much on a small part of the system as on that which was measured
      motion: particles are where they are at the start, and hardly any change hands at a rebuild
    "#);
    if p2p_available() {
        assert_eq!(workdir().succeed(Start::Mpirun(2), call).stdout, said.stdout, "one process speaks");
    }
}

#[test]
fn weak_scaling_and_a_seed_of_its_own() {
    let workdir = workdir();
    let call = "predict melt.toml --ranks 1,64,100000 --machine machine.toml --weak --backends p2p --steps 2 --quiet --seed";
    workdir.succeed(Start::Plain, &format!("{call} 5"));
    let text = workdir.read("out/predict.csv");
    assert_eq!(rows(&text, &["ranks", "atoms", "grid", "scaling", "seed"])[1], "64 38400 4x4x4 weak 5");
    workdir.succeed(Start::Plain, &format!("{call} 6"));
    assert_ne!(workdir.read("out/predict.csv"), text);
    workdir.succeed(Start::Plain, &format!("{call} 5"));
    assert_eq!(workdir.read("out/predict.csv"), text, "repeatable");
}

/// On a sparse lattice no particle is within reach of another, but there will be pairs as soon as
/// it melts.
#[test]
fn a_start_without_pairs_is_warned_of() {
    let workdir = workdir();
    let call = "predict melt.toml --ranks 1 --machine machine.toml --steps 2 --quiet";
    assert!(workdir.succeed(Start::Plain, call).stderr.is_empty());
    let sparse = format!("{call} --set system.lattice.density=0.02 --set simulation.steps=1");
    let said = workdir.succeed(Start::Plain, &sparse);
    let expected = "warning: particles have 0.0 pairs each at the start, and about ";
    assert!(said.stderr.starts_with(expected), "{said:?}");
}

#[test]
fn bad_input_is_told_with_key_and_line() {
    let workdir = workdir();
    let call = "predict melt.toml --ranks 2 --machine";
    workdir.write("typo.toml", &MACHINE.replacen("latency_s", "latency_us", 1));
    let starts = [Start::Plain, Start::Mpirun(2)];
    let starts = &starts[..1 + usize::from(p2p_available())];
    assert_snapshot!(error_everywhere(&workdir, &format!("{call} typo.toml"), starts), @r#"
    exit code 2
    error: typo.toml, line 5: unknown field `latency_us`, expected one of `backend`, `distance`, `from_bytes`, `below_bytes`, `latency_s`, `overhead_s`, `seconds_per_byte`, `serial_share`, `rms_residual`, `largest_residual`, `held_out_rms_residual`, `held_out_largest_residual`, `samples`, `half_widths`
    "#);
    assert_snapshot!(error(&workdir, &format!("{call} none.toml"), Start::Plain), @r#"
    exit code 2
    error: cannot read `none.toml`: No such file or directory (os error 2)
    "#);
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --placement scattered"), Start::Plain), @r#"
    exit code 2
    error: --placement has no `scattered`
    valid: `block`, `round-robin`
    "#);
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --backends pp2p"), Start::Plain), @r#"
    exit code 2
    error: --backends has no `pp2p`; did you mean `p2p`?
    valid: `local`, `p2p`, `p2p-persistent`, `neighbor-collective`, `shm`, `rma-fence`, `rma-pscw`, `rma-lock`, `rma-lock-epoch`, `rma-barrier`, `rma-notify`, `rma-ring`, `hybrid`, `auto`, `all`
    "#);
    assert_snapshot!(error(&workdir, &format!("{call} machine.toml --set neighbor.precision=mixed"), Start::Plain), @r#"
    exit code 2
    error: machine.toml: there is no [[compute]] with method = "clusters", precision = "mixed" and threads = 1
    "#);
}

/// Fields on a grid that have a halo.
const SWAP: &str = "[stencil]\nkind = \"swap\"\ngrid = [12, 9, 8]\nfields = 3\ndepth = 2\nsteps = 4\n\n\
                    [parallel]\ndecomposition = \"2d\"\nmessages = \"per-field\"\n";
const FLOW: &str = "[lbm]\ngrid = [12, 8, 8]\nviscosity = 0.05\nsteps = 4\n";

#[test]
fn on_a_grid_messages_and_bytes_are_those_of_a_run() {
    for (scenario, command) in [(SWAP, "stencil"), (FLOW, "lbm")] {
        let workdir = Workdir::new(scenario);
        workdir.write("machine.toml", MACHINE);
        workdir.succeed(Start::Threads(2), &format!("{command} melt.toml --quiet"));
        let summary: serde_json::Value = serde_json::from_str(&workdir.read("out/summary.json")).unwrap();
        let per_step = |key: &str| summary[key].as_f64().unwrap() / (4.0 * 2.0);
        let call = "predict melt.toml --ranks 2 --machine machine.toml --backends p2p --measured out/summary.json --output predicted";
        let said = workdir.succeed(Start::Plain, call);
        assert_eq!(said.stderr, "");
        assert_eq!(
            said.stdout.contains("2 ranks, closed formula (Sembritzki): 0 ms between"),
            command == "lbm"
        );
        assert_eq!(workdir.files("predicted"), ["predict.csv", "predict.svg", "scenario.toml"]);
        let text = workdir.read("predicted/predict.csv");
        let columns = ["messages_per_step", "bytes_per_step", "integrate_s", "step_s", "exchange_s"];
        let row = rows(&text, &columns).remove(0);
        let numbers: Vec<f64> = row.split(' ').map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers[..2], [per_step("messages_sent"), per_step("bytes_sent")], "{command}");
        let integrate_s = summary["phases"]["integrate"]["avg_s"].as_f64().unwrap() / 4.0;
        assert!((numbers[2] / integrate_s - 1.0).abs() < 1e-9, "{command}: {text}");
        assert!(numbers[3] >= numbers[2] && numbers[4] > 1e-6, "{text}");
    }
}

#[test]
fn a_grid_of_ranks_is_taken_where_it_has_as_many() {
    let workdir = Workdir::new(FLOW);
    workdir.write("machine.toml", MACHINE);
    let call =
        "predict melt.toml --machine machine.toml --backends p2p --ranks 2,4 --set parallel.grid=[1,1,2]";
    let said = workdir.succeed(Start::Plain, &format!("{call} --output predicted"));
    assert!(said.stdout.contains("2 ranks (1x1x2)"), "{}", said.stdout);
    assert!(said.stdout.contains("4 ranks (4x1x1)"), "{}", said.stdout);
}

#[test]
fn datatypes_are_not_predicted() {
    let workdir = Workdir::new(FLOW);
    workdir.write("machine.toml", MACHINE);
    let call =
        "predict melt.toml --machine machine.toml --ranks 2 --set parallel.messages=per-field-datatypes";
    assert_snapshot!(error(&workdir, call, Start::Plain), @"
    exit code 2
    error: the scenario's messages are `per-field-datatypes`, and datatypes are not predicted: take `aggregated` or `per-field`
    ");
}

/// A stencil, and a flow: each rank has the nodes of the scenario.
#[test]
fn grids_grow_with_the_ranks() {
    for (scenario, command, on_eight) in [(SWAP, "stencil", "4x2x1"), (FLOW, "lbm", "2x2x2")] {
        let workdir = Workdir::new(scenario);
        workdir.write("machine.toml", MACHINE);
        let call = "predict melt.toml --machine machine.toml --backends p2p --ranks 1,2,8 --weak --quiet";
        workdir.succeed(Start::Plain, &format!("{call} --output unknown"));
        let text = workdir.read("unknown/predict.csv");
        let nodes: Vec<u64> = rows(&text, &["nodes"]).iter().map(|row| row.parse().unwrap()).collect();
        assert_eq!(nodes, [nodes[0], 2 * nodes[0], 8 * nodes[0]]);
        assert_eq!(rows(&text, &["grid"]), ["1x1x1", "2x1x1", on_eight]);
        assert_eq!(rows(&text, &["efficiency"]), ["", "", ""], "nobody knows what computing takes");
        workdir.succeed(Start::Threads(1), &format!("{command} melt.toml --quiet"));
        workdir.succeed(Start::Plain, &format!("{call} --measured out/summary.json --output known"));
        let known = rows(&workdir.read("known/predict.csv"), &["efficiency"]);
        let shares: Vec<f64> = known.iter().map(|share| share.parse().unwrap()).collect();
        assert!(shares[0] == 1.0 && shares[1] < 1.0 && shares[2] < shares[1], "{shares:?}");
    }
}

#[test]
fn on_a_grid_many_ranks_are_predicted_and_what_does_not_fit_is_said() {
    let workdir = Workdir::new(&SWAP.replace("grid = [12, 9, 8]", "grid_per_rank = [4, 4, 8]"));
    workdir.write("machine.toml", MACHINE);
    let call = "predict melt.toml --machine machine.toml --ranks-per-node 4";
    let said = workdir.succeed(Start::Plain, &format!("{call} --ranks 1,4,1024 --backends p2p,shm"));
    let rows = rows(&workdir.read("out/predict.csv"), &["backend", "ranks", "grid", "messages_per_step"]);
    // Three fields to each of 26 neighbours, except the two that are the rank itself. On 2 x 2
    // ranks some of the neighbours are the same rank.
    assert_eq!(
        rows,
        [
            "p2p 1 1x1x1 0.0",
            "shm 1 1x1x1 0.0",
            "p2p 4 2x2x1 72.0",
            "shm 4 2x2x1 72.0",
            "p2p 1024 32x32x1 72.0"
        ]
    );
    for words in [
        "left out on 1024 ranks, because the machine has no",
        "--measured gives what they cost",
        "contention",
    ] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    // A missing row is reported even without tables.
    let quiet = workdir.succeed(Start::Plain, &format!("{call} --ranks 1,1024 --backends p2p --quiet"));
    assert_eq!(quiet.stderr, "");
    let lacking = format!("{call} --ranks 1,1024 --backends shm --quiet");
    let quiet = workdir.succeed(Start::Plain, &lacking);
    assert!(
        quiet.stderr.starts_with("warning: left out on 1024 ranks, because the machine has no"),
        "{quiet:?}"
    );
    assert_snapshot!(error(&workdir, &format!("{call} --ranks 2 --shells all"), Start::Plain), @r"
    exit code 2
    error: --shells is for scenarios of particles, and this one has a grid
    ");
    workdir.succeed(Start::Threads(2), "stencil melt.toml --quiet --set stencil.fields=2");
    let measured = format!("{call} --ranks 2 --measured out/summary.json --output elsewhere");
    assert_snapshot!(error(&workdir, &measured, Start::Plain), @r"
    exit code 2
    error: out/summary.json: it is of `swap` with 2 fields, but the scenario of `swap` with 3
    ");
    workdir.succeed(Start::Threads(2), "stencil melt.toml --quiet --set stencil.depth=1");
    assert_snapshot!(error(&workdir, &measured, Start::Plain), @r"
    exit code 2
    error: out/summary.json: 23040 bytes were sent there in 4 steps, but by this scenario it would be 18432 in each: it is of another one
    ");
    let particles = self::workdir();
    let call = "predict melt.toml --ranks 2 --machine machine.toml --measured summary.json";
    assert_snapshot!(error(&particles, call, Start::Plain), @r"
    exit code 2
    error: --measured is for scenarios with a grid, and this one has particles
    ");
}

/// Strategies move ghosts. A note reports that another protocol is not predicted, also with
/// `--quiet`.
#[test]
fn other_protocols_are_not_predicted_and_that_is_said() {
    let workdir = workdir();
    let cells = "--set neighbor.method=cells --set parallel.partition=stripe --set parallel.protocol=dist";
    let machine = MACHINE.replace("method = \"clusters\"", "method = \"cells\"");
    workdir.write("machine.toml", &machine);
    let warning =
        "warning: `parallel.protocol` is `dist`, but strategies move ghosts: these are numbers of `one`\n";
    let call = format!("predict melt.toml --ranks 2 --machine machine.toml --backends p2p --quiet {cells}");
    let said = workdir.succeed(Start::Plain, &call);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", warning));
    let of_dist = workdir.read("out/predict.csv");
    let said = workdir.succeed(Start::Plain, &call.replace("protocol=dist", "protocol=one"));
    assert_eq!((said.stderr.as_str(), workdir.read("out/predict.csv")), ("", of_dist));
    let call = format!("compare melt.toml --repeat 1 --steps 1 --quiet {cells}");
    assert_eq!(workdir.succeed(Start::Threads(2), &call).stderr, warning, "one rank says it");
}
