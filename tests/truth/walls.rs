//! Solid walls: the 9-3 potential of `fix wall/lj93` with its force and virial, energy
//! conservation, and the pressure on the walls.
#![expect(clippy::unwrap_used, reason = "these are tests")]

use crate::support::{Backend, Outcome, Run, assert_close, every_case};

const EPSILON: f64 = 1.3;
const SIGMA: f64 = 0.9;
const CUTOFF: f64 = 2.2;
const LENGTH: f64 = 14.0;

/// Positions next to the low wall, next to the high wall, between them, and the second particle of
/// a pair.
const PLACES: [[f64; 3]; 4] = [[1.0, 1.0, 0.7], [4.5, 4.5, LENGTH - 1.1], [4.5, 1.0, 7.0], [1.0, 4.5, 2.15]];

/// Returns particles on a grid between the walls.
fn fluid() -> Vec<[f64; 3]> {
    let along = |cell: usize| 1.1 * cell as f64 + 0.5;
    let sites = (0..8).flat_map(|x| (0..8).flat_map(move |y| (0..11).map(move |z| [x, y, z])));
    sites.map(|[x, y, z]| [along(x), along(y), along(z) + 0.8]).collect()
}

fn extxyz(width: f64, positions: &[[f64; 3]]) -> String {
    let rows = positions.iter().map(|[x, y, z]| format!("A {x:?} {y:?} {z:?}\n")).collect::<String>();
    let lattice = format!("Lattice=\"{width} 0 0 0 {width} 0 0 0 {LENGTH}\" Properties=species:S:1:pos:R:3");
    format!("{}\n{lattice} pbc=\"T T F\"\n{rows}", positions.len())
}

fn run(command: &str, width: f64, positions: &[[f64; 3]], temperature: f64) -> Run {
    let scenario = format!(
        "[simulation]\nsteps = 2000\ntimestep = 0.001\nseed = 5\n[system]\nfile = {{ path = \"in.extxyz\", format = \"extxyz\" }}\n\
         temperature = {temperature:?}\nboundary = [\"periodic\", \"periodic\", \"reflecting\"]\n\
         walls = [{{ axis = \"z\", epsilon = {EPSILON:?}, sigma = {SIGMA:?}, cutoff = {CUTOFF:?} }}]\n\
         [interaction]\ncutoff = 2.5\nshift = \"force\"\n[output]\nthermo = {{ every = 10 }}\n"
    );
    Run::new(command, scenario).file("in.extxyz", extxyz(width, positions))
}

/// Returns -dE/dr and E, where E = epsilon [2/15 (sigma/r)^9 - (sigma/r)^3] minus its value at the
/// cutoff.
fn force_and_energy(r: f64) -> (f64, f64) {
    let energy = |r: f64| EPSILON * (2.0 / 15.0 * (SIGMA / r).powi(9) - (SIGMA / r).powi(3));
    let force = EPSILON * (6.0 / 5.0 * SIGMA.powi(9) / r.powi(10) - 3.0 * SIGMA.powi(3) / r.powi(4));
    if r < CUTOFF { (force, energy(r) - energy(CUTOFF)) } else { (0.0, 0.0) }
}

#[test]
fn forces_energy_and_virial_are_the_formula() {
    let run = run("forces", 7.0, &PLACES, 0.0);
    for case in every_case() {
        let outcome = case.apply(&run).succeed();
        let (mut energy, mut virial) = (0.0, 0.0);
        for (row, [.., z]) in outcome.forces().iter().zip(PLACES) {
            let ((low, low_energy), (high, high_energy)) =
                (force_and_energy(z), force_and_energy(LENGTH - z));
            let expected = low - high;
            assert!((row.force[2] - expected).abs() <= 1e-12 * expected.abs(), "{}: {row:?}", outcome.case());
            assert_eq!([row.force[0], row.force[1]], [0.0; 2], "{}", outcome.case());
            energy += low_energy + high_energy;
            virial += low * z + high * (LENGTH - z);
        }
        assert!(energy < -1.0 && virial > 1.0, "the walls act: {energy} {virial}");
        assert_close(outcome.number("potential_energy"), energy, 1e-12, outcome.case());
        assert_close(outcome.number("virial"), virial, 1e-12, outcome.case());
    }
}

