//! The standard errors that a run states, compared with the spread of independent runs.
//!
//! One liquid is simulated with different seeds. For every value with an error, the standard
//! deviation over the runs is divided by the root mean square of the stated errors. The ratio is 1
//! if the error is right, and above 1 if the error is too small.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Backend, Outcome, Run};

/// A value of a run with its stated error.
#[derive(Debug, Clone, Copy)]
struct Stated {
    value: f64,
    error: f64,
}

/// Values of a run by name.
type Found = BTreeMap<String, Stated>;

/// A column with errors, and the rows to use: for each of `rows`, the first row whose first column
/// is not below it.
struct Column {
    file: &'static str,
    value: &'static str,
    error: &'static str,
    rows: &'static [f64],
}

const fn column(
    file: &'static str,
    value: &'static str,
    error: &'static str,
    rows: &'static [f64],
) -> Column {
    Column { file, value, error, rows }
}

const COLUMNS: [Column; 10] = [
    column("msd.csv", "msd_A", "error_A", &[0.1, 0.5, 1.5, 3.0, 5.0, 7.5, 10.0, 12.5]),
    column("vacf.csv", "vacf_A", "error_A", &[0.0, 0.1, 0.3]),
    column("vacf.csv", "diffusion_A", "diffusion_error_A", &[0.1, 0.5, 0.99]),
    column("viscosity.csv", "stress_correlation", "stress_correlation_error", &[0.0, 0.1]),
    column("viscosity.csv", "viscosity", "viscosity_error", &[0.1, 0.5, 0.99]),
    column("rdf.csv", "g_A_A", "error_A_A", &[0.95, 1.1, 1.5, 2.1]),
    column("profile_z.csv", "density", "density_error", &[1.0, 4.0]),
    column("profile_z.csv", "temperature", "temperature_error", &[1.0, 4.0]),
    column("profile_z.csv", "pressure_xx", "pressure_xx_error", &[1.0, 4.0]),
    column("profile_z.csv", "velocity_x", "velocity_x_error", &[1.0, 4.0]),
];

impl Column {
    /// Adds the values of these rows. Rows without an error are left out.
    fn add(&self, outcome: &Outcome, found: &mut Found) {
        let text = outcome.text(self.file);
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let place = |name: &str| names.iter().position(|other| *other == name).unwrap();
        let (value, error) = (place(self.value), place(self.error));
        let rows: Vec<Vec<f64>> =
            lines.map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
        for at in self.rows {
            let row = rows.iter().find(|row| row[0] >= at - 1e-9).unwrap();
            if row[error].is_finite() {
                let stated = Stated { value: row[value], error: row[error] };
                found.insert(format!("{} {} at {at}", self.file, self.value), stated);
            }
        }
    }
}

/// Adds a value of summary.json.
fn add_of_summary(found: &mut Found, name: &str, [value, error]: [&Value; 2]) {
    let number = |value: &Value| value.as_f64().unwrap();
    found.insert(format!("summary.json {name}"), Stated { value: number(value), error: number(error) });
}

/// Runs 256 particles at T 1 and density 0.75 for 15 units of time in equilibrium.
fn run(seed: usize) -> Found {
    let bath = "integrator = { kind = \"csvr\", temperature = 1.0, relaxation = 0.1 }";
    let scenario = format!(
        "[simulation]\ntimestep = 0.005\nseed = {seed}\n\
         [system]\nlattice = {{ kind = \"fcc\", density = 0.75, cells = [4, 4, 4] }}\ntemperature = 1.5\n\
         [interaction]\nshift = \"energy\"\n\
         [[stage]]\nname = \"equilibrate\"\nsteps = 300\n{bath}\n\
         [[stage]]\nname = \"produce\"\nsteps = 3000\n{bath}\n\
         [output]\nthermo = {{ every = 5 }}\nmsd = {{ every = 10, origins = 10 }}\n\
         vacf = {{ every = 4, length = 1.0 }}\nviscosity = {{ every = 4, length = 1.0 }}\n\
         rdf = {{ every = 20, bins = 50 }}\nprofile = [{{ axis = \"z\", bins = 5, every = 20 }}]\n"
    );
    let outcome = Run::new("run", scenario).on(Backend::Local, 1).succeed();
    let mut found = Found::new();
    COLUMNS.iter().for_each(|column| column.add(&outcome, &mut found));
    let summary = outcome.summary();
    for name in ["temperature", "potential_per_atom", "pressure"] {
        let average = &summary["averages"][name];
        add_of_summary(&mut found, name, [&average["mean"], &average["standard_error"]]);
    }
    let diffusion = &summary["diffusion"]["A"];
    add_of_summary(&mut found, "diffusion", [&diffusion["coefficient"], &diffusion["error"]]);
    let viscosity = &summary["viscosity"];
    add_of_summary(&mut found, "viscosity", [&viscosity["value"], &viscosity["error"]]);
    found
}

/// Returns the spread over the runs divided by the stated error, for every value that all runs
/// state.
fn ratios(runs: usize) -> BTreeMap<String, f64> {
    let all: Vec<Found> = (1..=runs).map(run).collect();
    let count = runs as f64;
    let ratio = |name: &String| {
        let stated: Vec<Stated> = all.iter().map(|found| found.get(name).copied()).collect::<Option<_>>()?;
        let mean = stated.iter().map(|stated| stated.value).sum::<f64>() / count;
        let spread = stated.iter().map(|stated| (stated.value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let square = stated.iter().map(|stated| stated.error.powi(2)).sum::<f64>() / count;
        Some((name.clone(), (spread / square).sqrt()))
    };
    all[0].keys().filter_map(ratio).collect()
}

/// Makes `runs` runs, and expects every ratio to be in `range`.
fn expect_right_errors(runs: usize, range: std::ops::RangeInclusive<f64>) {
    let ratios = ratios(runs);
    assert!(ratios.len() > 30, "{ratios:#?}");
    let wrong: Vec<_> = ratios.iter().filter(|(_, ratio)| !range.contains(ratio)).collect();
    assert!(wrong.is_empty(), "over {runs} runs: {wrong:#?}\nall: {ratios:#?}");
}

/// A ratio over 12 runs is uncertain by 21 %. The range is four times that.
#[test]
fn stated_errors_are_of_the_right_size() {
    expect_right_errors(12, 0.3..=1.9);
}

/// A ratio over 48 runs is uncertain by 10 %. The range is 0.9 to 1.2, widened by twice that.
#[test]
#[ignore = "minutes"]
fn stated_errors_are_the_spread_of_independent_runs() {
    expect_right_errors(48, 0.7..=1.4);
}
