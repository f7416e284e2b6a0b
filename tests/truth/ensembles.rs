//! Thermostats and barostats against statistical mechanics: distributions, conserved quantities,
//! equations of state.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use crate::support::{Backend, Outcome, Run};

/// Number of steps of the first stage, at whose end the crystal has melted.
const MELTING: u64 = 400;

/// Returns a column of thermo.csv, from the end of the first stage on.
fn column(outcome: &Outcome, name: &str) -> Vec<f64> {
    column_from(MELTING, outcome, name)
}

/// Returns a column of thermo.csv from `step` on.
fn column_from(step: u64, outcome: &Outcome, name: &str) -> Vec<f64> {
    let text = outcome.text("thermo.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    let rows = reader.records().map(Result::unwrap).filter(|row| row[0].parse::<u64>().unwrap() >= step);
    rows.map(|row| row[place].parse().unwrap()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the mean and its standard error from ten blocks.
fn with_error(values: &[f64]) -> [f64; 2] {
    let blocks: Vec<f64> = values.chunks(values.len().div_ceil(10)).map(mean).collect();
    let average = mean(values);
    let variance = mean(&blocks.iter().map(|block| (block - average).powi(2)).collect::<Vec<_>>());
    [average, (variance / (blocks.len() - 1) as f64).sqrt()]
}

/// A liquid of 108 or 500 atoms.
struct Liquid {
    cells: u32,
    density: f64,
    cutoff: f64,
    steps: u64,
    every: u64,
}

impl Liquid {
    fn run(&self, integrator: &str) -> Run {
        let Self { cells, density, cutoff, steps, every } = self;
        let integrator = integrator.replace('\n', ", ");
        Run::new(
            "run",
            format!(
                "[simulation]\ntimestep = 0.004\nseed = 4\n\
                 [system]\nlattice = {{ kind = \"fcc\", density = {density}, cells = [{cells}, {cells}, {cells}] }}\n\
                 temperature = 4.0\n\
                 [interaction]\ncutoff = {cutoff}\ntail_correction = true\n\
                 [[stage]]\nname = \"melt\"\nsteps = {MELTING}\nthermo = {{ every = {MELTING} }}\n\
                 integrator = {{ kind = \"csvr\", temperature = 2.5, relaxation = 0.1 }}\n\
                 [[stage]]\nname = \"produce\"\nsteps = {steps}\nintegrator = {{ {integrator} }}\n\
                 [output]\nthermo = {{ every = {every} }}\n"
            ),
        )
        .on(Backend::Local, 1)
    }
}

const THERMOSTATS: [&str; 4] = [
    "kind = \"langevin\"\ntemperature = 0.9\nfriction = 2.0",
    "kind = \"langevin\"\ntemperature = 0.9\nfriction = 2.0\nscheme = \"gjf\"",
    "kind = \"csvr\"\ntemperature = 0.9\nrelaxation = 0.1",
    "kind = \"nose-hoover\"\ntemperature = 0.9\nrelaxation = 0.2",
];

/// Returns the largest distance between the distribution of the samples and that of a chi-squared
/// variable, whose density is integrated.
fn kolmogorov_smirnov(mut samples: Vec<f64>, degrees: f64) -> f64 {
    const PARTS: usize = 40_000;
    samples.sort_by(f64::total_cmp);
    // From the logarithm of the density, up to a constant.
    let density = |x: f64| ((0.5 * degrees - 1.0) * (x / degrees).ln() - 0.5 * (x - degrees)).exp();
    let width = 2.0 * degrees / PARTS as f64;
    let parts: Vec<f64> = (0..PARTS).map(|part| width * density(width * (part as f64 + 0.5))).collect();
    let whole: f64 = parts.iter().sum();
    let count = samples.len() as f64;
    let (mut below, mut part, mut largest) = (0.0, 0, 0.0_f64);
    for (number, sample) in samples.iter().enumerate() {
        while part < PARTS && width * (part as f64 + 1.0) <= *sample {
            below += parts[part] / whole;
            part += 1;
        }
        let number = number as f64;
        largest = largest.max((below - number / count).abs()).max((below - (number + 1.0) / count).abs());
    }
    largest
}

/// Twice the kinetic energy over kT is chi-squared with g degrees of freedom: 3 N for Langevin
/// dynamics, which also moves the centre of mass, and 3 N - 3 otherwise.
#[test]
fn the_kinetic_energy_has_its_distribution() {
    const ATOMS: f64 = 108.0;
    let liquid = Liquid { cells: 3, density: 0.776, cutoff: 2.2, steps: 24_000, every: 40 };
    for keys in THERMOSTATS {
        let outcome = liquid.run(keys).succeed();
        let degrees = if keys.contains("langevin") { 3.0 * ATOMS } else { 3.0 * ATOMS - 3.0 };
        let energies = column(&outcome, "kinetic_per_atom");
        let samples: Vec<f64> = energies[100..].iter().map(|kinetic| 2.0 * kinetic * ATOMS / 0.9).collect();
        // At 0.1 % the critical distance of independent samples is 1.95 / sqrt(count). Every
        // instruction set has its own trajectory: at 1 %, one of five with four thermostats each
        // would fail every fifth time.
        let critical = 1.95 / (samples.len() as f64).sqrt();
        let distance = kolmogorov_smirnov(samples, degrees);
        assert!(distance < critical, "{keys}: {distance}, critical is {critical}");
    }
}

#[test]
fn the_distance_between_distributions_tells_a_wrong_temperature() {
    // 500 quantiles of a chi-squared variable of 300 degrees, which is nearly normal, and the same
    // quantiles 3 % too hot.
    let quantile = |number: usize| {
        let share = (number as f64 + 0.5) / 500.0;
        // Tukey's lambda distribution is close to the normal one.
        let normal = (share.powf(0.1349) - (1.0 - share).powf(0.1349)) / 0.1975;
        300.0 * (1.0 - 2.0 / 2700.0 + normal * (2.0_f64 / 2700.0).sqrt()).powi(3)
    };
    let samples: Vec<f64> = (0..500).map(quantile).collect();
    assert!(kolmogorov_smirnov(samples.clone(), 300.0) < 0.02);
    let hot = samples.iter().map(|sample| 1.03 * sample).collect();
    assert!(kolmogorov_smirnov(hot, 300.0) > 0.1);
}

/// The total energy changes from that of the hot crystal to that of the liquid, while the conserved
/// energy stays constant.
#[test]
fn what_is_conserved_is_conserved() {
    let liquid = Liquid { cells: 3, density: 0.776, cutoff: 2.2, steps: 1000, every: 20 };
    let others = [
        "kind = \"berendsen\"\ntemperature = { from = 1.2, to = 0.9 }\nrelaxation = 0.2",
        "kind = \"rescale\"\ntemperature = 0.9\nevery = 5",
        "kind = \"nose-hoover\"\ntemperature = { from = 1.2, to = 0.9 }\nrelaxation = 0.2\nevery = 1",
        "kind = \"csvr\"\ntemperature = 0.9\nrelaxation = 0.1\n\
         barostat = { kind = \"stochastic-cell-rescaling\", pressure = 1.0, relaxation = 1.0 }",
        "kind = \"berendsen\"\ntemperature = 0.9\nrelaxation = 0.1\n\
         barostat = { kind = \"berendsen\", pressure = 1.0, relaxation = 1.0, axes = \"xyz\" }",
    ];
    for keys in THERMOSTATS.into_iter().chain(others) {
        let smooth =
            liquid.run(keys).set("interaction.tail_correction=false").set("interaction.shift=\"force\"");
        let outcome = smooth.succeed();
        let spread = |name: &str| {
            let values = column(&outcome, name);
            let ends = values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| {
                [low.min(value), high.max(value)]
            });
            ends[1] - ends[0]
        };
        let (total, conserved) = (spread("total_per_atom"), spread("conserved_per_atom"));
        assert!(total > 0.3, "{keys}: total energy within {total}");
        assert!(conserved < 0.01 * total.max(0.5), "{keys}: conserved energy within {conserved}");
        let drift = outcome.number("conserved_drift_per_atom");
        let rows = column_from(0, &outcome, "conserved_per_atom");
        assert_eq!(drift, rows[rows.len() - 1] - rows[0]);
    }
}

/// The noise is the same on any number of ranks and threads. Only rounding remains, which a liquid
/// doubles every few steps.
#[test]
fn trajectories_do_not_depend_on_the_division() {
    let liquid = Liquid { cells: 6, density: 0.776, cutoff: 2.2, steps: 20, every: 10 };
    let coupled = "kind = \"langevin\"\ntemperature = 0.9\nfriction = 2.0\n\
                   barostat = { kind = \"stochastic-cell-rescaling\", pressure = 1.0, relaxation = 0.4, every = 3 }";
    for keys in THERMOSTATS.into_iter().chain([coupled]) {
        let run = liquid.run(keys);
        let expected = run.clone().succeed();
        let divided =
            [run.clone().on(Backend::Local, 3), run.clone().on(Backend::Local, 2).set("parallel.threads=2")];
        for other in divided {
            let outcome = other.succeed();
            for name in ["temperature", "potential_per_atom", "conserved_per_atom", "pressure_xy", "box_x"] {
                for (found, wanted) in column(&outcome, name).iter().zip(column(&expected, name)) {
                    let deviation = (found - wanted).abs() / wanted.abs().max(1.0);
                    assert!(deviation < 1e-10, "{}: {keys}: {name} {found} {wanted}", outcome.case());
                }
            }
        }
    }
}

/// NIST's canonical table: density, temperature, energy per particle and pressure of the full
/// potential, with cutoff 3 and tail correction.
const NIST: [[f64; 4]; 8] = [
    [0.776, 0.85, -5.5121, 0.0067714],
    [0.776, 0.90, -5.4689, 0.24056],
    [0.820, 0.85, -5.7947, 0.55355],
    [0.820, 0.90, -5.7456, 0.82386],
    [0.860, 0.85, -6.0305, 1.2660],
    [0.860, 0.90, -5.9753, 1.5781],
    [0.900, 0.85, -6.2391, 2.2314],
    [0.900, 0.90, -6.1773, 2.5848],
];

const CANONICAL: [&str; 5] = [
    "kind = \"langevin\"\nfriction = 1.0\nscheme = \"gjf\"",
    "kind = \"csvr\"\nrelaxation = 0.5",
    "kind = \"nose-hoover\"\nrelaxation = 0.5",
    "kind = \"langevin\"\nfriction = 1.0",
    // This is no textbook ensemble, but its averages of 500 atoms differ by less than the
    // tolerance. (So do those of `rescale`, whose temperature does not fluctuate: by 0.0043 and
    // 0.0155 at density 0.9, too close to the limits for a test.)
    "kind = \"berendsen\"\nrelaxation = 0.5",
];

/// Returns averages of 500 atoms at a state of NIST's table, with their errors: potential energy
/// per particle and pressure.
fn canonical(keys: &str, density: f64, temperature: f64, steps: u64) -> [[f64; 2]; 2] {
    let liquid = Liquid { cells: 5, density, cutoff: 3.0, steps, every: 20 };
    let outcome = liquid.run(&format!("{keys}\ntemperature = {temperature}")).succeed();
    ["potential_per_atom", "pressure"].map(|name| {
        let values = column(&outcome, name);
        with_error(&values[values.len() / 5..])
    })
}

#[test]
fn a_state_of_nists_table() {
    let [density, temperature, energy, pressure] = NIST[3];
    let [[found, error], [found_pressure, pressure_error]] =
        canonical(CANONICAL[1], density, temperature, 8_000);
    assert!(error < 0.01 && pressure_error < 0.06, "errors {error} {pressure_error}");
    assert!((found - energy).abs() < 0.03, "U/N = {found} +- {error}, not {energy}");
    assert!(
        (found_pressure - pressure).abs() < 0.2,
        "p = {found_pressure} +- {pressure_error}, not {pressure}"
    );
}

/// Long enough that pressures are accurate to 0.004, a fifth of the tolerance. With errors of
/// 0.009, one of 24 would fail by chance.
#[test]
#[ignore = "takes most of an hour: 40 long runs; make test-all"]
fn nists_table_with_each_thermostat() {
    for keys in CANONICAL {
        for [density, temperature, energy, pressure] in NIST {
            let [[found, error], [found_pressure, pressure_error]] =
                canonical(keys, density, temperature, 1_000_000);
            let state = format!("{keys} at {temperature}, {density}");
            assert!((found - energy).abs() < 0.005, "{state}: U/N = {found} +- {error}, not {energy}");
            let difference = (found_pressure - pressure).abs();
            assert!(difference < 0.02, "{state}: p = {found_pressure} +- {pressure_error}, not {pressure}");
        }
    }
}

/// Returns the density that a barostat reaches at a pressure of the table, and its error.
fn isobaric(barostat: &str, density: f64, temperature: f64, pressure: f64, steps: u64) -> [f64; 2] {
    let liquid = Liquid { cells: 5, density, cutoff: 3.0, steps, every: 20 };
    let keys = format!(
        "kind = \"csvr\"\nrelaxation = 0.5\ntemperature = {temperature}\n\
         barostat = {{ pressure = {pressure}, relaxation = 1.0, compressibility = 0.05, {barostat} }}"
    );
    let densities = column(&liquid.run(&keys).succeed(), "density");
    with_error(&densities[densities.len() / 5..])
}

#[test]
fn a_barostat_finds_a_density_of_nists_table() {
    let [density, temperature, _, pressure] = NIST[5];
    // Starts from a crystal of too low density and passes through several divisions into cells.
    let [found, error] = isobaric("kind = \"stochastic-cell-rescaling\"", 0.80, temperature, pressure, 8_000);
    assert!((found / density - 1.0).abs() < 0.015, "density {found} +- {error}, not {density}");
}

#[test]
#[ignore = "takes half an hour: 24 long runs; make test-all"]
fn barostats_find_nists_densities() {
    let barostats = [
        "kind = \"stochastic-cell-rescaling\"",
        "kind = \"stochastic-cell-rescaling\", axes = \"xyz\"",
        "kind = \"berendsen\"",
    ];
    for barostat in barostats {
        for [density, temperature, _, pressure] in NIST {
            let [found, error] = isobaric(barostat, density, temperature, pressure, 100_000);
            let state = format!("{barostat} at {temperature}, {pressure}");
            assert!((found / density - 1.0).abs() < 0.005, "{state}: {found} +- {error}, not {density}");
        }
    }
}
