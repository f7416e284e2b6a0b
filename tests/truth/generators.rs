//! Generated particles: lattices in parts of a box, a random gas, and copies of a file. They do not
//! depend on the number of ranks.

use crate::support::{Backend, ForceRow, Outcome, Run, assert_close};

/// Energy per particle of the fcc lattice at density 0.8442 with cutoff 2.5
/// (tests/truth/lattice.rs).
const FCC_ENERGY: f64 = -6.7733680533;
const SPACING: &str = "1.6795961913825073";

fn forces(system: &str) -> Run {
    let head = "[simulation]\nsteps = 1\nseed = 11\n";
    Run::new("forces", format!("{head}{system}\n[interaction]\ncutoff = 2.5\nshift = \"none\"\n"))
}

/// Checks that all numbers of ranks give the same particles, and returns those of one rank.
fn on_any_ranks(run: &Run) -> (Outcome, Vec<ForceRow>) {
    let alone = run.clone().on(Backend::Local, 1).succeed();
    let rows = alone.forces();
    for (ranks, partition) in [(2, "rect"), (3, "stripe"), (4, "rcb"), (8, "rect")] {
        let run = run.clone().on(Backend::Local, ranks).set(format!("parallel.partition={partition:?}"));
        let outcome = run.succeed();
        let placed =
            |rows: &[ForceRow]| rows.iter().map(|row| (row.id, row.kind, row.position)).collect::<Vec<_>>();
        assert_eq!(placed(&outcome.forces()), placed(&rows), "{}", outcome.case());
        assert_close(
            outcome.number("potential_energy"),
            alone.number("potential_energy"),
            1e-10,
            outcome.case(),
        );
    }
    (alone, rows)
}

#[test]
fn two_regions_of_one_lattice_are_that_lattice() {
    let length = 6.0 * 1.6795961913825073;
    let half = 3.0 * 1.6795961913825073;
    let system = format!(
        "[system]\nregions = {{ box = [{length:?}, {length:?}, {length:?}], lattices = [\n\
         {{ kind = \"fcc\", density = 0.8442, low = [0.0, 0.0, 0.0], high = [{length:?}, {length:?}, {half:?}], species = \"A\" }},\n\
         {{ kind = \"fcc\", spacing = {SPACING}, low = [0.0, 0.0, {half:?}], high = [{length:?}, {length:?}, {length:?}], species = \"B\" }},\n\
         ] }}\n[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\n"
    );
    let (outcome, rows) = on_any_ranks(&forces(&system));
    assert_eq!(rows.len(), 864);
    assert_eq!(rows.iter().filter(|row| row.kind == 2).count(), 432);
    assert!(rows.iter().all(|row| (row.kind == 2) == (row.position[2] > half - 1e-9)));
    assert_close(outcome.number("potential_energy") / 864.0, FCC_ENERGY, 1e-10, outcome.case());
}

#[test]
fn a_gas_has_its_density_and_its_distance() {
    let system = "[system]\ngas = { atoms = 2000, density = 0.3, minimal_distance = 0.95 }\n";
    let (outcome, rows) = on_any_ranks(&forces(system));
    assert_eq!(rows.len(), 2000);
    let length = (2000.0_f64 / 0.3).cbrt();
    let mut nearest = f64::INFINITY;
    for (index, a) in rows.iter().enumerate() {
        for b in &rows[..index] {
            let squared = |dim: usize| {
                let d = a.position[dim] - b.position[dim];
                (d - length * (d / length).round()).powi(2)
            };
            nearest = nearest.min((0..3).map(squared).sum::<f64>().sqrt());
        }
    }
    // With this many pairs, one of them comes close to the limit.
    assert!((0.95..0.97).contains(&nearest), "{}: {nearest}", outcome.case());
    let other = forces(system).set("simulation.seed=12").on(Backend::Local, 1).succeed();
    assert_ne!(other.forces()[0].position, rows[0].position);
}

/// A box of periodic copies has the same energy per particle and the same forces.
#[test]
fn copies_of_a_file_have_its_energy_and_forces() {
    let rows: String = (0..200)
        .map(|index| {
            // Positions on a grid of 6 x 6 x 6 with random displacements.
            let place = [index % 6, index / 6 % 6, index / 36];
            let shaken = |dim: usize| {
                let shake = f64::from((index * (7 + 4 * dim as i32) + 3) % 11) / 55.0;
                1.2 * f64::from(place[dim]) + shake
            };
            format!("{} {} {:?} {:?} {:?}\n", 2 * index + 3, 1 + index % 2, shaken(0), shaken(1), shaken(2))
        })
        .collect();
    let data = format!(
        "a test\n\n200 atoms\n2 atom types\n0 7.2 xlo xhi\n0 7.2 ylo yhi\n0 7.2 zlo zhi\n\nAtoms # atomic\n\n{rows}"
    );
    let scenario = |replicate: &str| {
        let species = "[[species]]\nname = \"A\"\n[[species]]\nname = \"B\"\nepsilon = 0.7\n";
        let file = format!("file = {{ path = \"in.data\", format = \"lammps-data\"{replicate} }}");
        forces(&format!("[system]\n{file}\ntemperature = 0.0\n{species}")).file("in.data", data.clone())
    };
    let once = scenario("").on(Backend::Local, 1).succeed();
    let (copied, rows) = on_any_ranks(&scenario(", replicate = [2, 1, 3]"));
    assert_eq!(rows.len(), 1200);
    assert_close(
        copied.number("potential_energy"),
        6.0 * once.number("potential_energy"),
        1e-11,
        copied.case(),
    );
    assert_close(copied.number("pressure"), once.number("pressure"), 1e-10, copied.case());
    let originals = once.forces();
    let largest = originals.iter().flat_map(|row| row.force).fold(0.0, |most: f64, f| most.max(f.abs()));
    for row in &rows {
        let original = originals.iter().find(|other| other.id == (row.id - 1) / 6 + 1).unwrap();
        assert_eq!(row.kind, original.kind);
        for dim in 0..3 {
            let apart = (row.position[dim] - original.position[dim]) / 7.2;
            assert!((apart - apart.round()).abs() < 1e-12, "{row:?} {original:?}");
            assert!((row.force[dim] - original.force[dim]).abs() < 1e-10 * largest, "{row:?} {original:?}");
        }
    }
    // With MPI, each rank reads its share of a file with replicate.
    if crate::support::p2p_available() {
        let outcome = scenario(", replicate = [2, 1, 3]").on(Backend::P2p, 3).succeed();
        let placed = |rows: &[ForceRow]| rows.iter().map(|row| (row.id, row.position)).collect::<Vec<_>>();
        assert_eq!(placed(&outcome.forces()), placed(&rows));
    }
}