/// Returns the mean of a column of thermo.csv from a step on.
fn mean(outcome: &Outcome, column: &str, from: usize) -> f64 {
    let text = outcome.text("thermo.csv");
    let mut rows = text.lines();
    let at = rows.next().unwrap().split(',').position(|name| name == column).unwrap();
    let values: Vec<f64> =
        rows.skip(from).map(|row| row.split(',').nth(at).unwrap().parse().unwrap()).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_energy_of_a_fluid_between_walls_is_kept() {
    let drift = |ranks: usize, timestep: f64| {
        let run = run("run", 8.8, &fluid(), 1.5).set(format!("simulation.timestep={timestep}"));
        let outcome = run.on(Backend::Local, ranks).succeed();
        let thermo = outcome.thermo();
        let change = |row: &crate::support::ThermoRow| (row.total - thermo[0].total).abs();
        // Particles have reached the walls.
        assert!(thermo.iter().all(|row| row.kinetic > 0.5), "{}", outcome.case());
        thermo.iter().map(change).fold(0.0, f64::max)
    };
    let (coarse, fine) = (drift(1, 0.004), drift(2, 0.001));
    assert!(fine < 3e-4, "{fine}");
    // The error of velocity Verlet is proportional to the square of the time step.
    assert!(coarse > 4.0 * fine, "{coarse} {fine}");
}

/// The normal pressure of the whole box is the pressure on the walls. Any other definition would
/// give that of the inside. Here the pressure on the walls is known, for an ideal gas:
/// N kT / (A (L - 2 w)), where w is the width that a wall takes up.
#[test]
fn the_normal_pressure_of_an_ideal_gas_is_that_of_the_room_it_has() {
    // Particles without interaction: epsilon of pairs is 0.
    let positions: Vec<_> =
        fluid().into_iter().filter(|[x, y, _]| ((x + y) as u64).is_multiple_of(2)).collect();
    let temperature = 0.5;
    let scenario = run("run", 8.8, &positions, temperature);
    let scenario =
        scenario.set("integrator.kind=\"langevin\"").set(format!("integrator.temperature={temperature}"));
    let run = scenario.set("integrator.friction=0.5").set("species=[{ name = \"A\", epsilon = 0.0 }]");
    let run = run.set("simulation.timestep=0.005").argument("--steps").argument("20000");
    let outcome = run.on(Backend::Local, 1).succeed();
    // Configuration integral of one particle across the walls.
    let points = 200_000;
    let weight = |index: usize| {
        let z = (index as f64 + 0.5) * LENGTH / f64::from(points as u32);
        let energy = force_and_energy(z).1 + force_and_energy(LENGTH - z).1;
        (-energy / temperature).exp() * LENGTH / f64::from(points as u32)
    };
    let room: f64 = (0..points).map(weight).sum();
    // -dF/dL = N kT d ln(room) / dL = N kT / room, because the middle of the box has no energy.
    let atoms = positions.len() as f64;
    let expected = atoms * temperature / (8.8 * 8.8 * room);
    // The walls repel particles. Without their virial the pressure would be 1.41 times as large.
    assert!((room / LENGTH - 1.4119).abs() < 1e-3, "{room}");
    let found = mean(&outcome, "pressure_zz", 500);
    assert!(
        (found / expected - 1.0).abs() < 0.08,
        "{found}, not {expected} ({atoms} particles, room {room})"
    );
    let lateral = mean(&outcome, "pressure_xx", 500);
    assert!((lateral / (atoms * temperature / (8.8 * 8.8 * LENGTH)) - 1.0).abs() < 0.04, "{lateral}");
}

#[test]
fn a_particle_on_a_wall_is_an_error() {
    let mut places = PLACES;
    places[2][2] = LENGTH;
    let outcome = run("run", 7.0, &places, 0.0).on(Backend::Local, 3).finish();
    assert_eq!(outcome.code(), Some(2), "{}", outcome.report());
    let said = &outcome.finished().stderr;
    let expected =
        "particle 3: it is at [4.5, 1.0, 14.0], on a solid wall or behind it, where its energy is infinite";
    assert!(said.contains(expected), "{said}");
}
