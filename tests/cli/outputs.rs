//! Output of `run` and `forces`: every documented file, with its columns and keys.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use crate::support::{MELT, Start, Workdir, p2p_available};
use serde_json::Value;

const THERMO: &str = "step,time,temperature,potential_per_atom,kinetic_per_atom,total_per_atom,pressure,\
     pressure_xx,pressure_yy,pressure_zz,pressure_xy,pressure_xz,pressure_yz,\
     volume,conserved_per_atom,box_x,box_y,box_z,density";
const CONTEXT: &str =
    "backend,shell,exchange,partition,grid,ranks,threads,precision,atoms,steps,seed,mpi_library,host,version";
const TIMING: &str = "phase,calls,min_s,avg_s,max_s,varavg_percent,share_percent";
const TIMING_RANKS: &str = "rank,phase,calls,time_s,messages,bytes";
const PHASES: [&str; 15] = [
    "integrate",
    "migrate",
    "border",
    "neighbor",
    "halo_pack",
    "halo_transfer",
    "halo_wait",
    "halo_hidden",
    "halo_unpack",
    "force",
    "force_return",
    "reduce",
    "output",
    "other",
    "total",
];
const SUMMARY: [&str; 37] = [
    "atoms",
    "steps",
    "ranks",
    "threads",
    "backend",
    "shell",
    "exchange",
    "partition",
    "grid",
    "precision",
    "simd",
    "shape",
    "seed",
    "timestep",
    "wall_s",
    "ns_per_atom_step",
    "atom_steps_per_s",
    "useful_pairs_per_atom",
    "computed_pairs_per_atom",
    "rebuilds",
    "dangerous_rebuilds",
    "lost_particles",
    "energy_drift_per_atom",
    "ended",
    "messages",
    "bytes",
    "halo_hidden_s",
    "phases",
    "mpi",
    "version",
    "git",
    "host",
    "dangerous_checks",
    "largest_displacement_over_half_skin",
    "largest_energy_change_per_atom",
    "mean_kinetic_per_atom",
    "warnings",
];
const TOTALS: [&str; 4] = ["potential_energy", "virial", "tail_energy", "pressure"];

/// Rows of a table, by column.
struct Table {
    header: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn read(workdir: &Workdir, name: &str) -> Self {
        let text = workdir.read(name);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let fields = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
        let rows = reader.records().map(|record| fields(record.unwrap())).collect();
        Self { header: text.lines().next().unwrap().to_owned(), rows }
    }

    fn texts(&self, column: &str) -> Vec<&str> {
        let index = self.header.split(',').position(|name| name == column);
        let index = index.unwrap_or_else(|| panic!("no column {column}"));
        self.rows.iter().map(|row| row[index].as_str()).collect()
    }

    fn numbers(&self, column: &str) -> Vec<f64> {
        self.texts(column).into_iter().map(|text| text.parse().unwrap()).collect()
    }
}

fn json(workdir: &Workdir, name: &str) -> Value {
    serde_json::from_str(&workdir.read(name)).unwrap()
}

fn several_ranks() -> Vec<Start> {
    let mut starts = vec![Start::Threads(3)];
    starts.extend(p2p_available().then_some(Start::Mpirun(3)));
    starts
}

#[test]
fn a_run_writes_its_files() {
    let workdir = Workdir::new(MELT);
    for start in [vec![Start::Threads(1)], several_ranks()].concat() {
        workdir.succeed(start, "run melt.toml");
        let files = ["scenario.toml", "summary.json", "thermo.csv", "timing.csv", "timing_ranks.csv"];
        assert_eq!(workdir.files("out"), files);
        assert_eq!(Table::read(&workdir, "out/thermo.csv").header, THERMO);
        let balance = "balancings,imbalance_first,imbalance_last,particles_moved,balance_s,balance_won_s";
        assert_eq!(Table::read(&workdir, "out/timing.csv").header, format!("{TIMING},{CONTEXT},{balance}"));
        assert_eq!(Table::read(&workdir, "out/timing_ranks.csv").header, format!("{TIMING_RANKS},{CONTEXT}"));
    }
}

#[test]
fn thermo_has_the_first_and_the_last_step() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(1), "run melt.toml");
    let thermo = Table::read(&workdir, "out/thermo.csv");
    assert_eq!(thermo.texts("step"), ["0", "7", "14", "20"]);
    assert_eq!(thermo.numbers("time"), [0.0, 0.035, 0.07, 0.1]);
    workdir.succeed(Start::Threads(1), "run melt.toml --set output.thermo.every=10");
    assert_eq!(Table::read(&workdir, "out/thermo.csv").texts("step"), ["0", "10", "20"]);
    workdir.succeed(Start::Threads(1), "run melt.toml --set output.thermo.every=1000");
    assert_eq!(Table::read(&workdir, "out/thermo.csv").texts("step"), ["0", "20"]);
}

