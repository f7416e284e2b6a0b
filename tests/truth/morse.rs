//! The Morse potential: sums over a perfect fcc crystal and `configs/morse.toml`.

use crate::support::{Run, assert_close, local_cases, repository, text_of};

const DENSITY: f64 = 1.1;
const CELLS: [usize; 3] = [8, 7, 9];
const ATOMS: f64 = 4.0 * 8.0 * 7.0 * 9.0;
const CUTOFF: f64 = 2.5;
const DEPTH: f64 = 1.5;
const ALPHA: f64 = 5.0;
const R0: f64 = 1.05;

/// Returns U(r) and dU/dr, without cutoff.
fn energy_and_slope(r: f64) -> (f64, f64) {
    let e = (-ALPHA * (r - R0)).exp();
    (DEPTH * (e * e - 2.0 * e), -2.0 * ALPHA * DEPTH * (e * e - e))
}

/// Returns energy and virial per atom, by summing over the neighbours of the atom at the origin.
fn lattice_sums(shift: &str) -> (f64, f64) {
    let spacing = (4.0 / DENSITY).cbrt();
    let (at_cutoff, slope_at_cutoff) = energy_and_slope(CUTOFF);
    let (energy_shift, force_shift) = match shift {
        "none" => (0.0, 0.0),
        "energy" => (at_cutoff, 0.0),
        _ => (at_cutoff, slope_at_cutoff),
    };
    let (mut energy, mut virial) = (0.0, 0.0);
    // In units of half the lattice constant, the sites of fcc are the integers with an even sum.
    for i in -6_i32..=6 {
        for j in -6_i32..=6 {
            for k in -6_i32..=6 {
                let r = 0.5 * spacing * f64::from(i * i + j * j + k * k).sqrt();
                if (i + j + k) % 2 == 0 && r > 0.0 && r < CUTOFF {
                    let (pair_energy, slope) = energy_and_slope(r);
                    energy += 0.5 * (pair_energy - energy_shift - force_shift * (r - CUTOFF));
                    virial -= 0.5 * r * (slope - force_shift);
                }
            }
        }
    }
    (energy, virial)
}

/// Place of the parameters in the scenario.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parameters {
    /// In `[interaction]`.
    OfAll,
    /// With the pair of the only species, while `[interaction]` contains different ones.
    OfPair,
}

fn scenario(shift: &str, parameters: Parameters) -> String {
    let [x, y, z] = CELLS;
    let (depth, pair) = if parameters == Parameters::OfPair {
        let own = format!(
            "[[interaction.pair]]\nspecies = [\"A\", \"A\"]\ndepth = {DEPTH:?}\nalpha = {ALPHA:?}\nr0 = {R0:?}\n"
        );
        (9.0, own)
    } else {
        (DEPTH, String::new())
    };
    format!(
        "[simulation]\nsteps = 1\n\
         [system]\nlattice = {{ kind = \"fcc\", density = {DENSITY}, cells = [{x}, {y}, {z}] }}\n\
         [interaction]\nkind = \"morse\"\ndepth = {depth:?}\nalpha = {ALPHA:?}\nr0 = {R0:?}\n\
         cutoff = {CUTOFF}\nshift = {shift:?}\n{pair}"
    )
}

fn check(run: &Run, shift: &str) {
    let outcome = run.succeed();
    let (energy, virial) = lattice_sums(shift);
    assert_close(outcome.number("potential_energy") / ATOMS, energy, 1e-10, outcome.case());
    assert_close(outcome.number("virial") / ATOMS, virial, 1e-10, outcome.case());
}

#[test]
fn energy_and_virial_of_a_crystal() {
    for shift in ["none", "energy", "force"] {
        let run = Run::new("forces", scenario(shift, Parameters::OfAll));
        local_cases().for_each(|case| check(&case.apply(&run), shift));
    }
}

#[test]
fn parameters_of_a_pair_win_over_those_of_all() {
    let run = Run::new("forces", scenario("energy", Parameters::OfPair));
    local_cases().for_each(|case| check(&case.apply(&run), "energy"));
}

#[test]
fn the_crystal_of_the_config_keeps_its_energy() {
    let thermo = Run::new("run", text_of(&repository("configs/morse.toml"))).succeed().thermo();
    let first = &thermo[0];
    for row in &thermo {
        let change = (row.total - first.total).abs();
        assert!(change < 1e-3 * first.kinetic, "step {}: energy changes by {change}", row.step);
    }
}
