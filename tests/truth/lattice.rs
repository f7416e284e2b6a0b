//! Sums over a perfect fcc crystal, which are easy to verify independently.

use crate::support::{
    Pair, Run, Shift, assert_close, assert_printed, divided_cases, every_case, local_cases, mixed_cases,
};

/// Density of LAMMPS's `bench/in.lj`.
const DENSITY: f64 = 0.8442;
/// Numbers of cells. The sides differ, so that mixed-up axes are detected. Each side has room for
/// two ranks at cutoff + skin = 2.8, x and z for three.
const CELLS: [usize; 3] = [6, 5, 7];
const ATOMS: f64 = 4.0 * 6.0 * 5.0 * 7.0;

struct Allowed {
    /// Relative error of the sums.
    sums: f64,
    /// Largest remaining force. On each atom 54 pair forces of up to about 2 cancel.
    force: f64,
}

const DOUBLE: Allowed = Allowed { sums: 1e-10, force: 1e-11 };
const MIXED: Allowed = Allowed { sums: 3e-6, force: 3e-5 };

/// Returns energy and virial (sum of r . f) per atom, by summing over the neighbours of the atom at
/// the origin.
fn lattice_sums(pair: Pair) -> (f64, f64) {
    let spacing = (4.0 / DENSITY).cbrt();
    let (mut energy, mut virial) = (0.0, 0.0);
    // In units of half the lattice constant, the sites of fcc are the integers with an even sum.
    for i in -5_i32..=5 {
        for j in -5_i32..=5 {
            for k in -5_i32..=5 {
                let r = 0.5 * spacing * f64::from(i * i + j * j + k * k).sqrt();
                if (i + j + k) % 2 == 0 && r > 0.0 && r < pair.cutoff {
                    let (pair_energy, slope) = pair.energy_and_slope(r);
                    energy += 0.5 * pair_energy;
                    virial -= 0.5 * r * slope;
                }
            }
        }
    }
    (energy, virial)
}

fn scenario(pair: Pair) -> String {
    let [x, y, z] = CELLS;
    format!(
        "[simulation]\nsteps = 1\n\
         [system]\nlattice = {{ kind = \"fcc\", density = {DENSITY}, cells = [{x}, {y}, {z}] }}\n\
         [interaction]\ncutoff = {}\nshift = {:?}\n",
        pair.cutoff,
        pair.shift.name()
    )
}

fn check(run: &Run, pair: Pair, allowed: &Allowed) {
    let outcome = run.succeed();
    let case = outcome.case();
    let (energy, virial) = lattice_sums(pair);
    assert_close(outcome.number("potential_energy") / ATOMS, energy, allowed.sums, case);
    assert_close(outcome.number("virial") / ATOMS, virial, allowed.sums, case);
    // At rest the pressure consists of the virial part only.
    assert_close(outcome.number("pressure"), DENSITY * virial / 3.0, allowed.sums, case);
    assert_eq!(outcome.number("tail_energy"), 0.0, "{case}");
    let forces = outcome.forces();
    assert_eq!(forces.len() as f64, ATOMS, "{case}");
    let largest = forces.iter().flat_map(|row| row.force).fold(0.0, |most: f64, f| most.max(f.abs()));
    assert!(largest < allowed.force, "{case}: a force of {largest}");
}

/// Checks the sums of this test against independent values (with the kinetic energy added, they are
/// the pressures in the logs of LAMMPS and miniMD).
#[test]
fn the_reference_has_the_known_digits() {
    let known = [
        (2.5, Shift::None, "-6.7733680533", "-22.1581992540"),
        (2.5, Shift::Energy, "-6.3328119926", "-22.1581992540"),
        (3.0, Shift::None, "-6.9361630975", "-23.1323678320"),
        (3.0, Shift::Energy, "-6.7005471025", "-23.1323678320"),
    ];
    for (cutoff, shift, energy, virial) in known {
        let sums = lattice_sums(Pair { cutoff, shift });
        assert_printed(sums.0, energy, "energy");
        assert_printed(sums.1, virial, "virial");
    }
}

#[test]
fn the_plain_potential() {
    let pair = Pair { cutoff: 2.5, shift: Shift::None };
    let run = Run::new("forces", scenario(pair));
    every_case().chain(divided_cases(4)).for_each(|case| check(&case.apply(&run), pair, &DOUBLE));
    mixed_cases().for_each(|case| check(&case.apply(&run), pair, &MIXED));
}

#[test]
fn shifted_potentials_and_a_longer_cutoff() {
    for (cutoff, shift) in
        [(2.5, Shift::Energy), (2.5, Shift::Force), (3.0, Shift::None), (3.0, Shift::Energy)]
    {
        let pair = Pair { cutoff, shift };
        let run = Run::new("forces", scenario(pair)).set("neighbor.skin=0.2");
        local_cases().for_each(|case| check(&case.apply(&run), pair, &DOUBLE));
    }
}