/// With a thermostat the two differ. Both are counted from step 0, also in a resumed run.
#[test]
fn drifts_are_those_of_the_total_and_of_the_conserved_energy() {
    let integrator = "[integrator]\nkind = \"csvr\"\ntemperature = 0.7\nrelaxation = 0.05\n";
    let workdir = Workdir::new(&MELT.replace("[output]", &format!("{integrator}[output]")));
    for call in ["run melt.toml --steps 13 --set output.checkpoint.every=10", "run melt.toml --resume out"] {
        let said = workdir.succeed(Start::Threads(2), call);
        let (thermo, summary) = (Table::read(&workdir, "out/thermo.csv"), json(&workdir, "out/summary.json"));
        for (key, column) in
            [("energy_drift_per_atom", "total_per_atom"), ("conserved_drift_per_atom", "conserved_per_atom")]
        {
            let rows = thermo.numbers(column);
            assert_eq!(summary[key].as_f64(), Some(rows[rows.len() - 1] - rows[0]), "{call}: {key}");
        }
        assert_ne!(summary["energy_drift_per_atom"], summary["conserved_drift_per_atom"]);
        assert!(said.stdout.contains("\nConserved energy drift: "), "{said:?}");
    }
    let said =
        workdir.succeed(Start::Threads(2), "run melt.toml --set integrator={kind=\"velocity-verlet\"}");
    assert!(said.stdout.contains("\nEnergy drift: "), "{said:?}");
    // The energy that a minimisation removes is included.
    let stages = "[[stage]]\nsteps = 100\nintegrator = { kind = \"fire\", force_tolerance = 5.0 }\n[[stage]]\nsteps = 20\n";
    workdir.write("melt.toml", &(MELT.replace("steps = 20\n", "") + stages));
    workdir.succeed(Start::Threads(2), "run melt.toml --quiet");
    let totals = Table::read(&workdir, "out/thermo.csv").numbers("total_per_atom");
    let drift = json(&workdir, "out/summary.json")["energy_drift_per_atom"].as_f64();
    assert_eq!(drift, Some(totals[totals.len() - 1] - totals[0]));
}

/// Every float is the shortest text that reads back as the same value, and the sums are those of
/// the printed numbers.
#[test]
fn floats_read_back_exactly() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(1), "run melt.toml");
    let thermo = Table::read(&workdir, "out/thermo.csv");
    for column in THERMO.split(',').skip(1) {
        for text in thermo.texts(column) {
            let number: f64 = text.parse().unwrap();
            assert_eq!(format!("{number:?}").parse::<f64>().unwrap().to_bits(), number.to_bits());
            assert_eq!(format!("{number:?}").len(), text.len(), "{text} is not the shortest");
        }
    }
    let [potential, kinetic, total] =
        ["potential_per_atom", "kinetic_per_atom", "total_per_atom"].map(|column| thermo.numbers(column));
    for ((potential, kinetic), total) in potential.iter().zip(&kinetic).zip(&total) {
        assert_eq!((potential + kinetic).to_bits(), total.to_bits());
    }
}

/// Returns whether the phases add up to the total. Time that is hidden behind other phases is not
/// included.
fn add_up(times: &[f64]) -> bool {
    let of = |name| times[PHASES.iter().position(|phase| *phase == name).unwrap()];
    let others = times.iter().sum::<f64>() - of("total") - of("halo_hidden");
    (others - of("total")).abs() < 1e-6
}

#[test]
fn phases_are_complete_and_add_up() {
    let workdir = Workdir::new(MELT);
    for start in several_ranks() {
        workdir.succeed(start, "run melt.toml");
        let timing = Table::read(&workdir, "out/timing.csv");
        assert_eq!(timing.texts("phase"), PHASES);
        let parts = timing.numbers("avg_s");
        assert!(add_up(&parts), "{parts:?}");
        for ((low, mean), high) in timing.numbers("min_s").iter().zip(&parts).zip(timing.numbers("max_s")) {
            assert!(*low >= 0.0 && *low <= mean + 1e-12 && *mean <= high + 1e-12);
        }
        assert!(timing.texts("ranks").iter().all(|ranks| *ranks == "3"));
        assert!(timing.texts("atoms").iter().all(|atoms| *atoms == "600"));

        let ranks = Table::read(&workdir, "out/timing_ranks.csv");
        assert_eq!(ranks.texts("phase"), PHASES.repeat(3));
        let numbers: Vec<String> =
            (0..3 * PHASES.len()).map(|row| (row / PHASES.len()).to_string()).collect();
        assert_eq!(ranks.texts("rank"), numbers);
        assert!(ranks.numbers("time_s").chunks(PHASES.len()).all(add_up), "{:?}", ranks.numbers("time_s"));
        assert!(ranks.numbers("messages").iter().all(|messages| *messages > 0.0));
        assert!(ranks.numbers("bytes").iter().all(|bytes| *bytes > 0.0));
    }
}

