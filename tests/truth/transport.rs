//! Transport coefficients and surface tensions of Lennard-Jones fluids against the literature.
//! Long: `make test-all`.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;

use crate::support::{Backend, Outcome, Run};

fn summary(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.text("summary.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Thermostat with a relaxation time longer than the correlations that are measured.
const LOOSELY_BOUND: &str = "kind = \"csvr\", temperature = 0.722, relaxation = 10.0";

/// Runs the liquid at T 0.722 and density 0.8442: equilibration, then measurement.
fn liquid(cells: u32, steps: u64, outputs: &str) -> Value {
    let run = Run::new(
        "run",
        format!(
            "[simulation]\ntimestep = 0.004\nseed = 9\n\
             [system]\nlattice = {{ kind = \"fcc\", density = 0.8442, cells = [{cells}, {cells}, {cells}] }}\n\
             temperature = 1.45\n\
             [interaction]\ncutoff = 3.0\ntail_correction = true\n\
             [[stage]]\nname = \"melt\"\nsteps = 10000\nthermo = {{ every = 1000 }}\n\
             integrator = {{ kind = \"csvr\", temperature = 0.722, relaxation = 0.2 }}\n\
             [[stage]]\nname = \"produce\"\nsteps = {steps}\nintegrator = {{ {LOOSELY_BOUND} }}\n\
             [output]\nthermo = {{ every = 50 }}\n{outputs}\n"
        ),
    );
    let summary = summary(&run.on(Backend::Local, 1).succeed());
    let temperature = number(&summary["averages"]["temperature"]["mean"]);
    assert!((temperature - 0.722).abs() < 0.005, "{temperature}");
    summary
}

/// Checks whether a value agrees with the literature within twice the error of the difference.
fn agrees(found: &Value, [value, error]: [f64; 2], [expected, its_error]: [f64; 2]) {
    assert!((value - expected).abs() < 2.0 * error.hypot(its_error), "{found}, expected {expected}");
}

/// The literature has 0.0325 for 1372 atoms. Its error consists of half a unit of the last digit
/// and of the error of a run of the same length.
#[test]
#[ignore = "minutes"]
fn self_diffusion_of_the_liquid() {
    let summary = liquid(7, 120_000, "msd = { every = 20, origins = 40 }");
    let found = &summary["diffusion"]["A"];
    let (coefficient, error) = (number(&found["coefficient"]), number(&found["error"]));
    assert!(error < 0.001, "{found}");
    agrees(found, [coefficient, error], [0.0325, 0.0005]);
}

/// The literature has 3.258 (Meier, Laesecke, Kabelac, J. Chem. Phys. 121, 3671 (2004)), and 3.24
/// with an error of 0.04 by the same method.
#[test]
#[ignore = "minutes"]
fn viscosity_of_the_liquid() {
    let summary = liquid(5, 1_200_000, "viscosity = { every = 5, length = 4.0 }");
    let found = &summary["viscosity"];
    let (value, error) = (number(&found["value"]), number(&found["error"]));
    assert!(error < 0.1, "{found}");
    agrees(found, [value, error], [3.258, 0.04]);
}

/// The literature has 2.08 (1 - T / 1.0779)^1.21 for the potential that is cut off and shifted at
/// 2.5 (Vrabec et al., Mol. Phys. 104, 1509 (2006)).
#[test]
#[ignore = "minutes"]
fn surface_tension_of_a_slab() {
    for (temperature, density, vapour) in [(0.7, 0.81, 0.008), (0.8, 0.75, 0.02)] {
        let run = Run::new(
            "run",
            format!(
                "[simulation]\ntimestep = 0.005\nsteps = 700000\nseed = 3\n\
                 [system]\nlattice = {{ kind = \"fcc\", density = {density}, cells = [7, 7, 24], \
                 vapour = {{ density = {vapour}, slabs = [{{ axis = \"z\", centre = 0.5, thickness = 16.0 }}] }} }}\n\
                 temperature = {temperature}\n\
                 [interaction]\ncutoff = 2.5\nshift = \"energy\"\n\
                 [integrator]\nkind = \"csvr\"\ntemperature = {temperature}\nrelaxation = 0.5\n\
                 [output]\nthermo = {{ every = 5 }}\naverages = {{ start = 25000 }}\nsurface_tension = {{ axis = \"z\" }}\n"
            ),
        );
        let summary = summary(&run.on(Backend::Local, 1).succeed());
        let found = &summary["surface_tension"];
        let expected = 2.08 * (1.0_f64 - temperature / 1.0779).powf(1.21);
        let (mean, error) = (number(&found["mean"]), number(&found["standard_error"]));
        // Half of the allowed difference.
        assert!(error < 0.025 * expected, "{found}");
        assert!((mean / expected - 1.0).abs() < 0.05, "T {temperature}: {found}, expected {expected}");
    }
}

/// A short version: the liquid flows and diffuses, with the right order of magnitude.
#[test]
fn a_short_run_has_transport_of_the_right_size() {
    let run = Run::new(
        "run",
        "[simulation]\ntimestep = 0.005\nsteps = 4000\nseed = 9\n\
         [system]\nlattice = { kind = \"fcc\", density = 0.8442, cells = [3, 3, 3] }\ntemperature = 1.5\n\
         [interaction]\ncutoff = 2.2\n\
         [output]\nthermo = { every = 20 }\naverages = { start = 1000 }\n\
         msd = { every = 10, origins = 12, start = 1000 }\nviscosity = { every = 5, length = 1.0, start = 1000 }\n",
    );
    let summary = summary(&run.on(Backend::Local, 1).succeed());
    let (diffusion, viscosity) = (&summary["diffusion"]["A"]["coefficient"], &summary["viscosity"]["value"]);
    assert!((0.015..0.06).contains(&number(diffusion)), "{diffusion}");
    assert!((0.5..6.0).contains(&number(viscosity)), "{viscosity}");
}