/// The component that performs a put depends on the window that was used, not on the requested one.
#[test]
fn the_summary_names_the_component_of_one_sided_runs() {
    if !p2p_available() {
        return;
    }
    let component = |backend: &str| {
        let workdir = Workdir::new(MELT);
        workdir.succeed(Start::Plain, &format!("run melt.toml --set parallel.backend=\"{backend}\""));
        json(&workdir, "out/summary.json")["mpi"]["rma_component"].as_str().unwrap().to_owned()
    };
    assert_eq!(component("p2p"), "none");
    for backend in ["rma-notify", "shm"] {
        assert_ne!(component(backend), "none", "{backend}");
    }
}

#[test]
fn the_summary_has_its_keys() {
    let workdir = Workdir::new(MELT);
    for start in several_ranks() {
        workdir.succeed(start, "run melt.toml");
        let summary = json(&workdir, "out/summary.json");
        for key in SUMMARY {
            assert!(!summary[key].is_null(), "{key}");
        }
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let mut phases = PHASES;
        phases.sort_unstable();
        assert_eq!(keys(&summary["phases"]), phases);
        assert_eq!(keys(&summary["phases"]["force"]), ["avg_s", "calls", "max_s", "min_s"]);
        assert_eq!(keys(&summary["mpi"]), ["library", "rma_component"]);
        assert_eq!(
            (&summary["atoms"], &summary["steps"], &summary["ranks"]),
            (&600.into(), &20.into(), &3.into())
        );
        assert_eq!((&summary["seed"], &summary["lost_particles"]), (&7.into(), &0.into()));
        assert_eq!(summary["ended"], "steps");
        assert_eq!(summary["backend"], if start == Start::Threads(3) { "local" } else { "p2p" });
        assert_eq!(summary["mpi"]["library"] == "none", start == Start::Threads(3));
        let wall = summary["wall_s"].as_f64().unwrap();
        let cost = wall * 1e9 / (600.0 * 20.0);
        assert!((summary["ns_per_atom_step"].as_f64().unwrap() / cost - 1.0).abs() < 1e-9);
        assert!(TOTALS.iter().all(|key| summary.get(key).is_none()));
    }
}

#[test]
fn the_effective_scenario_runs_again_to_the_same_bits() {
    let workdir = Workdir::new(MELT);
    workdir.succeed(Start::Threads(3), "run melt.toml --set interaction.shift=\"force\"");
    workdir.write("again.toml", &workdir.read("out/scenario.toml"));
    workdir.succeed(Start::Plain, "run again.toml --output again");
    assert_eq!(workdir.read("out/thermo.csv"), workdir.read("again/thermo.csv"));
    workdir.succeed(Start::Plain, "run out/scenario.toml");
    assert_eq!(workdir.read("out/thermo.csv"), workdir.read("again/thermo.csv"));
    assert_eq!(workdir.read("out/scenario.toml"), workdir.read("again.toml"));
}

#[test]
fn forces_are_sorted_and_summed() {
    let workdir = Workdir::new(&format!("{MELT}\n[interaction]\ntail_correction = true\n"));
    for start in several_ranks() {
        let said = workdir.succeed(start, "forces melt.toml");
        assert!(
            said.stdout.starts_with("600 particles\nPotential energy: ") && said.stderr.is_empty(),
            "{said:?}"
        );
        assert_eq!(workdir.files("out"), ["forces.csv", "scenario.toml", "summary.json"]);
        let forces = Table::read(&workdir, "out/forces.csv");
        assert_eq!(forces.header, "id,type,x,y,z,fx,fy,fz");
        assert_eq!(forces.numbers("id"), (1..=600).map(f64::from).collect::<Vec<_>>());
        assert!(forces.texts("type").iter().all(|kind| *kind == "1"));
        let summary = json(&workdir, "out/summary.json");
        let [potential, virial, tail, pressure] = TOTALS.map(|key| summary[key].as_f64().unwrap());
        // LAMMPS's log of bench/in.lj, without the tail correction: a perfect crystal has the same
        // energy at any size.
        assert!(((potential - tail) / 600.0 + 6.7733681).abs() < 5e-8, "{potential} {tail}");
        assert!(tail < 0.0 && virial.is_finite() && pressure.is_finite());
        assert_eq!((&summary["steps"], &summary["atoms"]), (&0.into(), &600.into()));
        workdir.succeed(start, "run melt.toml");
        assert!(!workdir.path("out/forces.csv").exists(), "results of another command are removed");
    }
}
